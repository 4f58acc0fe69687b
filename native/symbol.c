// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel's table of symbols says of an address, said for a program by its file. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../sdt/symbol.h"

static const char *map_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const char *file = MAP_FAILED;
	struct stat stat;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &stat))
		file = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return file == MAP_FAILED ? NULL : file;
}

/* The section of the symbols, or NULL for a program that was stripped. */
static const Elf64_Shdr *find_symbols(const char *file)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *section = (const void *)(file + header->e_shoff);
	unsigned int i;

	for (i = 0; i < header->e_shnum; i++)
		if (section[i].sh_type == SHT_SYMTAB)
			return &section[i];
	return NULL;
}

/* How far the program lies from where it was linked to. */
static int find_base(struct dl_phdr_info *info, size_t size, void *base)
{
	*(unsigned long *)base = info->dlpi_addr;
	return 1;
}

static const Elf64_Sym *find_symbol(const char *file, const Elf64_Shdr *symbols, unsigned long addr)
{
	const Elf64_Sym *symbol = (const void *)(file + symbols->sh_offset);
	unsigned long i;

	for (i = 0; i < symbols->sh_size / sizeof(*symbol); i++)
		if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && symbol[i].st_value <= addr &&
		    addr - symbol[i].st_value < symbol[i].st_size)
			return &symbol[i];
	return NULL;
}

unsigned long sdt_find_function(unsigned long addr, char *name, size_t size)
{
	/* Mapped once, by whoever holds the lock of the sites. */
	static const char *file;
	const Elf64_Shdr *symbols;
	const Elf64_Sym *symbol = NULL;
	unsigned long base;

	file = file ?: map_program();
	symbols = file ? find_symbols(file) : NULL;
	dl_iterate_phdr(find_base, &base);
	if (symbols)
		symbol = find_symbol(file, symbols, addr - base);
	if (!symbol) {
		snprintf(name, size, "?");
		return addr;
	}
	symbols = (const Elf64_Shdr *)(file + ((const Elf64_Ehdr *)file)->e_shoff) + symbols->sh_link;
	snprintf(name, size, "%s", file + symbols->sh_offset + symbol->st_name);
	name[strcspn(name, ".")] = '\0';
	return addr - base - symbol->st_value;
}
