// SPDX-License-Identifier: GPL-2.0-only
/* Empty definitions of functions that the fuzz targets need for linking, but do not test. */
#include <linux/seq_file.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#include "../../immediate/symbol.h"
#include "../../sdt/symbol.h"

void imv_show_variable_name(struct seq_file *m, unsigned long addr)
{
}

unsigned long sdt_find_function_name(unsigned long addr, char *name, size_t size)
{
	*name = '\0';
	return addr;
}

int sdt_require_symbols(void)
{
	return 0;
}

void patcher_find_probed_pokes(const struct patcher_poke *pokes, unsigned int nr, bool *probed)
{
}
