// SPDX-License-Identifier: GPL-2.0-only
/*
 * Derive the fields of a trace event from the declared types of a probe's arguments.
 *
 * The definition of a probe gives the types as strings. An integer becomes a field of the same size
 * and sign, a pointer to char becomes a string, any other pointer becomes a pointer, and an
 * argument of any other type becomes an unsigned long in hexadecimal.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/sdt.h>

#include "types.h"

/* Buffer size of a type's text, in bytes, including the NUL; longer texts are truncated. */
#define TYPE_TEXT_BYTES	64

/* printf conversions of named integer types. Types made of C keywords are parsed with words[]. */
static const struct {
	const char *type;
	const char *conversion;
} known[] = {
	{ "u8", "%hhu" }, { "__u8", "%hhu" }, { "uint8_t", "%hhu" },
	{ "s8", "%hhd" }, { "__s8", "%hhd" }, { "int8_t", "%hhd" },
	{ "u16", "%hu" }, { "__u16", "%hu" }, { "uint16_t", "%hu" },
	{ "s16", "%hd" }, { "__s16", "%hd" }, { "int16_t", "%hd" },
	{ "u32", "%u" }, { "__u32", "%u" }, { "uint32_t", "%u" },
	{ "s32", "%d" }, { "__s32", "%d" }, { "int32_t", "%d" },
	{ "u64", "%lu" }, { "__u64", "%lu" }, { "uint64_t", "%lu" },
	{ "s64", "%ld" }, { "__s64", "%ld" }, { "int64_t", "%ld" },
	{ "bool", "%hhu" }, { "_Bool", "%hhu" },
	{ "size_t", "%lu" }, { "uintptr_t", "%lu" }, { "ssize_t", "%ld" }, { "loff_t", "%ld" },
	{ "off_t", "%ld" }, { "sector_t", "%lu" }, { "dev_t", "%u" }, { "gfp_t", "%u" },
	{ "pid_t", "%d" }, { "uid_t", "%u" }, { "gid_t", "%u" }, { "ktime_t", "%ld" },
};

/* Flags for the C keywords that integer types are made of. */
enum {
	IS_UNSIGNED = 1,
	IS_CHAR = 2,
	IS_SHORT = 4,
	IS_LONG = 8,
	IS_ENUM = 16,
	IS_INTEGER = 32,
	IS_UNKNOWN = 64,
	IS_SIGNED = 128,
};

static const struct {
	const char *word;
	unsigned int flags;
} words[] = {
	{ "unsigned", IS_UNSIGNED | IS_INTEGER }, { "signed", IS_SIGNED | IS_INTEGER },
	{ "int", IS_INTEGER }, { "char", IS_CHAR | IS_INTEGER }, { "short", IS_SHORT | IS_INTEGER },
	{ "long", IS_LONG | IS_INTEGER }, { "enum", IS_ENUM | IS_INTEGER },
	{ "const", 0 }, { "volatile", 0 },
};

static unsigned int find_type_word_flags(const char *word, size_t length)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == length && !strncmp(word, words[i].word, length))
			return words[i].flags;
	return IS_UNKNOWN;
}

/* Return the combined flags of all words in a type. Skip the name that follows "enum". */
static unsigned int collect_type_flags(const char *type)
{
	unsigned int flags = 0;

	while (*(type += strspn(type, " *"))) {
		size_t length = strcspn(type, " *");

		if (!(flags & IS_ENUM))
			flags |= find_type_word_flags(type, length);
		type += length;
	}
	return flags;
}

static const char *choose_pointer_conversion(const char *type)
{
	const char *star = strchr(type, '*');

	if (strchr(star + 1, '*') || strchr(type, '('))
		return "%p";
	/* A pointer to char is a string, unless the type has a further word, such as __user. */
	return collect_type_flags(type) == (IS_CHAR | IS_INTEGER) ? "%s" : "%p";
}

static const char *choose_integer_conversion(unsigned int flags)
{
	bool is_unsigned = flags & IS_UNSIGNED;

	if (flags & IS_CHAR)
		return is_unsigned ? "%hhu" : "%hhd";
	if (flags & IS_SHORT)
		return is_unsigned ? "%hu" : "%hd";
	if (flags & IS_LONG)
		return is_unsigned ? "%lu" : "%ld";
	return is_unsigned ? "%u" : "%d";
}

/* Strip const and volatile from a type. */
static const char *strip_type_qualifiers(char *type)
{
	char *word = type;

	while (*(word += strspn(word, " "))) {
		size_t length = strcspn(word, " ");

		if (!find_type_word_flags(word, length))
			memset(word, ' ', length);
		word += length;
	}
	while (word > type && word[-1] == ' ')
		*--word = '\0';
	return type + strspn(type, " ");
}

static const char *choose_printf_conversion(char *type)
{
	const char *bare_type;
	unsigned int i, flags;

	if (strchr(type, '*'))
		return choose_pointer_conversion(type);
	bare_type = strip_type_qualifiers(type);
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(bare_type, known[i].type))
			return known[i].conversion;
	flags = collect_type_flags(bare_type);
	if (!(flags & IS_INTEGER) || flags & IS_UNKNOWN)
		return "%lx";
	return choose_integer_conversion(flags);
}

/*
 * Copy the first type of the comma-separated list @types to @type, without blanks around it. Return
 * the rest of the list, after the comma.
 */
static const char *copy_next_type(char *type, size_t size, const char *types)
{
	unsigned int depth = 0;
	size_t length;

	types += strspn(types, " ");
	for (length = 0; types[length] && (depth || types[length] != ','); length++)
		depth += (types[length] == '(') - (types[length] == ')');
	snprintf(type, size, "%.*s", (int)length, types);
	types += length;
	for (length = strlen(type); length && type[length - 1] == ' '; length--)
		type[length - 1] = '\0';
	return *types ? types + 1 : types;
}

/**
 * sdt_make_event_format() - make the format of a probe's trace event: the site and the arguments
 * @format: buffer of SDT_FORMAT characters for the format
 * @probe: the probe
 *
 * Context: any.
 */
void sdt_make_event_format(char *format, const struct sdt_probe *probe)
{
	const char *types = probe->types;
	char type[TYPE_TEXT_BYTES];
	unsigned int i;
	int at;

	at = snprintf(format, SDT_FORMAT, "site %%pS");
	for (i = 0; i < probe->nr; i++) {
		types = copy_next_type(type, sizeof(type), types);
		at += snprintf(format + at, SDT_FORMAT - at, " arg%u %s", i + 1,
			       choose_printf_conversion(type));
	}
}
