/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of the program, and the names of its mappings from /proc/self/maps. */
#ifndef NATIVE_PROGRAM_H
#define NATIVE_PROGRAM_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct native_program - the program in memory, and its file
 * @info: entry of the program in dl_iterate_phdr(); .dlpi_addr is the load bias
 * @file: address of the mapped file; NULL if the file cannot be read
 * @size: size of the file in bytes
 */
struct native_program {
	struct dl_phdr_info info;
	const char *file;
	size_t size;
};

/*
 * Return the program.  kmarkers_start() makes the first call before it moves the text, because only
 * the original mapping of the text has the name of the file.
 */
const struct native_program *native_get_program(void);

/*
 * Copy the name of the mapping that contains @addr to @name.  Return false if no mapping with a
 * name contains @addr.
 */
bool native_find_mapping_name(unsigned long addr, char *name, size_t size);

#endif /* NATIVE_PROGRAM_H */
