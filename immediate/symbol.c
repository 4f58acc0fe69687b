// SPDX-License-Identifier: GPL-2.0-only
/* Look up names of variables in kallsyms. */
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "symbol.h"

/* Print the name of the variable at @addr: its symbol without the suffix __imv and "[module]". */
void imv_show_variable_name(struct seq_file *m, unsigned long addr)
{
	char text[KSYM_SYMBOL_LEN], *end;

	snprintf(text, sizeof(text), "%ps", (void *)addr);
	end = strchrnul(text, ' ');
	*end = '\0';
	if (end - text > 5 && !strcmp(end - 5, "__imv"))
		end[-5] = '\0';
	seq_puts(m, text);
}
