// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peer: statically defined probes of SystemTap, which are a nop in the code and a note in the ELF
 * file.  A tracer enables such a probe by a uprobe, for which the kernel stores a breakpoint over
 * the nop.  Here the tracer is a perf event that only counts.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peer.h"
#include "uprobes.h"

BENCH_OPS(off, DTRACE_PROBE2(kmarkers, bench_off, 1, NULL))
UPROBES_OPS(on, DTRACE_PROBE2(kmarkers, bench_on, 1, NULL));

/* Descriptor of a note.  The name of the provider is followed by the name of the probe. */
struct stapsdt {
	Elf64_Addr pc, base, semaphore;
	char provider[];
};

/* Add a uprobe on the site of an SDT note if the note belongs to the probe bench_on. */
static int add_note_uprobe(const char *path, const Elf64_Ehdr *elf, const struct stapsdt *note)
{
	const char *name = note->provider + strlen(note->provider) + 1;

	if (strcmp(name, "bench_on"))
		return 0;
	return add_counting_uprobe(path, find_file_offset(elf, note->pc));
}

static int add_section_uprobes(const char *path, const Elf64_Ehdr *elf, const Elf64_Shdr *section)
{
	const char *at = (const char *)elf + section->sh_offset, *end = at + section->sh_size;
	int err = 0;

	while (at < end && !err) {
		const Elf64_Nhdr *note = (const void *)at;

		at += sizeof(*note) + ((note->n_namesz + 3) & ~3U);
		err = add_note_uprobe(path, elf, (const void *)at);
		at += (note->n_descsz + 3) & ~3U;
	}
	return err;
}

static int add_elf_uprobes(const char *path, const Elf64_Ehdr *elf)
{
	const Elf64_Shdr *section = (const void *)elf + elf->e_shoff;
	const char *names = (const char *)elf + section[elf->e_shstrndx].sh_offset;
	int i, err = 0;

	for (i = 0; i < elf->e_shnum && !err; i++)
		if (!strcmp(names + section[i].sh_name, ".note.stapsdt"))
			err = add_section_uprobes(path, elf, &section[i]);
	return err;
}

static int add_object_uprobes(const char *path)
{
	int err = -EIO, file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *elf;

	if (file < 0)
		return -errno;
	elf = fstat(file, &stat) ? MAP_FAILED
				 : mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (elf == MAP_FAILED)
		return -EIO;
	err = add_elf_uprobes(path, elf);
	munmap(elf, stat.st_size);
	return err;
}

static const char *enable_measured_probe(void)
{
	Dl_info own;
	int err;

	if (read_uprobe_pmu_type() < 0)
		return "this kernel has no uprobes for perf events";
	if (!dladdr(&bench_peer, &own))
		return "the path of peer-sdt.so cannot be found";
	err = add_object_uprobes(own.dli_fname);
	if (!err && nr_uprobes)
		return NULL;
	close_uprobes();
	return explain_uprobe_error(err);
}

const struct bench_peer bench_peer = {
	.off = BENCH_ROW("peer-sdt-off", off),
	.on = BENCH_ROW("peer-sdt-on", on),
	.switch_on = enable_measured_probe,
	.switch_off = close_uprobes,
};
