/* SPDX-License-Identifier: GPL-2.0-only */
/* kmbench step: show the bytes of an instruction while it is replaced. */
#ifndef NATIVE_STEP_H
#define NATIVE_STEP_H

/* Weak, because users' programs with benchmarks are linked with main.c but without step.c. */
int __attribute__((weak)) native_run_step_command(char **args, int nr);

#endif /* NATIVE_STEP_H */
