// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target: parsing and printing of formats of markers, with any format and arguments. */
#include "../../events/format.h"
#include "fuzz.h"

#define MAX_FORMAT	128
#define GUARD		0x5a

/* Formats have fewer arguments than characters: even %*.*d, with three arguments, has five. */
#define MAX_SLOTS	MAX_FORMAT

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input input = { data, size };
	unsigned int room = 1 + take_number_below(&input, 200), length, i;
	unsigned long slots[MAX_SLOTS];
	char format[MAX_FORMAT + 1], text[256];

	for (i = 0; i < 4; i++)
		slots[i] = take_number(&input, 8);
	/*
	 * Pass as many arguments as a format can use.  All arguments are random numbers: %s takes
	 * such a number as the address of its string.
	 */
	for (i = 4; i < MAX_SLOTS; i++)
		slots[i] = slots[i % 4];
	for (i = 0; i < MAX_FORMAT && input.left; i++)
		format[i] = take_number(&input, 1);
	format[i] = '\0';
	memset(text, GUARD, sizeof(text));
	length = kmarkers_format_print(text, room, format, slots);
	MUST(length < room && !text[length]);
	for (i = room; i < sizeof(text); i++)
		MUST(text[i] == GUARD);
	return 0;
}
