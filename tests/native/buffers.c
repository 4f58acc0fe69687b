// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the buffers of benchmarks: the sizes of the buffers on machines with other caches and
 * less memory, the memory that the buffers take, and the lines that benchmarks read from them.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/hypervisor.h>

#include "../../bench_modules/caches.h"
#include "../../bench_modules/chunks.h"
#include "../../bench_modules/ops.h"
#include "../../bench_modules/walk.h"
#include "buffers.h"

#define PAGE_BYTES	4096UL
#define MIB		(1ULL << 20)
#define GIB		(1ULL << 30)

/* The allocator of a sanitizer may keep freed memory, and map more memory than was requested. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEPS_MEMORY	true
#else
#define KEEPS_MEMORY	false
#endif

/* The caches and the available memory that benchmarks find if @used is set. */
static struct {
	bool used;
	u64 middle, last, available;
} machine;

void __real_bench_read_caches(struct bench_caches *caches);
void __wrap_bench_read_caches(struct bench_caches *caches);

void __wrap_bench_read_caches(struct bench_caches *caches)
{
	__real_bench_read_caches(caches);
	if (!machine.used)
		return;
	caches->middle = machine.middle;
	caches->last = machine.last;
}

u64 __real_bench_read_available_memory(void);
u64 __wrap_bench_read_available_memory(void);

u64 __wrap_bench_read_available_memory(void)
{
	u64 available = __real_bench_read_available_memory();

	return machine.used ? machine.available : available;
}

/*
 * How many allocations were made; how many were freed; which allocation fails, counted from 1; and
 * the chunks of the last allocation.
 */
static struct {
	unsigned int nr, nr_freed, fail;
	u8 **chunks;
	unsigned int nr_chunks;
} buffers;

int __real_bench_alloc_chunks(u8 **chunks, unsigned int nr, bool huge);
int __wrap_bench_alloc_chunks(u8 **chunks, unsigned int nr, bool huge);

int __wrap_bench_alloc_chunks(u8 **chunks, unsigned int nr, bool huge)
{
	if (++buffers.nr == buffers.fail)
		return -ENOMEM;
	buffers.chunks = chunks;
	buffers.nr_chunks = nr;
	return __real_bench_alloc_chunks(chunks, nr, huge);
}

void __real_bench_free_chunks(u8 **chunks, unsigned int nr, bool huge);
void __wrap_bench_free_chunks(u8 **chunks, unsigned int nr, bool huge);

void __wrap_bench_free_chunks(u8 **chunks, unsigned int nr, bool huge)
{
	buffers.nr_freed++;
	__real_bench_free_chunks(chunks, nr, huge);
}

/* If not 0, mmap() returns an address with this distance from a multiple of BENCH_CHUNK. */
static unsigned long map_distance;

void *__real_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	unsigned long before;
	u8 *all;

	if (!map_distance)
		return __real_mmap(addr, bytes, prot, flags, fd, offset);
	all = __real_mmap(addr, bytes + BENCH_CHUNK, prot, flags, fd, offset);
	if (all == MAP_FAILED)
		return all;
	before = (map_distance - (unsigned long)all) % BENCH_CHUNK;
	if (before)
		munmap(all, before);
	munmap(all + before + bytes, BENCH_CHUNK - before);
	return all + before;
}

static void simulate_caches_and_memory(u64 middle, u64 last, u64 available)
{
	machine.used = true;
	machine.middle = middle;
	machine.last = last;
	machine.available = available;
}

/* Let allocation number @nr fail, counted from 1; none if @nr is 0. */
static void fail_chunk_allocation(unsigned int nr)
{
	memset(&buffers, 0, sizeof(buffers));
	buffers.fail = nr;
}

static void reset_simulated_machine(void)
{
	machine.used = false;
	map_distance = 0;
	fail_chunk_allocation(0);
}

/*
 * Check that the size of the cold buffer is eight times the size of the last-level cache, rounded
 * up to a power of two. The size is at least 16 MiB and at most 512 MiB. A size above 16 MiB is at
 * most a quarter of the memory.
 */
