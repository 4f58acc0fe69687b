// SPDX-License-Identifier: GPL-2.0-only
/* Commands of kmarkers_test_core that read kernel memory and write text to core_answer. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/uaccess.h>

#include "core_test.h"

#define MAX_BYTES	64

char core_answer[CORE_MAX_ANSWER];

/* Copy @len bytes of kernel memory at @addr.  Return -EFAULT if the memory is not readable. */
static int copy_bytes(u8 *bytes, unsigned long addr, unsigned int len)
{
	return copy_from_kernel_nofault(bytes, (void *)addr, len) ? -EFAULT : 0;
}

int core_show_bytes(char **words)
{
	unsigned long addr, len;
	u8 bytes[MAX_BYTES];
	int err;

	err = kstrtoul(words[1], 16, &addr) ?: kstrtoul(words[2], 0, &len);
	if (err || len > MAX_BYTES)
		return err ?: -EINVAL;
	err = copy_bytes(bytes, addr, len);
	if (!err)
		snprintf(core_answer, sizeof(core_answer), "%*ph\n", (int)len, bytes);
	return err;
}

int core_find_bytes(char **words)
{
	unsigned long addr, len, value, mask, i;
	unsigned int used = 0;
	int err;
	u8 byte;

	err = kstrtoul(words[1], 16, &addr) ?: kstrtoul(words[2], 0, &len) ?:
	      kstrtoul(words[3], 16, &value) ?: kstrtoul(words[4], 16, &mask);
	for (i = 0; !err && i < len; i++) {
		err = copy_bytes(&byte, addr + i, 1);
		if (!err && (byte & mask) == value)
			used += scnprintf(core_answer + used, sizeof(core_answer) - used, "%lu ", i);
	}
	scnprintf(core_answer + used, sizeof(core_answer) - used, "\n");
	return err;
}

int core_show_symbol(char **words)
{
	unsigned long addr;
	int err;

	err = kstrtoul(words[1], 16, &addr);
	if (!err)
		snprintf(core_answer, sizeof(core_answer), "%pS\n", (void *)addr);
	return err;
}

int core_show_relative_symbol(char **words)
{
	unsigned long addr;
	s32 offset;
	int err;

	err = kstrtoul(words[1], 16, &addr);
	if (!err)
		err = copy_bytes((u8 *)&offset, addr, sizeof(offset));
	if (!err)
		snprintf(core_answer, sizeof(core_answer), "%pS\n", (void *)(addr + offset));
	return err;
}

int core_count_mappings(char **words)
{
	unsigned long addr;
	int err;

	err = kstrtoul(words[1], 16, &addr);
	if (!err)
		count_mappings(addr, core_answer, sizeof(core_answer));
	return err;
}
