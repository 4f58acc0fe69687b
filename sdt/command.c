// SPDX-License-Identifier: GPL-2.0-only
/* Parse and run the commands written to the file sdt/control, such as "disk:::io-start count". */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/sdt.h>
#include <kmarkers/words.h>

#include "command.h"
#include "count.h"
#include "events.h"

static const struct {
	const char *word;
	int (*run)(const char *pattern, bool on);
	bool on;
} commands[] = {
	{ "count", sdt_count, true },
	{ "-count", sdt_count, false },
	{ "event", sdt_switch_event, true },
	{ "-event", sdt_switch_event, false },
	{ "promote", sdt_promote, true },
	{ "-promote", sdt_promote, false },
};

/**
 * sdt_command_run() - parse and run one command
 * @line: "PATTERN COMMAND", with one space between them; modified
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @line is not such a command; or an error of the command.
 */
int sdt_command_run(char *line)
{
	char *words[2];
	unsigned int i;

	if (patcher_split_words(line, words, ARRAY_SIZE(words)) != ARRAY_SIZE(words))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(words[1], commands[i].word))
			return commands[i].run(words[0], commands[i].on);
	return -EINVAL;
}
