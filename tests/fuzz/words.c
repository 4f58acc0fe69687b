// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: the parsers of texts that are written to files in debugfs.  The input is the text,
 * or selects pieces of valid texts.  The result of each parser is compared with the result of a
 * second implementation in this file.
 */
#include <errno.h>

#include <kmarkers/words.h>

#include "../../markers/command.h"
#include "../../base/words.h"
#include "fuzz.h"

#define MAX_TEXT	600
#define WORDS		3

static const char *const words[] = {
	"attach", "detach", "trace", "-trace", "count", "-count", "none", "*", "ev_plain", "a1",
	"vfs_read", "Zz", "", "0", "1", "+trace",
};

static const char *const digits[] = {
	"0", "1", "7", "8", "f", "0x", "00", "18446744073709551615", "9223372036854775807",
	"9223372036854775808", "99999999999", "0xffffffffffffffff", "01777777777777777777777",
	"_", " ", "\t",
};

static char text[MAX_TEXT + 1];
static size_t length;

static void append_text(const char *piece, size_t bytes)
{
	if (length + bytes > MAX_TEXT)
		return;
	memcpy(text + length, piece, bytes);
	length += bytes;
}

static void append_element_of_list(struct input *in, const char *const *list, unsigned int nr)
{
	const char *piece = list[take_number_below(in, nr)];

	append_text(piece, strlen(piece));
}

/* Set text and length, as selected by the input. */
static void fill_text_from_input(struct input *in)
{
	static const char *const signs[] = { "", "", "-", "+" };
	static const char *const ends[] = { "", "", "\n", "\n\n", " ", "x" };
	unsigned int kind = take_number_below(in, 4), nr = take_number_below(in, 5);

	length = 0;
	if (!kind) {
		length = in->left < MAX_TEXT ? in->left : MAX_TEXT;
		memcpy(text, in->data, length);
	} else if (kind == 1) {
		append_element_of_list(in, signs, ARRAY_SIZE(signs));
		while (nr--)
			append_element_of_list(in, digits, ARRAY_SIZE(digits));
	} else {
		append_element_of_list(in, words, ARRAY_SIZE(words));
		for (; nr; nr--) {
			append_text(" ", 1);
			append_element_of_list(in, words, ARRAY_SIZE(words));
		}
	}
	if (kind)
		append_element_of_list(in, ends, ARRAY_SIZE(ends));
	text[length] = '\0';
}

/* Return a copy in memory of exactly the same size, so that a read behind the end is detected. */
static char *copy_to_exact_size(const char *from, size_t bytes)
{
	char *copy = malloc(bytes + 1);

	memcpy(copy, from, bytes);
	copy[bytes] = '\0';
	return copy;
}

/* Parse an unsigned number.  Return false if it is invalid or does not fit in 64 bits. */
static bool parse_unsigned_number(const char *at, __uint128_t *value)
{
	static const char all[] = "0123456789abcdef0123456789ABCDEF";
	unsigned int base = 10, nr;

	if (at[0] == '0' && at[1]) {
		base = at[1] == 'x' || at[1] == 'X' ? 16 : 8;
		at += base == 16 ? 2 : 1;
	}
	*value = 0;
	for (nr = 0; at[nr]; nr++) {
		const char *digit = strchr(all, at[nr]);

		if (!digit || (digit - all) % 16 >= base)
			return false;
		*value = *value * base + (digit - all) % 16;
		if (*value >> 64)
			return false;
	}
	return nr;
}

static void check_number_parser(const char *line, bool is_signed)
{
	bool minus = is_signed && *line == '-';
	u64 value = 0;
	__uint128_t size;
	int err = patcher_parse_number(line, is_signed, &value);
	bool good = parse_unsigned_number(line + (minus || *line == '+'), &size);

	if (is_signed && size > ((u64)1 << 63) - !minus)
		good = false;
	MUST(err == (good ? 0 : -EINVAL));
	MUST(err || value == (minus ? -(u64)size : (u64)size));
}

static void check_identifier_parser(const char *line)
{
	static const char good_ones[] =
		"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t good = strspn(line, good_ones);

	MUST(patcher_is_identifier(line) == (good && !line[good]));
}

