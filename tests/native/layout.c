// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of trace records: the fields that are made from a format, and arguments that are written to
 * a record and read back.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/err.h>
#include <linux/kernel.h>

#include "../../events/format.h"
#include "../../events/layout.h"
#include "layout.h"

#define HEAD	8
#define GUARD	0x5a

static u8 record[LAYOUT_RECORD + 1];
static char text[2 * LAYOUT_RECORD];
static u16 lengths[MARKER_MAX_ARGS];

/* Return the fields of a format as text: "name type offset bytes signed, ...". */
static const char *describe_fields(const char *format)
{
	struct record_layout *layout = kmarkers_layout_make(format, HEAD);
	unsigned int i, at = 0;

	text[0] = '\0';
	if (IS_ERR(layout)) {
		snprintf(text, sizeof(text), "error %ld", PTR_ERR(layout));
		return text;
	}
	for (i = 0; i < layout->nr; i++) {
		const struct layout_field *field = &layout->field[i];

		at += snprintf(text + at, sizeof(text) - at, "%s%s %s %u %u %d", i ? ", " : "",
			       field->name, field->type, field->offset, field->bytes,
			       field->is_signed);
	}
	kmarkers_layout_free(layout);
	return text;
}

#define EXPECT_FIELDS(format, wanted)	EXPECT(!strcmp(describe_fields(format), wanted))

static const char *layout_derives_field_names(void)
{
	EXPECT_FIELDS("sector %llu bytes %u",
		      "sector unsigned long 8 8 0, bytes unsigned int 16 4 0");
	EXPECT_FIELDS("a=%d b: %hd c=0x%hhx %d",
		      "a int 8 4 1, b short 12 2 1, c unsigned char 14 1 0, arg4 int 16 4 1");
	EXPECT_FIELDS("%d|%d 7 %d", "arg1 int 8 4 1, arg2 int 12 4 1, arg3 int 16 4 1");
	EXPECT_FIELDS("x %d x %ld", "x int 8 4 1, arg2 long 16 8 1");
	EXPECT_FIELDS("addr0x%x ax%x", "addr unsigned int 8 4 0, ax unsigned int 12 4 0");
	EXPECT_FIELDS("a0b%x a,0x%x", "a0b unsigned int 8 4 0, arg2 unsigned int 12 4 0");
	EXPECT_FIELDS("int %d common_pid %d", "arg1 int 8 4 1, arg2 int 12 4 1");
	EXPECT_FIELDS("who %s at %p is %c",
		      "who __data_loc char[] 8 4 0, at void * 16 8 0, is char 24 1 1");
	EXPECT_FIELDS("n %*d", "arg1 int 8 4 1, n int 12 4 1");
	EXPECT_FIELDS("100%% of %u", "of unsigned int 8 4 0");
	EXPECT_FIELDS("a_name_that_is_longer_than_a_field_has_room %d", "arg1 int 8 4 1");
	EXPECT_FIELDS("c %c mac %pM n %d key %3phN %100ph",
		      "c char 8 1 1, mac u8[6] 9 6 0, n int 16 4 1, key u8[3] 20 3 0, arg5 void * 24 8 0");
	EXPECT_FIELDS(" ", "");
	EXPECT_FIELDS("ip #p%ld nr #4u%lu cpu #%d", "ip long 8 8 1, nr unsigned long 16 8 0, cpu int 24 4 1");
	EXPECT_FIELDS("asm %d typeof %d unix %d linux %d",
		      "arg1 int 8 4 1, arg2 int 12 4 1, arg3 int 16 4 1, arg4 int 20 4 1");
	EXPECT_FIELDS("__attribute__ %d _Bool %d _own %d",
		      "arg1 int 8 4 1, arg2 int 12 4 1, _own int 16 4 1");
	EXPECT_FIELDS("_ %d _1 %d _A %d _Z %d",
		      "_ int 8 4 1, _1 int 12 4 1, arg3 int 16 4 1, arg4 int 20 4 1");
	EXPECT_FIELDS("a\x80 %d b\xff %d", "arg1 int 8 4 1, arg2 int 12 4 1");
	EXPECT_FIELDS("gr\xc3\xb6\xc3\x9f" "e %d \xce\xb1" "b %d", "arg1 int 8 4 1, arg2 int 12 4 1");
	return NULL;
}

