/* SPDX-License-Identifier: GPL-2.0-only */
/* Check that markers that are measured as dormant are off. */
#ifndef BENCH_MODULES_DORMANT_H
#define BENCH_MODULES_DORMANT_H

struct module;

const struct module *bench_dormant_owner(unsigned int group);
void bench_dormant_own(unsigned int group, const struct module *module);
int bench_dormant_check(const char *what);

#endif /* BENCH_MODULES_DORMANT_H */
