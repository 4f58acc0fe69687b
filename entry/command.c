// SPDX-License-Identifier: GPL-2.0-only
/* Parse and run the commands written to the file entry/control, such as "my_module:my_* count". */
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/words.h>

#include "command.h"
#include "events.h"
#include "pattern.h"
#include "registry.h"
#include "rules.h"

static int switch_entry_counting(const char *pattern, bool on)
{
	return on ? entry_rule_add(pattern, ENTRY_COUNT) : entry_rule_remove(pattern, ENTRY_COUNT);
}

static int switch_entry_event(const char *pattern, bool on)
{
	struct patcher_pattern parsed;

	if (!on)
		return entry_rule_remove(pattern, ENTRY_EVENT);
	/* Reject a malformed pattern before creating events. */
	return entry_pattern_parse(&parsed, pattern) ?: entry_events_register() ?:
	       entry_rule_add(pattern, ENTRY_EVENT);
}

/*
 * Run the command "none": remove all rules whose pattern is @pattern.  Refuse "-none", for which
 * @on is false.
 */
static int remove_rules_of_pattern(const char *pattern, bool on)
{
	int err, other;

	if (!on)
		return -EINVAL;
	err = entry_rule_remove(pattern, ENTRY_EVENT);
	if (err && err != -ENOENT)
		return err;
	other = entry_rule_remove(pattern, ENTRY_COUNT);
	return other == -ENOENT ? err : other;
}

static const struct patcher_verb verbs[] = {
	{ "count", switch_entry_counting },
	{ "event", switch_entry_event },
	{ "none", remove_rules_of_pattern },
};

/**
 * entry_run_command() - parse and run one command
 * @line: "PATTERN VERB" or "PATTERN -VERB", with one space between them; modified
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @line has another form or an unknown verb; or an error of entry_rule_add(),
 * entry_rule_remove() or entry_events_register().
 */
int entry_run_command(char *line)
{
	return patcher_run_command(line, verbs, ARRAY_SIZE(verbs));
}
