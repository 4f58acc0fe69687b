/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups of other modules. */
#ifndef BENCH_MODULES_REGISTER_H
#define BENCH_MODULES_REGISTER_H

int bench_register_init(void);
void bench_register_exit(void);

#endif /* BENCH_MODULES_REGISTER_H */
