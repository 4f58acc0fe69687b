/* SPDX-License-Identifier: GPL-2.0-only */
/* Static keys and stop_machine(), the kernel's own ways to switch sites; in the kernel only. */
#ifndef BENCH_MODULES_SITES_PEERS_H
#define BENCH_MODULES_SITES_PEERS_H

#include "sites.h"

struct patcher_poke;

/* Replacements to be stored in a buffer, into which their aliases point. */
struct sites_stores {
	struct patcher_poke *pokes;
	u32 nr;
};

int bench_peers_set(enum sites_way way, u32 nr, bool on);
void bench_peers_put_back(void);
int bench_peers_stop_and_write(struct sites_stores *stores);

/* Map a buffer, make the stores of a batch in it and unmap it; in a program only. */
int bench_peers_store(struct sites_stores *stores);

#endif /* BENCH_MODULES_SITES_PEERS_H */
