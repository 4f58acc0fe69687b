// SPDX-License-Identifier: GPL-2.0-only
/* Parse and run the commands written to the file entry/control, such as "my_module:my_* count". */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "command.h"
#include "events.h"
#include "pattern.h"
#include "registry.h"
#include "rules.h"

static const struct {
	const char *word;
	u32 action;
} commands[] = {
	{ "count", ENTRY_COUNT },
	{ "event", ENTRY_EVENT },
};

static int run_entry_command(const char *pattern, u32 action, bool off)
{
	struct entry_pattern parsed;
	int err;

	if (off)
		return entry_rule_remove(pattern, action);
	/* Reject a malformed pattern before creating events. */
	err = entry_pattern_parse(&parsed, pattern);
	if (!err && action == ENTRY_EVENT)
		err = entry_events_register();
	return err ?: entry_rule_add(pattern, action);
}

/**
 * entry_command_run() - parse and run one command
 * @line: "PATTERN ACTION" or "PATTERN -ACTION", with one space between them; modified
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @line is not such a command; or an error of entry_rule_add(),
 * entry_rule_remove() or entry_events_register().
 */
int entry_command_run(char *line)
{
	char *words[2];
	unsigned int i;
	bool off;

	if (patcher_split_words(line, words, ARRAY_SIZE(words)) != ARRAY_SIZE(words))
		return -EINVAL;
	off = words[1][0] == '-';
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(words[1] + off, commands[i].word))
			return run_entry_command(words[0], commands[i].action, off);
	return -EINVAL;
}
