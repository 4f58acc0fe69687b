/* SPDX-License-Identifier: GPL-2.0-only */
/* Parsing of commands written to bench/control. */
#ifndef BENCH_MODULES_CONTROL_H
#define BENCH_MODULES_CONTROL_H

#include <linux/types.h>

enum bench_verb {
	BENCH_START,
	BENCH_STOP,
	BENCH_RESET,
};

int bench_parse_control(char *text, enum bench_verb *verb, u64 *groups);

#endif /* BENCH_MODULES_CONTROL_H */
