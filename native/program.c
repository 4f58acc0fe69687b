// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the file from which the program is mapped: /proc/self/exe, unless the program was started as
 * an argument of the dynamic linker.  In this case, /proc/self/exe is the linker, and the file is
 * found by the name of the program's mapping.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

/* Callback of dl_iterate_phdr(): store the first entry, which is the program. */
static int store_first_phdr_entry(struct dl_phdr_info *info, size_t size, void *first)
{
	*(struct dl_phdr_info *)first = *info;
	return 1;
}

bool native_find_mapping_name(unsigned long addr, char *name, size_t size)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	size_t allocated = 0;
	bool found = false;
	char *line = NULL;
	int at;

	while (maps && !found && getline(&line, &allocated, maps) > 0) {
		at = 0;
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &start, &end, &at) < 2 || !at ||
		    addr < start || addr >= end)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(name, size, "%s", line + at);
		found = line[at];
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/* Return true if the @size bytes at @offset in the file are equal to the bytes at @memory. */
static bool is_equal_to_file(const struct native_program *program, unsigned long offset,
			     const void *memory, size_t size)
{
	return offset <= program->size && size <= program->size - offset &&
	       !memcmp(program->file + offset, memory, size);
}

/*
 * Return true if program->file is the file from which the program was mapped: the program headers
 * and the notes in the file, one of which is the build ID, equal the program headers and the notes
 * in memory.
 */
static bool is_file_of_program(const struct native_program *program)
{
	const ElfW(Ehdr) *header = (const void *)program->file;
	const struct dl_phdr_info *info = &program->info;
	int i;

	if (program->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_phnum != info->dlpi_phnum ||
	    !is_equal_to_file(program, header->e_phoff, info->dlpi_phdr,
			      info->dlpi_phnum * sizeof(*info->dlpi_phdr)))
		return false;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_NOTE &&
		    !is_equal_to_file(program, phdr->p_offset,
				      (void *)(info->dlpi_addr + phdr->p_vaddr), phdr->p_filesz))
			return false;
	}
	return true;
}

/*
 * Map a file, and keep the mapping if the file is the program's own.  The mapping is shared,
 * because the kernel stores the breakpoints of uprobes into private mappings.
 */
static bool map_program_file(struct native_program *program, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *file = MAP_FAILED;

	if (fd < 0)
		return false;
	/* mmap(2) fails for an empty file. */
	if (!fstat(fd, &stat))
		file = mmap(NULL, stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return false;
	program->file = file;
	program->size = stat.st_size;
	if (is_file_of_program(program))
		return true;
	munmap(file, stat.st_size);
	program->file = NULL;
	return false;
}

const struct native_program *native_get_program(void)
{
	static struct native_program program;
	char path[PATH_MAX];

	if (program.file)
		return &program;
	dl_iterate_phdr(store_first_phdr_entry, &program.info);
	if (!map_program_file(&program, "/proc/self/exe") &&
	    native_find_mapping_name((unsigned long)program.info.dlpi_phdr, path, sizeof(path)))
		map_program_file(&program, path);
	return &program;
}