/*
 * Find the words of @line.  Return the number of words; 0 if there are too many, or if spaces are
 * misplaced.
 */
static unsigned int split_into_words(const char *line, const char **word)
{
	unsigned int nr = 1;
	const char *at;

	word[0] = line;
	for (at = line; *at; at++) {
		if (*at != ' ')
			continue;
		if (nr == WORDS)
			return 0;
		word[nr++] = at + 1;
	}
	if (*line == ' ' || at[-1] == ' ' || strstr(line, "  "))
		return 0;
	return nr;
}

static bool is_word_at(const char *at, const char *word)
{
	size_t bytes = strlen(word);

	return !strncmp(at, word, bytes) && (!at[bytes] || at[bytes] == ' ');
}

static bool is_command_at(const char *at)
{
	return is_word_at(at, "none") || is_word_at(at + (*at == '-'), "trace") ||
	       is_word_at(at + (*at == '-'), "count");
}

/*
 * Check which bits a command adds or removes: "trace" and "count" each add a bit, "-trace" and
 * "-count" each remove a bit, and "none" removes both bits.
 */
static void check_command(const struct control_command *command, const char *at)
{
	unsigned int trace = is_word_at(at + (*at == '-'), "trace") ? CONTROL_TRACE : 0;
	unsigned int count = is_word_at(at + (*at == '-'), "count") ? CONTROL_COUNT : 0;
	unsigned int which = is_word_at(at, "none") ? CONTROL_TRACE | CONTROL_COUNT : trace | count;
	bool takes = *at == '-' || is_word_at(at, "none");

	MUST(command->add == (takes ? 0 : which) && command->del == (takes ? which : 0));
}

static bool is_request_valid(const char *line, const char **word, unsigned int nr)
{
	if (nr < 2)
		return false;
	if (is_word_at(line, "attach"))
		return true;
	return nr == 2 && (is_word_at(line, "detach") || is_command_at(word[1]));
}

static void check_request(const struct control_request *request, const char **word,
			  unsigned int nr)
{
	bool attach = is_word_at(word[0], "attach"), detach = is_word_at(word[0], "detach");
	enum control_verb verb = attach ? CONTROL_ATTACH : detach ? CONTROL_DETACH : CONTROL_APPLY;

	MUST(request->verb == verb);
	MUST(is_word_at(word[attach || detach], request->object));
	MUST(!request->name == !attach && !request->command == (attach || detach));
	if (attach)
		MUST(is_word_at(word[nr - 1], request->name));
	if (request->command)
		check_command(request->command, word[1]);
}

static void check_control_parser(const char *line)
{
	const char *word[WORDS];
	unsigned int nr = split_into_words(line, word);
	char *copy = copy_to_exact_size(line, strlen(line));
	struct control_request request;
	int err = marker_command_parse_line(copy, &request);

	MUST(err == (is_request_valid(line, word, nr) ? 0 : -EINVAL));
	if (!err)
		check_request(&request, word, nr);
	free(copy);
}

/*
 * Check the two parsers for the debugfs files of a marker: the parser for the file "probe" accepts
 * a command, the parser for the file "enable" accepts 0 or 1.
 */
static void check_parsers_of_marker_files(const char *line)
{
	const struct control_command *command = marker_command_find(line);
	bool digit = (*line == '0' || *line == '1') && !line[1];

	MUST(!command == !(is_command_at(line) && !strchr(line, ' ')));
	if (command)
		check_command(command, line);
	command = marker_command_parse_enable_word(line);
	MUST(!command == !digit);
	if (command)
		check_command(command, *line == '1' ? "trace" : "-trace");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	size_t wanted;
	char *line;
	int err;

	fill_text_from_input(&in);
	check_identifier_parser(text);
	line = copy_to_exact_size(text, length);
	wanted = length - (length && text[length - 1] == '\n');
	err = kmarkers_strip_newline(line, length);
	MUST(err == (wanted && !memchr(text, 0, wanted) ? 0 : -EINVAL));
	if (!err) {
		MUST(strlen(line) == wanted && !memcmp(line, text, wanted));
		check_number_parser(line, false);
		check_number_parser(line, true);
		check_parsers_of_marker_files(line);
		check_control_parser(line);
	}
	free(line);
	return 0;
}
