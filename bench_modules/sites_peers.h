/* SPDX-License-Identifier: GPL-2.0-only */
/* Static keys and stop_machine(), the kernel's own ways to switch sites; in the kernel only. */
#ifndef BENCH_MODULES_SITES_PEERS_H
#define BENCH_MODULES_SITES_PEERS_H

#include <linux/compiler.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "sites.h"

/* Replacements to be stored in a buffer, into which their aliases point. */
struct sites_stores {
	struct patcher_poke *pokes;
	u32 nr;
};

/* The three passes of stores of a batch, without anything between them. */
static inline void sites_store_all(const struct sites_stores *stores)
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

int bench_peers_set(enum sites_way way, u32 nr, bool on);
void bench_peers_put_back(void);
int bench_peers_stop_and_write(struct sites_stores *stores);

/* Map a buffer, make the stores of a batch in it and unmap it; in a program only. */
int bench_peers_store(struct sites_stores *stores);

#endif /* BENCH_MODULES_SITES_PEERS_H */