/*
 * Check that a field named argN is always the N-th field, and that all field names of a format are
 * different.
 */
static const char *layout_gives_each_field_a_unique_name(void)
{
	EXPECT_FIELDS("arg2 %d %d", "arg1 int 8 4 1, arg2 int 12 4 1");
	EXPECT_FIELDS("%d arg1 %d", "arg1 int 8 4 1, arg2 int 12 4 1");
	EXPECT_FIELDS("arg3 %d arg1 %d %d", "arg1 int 8 4 1, arg2 int 12 4 1, arg3 int 16 4 1");
	EXPECT_FIELDS("site %d arg1 %d arg2 %d", "site int 8 4 1, arg1 int 12 4 1, arg2 int 16 4 1");
	EXPECT_FIELDS("arg2 %*d", "arg1 int 8 4 1, arg2 int 12 4 1");
	return NULL;
}

static const char *layout_refuses_invalid_formats(void)
{
	static char arrays[LAYOUT_RECORD / 64 * sizeof("%64ph")];
	char format[2 * (MARKER_MAX_ARGS + 1) + 1] = "";
	unsigned int i;

	EXPECT_FIELDS("%n", "error -22");
	EXPECT_FIELDS("%*% %d", "error -22");
	EXPECT_FIELDS("%100000d", "error -22");
	for (i = 0; i < MARKER_MAX_ARGS; i++)
		strcat(format, "%d");
	describe_fields(format);
	EXPECT(strstr(text, "arg32 int 132 4 1"));
	strcat(format, "%d");
	EXPECT_FIELDS(format, "error -7");
	format[2 * MARKER_MAX_ARGS] = '\0';
	memcpy(format + 2 * MARKER_MAX_ARGS - 2, "%*d", 4);
	EXPECT_FIELDS(format, "error -7");
	/* Arrays that fill a record are accepted; a further array is refused. */
	arrays[0] = '\0';
	for (i = 0; i < LAYOUT_RECORD / 64 - 1; i++)
		strcat(arrays, "%64ph");
	describe_fields(arrays);
	EXPECT(!strstr(text, "error"));
	strcat(arrays, "%64ph");
	EXPECT_FIELDS(arrays, "error -7");
	return NULL;
}

/* Return true if a marker's format gives the print_fmt @wanted. */
static bool fmt_is(const char *format, const char *wanted)
{
	struct record_layout *layout = kmarkers_layout_make(format, HEAD);
	bool same = !IS_ERR(layout) && !strcmp(layout->print_fmt, wanted);

	if (!IS_ERR(layout))
		kmarkers_layout_free(layout);
	return same;
}

static const char *layout_writes_print_fmt(void)
{
	EXPECT(fmt_is("sector %llu bytes %u",
		      "\"sector %lu bytes %u\", REC->sector, REC->bytes"));
	EXPECT(fmt_is("who %5s", "\"who %5s\", __get_str(who)"));
	EXPECT(fmt_is("a \"b\" \\ %-5d\n", "\"a \\\"b\\\" \\\\ %-5d\\n\", REC->arg1"));
	EXPECT(fmt_is("%ps %pB %pV %pI4", "\"%ps %pS %p %p\", REC->arg1, REC->arg2, REC->arg3, REC->arg4"));
	EXPECT(fmt_is("mac %pM %d", "\"mac %pM %d\", REC->mac, REC->arg2"));
	EXPECT(fmt_is("%6phC %4ph %4phN %4phC", "\"%pM %s %s %s\", REC->arg1, __print_hex(REC->arg2, 4), "
		      "__print_hex_str(REC->arg3, 4), __print_hex(REC->arg4, 4)"));
	EXPECT(fmt_is(" ", "\" \""));
	EXPECT(fmt_is("gr\xc3\xb6\xc3\x9f" "e %d", "\"gr??e %d\", REC->arg1"));
	return NULL;
}

/*
 * Check that a print fmt has only conversions that the tracers of Debian 12 support.  The tracers
 * take no argument for any other conversion, so later conversions would print wrong arguments.
 */
