// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statically defined probes of SystemTap: a nop in the code and a note in the
 * file.  A tracer lets the kernel put a breakpoint there; here the tracer is a perf
 * event that only counts.
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

/* The description in a note; the names of provider and probe follow. */
struct stapsdt {
	Elf64_Addr pc, base, semaphore;
	char provider[];
};

/* Listen to the probe of a note, if it is bench_on. */
static int take_note(const char *path, const Elf64_Ehdr *elf, const struct stapsdt *note)
{
	const char *name = note->provider + strlen(note->provider) + 1;

	if (strcmp(name, "bench_on"))
		return 0;
	return uprobes_add(path, uprobes_offset(elf, note->pc));
}

static int take_notes(const char *path, const Elf64_Ehdr *elf, const Elf64_Shdr *section)
{
	const char *at = (const char *)elf + section->sh_offset, *end = at + section->sh_size;
	int err = 0;

	while (at < end && !err) {
		const Elf64_Nhdr *note = (const void *)at;

		at += sizeof(*note) + ((note->n_namesz + 3) & ~3U);
		err = take_note(path, elf, (const void *)at);
		at += (note->n_descsz + 3) & ~3U;
	}
	return err;
}

static int take_file(const char *path, const Elf64_Ehdr *elf)
{
	const Elf64_Shdr *section = (const void *)elf + elf->e_shoff;
	const char *names = (const char *)elf + section[elf->e_shstrndx].sh_offset;
	int i, err = 0;

	for (i = 0; i < elf->e_shnum && !err; i++)
		if (!strcmp(names + section[i].sh_name, ".note.stapsdt"))
			err = take_notes(path, elf, &section[i]);
	return err;
}

static int listen_to(const char *path)
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
	err = take_file(path, elf);
	munmap(elf, stat.st_size);
	return err;
}

static const char *switch_on(void)
{
	Dl_info own;
	int err;

	if (uprobes_type() < 0)
		return "this kernel has no uprobes for perf events";
	if (!dladdr(&bench_peer, &own))
		return "its file is not known";
	err = listen_to(own.dli_fname);
	if (!err && nr_uprobes)
		return NULL;
	uprobes_drop();
	return uprobes_why(err);
}

const struct bench_peer bench_peer = {
	.off = BENCH_ROW("peer-sdt-off", off),
	.on = BENCH_ROW("peer-sdt-on", on),
	.switch_on = switch_on,
	.switch_off = uprobes_drop,
};