static const char *buffers_are_eight_times_the_cache_size(void)
{
	static const struct {
		u64 last, available, bytes;
	} sizes[] = {
		{ MIB, GIB, 16 * MIB }, { 2 * MIB, GIB, 16 * MIB }, { 2 * MIB + 1, GIB, 32 * MIB },
		{ 4 * MIB, GIB, 32 * MIB }, { 64 * MIB, 9 * GIB, 512 * MIB },
		{ 64 * MIB + 1, 9 * GIB, 512 * MIB }, { 480 * MIB, 64 * GIB, 512 * MIB },
		{ 64 * MIB, 2 * GIB, 512 * MIB }, { 64 * MIB, 2 * GIB - 1, 256 * MIB },
		{ 64 * MIB, 128 * MIB, 32 * MIB }, { 64 * MIB, 128 * MIB - 1, 16 * MIB },
		{ 64 * MIB, 0, 16 * MIB }, { MIB, 0, 16 * MIB },
	};
	u64 bytes, last;
	unsigned int i;

	if (kmarkers_is_emulated())
		return "SKIP an emulated CPU has no caches";
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		simulate_caches_and_memory(MIB, sizes[i].last, sizes[i].available);
		fail_chunk_allocation(1);
		EXPECT(bench_cold_branch.setup() == -ENOMEM);
		EXPECT(bench_read_cold_buffer(&bytes, &last));
		EXPECT(bytes == sizes[i].bytes && last == sizes[i].last);
	}
	return NULL;
}

/* Check that a setup that cannot allocate its second buffer frees the first buffer. */
static const char *buffers_are_freed_if_setup_fails(void)
{
	if (kmarkers_is_emulated())
		return "SKIP an emulated CPU has no caches";
	simulate_caches_and_memory(MIB, MIB, GIB);
	fail_chunk_allocation(1);
	EXPECT(bench_cold_branch_pages.setup() == -ENOMEM);
	EXPECT(buffers.nr == 1 && !buffers.nr_freed);
	fail_chunk_allocation(2);
	EXPECT(bench_cold_branch_pages.setup() == -ENOMEM);
	EXPECT(buffers.nr == 2 && buffers.nr_freed == 1);
	return NULL;
}

/* Return the size in bytes that a file in /proc gives in KiB, or 0. */
static s64 read_size_from_proc(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	char line[128];
	s64 kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib << 10;
}

/* Sizes in bytes of the memory of this process. */
struct memory {
	s64 mapped, resident;
};

static struct memory measure_process_memory(void)
{
	malloc_trim(0);
	return (struct memory) {
		read_size_from_proc("/proc/self/status", "VmSize: %lld kB"),
		read_size_from_proc("/proc/self/smaps_rollup", "Rss: %lld kB"),
	};
}

/* Return the lowest number that no file descriptor has. */
static int find_lowest_free_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/*
 * Check that a group's setup takes @bytes of memory, all of it resident, and that its teardown
 * frees the memory.
 */
static const char *check_memory_of_group(const struct bench_group *group, s64 bytes)
{
	int descriptor = find_lowest_free_descriptor(), err;
	struct memory before = measure_process_memory(), inside, after;

	err = group->setup();
	inside = measure_process_memory();
	if (!err)
		group->teardown();
	after = measure_process_memory();
	EXPECT(find_lowest_free_descriptor() == descriptor);
	EXPECT(KEEPS_MEMORY || after.mapped - before.mapped < bytes / 2);
	EXPECT(KEEPS_MEMORY || err || inside.mapped - before.mapped < bytes / 2 * 3);
	if (err == -ENODEV)
		return NULL;
	EXPECT(!err && inside.resident - before.resident > bytes / 8 * 7);
	return NULL;
}

static const char *buffers_are_resident_until_teardown(void)
{
	const char *failed;

	if (!measure_process_memory().resident)
		return "SKIP the kernel has no file smaps_rollup";
	if (kmarkers_is_emulated())
		return "SKIP an emulated CPU has no caches";
	simulate_caches_and_memory(MIB + 1, 4 * MIB, GIB);
	failed = check_memory_of_group(&bench_getppid_pressure, 1 << EVICT_ORDER) ?:
		 check_memory_of_group(&bench_cold_icache_l3, 8 * MIB) ?:
		 check_memory_of_group(&bench_cold_branch, 32 * MIB) ?:
		 check_memory_of_group(&bench_cold_branch_pages, 64 * MIB);
	/* The buffer of cold-icache-l3 is four times as large as L2, but at most 64 MiB. */
	simulate_caches_and_memory(33 * MIB, 4 * MIB, GIB);
	return failed ?: check_memory_of_group(&bench_cold_icache_l3, 64 * MIB);
}

