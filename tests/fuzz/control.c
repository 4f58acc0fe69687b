// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target: the parser of commands that are written to bench/control. */
#include "../../bench_modules/control.h"
#include "../../bench_modules/groups.h"
#include "fuzz.h"

/* Benchmark groups for the parser, which reads only their names. */
static const struct bench_group first = { .name = "empty-loop" };
static const struct bench_group second = { .name = "empty" };
static const struct bench_group third = { .name = "memcpy-4096" };
const struct bench_group *bench_groups[BENCH_MAX_GROUPS] = { &first, &second, &third };
unsigned int bench_nr_groups = 3;

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	enum bench_verb verb = -1;
	u64 groups = 0;
	char *text;

	/* Skip texts that contain a zero: the parser expects a zero only at the end. */
	if (memchr(data, 0, size))
		return 0;
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	if (!bench_parse_command(text, &verb, &groups)) {
		MUST(verb == BENCH_START || verb == BENCH_STOP || verb == BENCH_RESET);
		MUST(groups && groups < 1ULL << bench_nr_groups);
	}
	free(text);
	return 0;
}
