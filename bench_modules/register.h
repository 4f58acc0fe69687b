/* SPDX-License-Identifier: GPL-2.0-only */
/* Module notifier that removes the benchmark groups of modules that are unloaded. */
#ifndef BENCH_MODULES_REGISTER_H
#define BENCH_MODULES_REGISTER_H

int bench_register_module_notifier(void);
void bench_unregister_module_notifier(void);

#endif /* BENCH_MODULES_REGISTER_H */
