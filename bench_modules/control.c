// SPDX-License-Identifier: GPL-2.0-only
/* Parse commands that are written to the debugfs file bench/control. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "control.h"
#include "groups.h"

/* Return the index of the benchmark named @name in bench_groups[], or -EINVAL. */
int bench_find_group_index(const char *name)
{
	unsigned int i;

	for (i = 0; i < bench_nr_groups; i++)
		if (bench_groups[i] && !strcmp(bench_groups[i]->name, name))
			return i;
	return -EINVAL;
}

/* Return a bit mask of all groups: bit i is set if bench_groups[i] exists. */
u64 bench_get_group_mask(void)
{
	unsigned int i;
	u64 all = 0;

	for (i = 0; i < bench_nr_groups; i++)
		if (bench_groups[i])
			all |= 1ULL << i;
	return all;
}

static const char *const verbs[] = {
	[BENCH_START] = "start",
	[BENCH_STOP] = "stop",
	[BENCH_RESET] = "reset",
};

const char *const bench_config_names[BENCH_CONFIG_ITEMS] = {
	[BENCH_CONFIG_BLOCKS] = "blocks",
	[BENCH_CONFIG_CPU] = "cpu",
	[BENCH_CONFIG_SEED] = "seed",
};

static int find_word_index(const char *word, const char *const *words, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -EINVAL;
}

/* Return the enum bench_config_item of the setting named @word, or -EINVAL. */
int bench_find_config_item(const char *word)
{
	return find_word_index(word, bench_config_names, BENCH_CONFIG_ITEMS);
}

/*
 * Return true if a word is a command or the name of a setting.  Such a word must not be the name
 * of a benchmark.
 */
bool bench_is_reserved_word(const char *word)
{
	return find_word_index(word, verbs, ARRAY_SIZE(verbs)) >= 0 ||
	       bench_find_config_item(word) >= 0;
}

static int parse_command_verb(const char *word, enum bench_verb *verb)
{
	int found = find_word_index(word, verbs, ARRAY_SIZE(verbs));

	if (found < 0)
		return found;
	*verb = found;
	return 0;
}

/**
 * bench_parse_command() - parse a command
 * @text: "start", followed by any number of benchmark names; "stop"; "reset"; or only names of
 *	benchmarks, which means "start".  The function modifies the text.
 * @verb: set to the command
 * @groups: set to a bit mask of the named benchmarks, or of all benchmarks if none is named; only
 *	BENCH_START uses it
 *
 * Return: 0, or -EINVAL for an unknown word or for a word after "stop" or "reset".
 */
int bench_parse_command(char *text, enum bench_verb *verb, u64 *groups)
{
	bool first = true, named = false;
	char *word;

	*verb = BENCH_START;
	*groups = 0;
	while ((word = strsep(&text, " \t\n"))) {
		int group;

		if (!*word)
			continue;
		if (first && !parse_command_verb(word, verb)) {
			first = false;
			named = true;
			continue;
		}
		first = false;
		group = bench_find_group_index(word);
		if (group < 0 || *verb != BENCH_START)
			return -EINVAL;
		*groups |= 1ULL << group;
		named = true;
	}
	if (!named)
		return -EINVAL;
	if (!*groups)
		*groups = bench_get_group_mask();
	return 0;
}
