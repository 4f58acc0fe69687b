// SPDX-License-Identifier: GPL-2.0-only
/*
 * Implementation of sites_peers.h in user space, where static keys and stop_machine() do not
 * exist.  The functions below store bytes and synchronise CPUs as a batch does, but without the
 * patcher, in shared memory that is mapped twice.
 */
#include <errno.h>
#include <sys/mman.h>

#include "../bench_modules/sites_peers.h"
#include "sync.h"

#define INSN		5
#define PAGE_BYTES	4096UL
#define REGION_BYTES	((size_t)SITES_MOST * INSN)
#define ROUNDS		3

static unsigned char *region;

/*
 * Map the first @bytes of the shared memory a second time, writable, as patcher_text_map() does.
 * The kernel rounds sizes up to pages.
 */
static unsigned char *map_writable_view(size_t bytes)
{
	unsigned char *view;

	if (!region) {
		region = mmap(NULL, REGION_BYTES, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (region == MAP_FAILED) {
			region = NULL;
			return NULL;
		}
	}
	view = mremap(region, 0, bytes, MREMAP_MAYMOVE);
	if (view == MAP_FAILED)
		return NULL;
	mprotect(view, bytes, PROT_READ | PROT_WRITE);
	madvise(view, bytes, MADV_POPULATE_READ);
	return view;
}

int bench_store_batch_to_mapping(struct sites_stores *stores)
{
	size_t bytes = (size_t)stores->nr * INSN;
	struct patcher_poke *pokes = stores->pokes;
	unsigned char *view = map_writable_view(bytes);
	u32 i;

	if (!view)
		return -ENOMEM;
	for (i = 0; i < stores->nr; i++)
		pokes[i].alias = view + i * INSN;
	store_batch_without_sync(stores);
	munmap(view, bytes);
	return 0;
}

static int map_and_sync_without_patcher(void)
{
	unsigned char *view = map_writable_view(PAGE_BYTES);
	int i, err = view ? 0 : -ENOMEM;

	for (i = 0; i < ROUNDS && !err; i++) {
		*(volatile unsigned char *)view = i;
		err = native_sync_threads() ? -EOPNOTSUPP : 0;
	}
	if (view)
		munmap(view, PAGE_BYTES);
	return err;
}

int bench_switch_sites_without_patcher(enum sites_method method, u32 nr, bool on)
{
	return method == SITES_BY_HAND ? map_and_sync_without_patcher() : -EINVAL;
}

void bench_switch_off_static_keys(void)
{
}

int bench_store_under_stop_machine(struct sites_stores *stores)
{
	return -EINVAL;
}