/*
 * Check that chunks are aligned, take no other memory, and are freed, wherever the kernel maps the
 * memory.  Also check that more chunks than the address space has are refused.
 */
static const char *buffers_take_no_memory_beside_their_chunks(void)
{
	static const unsigned long distances[] = {
		PAGE_BYTES, BENCH_CHUNK - PAGE_BYTES, BENCH_CHUNK,
	};
	struct memory before, inside, after;
	unsigned int i;
	u8 *chunks[3];

	EXPECT(bench_alloc_chunks(chunks, ~0U, false) == -ENOMEM);
	/* The first measurement may allocate memory. */
	measure_process_memory();
	for (i = 0; i < ARRAY_SIZE(distances); i++) {
		before = measure_process_memory();
		map_distance = distances[i];
		EXPECT(!bench_alloc_chunks(chunks, 3, false));
		map_distance = 0;
		inside = measure_process_memory();
		bench_free_chunks(chunks, 3, false);
		after = measure_process_memory();
		EXPECT((unsigned long)chunks[0] % BENCH_CHUNK == 0);
		EXPECT(KEEPS_MEMORY || inside.mapped - before.mapped == 3 * BENCH_CHUNK);
		EXPECT(KEEPS_MEMORY || after.mapped == before.mapped);
	}
	return NULL;
}

static const struct bench_variant *find_variant(const struct bench_group *group, const char *name)
{
	const struct bench_variant *variant = group->variants;

	while (strcmp(variant->name, name))
		variant++;
	return variant;
}

/* Return the number of pages of a chunk that were read since madvise() dropped all pages. */
static unsigned int count_read_pages(u8 *chunk)
{
	u8 pages[BENCH_CHUNK / PAGE_BYTES] = { 0 };
	unsigned int i, nr = 0;

	mincore(chunk, BENCH_CHUNK, pages);
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		nr += pages[i] & 1;
	return nr;
}

/*
 * Check that cold-branch reads lines in all parts of its buffer. If the number of readings equals
 * the number of pages in the buffer, 63 % of the pages of each chunk are expected to be read.
 */
static const char *buffers_are_read_in_all_parts(void)
{
	const struct bench_variant *memory = find_variant(&bench_cold_branch, "memory");
	unsigned int least = -1U, most = 0, i, nr;

	simulate_caches_and_memory(MIB, MIB, GIB);
	EXPECT(!bench_cold_branch.setup());
	for (i = 0; i < buffers.nr_chunks; i++)
		madvise(buffers.chunks[i], BENCH_CHUNK, MADV_DONTNEED);
	memory->op[0](buffers.nr_chunks * (BENCH_CHUNK / PAGE_BYTES));
	for (i = 0; i < buffers.nr_chunks; i++) {
		nr = count_read_pages(buffers.chunks[i]);
		least = nr < least ? nr : least;
		most = nr > most ? nr : most;
	}
	bench_cold_branch.teardown();
	EXPECT(buffers.nr_chunks == 8);
	EXPECT(least > BENCH_CHUNK / PAGE_BYTES / 2 && most < BENCH_CHUNK / PAGE_BYTES / 4 * 3);
	return NULL;
}

const struct test_case buffer_cases[] = {
	{ "buffers_are_eight_times_the_cache_size", buffers_are_eight_times_the_cache_size,
	  reset_simulated_machine },
	{ "buffers_are_freed_if_setup_fails", buffers_are_freed_if_setup_fails,
	  reset_simulated_machine },
	{ "buffers_are_resident_until_teardown", buffers_are_resident_until_teardown,
	  reset_simulated_machine },
	{ "buffers_take_no_memory_beside_their_chunks", buffers_take_no_memory_beside_their_chunks,
	  reset_simulated_machine },
	{ "buffers_are_read_in_all_parts", buffers_are_read_in_all_parts, reset_simulated_machine },
};

const unsigned int buffer_nr_cases = ARRAY_SIZE(buffer_cases);
