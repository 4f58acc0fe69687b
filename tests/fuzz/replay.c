// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a fuzz target without a fuzzer: on the named files, or on COUNT random inputs.
 * usage: fuzz-TARGET COUNT [SEED] | fuzz-TARGET FILE...
 */
#include "fuzz.h"

#define MAX_SIZE	4096

static u64 state;

/* Return the next random number of the generator splitmix64. */
static u64 draw_random(void)
{
	u64 z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void replay_input(const u8 *data, size_t size)
{
	/*
	 * Copy the input to memory of exactly its size, so that AddressSanitizer reports a read
	 * behind the input.
	 */
	u8 *copy = malloc(size);

	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void replay_random_inputs(unsigned long count)
{
	static u8 data[MAX_SIZE];
	unsigned long i;
	size_t size;

	while (count--) {
		size = draw_random() % (MAX_SIZE >> draw_random() % 8);
		for (i = 0; i < size; i++)
			data[i] = draw_random();
		replay_input(data, size);
	}
}

static int replay_file(const char *path)
{
	static u8 data[1 << 20];
	FILE *file = fopen(path, "r");
	size_t size;

	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	replay_input(data, size);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long count;
	int i, failed = 0;
	char *end;

	if (argc < 2)
		return 2;
	count = strtoul(argv[1], &end, 10);
	if (*end) {
		for (i = 1; i < argc; i++)
			failed |= replay_file(argv[i]);
		return failed;
	}
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	replay_random_inputs(count);
	return 0;
}
