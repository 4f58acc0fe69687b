/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Methods to switch sites without the patcher: static keys and stop_machine() in the kernel; in
 * user space, only the stores of a batch, or only the mapping and synchronisation of a batch.
 */
#ifndef BENCH_MODULES_SITES_PEERS_H
#define BENCH_MODULES_SITES_PEERS_H

#include <linux/compiler.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "sites.h"

/*
 * Array of instruction changes; the member alias of each change is the address to which the bytes
 * of the change are stored.
 */
struct sites_stores {
	struct patcher_poke *pokes;
	u32 nr;
};

/* Make the stores of the three rounds of a batch, without synchronisation between the rounds. */
static inline void store_batch_without_sync(const struct sites_stores *stores)
{
	const struct patcher_poke *pokes = stores->pokes;
	u32 i;

	for (i = 0; i < stores->nr; i++)
		WRITE_ONCE(*pokes[i].alias, 0xcc);
	for (i = 0; i < stores->nr; i++)
		memcpy(pokes[i].alias + 1, pokes[i].new + 1, pokes[i].len - 1);
	for (i = 0; i < stores->nr; i++)
		WRITE_ONCE(*pokes[i].alias, pokes[i].new[0]);
}

int bench_switch_sites_without_patcher(enum sites_method method, u32 nr, bool on);
void bench_switch_off_static_keys(void);
int bench_store_under_stop_machine(struct sites_stores *stores);

/* Make the stores of a batch to a buffer that is mapped for this call; user space only. */
int bench_store_batch_to_mapping(struct sites_stores *stores);

#endif /* BENCH_MODULES_SITES_PEERS_H */
