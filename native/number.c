// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "number.h"
#include "output.h"

bool native_parse_number(const char *name, const char *text, u64 low, u64 high, u64 *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (isdigit((unsigned char)*text) && !*end && !errno && *value >= low && *value <= high)
		return true;
	fprintf(stderr, "%s: %s: bad value '%s': give a whole number from %llu to %llu\n",
		native_program_name, name, text, (unsigned long long)low,
		(unsigned long long)high);
	return false;
}