static const char *layout_uses_only_supported_conversions(void)
{
	EXPECT(fmt_is("c %c %-3c", "\"c %s %-3s\", REC->c, REC->arg2"));
	EXPECT(fmt_is("t %td z %zu L %Lx", "\"t %ld z %lu L %lx\", REC->t, REC->z, REC->L"));
	EXPECT(fmt_is("%hhd %hu %ls %#u %5%", "\"%hhd %hu %s %u %%\", REC->arg1, REC->arg2, "
		      "__get_str(arg3), REC->arg4"));
	EXPECT(fmt_is("p %+d s % ld", "\"p %s%d s %s%ld\", (REC->p & 0x80000000) ? \"\" : \"+\", REC->p, "
		      "(REC->s & 0x8000000000000000) ? \"\" : \" \", REC->s"));
	EXPECT(fmt_is("%+5d %+u", "\"%5d %u\", REC->arg1, REC->arg2"));
	EXPECT(fmt_is("a %#x b %#06X c %#6x d %-#6x o %#o",
		      "\"a 0x%x b 0X%04X c %#6x d 0x%-4x o %#o\", REC->a, REC->b, REC->c, REC->d, REC->o"));
	EXPECT(fmt_is("a %#03x b %-#3X c %#04x",
		      "\"a 0x%01x b 0X%-1X c 0x%02x\", REC->a, REC->b, REC->c"));
	EXPECT(fmt_is("%08.3d %03.8d %.0d %8.3d", "\"%08d %.8d %d %8.3d\", REC->arg1, REC->arg2, "
		      "REC->arg3, REC->arg4"));
	return NULL;
}

/* Check that a conversion of a print fmt has at most one star, for its width or its precision. */
static const char *layout_uses_at_most_one_star(void)
{
	EXPECT(fmt_is("%*d", "\"%*d\", (REC->arg1 & 0xffffff00) ? 0 : REC->arg1, REC->arg2"));
	EXPECT(fmt_is("%+.*d", "\"%s%.*d\", (REC->arg2 & 0x80000000) ? \"\" : \"+\", "
		      "(REC->arg1 & 0xffffff00) ? 1 : REC->arg1, REC->arg2"));
	EXPECT(fmt_is("%0.*d", "\"%.*d\", (REC->arg1 & 0xffffff00) ? 1 : REC->arg1, REC->arg2"));
	EXPECT(fmt_is("%-*.*d", "\"%-.*d\", (REC->arg2 & 0xffffff00) ? 1 : REC->arg2, REC->arg3"));
	EXPECT(fmt_is("%.*s %*s %*.*s", "\"%s %*s %*s\", __get_str(arg2), "
		      "(REC->arg3 & 0xffffff00) ? 0 : REC->arg3, __get_str(arg4), "
		      "(REC->arg5 & 0xffffff00) ? 0 : REC->arg5, __get_str(arg7)"));
	EXPECT(fmt_is("symbol %*pS %*p then %d", "\"symbol %pS %p then %d\", REC->symbol, REC->arg4, "
		      "REC->then"));
	return NULL;
}

/*
 * Return the number of arguments that the quoted part of a print fmt takes, as parsed by
 * libtraceevent, or -1 if libtraceevent does not support a conversion.
 */
static int count_arguments_taken_by_fmt(const char *at, const char *end)
{
	int nr = 0;

	while ((at = memchr(at, '%', end - at))) {
		const char *star;

		if (*++at == '%') {
			at++;
			continue;
		}
		star = at + strspn(at, "-0#.123456789");
		nr += 1 + (*star == '*');
		at = star + (*star == '*');
		at += strspn(at, ".123456789");
		at += strspn(at, "hl");
		if (at >= end || !strchr("diuxXosp", *at))
			return -1;
	}
	return nr;
}

/* Return the number of arguments that follow the quoted part of a print fmt. */
static int count_arguments_behind_fmt(const char *at)
{
	bool quoted = false;
	int nr = 0, depth = 0;

	for (; *at; at++) {
		quoted ^= *at == '"';
		depth += quoted ? 0 : (*at == '(') - (*at == ')');
		nr += !quoted && !depth && *at == ',';
	}
	return nr;
}

