// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target: the check and the printing of formats of markers, with any format and arguments. */
#include <stdarg.h>

#include "../../events/format.h"
#include "fuzz.h"

#define MAX_FORMAT	128
#define GUARD		0x5a

static unsigned int print_args(char *text, unsigned int size, const char *format, ...)
{
	struct {
		va_list args;
	} call;
	unsigned int length;

	va_start(call.args, format);
	length = kmarkers_format_print(text, size, format, &call.args);
	va_end(call.args);
	return length;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input input = { data, size };
	unsigned int room = 1 + take_below(&input, 200), length, i;
	u64 args[4];
	char format[MAX_FORMAT + 1], text[256];

	for (i = 0; i < 4; i++)
		args[i] = take(&input, 8);
	for (i = 0; i < MAX_FORMAT && input.left; i++)
		format[i] = take(&input, 1);
	format[i] = '\0';
	kmarkers_format_check(format);
	memset(text, GUARD, sizeof(text));
	/* Pass as many arguments as a format can use: numbers, whatever types the format has. */
#define FOUR	args[0], args[1], args[2], args[3]
#define SIXTEEN	FOUR, FOUR, FOUR, FOUR
	length = print_args(text, room, format, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN,
			    SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN);
	MUST(length < room && !text[length]);
	for (i = room; i < sizeof(text); i++)
		MUST(text[i] == GUARD);
	return 0;
}
