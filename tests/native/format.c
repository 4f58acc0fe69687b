// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the formats of markers: each format is either printed as printf() prints it, or refused.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/arguments.h>

#include "../../events/format.h"
#include "format.h"

#define GUARD	0x5a

static char text[256], wanted[256];

/*
 * Return 0, or -EINVAL if kmarkers_format_parse_conversion() does not accept a conversion of a
 * format.
 */
static int parse_all_conversions(const char *format)
{
	struct format_conversion conversion;

	while ((format = strchr(format, '%'))) {
		format = kmarkers_format_parse_conversion(format + 1, &conversion);
		if (!format)
			return -EINVAL;
	}
	return 0;
}

/*
 * Return the number of arguments of the conversions that kmarkers_format_parse_conversion()
 * accepts.
 */
static unsigned int count_arguments(const char *format)
{
	struct format_conversion conversion;
	unsigned int nr = 0;

	while ((format = strchr(format, '%'))) {
		format = kmarkers_format_parse_conversion(format + 1, &conversion);
		if (!format)
			break;
		nr += (conversion.width == FORMAT_FROM_ARGUMENT) +
		      (conversion.precision == FORMAT_FROM_ARGUMENT) + (conversion.type != '%');
	}
	return nr;
}

static unsigned int print_args(char *to, unsigned int size, const char *format, ...)
{
	unsigned long slots[MARKER_MAX_ARGS];
	unsigned int i, nr = count_arguments(format);
	va_list args;

	va_start(args, format);
	for (i = 0; i < nr; i++)
		slots[i] = va_arg(args, unsigned long);
	va_end(args);
	return kmarkers_format_print(to, size, format, slots);
}

