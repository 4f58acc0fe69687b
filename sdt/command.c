// SPDX-License-Identifier: GPL-2.0-only
/* Parse and run the commands written to the file sdt/control, such as "disk:::io-start count". */
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/sdt.h>
#include <kmarkers/words.h>

#include "command.h"
#include "count.h"
#include "events.h"

/*
 * Run the command "none": undo the commands "event" and "count" that were run with @pattern. Remove
 * the events first; if they cannot be removed, change nothing. Refuse "-none", for which @on is
 * false.
 */
static int disable_event_and_counting(const char *pattern, bool on)
{
	int err, other;

	if (!on)
		return -EINVAL;
	err = sdt_add_or_remove_events(pattern, false);
	if (err && err != -ENOENT)
		return err;
	other = sdt_switch_hit_counting(pattern, false);
	return other == -ENOENT ? err : other;
}

static const struct patcher_verb verbs[] = {
	{ "count", sdt_switch_hit_counting },
	{ "event", sdt_add_or_remove_events },
	{ "promote", sdt_promote },
	{ "none", disable_event_and_counting },
};

/**
 * sdt_run_command() - parse and run one command
 * @line: "PATTERN VERB" or "PATTERN -VERB", with one space between them; modified
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @line has neither form, or an unknown verb; or an error of the command.
 */
int sdt_run_command(char *line)
{
	return patcher_run_command(line, verbs, ARRAY_SIZE(verbs));
}
