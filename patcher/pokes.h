/* SPDX-License-Identifier: GPL-2.0-only */
/* Search in an array of pokes that is sorted by address. */
#ifndef PATCHER_POKES_H
#define PATCHER_POKES_H

#include <kmarkers/patcher.h>
#include <kmarkers/search.h>

static __always_inline unsigned long patcher_get_poke_end(const void *pokes, unsigned int i)
{
	const struct patcher_poke *poke = (const struct patcher_poke *)pokes + i;

	return (unsigned long)poke->addr + poke->len;
}

/* Return the index of the first poke that ends behind @addr, or @nr if none does. */
static __always_inline unsigned int
patcher_find_poke_ending_behind(const struct patcher_poke *pokes, unsigned int nr,
				unsigned long addr)
{
	return kmarkers_lower_bound(pokes, nr, addr + 1, patcher_get_poke_end);
}

#endif /* PATCHER_POKES_H */
