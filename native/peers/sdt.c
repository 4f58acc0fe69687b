// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statically defined probes of SystemTap: a nop in the code and a note in the
 * file.  A tracer lets the kernel put a breakpoint there; here the tracer is a perf
 * event that only counts.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peer.h"

#define PMU_TYPE	"/sys/bus/event_source/devices/uprobe/type"
#define MAX_SITES	16

BENCH_OPS(off, DTRACE_PROBE2(kmarkers, bench_off, 1, NULL))
BENCH_OPS(on, DTRACE_PROBE2(kmarkers, bench_on, 1, NULL))

static int events[MAX_SITES];
static unsigned int nr_events;

/* The description in a note; the names of provider and probe follow. */
struct stapsdt {
	Elf64_Addr pc, base, semaphore;
	char provider[];
};

static int uprobe_type(void)
{
	FILE *file = fopen(PMU_TYPE, "r");
	int type = -1;

	if (file && fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file)
		fclose(file);
	return type;
}

static int open_event(const char *path, unsigned long offset)
{
	struct perf_event_attr attr = {
		.type = uprobe_type(),
		.size = sizeof(attr),
		.uprobe_path = (unsigned long)path,
		.probe_offset = offset,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static unsigned long file_offset(const Elf64_Ehdr *elf, unsigned long addr)
{
	const Elf64_Phdr *phdr = (const void *)elf + elf->e_phoff;
	int i;

	for (i = 0; i < elf->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && addr - phdr[i].p_vaddr < phdr[i].p_filesz)
			return addr - phdr[i].p_vaddr + phdr[i].p_offset;
	return 0;
}

/* Listen to the probe of a note, if it is bench_on. */
static int take_note(const char *path, const Elf64_Ehdr *elf, const struct stapsdt *note)
{
	const char *name = note->provider + strlen(note->provider) + 1;

	if (strcmp(name, "bench_on") || nr_events == MAX_SITES)
		return 0;
	events[nr_events] = open_event(path, file_offset(elf, note->pc));
	if (events[nr_events] < 0)
		return -errno;
	nr_events++;
	return 0;
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

static void switch_off(void)
{
	while (nr_events)
		close(events[--nr_events]);
}

static const char *switch_on(void)
{
	Dl_info own;
	int err;

	if (uprobe_type() < 0)
		return "this kernel has no uprobes for perf events";
	if (!dladdr(&bench_peer, &own))
		return "its file is not known";
	err = listen_to(own.dli_fname);
	if (!err && nr_events)
		return NULL;
	switch_off();
	return err == -EACCES || err == -EPERM ? "no permission for uprobes" : strerror(-err);
}

const struct bench_peer bench_peer = {
	.off = BENCH_ROW("peer-sdt-off", off),
	.on = BENCH_ROW("peer-sdt-on", on),
	.switch_on = switch_on,
	.switch_off = switch_off,
};
