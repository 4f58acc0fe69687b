// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the parser of lines and numbers that users write to control files. */
#include <errno.h>
#include <string.h>

#include <linux/kernel.h>

#include <kmarkers/words.h>

#include "../../base/words.h"
#include "../../markers/command.h"
#include "words.h"

static const struct {
	const char *text;
	u64 value;
} unsigned_numbers[] = {
	{ "0", 0 }, { "10", 10 }, { "0x1f", 31 }, { "017", 15 },
	{ "18446744073709551615", ~0ULL },
}, signed_numbers[] = {
	{ "0", 0 }, { "10", 10 }, { "-5", -5 }, { "-0x10", -16 },
	{ "9223372036854775807", 0x7fffffffffffffffULL },
	{ "-9223372036854775808", 0x8000000000000000ULL },
};

/* Texts that are refused both as a signed and as an unsigned number. */
static const char *const no_numbers[] = {
	"", "\n", "1\n", "\n1", "1\n2", "1\n\n", "0x1\n", " 1", "1 ", "1x", "0x", "08", "--1", "+-1",
	"one", "18446744073709551616",
};

static const char *words_parse_numbers(void)
{
	unsigned int i;
	u64 value;

	for (i = 0; i < ARRAY_SIZE(unsigned_numbers); i++) {
		EXPECT(!patcher_parse_number(unsigned_numbers[i].text, false, &value));
		EXPECT(value == unsigned_numbers[i].value);
	}
	for (i = 0; i < ARRAY_SIZE(signed_numbers); i++) {
		EXPECT(!patcher_parse_number(signed_numbers[i].text, true, &value));
		EXPECT(value == signed_numbers[i].value);
	}
	for (i = 0; i < ARRAY_SIZE(no_numbers); i++) {
		EXPECT(patcher_parse_number(no_numbers[i], false, &value) == -EINVAL);
		EXPECT(patcher_parse_number(no_numbers[i], true, &value) == -EINVAL);
	}
	EXPECT(patcher_parse_number("-1", false, &value) == -EINVAL);
	EXPECT(patcher_parse_number("9223372036854775808", true, &value) == -EINVAL);
	return NULL;
}

static const char *words_strip_newlines(void)
{
	char whole[] = "a b\n", open[] = "a b", twice[] = "a\n\n", bare[] = "\n", nul[] = "a\0b";

	EXPECT(!kmarkers_strip_newline(whole, 4) && !strcmp(whole, "a b"));
	EXPECT(!kmarkers_strip_newline(open, 3) && !strcmp(open, "a b"));
	EXPECT(!kmarkers_strip_newline(twice, 3) && !strcmp(twice, "a\n"));
	EXPECT(kmarkers_strip_newline(bare, 1) == -EINVAL);
	EXPECT(kmarkers_strip_newline(bare, 0) == -EINVAL);
	EXPECT(kmarkers_strip_newline(nul, 3) == -EINVAL);
	return NULL;
}

/* Lines for the file "control" of markers, and how they are parsed. */
static const struct {
	const char *line;
	enum control_verb verb;
	const char *object;
	const char *name;
	unsigned int add;
	unsigned int del;
} control_lines[] = {
	{ "disk_* trace", CONTROL_APPLY, "disk_*", NULL, CONTROL_TRACE, 0 },
	{ "disk_* -trace", CONTROL_APPLY, "disk_*", NULL, 0, CONTROL_TRACE },
	{ "* count", CONTROL_APPLY, "*", NULL, CONTROL_COUNT, 0 },
	{ "* -count", CONTROL_APPLY, "*", NULL, 0, CONTROL_COUNT },
	{ "disk none", CONTROL_APPLY, "disk", NULL, 0, CONTROL_TRACE | CONTROL_COUNT },
	{ "attach vfs_read", CONTROL_ATTACH, "vfs_read", "vfs_read", 0, 0 },
	{ "attach vfs_read reads", CONTROL_ATTACH, "vfs_read", "reads", 0, 0 },
	{ "attach trace", CONTROL_ATTACH, "trace", "trace", 0, 0 },
	{ "detach reads", CONTROL_DETACH, "reads", NULL, 0, 0 },
	{ "detach trace", CONTROL_DETACH, "trace", NULL, 0, 0 },
};

/* Lines and words that are refused. */
static const char *const no_control_lines[] = {
	"", "disk", "trace", "attach", "detach", "disk Trace", "disk +trace", "disk trace count",
	"detach reads again", "attach vfs_read reads again", "Attach vfs_read", "disk 1",
	" disk trace", "disk  trace", "disk trace ",
};

static bool are_texts_equal(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static const char *words_parse_marker_commands(void)
{
	struct control_request request;
	char line[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(control_lines); i++) {
		unsigned int add = control_lines[i].add, del = control_lines[i].del;

		strcpy(line, control_lines[i].line);
		EXPECT(!marker_command_parse_line(line, &request));
		EXPECT(request.verb == control_lines[i].verb);
		EXPECT(are_texts_equal(request.object, control_lines[i].object));
		EXPECT(are_texts_equal(request.name, control_lines[i].name));
		EXPECT(!request.command == !(add || del));
		EXPECT(!request.command ||
		       (request.command->add == add && request.command->del == del));
	}
	for (i = 0; i < ARRAY_SIZE(no_control_lines); i++) {
		strcpy(line, no_control_lines[i]);
		EXPECT(marker_command_parse_line(line, &request) == -EINVAL);
	}
	return NULL;
}

static const char *words_in_file_enable_are_parsed(void)
{
	static const char *const wrong[] = { "", "2", "10", "00", "-1", "trace", "-trace" };
	unsigned int i;

	EXPECT(marker_command_parse_enable_word("1") == marker_command_find("trace"));
	EXPECT(marker_command_parse_enable_word("0") == marker_command_find("-trace"));
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT(!marker_command_parse_enable_word(wrong[i]));
	EXPECT(!marker_command_find("") && !marker_command_find("1"));
	return NULL;
}

const struct test_case words_cases[] = {
	{ "words_parse_numbers", words_parse_numbers, NULL },
	{ "words_strip_newlines", words_strip_newlines, NULL },
	{ "words_parse_marker_commands", words_parse_marker_commands, NULL },
	{ "words_in_file_enable_are_parsed", words_in_file_enable_are_parsed, NULL },
};

const unsigned int words_nr_cases = ARRAY_SIZE(words_cases);