/* Expect the text that snprintf() writes for the same arguments. */
#define EXPECT_AS_PRINTF(format, args...)					\
do {										\
	snprintf(wanted, sizeof(wanted), format, ## args);			\
	EXPECT(print_args(text, sizeof(text), format, ## args) == strlen(wanted)); \
	EXPECT(!strcmp(text, wanted));						\
	EXPECT(!parse_all_conversions(format));						\
} while (0)

static const char *format_prints_numbers(void)
{
	EXPECT_AS_PRINTF("plain text, 100%%");
	EXPECT_AS_PRINTF("%d %i %u", INT_MIN, INT_MAX, UINT_MAX);
	EXPECT_AS_PRINTF("%ld %lu %lld %llu", LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX);
	EXPECT_AS_PRINTF("%zu %td", (size_t)-1, (ptrdiff_t)-1);
	EXPECT_AS_PRINTF("%hhd %hhu %hd %hu", (char)-3, (unsigned char)253, (short)-4,
			 (unsigned short)65532);
	EXPECT_AS_PRINTF("%x %X %o %#x %#o %#lx", 0xabcu, 0xabcu, 8u, 1u, 8u, ULONG_MAX);
	EXPECT_AS_PRINTF("[%5d] [%-5d] [%05d] [%+d] [% d]", 1, 2, 3, 4, 5);
	EXPECT_AS_PRINTF("[%*d] [%-*d] [%*d] [%.*d] [%.*d]", 6, 1, 6, 2, -6, 3, 4, 5, -1, 6);
	EXPECT_AS_PRINTF("[%.3d] [%8.3d] [%-8.3x]", 1, 2, 3u);
	EXPECT_AS_PRINTF("[%.0d] [%.d] [%6.0x] [%.*d]", 1, 2, 3u, 0, 4);
	EXPECT_AS_PRINTF("%c%c", 'a', 'b');
	EXPECT_AS_PRINTF("%d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8, 9);
	return NULL;
}

static const char *format_prints_strings(void)
{
	EXPECT_AS_PRINTF("%s", "");
	EXPECT_AS_PRINTF("[%s] [%5s] [%-5s] [%1s]", "abc", "abc", "abc", "abc");
	EXPECT_AS_PRINTF("[%.2s] [%.0s] [%6.2s] [%-6.2s]", "abc", "abc", "abc", "abc");
	EXPECT_AS_PRINTF("[%*s] [%*s] [%.*s] [%.*s]", 5, "abc", -5, "abc", 1, "abc", -1, "abc");
	return NULL;
}

static const char *format_prints_bad_strings(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(two != MAP_FAILED && !munmap(two + page, page));
	EXPECT(print_args(text, sizeof(text), "%s|%s|%s|%d", (char *)NULL, (char *)1, two + page,
			  7));
	EXPECT(!strcmp(text, "(null)|(fault)|(fault)|7"));
	/* A string without a terminating zero, before a page that cannot be read. */
	memset(two + page - 3, 'x', 3);
	print_args(text, sizeof(text), "%s|%.2s|%d", two + page - 3, two + page - 3, 7);
	EXPECT(!strcmp(text, "xxx|xx|7"));
	/* A string of precision 0 is not read. */
	print_args(text, sizeof(text), "%.0s|%.*s|%d", (char *)1, 0, (char *)1, 7);
	EXPECT(!strcmp(text, "||7"));
	munmap(two, page);
	return NULL;
}

static const char *format_refuses_invalid_conversions(void)
{
	static const char *const bad[] = {
		"%", "a%", "%n", "%hn", "%d %n", "%f", "%Lf", "%a", "%m", "%y", "%256d", "%.256d",
		"%99999999999999999999d", "%-", "%.", "%l", "%*", "%1$d", "%5.5", "%hhhd", "%ld%",
		"%jd", "%C", "%S", "% ",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT(parse_all_conversions(bad[i]) == -EINVAL);
	/* Printing a format ends at the first refused conversion. */
	EXPECT(print_args(text, sizeof(text), "%d %n %d", 1, (int *)1, 2) == 2);
	EXPECT(!strcmp(text, "1 "));
	EXPECT(print_args(text, sizeof(text), "%") == 0);
	EXPECT(!parse_all_conversions("%pISpfsc %pV"));
	return NULL;
}

static const char *format_prints_byte_arrays(void)
{
	static const u8 bytes[FORMAT_ARRAY] = { 0x00, 0x1b, 0xc4, 0x0a, 0xff, 0x80, 0x7f };

	print_args(text, sizeof(text), "%pM|%pm|%d", bytes, bytes, 7);
	EXPECT(!strcmp(text, "00:1b:c4:0a:ff:80|001bc40aff80|7"));
	print_args(text, sizeof(text), "%1ph|%7ph|%3phC|%3phD", bytes, bytes, bytes, bytes);
	EXPECT(!strcmp(text, "00|00 1b c4 0a ff 80 7f|00:1b:c4|00-1b-c4"));
	/* An array of the maximum size, without separators: each byte is printed as two digits. */
	EXPECT(print_args(text, sizeof(text), "%64phN", bytes) == 128);
	EXPECT(!strncmp(text, "001bc40aff807f00", 16));
	EXPECT(strspn(text + 14, "0") == 114);
	/* A * takes an argument, although an array has no width and no precision. */
	print_args(text, sizeof(text), "%*pM|%*.*pm|%d", 20, bytes, 1, 2, bytes, 7);
	EXPECT(!strcmp(text, "00:1b:c4:0a:ff:80|001bc40aff80|7"));
	print_args(text, sizeof(text), "%pM|%2phN|%d", (void *)NULL, (void *)1, 7);
	EXPECT(!strcmp(text, "(fault)|(fault)|7"));
	return NULL;
}

/*
 * How conversions with %p are parsed.  The field "rest" is the text behind the conversion.  If
 * "array" is 0, a pointer is printed: as an address if "pointer" is NUL, else as a symbol.
 */
static const struct {
	const char *text;
	char pointer;
	u8 array;
	char separator;
	const char *rest;
} pointers[] = {
	{ "p", '\0', 0, '\0', "" }, { "p, x", '\0', 0, '\0', ", x" },
	{ "ps", 's', 0, '\0', "" }, { "pS x", 'S', 0, '\0', " x" }, { "pB%", 'B', 0, '\0', "%" },
	{ "pSR.", 'S', 0, '\0', "." }, { "px", '\0', 0, '\0', "" },
	{ "pI4s", '\0', 0, '\0', "" }, { "pZ09az_", '\0', 0, '\0', "_" },
	{ "pM", '\0', 6, ':', "" }, { "pm-", '\0', 6, '\0', "-" },
	{ "1ph", '\0', 1, ' ', "" }, { "64ph", '\0', 64, ' ', "" }, { "65ph", '\0', 0, '\0', "" },
	{ "ph", '\0', 0, '\0', "" }, { "*ph", '\0', 0, '\0', "" }, { "*phC", '\0', 0, '\0', "" },
	{ "8phC", '\0', 8, ':', "" }, { "8phD", '\0', 8, '-', "" }, { "8phN:", '\0', 8, '\0', ":" },
};

static const char *format_parses_pointers(void)
{
	struct format_conversion conversion;
	const char *rest;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pointers); i++) {
		rest = kmarkers_format_parse_conversion(pointers[i].text, &conversion);
		EXPECT(rest && !strcmp(rest, pointers[i].rest));
		EXPECT(conversion.type == 'p' && conversion.pointer == pointers[i].pointer);
		EXPECT(conversion.array == pointers[i].array);
		EXPECT(conversion.separator == pointers[i].separator);
	}
	return NULL;
}

/* Check that a text never takes more bytes than the given size. */
static const char *format_writes_at_most_the_given_size(void)
{
	static const char format[] = "abc %8d %s %-9x %.7d %p %c %%";
	unsigned int size, length;

	for (size = 1; size < 100; size++) {
		memset(text, GUARD, sizeof(text));
		length = print_args(text, size, format, 1, "string", 2, 3, (void *)0, 'c');
		EXPECT(length < size && length == strlen(text));
		EXPECT(text[size] == GUARD && !memchr(text + size, 0, sizeof(text) - size));
	}
	EXPECT(print_args(text, sizeof(text), "%*d%.*d", INT_MAX, 1, INT_MIN, 1) ==
	       sizeof(text) - 1);
	return NULL;
}

const struct test_case format_cases[] = {
	{ "format_prints_numbers", format_prints_numbers, NULL },
	{ "format_prints_strings", format_prints_strings, NULL },
	{ "format_prints_bad_strings", format_prints_bad_strings, NULL },
	{ "format_prints_byte_arrays", format_prints_byte_arrays, NULL },
	{ "format_parses_pointers", format_parses_pointers, NULL },
	{ "format_refuses_invalid_conversions", format_refuses_invalid_conversions, NULL },
	{ "format_writes_at_most_the_given_size", format_writes_at_most_the_given_size, NULL },
};

const unsigned int format_nr_cases = ARRAY_SIZE(format_cases);