/*
 * Return true if the quoted part of the print fmt takes all arguments that follow it, and no more.
 */
static bool does_fmt_take_all_arguments(const char *format)
{
	struct record_layout *layout = kmarkers_layout_make(format, HEAD);
	const char *end;
	bool same;

	if (IS_ERR(layout))
		return false;
	end = strstr(layout->print_fmt, "\", ");
	same = end && count_arguments_taken_by_fmt(layout->print_fmt + 1, end) ==
		      count_arguments_behind_fmt(end + 1);
	if (!same)
		printf("# %s: %s\n", format, layout->print_fmt);
	kmarkers_layout_free(layout);
	return same;
}

/*
 * Return the string in @from whose index is the last digit of the number *@left in base @nr, and
 * remove this digit from the number.
 */
static const char *pick_string(unsigned int *left, const char *const *from, unsigned int nr)
{
	const char *one = from[*left % nr];

	*left /= nr;
	return one;
}

#define PICK(left, from)	pick_string(&(left), from, ARRAY_SIZE(from))

/* Check all combinations of flags, widths, precisions, lengths and types. */
static const char *layout_gives_each_conversion_its_arguments(void)
{
	static const char *const minus[] = { "", "-" }, *const plus[] = { "", "+", " ", "+ " };
	static const char *const hash[] = { "", "#" }, *const zero[] = { "", "0" };
	static const char *const widths[] = { "", "5", "12", "*" };
	static const char *const precisions[] = { "", ".", ".3", ".*" };
	static const char *const lengths[] = { "", "hh", "h", "l", "ll", "L", "z", "t" };
	static const char *const types[] = {
		"d", "i", "u", "x", "X", "o", "c", "s", "p", "ps", "pS", "pB", "pM", "pm", "ph",
		"phC", "phN", "pI4", "pUb",
	};
	unsigned int nr, left = 0;
	char format[64];

	for (nr = 0; !left; nr++) {
		left = nr;
		snprintf(format, sizeof(format), "%%%s%s%s%s%s%s%s%s then %%d", PICK(left, minus),
			 PICK(left, plus), PICK(left, hash), PICK(left, zero), PICK(left, widths),
			 PICK(left, precisions), PICK(left, lengths), PICK(left, types));
		EXPECT(does_fmt_take_all_arguments(format));
	}
	return NULL;
}

/*
 * Write the arguments to a record, read the record back and print it.  Return the text, or NULL if
 * bytes outside of the measured length were written.
 */
static const char *record_and_format(const char *format, ...)
{
	struct record_layout *layout = kmarkers_layout_make(format, HEAD);
	unsigned long slots[MARKER_MAX_ARGS];
	unsigned int i, bytes;
	va_list args;

	if (IS_ERR(layout))
		return NULL;
	va_start(args, format);
	for (i = 0; i < layout->nr; i++)
		slots[i] = va_arg(args, unsigned long);
	va_end(args);
	memset(record, GUARD, sizeof(record));
	bytes = kmarkers_layout_compute_size(layout, slots, lengths);
	kmarkers_layout_write_record(layout, record, slots, lengths);
	memset(slots, 0, sizeof(slots));
	if (kmarkers_layout_read_record(layout, record, bytes, slots))
		kmarkers_format_print(text, sizeof(text), format, slots);
	else
		bytes = LAYOUT_RECORD + 1;
	kmarkers_layout_free(layout);
	for (i = 0; i < sizeof(record); i++)
		if ((i < HEAD || i >= bytes) && record[i] != GUARD)
			return NULL;
	return bytes <= LAYOUT_RECORD ? text : NULL;
}

