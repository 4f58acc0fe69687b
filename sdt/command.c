// SPDX-License-Identifier: GPL-2.0-only
/* Parse and run the commands written to the file sdt/control, such as "disk:::io-start count". */
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/sdt.h>
#include <kmarkers/words.h>

#include "command.h"
#include "count.h"
#include "events.h"

/* Remove a pattern from all lists.  Events come first: removing them may be refused. */
static int remove_sdt_pattern(const char *pattern, bool on)
{
	int err, other;

	if (!on)
		return -EINVAL;
	err = sdt_switch_event(pattern, false);
	if (err && err != -ENOENT)
		return err;
	other = sdt_count(pattern, false);
	return other == -ENOENT ? err : other;
}

static const struct patcher_verb verbs[] = {
	{ "count", sdt_count },
	{ "event", sdt_switch_event },
	{ "promote", sdt_promote },
	{ "none", remove_sdt_pattern },
};

/**
 * sdt_command_run() - parse and run one command
 * @line: "PATTERN VERB" or "PATTERN -VERB", with one space between them; modified
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @line is not such a command; or an error of the command.
 */
int sdt_command_run(char *line)
{
	return patcher_run_verb(line, verbs, ARRAY_SIZE(verbs));
}
