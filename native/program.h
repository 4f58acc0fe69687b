/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of the program, and names of mappings from /proc. */
#ifndef NATIVE_PROGRAM_H
#define NATIVE_PROGRAM_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct native_program - the program in memory, and its file
 * @info: entry of the dynamic linker; .dlpi_addr is the load bias
 * @file: its file, mapped; NULL if that cannot be read
 * @size: size of the file
 */
struct native_program {
	struct dl_phdr_info info;
	const char *file;
	size_t size;
};

/* Find the program.  kmarkers_start() calls this before text moves, while its file has a name. */
const struct native_program *native_program(void);

/* Put the name of the mapping of an address into @name.  Return false if there is none. */
bool native_mapping_name(unsigned long addr, char *name, size_t size);

#endif /* NATIVE_PROGRAM_H */