#define EXPECT_PRINTED(wanted, format, args...)					\
do {										\
	const char *__text = record_and_format(format, ## args);			\
										\
	EXPECT(__text && !strcmp(__text, wanted));				\
} while (0)

static const char *layout_reads_back_arguments(void)
{
	EXPECT_PRINTED("-1 255 -2 65535", "%hhd %hhu %hd %hu", -1, 255, -2, 65535);
	EXPECT_PRINTED("-3 4294967293 -4 18446744073709551612", "%d %u %ld %lu", -3, -3, -4L, -4L);
	EXPECT_PRINTED("x|   ab|c ", "%c|%5s|%-2s", 'x', "ab", "c");
	EXPECT_PRINTED("ab abc ( ", "%.2s %.*s %.1s %s", "abcd", 3, "abcd", NULL, "");
	EXPECT_PRINTED("[  x][x  ][ y]", "[%3c][%-3c][%*c]", 'x', 'x', 2, 'y');
	EXPECT_PRINTED("[][(n]", "[%c][%.*s]", 0, 2, NULL);
	EXPECT_PRINTED("(fault) 7", "%s %d", (char *)0x10, 7);
	EXPECT_PRINTED("    5|007", "%*d|%.*d", 5, 5, 3, 7);
	EXPECT_PRINTED(" ", " ");
	return NULL;
}

static const char *layout_reads_back_arrays(void)
{
	static const u8 bytes[] = { 0x00, 0x1f, 0xa0, 0xff, 0x05, 0x60, 0x07 };

	EXPECT_PRINTED("00:1f:a0:ff:05:60 7", "%pM %d", bytes, 7);
	EXPECT_PRINTED("001fa0ff0560", "%pm", bytes);
	EXPECT_PRINTED("00:1f:a0:ff:05:60 7", "%*pM %d", 20, bytes, 7);
	EXPECT_PRINTED("00 1f|00:1f:a0|00-1f|001fa0ff056007", "%2ph|%3phC|%2phD|%7phN",
		       bytes, bytes, bytes, bytes);
	EXPECT_PRINTED("00:00:00:00:00:00 7", "%pM %d", (void *)0x10, 7);
	EXPECT_PRINTED("00 00 x", "%2ph %c", NULL, 'x');
	return NULL;
}

/* Check strings without a terminating zero, at the end of readable memory. */
static const char *layout_reads_unterminated_strings(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = two + page;

	EXPECT(two != MAP_FAILED);
	munmap(end, page);
	memcpy(end - 3, "xyz", 3);
	EXPECT_PRINTED("xyz", "%s", end - 3);
	EXPECT_PRINTED("xyz", "%.3s", end - 3);
	EXPECT_PRINTED("z", "%s", end - 1);
	EXPECT_PRINTED("(fault)", "%s", end);
	EXPECT_PRINTED("", "%.0s", end);
	munmap(two, page);
	return NULL;
}

static const char *layout_truncates_long_strings(void)
{
	static char many[3 * MARKER_MAX_ARGS + 1], endless[LAYOUT_RECORD + 1];
	unsigned int i;

	memset(endless, 'e', LAYOUT_RECORD);
	EXPECT(strlen(record_and_format("%s", endless)) == LAYOUT_STRING - 1);
	EXPECT(strlen(record_and_format("%.*s", 300, endless)) == 300);
	EXPECT(strlen(record_and_format("%.*s", LAYOUT_RECORD, endless)) == LAYOUT_STRING - 1);
	EXPECT(strlen(record_and_format("%s%s%s%s", endless, endless, endless, endless)) <
	       LAYOUT_RECORD);
	for (i = 0; i < MARKER_MAX_ARGS; i++)
		memcpy(many + 2 * i, "%s", 3);
	EXPECT(record_and_format(many, endless, endless, endless, endless, endless, endless, endless,
				 endless, endless, endless, endless, endless, endless, endless, endless,
				 endless, endless, endless, endless, endless, endless, endless, endless,
				 endless, endless, endless, endless, endless, endless, endless, endless,
				 endless));
	return NULL;
}

/* Check that a precision limits how many bytes of a string are in the record. */
static const char *layout_truncates_strings_to_precision(void)
{
	struct record_layout *layout = kmarkers_layout_make("%.2s %.*s", HEAD);
	unsigned long slots[] = { (unsigned long)"abcd", 3, (unsigned long)"abcd" };

	EXPECT(!IS_ERR(layout) && layout->nr == 3);
	EXPECT(kmarkers_layout_compute_size(layout, slots, lengths) == layout->bytes + 3 + 4);
	EXPECT(lengths[0] == 3 && lengths[2] == 4);
	slots[1] = -1;
	EXPECT(kmarkers_layout_compute_size(layout, slots, lengths) == layout->bytes + 3 + 5);
	kmarkers_layout_free(layout);
	return NULL;
}

/*
 * Check a string that becomes longer, shorter or unreadable after its length was computed and
 * before it is copied.
 */
static const char *layout_accepts_strings_that_change(void)
{
	struct record_layout *layout = kmarkers_layout_make("%s", HEAD);
	char string[] = "four";
	unsigned long slots[] = { (unsigned long)string };
	unsigned int bytes;

	EXPECT(!IS_ERR(layout));
	memset(record, GUARD, sizeof(record));
	bytes = kmarkers_layout_compute_size(layout, slots, lengths);
	EXPECT(bytes == HEAD + 4 + 5);
	memset(string, 'l', sizeof(string));
	kmarkers_layout_write_record(layout, record, slots, lengths);
	EXPECT(!strcmp((char *)record + HEAD + 4, "llll") && record[bytes] == GUARD);
	strcpy(string, "s");
	kmarkers_layout_write_record(layout, record, slots, lengths);
	EXPECT(!memcmp(record + HEAD + 4, "s\0\0\0", 5) && record[bytes] == GUARD);
	slots[0] = 0x10;
	kmarkers_layout_write_record(layout, record, slots, lengths);
	EXPECT(!strcmp((char *)record + HEAD + 4, "(fau") && record[bytes] == GUARD);
	kmarkers_layout_free(layout);
	return NULL;
}

/* Check that a record is refused if it is too short, or if a string is not inside the record. */
static const char *layout_refuses_invalid_records(void)
{
	struct record_layout *layout = kmarkers_layout_make("%s", HEAD);
	unsigned long slots[] = { (unsigned long)"four" };
	u32 *word = (u32 *)(record + HEAD);
	unsigned int bytes;

	EXPECT(!IS_ERR(layout));
	bytes = kmarkers_layout_compute_size(layout, slots, lengths);
	kmarkers_layout_write_record(layout, record, slots, lengths);
	EXPECT(kmarkers_layout_read_record(layout, record, bytes, slots));
	EXPECT(!kmarkers_layout_read_record(layout, record, bytes - 1, slots));
	EXPECT(!kmarkers_layout_read_record(layout, record, HEAD + 3, slots));
	*word -= 1 << 16;
	EXPECT(!kmarkers_layout_read_record(layout, record, bytes, slots));
	*word = HEAD;
	EXPECT(!kmarkers_layout_read_record(layout, record, bytes, slots));
	*word = 0xffffffff;
	EXPECT(!kmarkers_layout_read_record(layout, record, bytes, slots));
	kmarkers_layout_free(layout);
	return NULL;
}

const struct test_case layout_cases[] = {
	{ "layout_derives_field_names", layout_derives_field_names, NULL },
	{ "layout_gives_each_field_a_unique_name", layout_gives_each_field_a_unique_name, NULL },
	{ "layout_refuses_invalid_formats", layout_refuses_invalid_formats, NULL },
	{ "layout_writes_print_fmt", layout_writes_print_fmt, NULL },
	{ "layout_uses_only_supported_conversions", layout_uses_only_supported_conversions, NULL },
	{ "layout_uses_at_most_one_star", layout_uses_at_most_one_star, NULL },
	{ "layout_gives_each_conversion_its_arguments", layout_gives_each_conversion_its_arguments,
	  NULL },
	{ "layout_reads_back_arguments", layout_reads_back_arguments, NULL },
	{ "layout_reads_back_arrays", layout_reads_back_arrays, NULL },
	{ "layout_reads_unterminated_strings", layout_reads_unterminated_strings, NULL },
	{ "layout_truncates_long_strings", layout_truncates_long_strings, NULL },
	{ "layout_truncates_strings_to_precision", layout_truncates_strings_to_precision, NULL },
	{ "layout_accepts_strings_that_change", layout_accepts_strings_that_change, NULL },
	{ "layout_refuses_invalid_records", layout_refuses_invalid_records, NULL },
};

const unsigned int layout_nr_cases = ARRAY_SIZE(layout_cases);
