/* SPDX-License-Identifier: GPL-2.0-only */
/* Check that all markers in modules that define benchmarks are disabled. */
#ifndef BENCH_MODULES_DORMANT_H
#define BENCH_MODULES_DORMANT_H

struct module;

const struct module *bench_get_group_owner(unsigned int group);
void bench_set_group_owner(unsigned int group, const struct module *module);
int bench_check_markers_disabled(const char *log_prefix);

#endif /* BENCH_MODULES_DORMANT_H */
