/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers in small or in huge pages, divided into chunks that have the size of a huge page. */
#ifndef BENCH_MODULES_CHUNKS_H
#define BENCH_MODULES_CHUNKS_H

#include <linux/types.h>

#define BENCH_CHUNK_ORDER	21
#define BENCH_CHUNK		(1UL << BENCH_CHUNK_ORDER)

int bench_alloc_chunks(u8 **chunks, unsigned int nr, bool huge);
void bench_free_chunks(u8 **chunks, unsigned int nr, bool huge);
u64 bench_read_available_memory(void);

#endif /* BENCH_MODULES_CHUNKS_H */
