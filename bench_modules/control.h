/* SPDX-License-Identifier: GPL-2.0-only */
/* Parser of commands that are written to the debugfs file bench/control. */
#ifndef BENCH_MODULES_CONTROL_H
#define BENCH_MODULES_CONTROL_H

#include <linux/types.h>

enum bench_verb {
	BENCH_START,
	BENCH_STOP,
	BENCH_RESET,
};

/* Files in bench/config/, one for each member of struct bench_config. */
enum bench_config_item {
	BENCH_CONFIG_BLOCKS,
	BENCH_CONFIG_CPU,
	BENCH_CONFIG_SEED,
	BENCH_CONFIG_ITEMS,
};

extern const char *const bench_config_names[BENCH_CONFIG_ITEMS];

int bench_find_group_index(const char *name);
int bench_find_config_item(const char *word);
bool bench_is_reserved_word(const char *word);
int bench_parse_command(char *text, enum bench_verb *verb, u64 *groups);

#endif /* BENCH_MODULES_CONTROL_H */
