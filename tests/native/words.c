// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the parser of lines and numbers that users write to control files. */
#include <errno.h>
#include <string.h>

#include <linux/kernel.h>

#include <kmarkers/words.h>

#include "../../base/words.h"
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

/* Texts that are refused as signed and as unsigned numbers. */
static const char *const no_numbers[] = {
	"", "\n", "1\n", "\n1", "1\n2", "1\n\n", "0x1\n", " 1", "1 ", "1x", "0x", "08", "--1", "+-1",
	"one", "18446744073709551616",
};

static const char *check_numbers(void)
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

static const char *check_lines(void)
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

const struct test_case words_cases[] = {
	{ "words_numbers", check_numbers, NULL },
	{ "words_lines", check_lines, NULL },
};

const unsigned int words_nr_cases = ARRAY_SIZE(words_cases);
