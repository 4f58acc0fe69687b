/* SPDX-License-Identifier: GPL-2.0-only */
/* Parsing of commands that are written to the debugfs files "control", "enable" and "probe". */
#ifndef MARKERS_COMMAND_H
#define MARKERS_COMMAND_H

/* What a command enables or disables: trace events, or the probe "count". */
#define CONTROL_TRACE	1
#define CONTROL_COUNT	2

/* Maximum length of a word that is written to the file "probe" or "enable", in bytes. */
#define CONTROL_WORD	32

/**
 * struct control_command - a command for all markers that have one name
 * @word: the command as written, such as "trace" or "-count"
 * @add: CONTROL_TRACE or CONTROL_COUNT, which the command enables; 0 if it enables nothing
 * @del: mask of CONTROL_TRACE and CONTROL_COUNT that the command disables; 0 if it disables nothing
 */
struct control_command {
	const char *word;
	unsigned int add;
	unsigned int del;
};

enum control_verb {
	CONTROL_APPLY,
	CONTROL_ATTACH,
	CONTROL_DETACH,
};

/**
 * struct control_request - a parsed line that was written to the file "control"
 * @verb: kind of the request: apply a command, attach a marker or detach one
 * @command: for CONTROL_APPLY the command, else NULL
 * @object: the pattern of marker names, the function to attach a marker to, or the marker to detach
 * @name: for CONTROL_ATTACH the name of the marker, else NULL
 */
struct control_request {
	enum control_verb verb;
	const struct control_command *command;
	const char *object;
	const char *name;
};

const struct control_command *marker_command_find(const char *word);
const struct control_command *marker_command_parse_enable_word(const char *word);
int marker_command_parse_line(char *line, struct control_request *request);

#endif /* MARKERS_COMMAND_H */
