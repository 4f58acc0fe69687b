// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <stdio.h>

#include "mappings.h"

struct mapping {
	unsigned long start, end, device, inode;
	bool write, execute;
};

static bool read_mapping(FILE *maps, struct mapping *mapping)
{
	unsigned int major, minor;
	char line[512], rights[5];

	if (!fgets(line, sizeof(line), maps) ||
	    sscanf(line, "%lx-%lx %4s %*x %x:%x %lu", &mapping->start, &mapping->end, rights,
		   &major, &minor, &mapping->inode) != 6)
		return false;
	mapping->device = (unsigned long)major << 32 | minor;
	mapping->write = rights[1] == 'w';
	mapping->execute = rights[2] == 'x';
	return true;
}

int count_bad_mappings(const void *in_text)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long site = (unsigned long)in_text;
	struct mapping text = { 0 }, mapping;
	int bad = 0;

	if (!maps)
		return -1;
	while (!text.inode && read_mapping(maps, &mapping))
		if (mapping.start <= site && site < mapping.end)
			text = mapping;
	rewind(maps);
	while (read_mapping(maps, &mapping))
		bad += mapping.write && (mapping.execute || (mapping.inode == text.inode &&
							     mapping.device == text.device));
	fclose(maps);
	return text.inode ? bad : -1;
}

int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int nr = 0;

	if (!maps)
		return -1;
	while (fgets(line, sizeof(line), maps))
		nr++;
	fclose(maps);
	return nr;
}
