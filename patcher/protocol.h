/* SPDX-License-Identifier: GPL-2.0-only */
/* Write the bytes of a batch that has been checked and mapped. */
#ifndef PATCHER_PROTOCOL_H
#define PATCHER_PROTOCOL_H

#include <kmarkers/patcher.h>

struct patcher_insn;

int patcher_choose_emulated_insn(const struct patcher_poke *poke, struct patcher_insn *insn);

/*
 * A function that writes a batch; patcher_lock() is held.  @chunk is the maximum number of
 * sites that hold an int3 at the same time; functions that store no temporary int3 ignore @chunk.
 */
typedef void patcher_write_function(struct patcher_poke *pokes, unsigned int nr,
				    unsigned int chunk);

patcher_write_function patcher_write_chunks, patcher_write_unexecuted, patcher_write_prefixes;
extern patcher_write_function patcher_write_traps;

#endif /* PATCHER_PROTOCOL_H */
