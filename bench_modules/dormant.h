/* SPDX-License-Identifier: GPL-2.0-only */
/* Check that the markers of all modules that define benchmarks are disabled. */
#ifndef BENCH_MODULES_DORMANT_H
#define BENCH_MODULES_DORMANT_H

struct module;

const struct module *bench_dormant_get_owner(unsigned int group);
void bench_dormant_set_owner(unsigned int group, const struct module *module);
int bench_dormant_check(const char *what);

#endif /* BENCH_MODULES_DORMANT_H */
