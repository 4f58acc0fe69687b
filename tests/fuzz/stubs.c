// SPDX-License-Identifier: GPL-2.0-only
/* Functions that the targets link against and do not test. */
#include <linux/seq_file.h>

#include <kmarkers/immediate.h>

#include "../../immediate/symbol.h"

void imv_show_symbol(struct seq_file *m, unsigned long addr)
{
}
