/* SPDX-License-Identifier: GPL-2.0-only */
/* Uprobes that only count executions.  Each peer that includes this file has its own uprobes. */
#ifndef NATIVE_PEERS_UPROBES_H
#define NATIVE_PEERS_UPROBES_H

#include <elf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kmarkers/bench.h>

/*
 * Like BENCH_OPS(), but with only four copies of the code.  Each copy has one uprobe, and is
 * used for a quarter of the layouts.  Four copies suffice, because the cost of a uprobe depends
 * little on its address.  More copies would slow down the run, because the removal of a uprobe
 * takes 0.1 s: the kernel waits for grace periods while it holds a mutex, so removals by several
 * threads also follow one another.  The file env records the number of copies.
 */
#define UPROBES_OPS(id, ...)						\
	BENCH_OP(id, 0, __VA_ARGS__) BENCH_OP(id, 2, __VA_ARGS__)	\
	BENCH_OP(id, 4, __VA_ARGS__) BENCH_OP(id, 6, __VA_ARGS__)	\
	static bench_op *const id##_layouts[] = {			\
		[0 ... BENCH_LAYOUTS / 4 - 1] = id##_0,			\
		[BENCH_LAYOUTS / 4 ... BENCH_LAYOUTS / 2 - 1] = id##_2,	\
		[BENCH_LAYOUTS / 2 ... BENCH_LAYOUTS * 3 / 4 - 1] = id##_4, \
		[BENCH_LAYOUTS * 3 / 4 ... BENCH_LAYOUTS - 1] = id##_6,	\
	}

#define UPROBES_TYPE	"/sys/bus/event_source/devices/uprobe/type"
#define UPROBES_MOST	16

static int uprobes[UPROBES_MOST];
static unsigned int nr_uprobes;

static int read_uprobe_pmu_type(void)
{
	FILE *file = fopen(UPROBES_TYPE, "r");
	int type = -1;

	if (file && fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file)
		fclose(file);
	return type;
}

/* Return the file offset of an address of an ELF file; 0 if no segment contains the address. */
static unsigned long find_file_offset(const Elf64_Ehdr *elf, unsigned long addr)
{
	const Elf64_Phdr *phdr = (const void *)elf + elf->e_phoff;
	int i;

	for (i = 0; i < elf->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && addr - phdr[i].p_vaddr < phdr[i].p_filesz)
			return addr - phdr[i].p_vaddr + phdr[i].p_offset;
	return 0;
}

/* Add a uprobe that counts how often this process executes the instruction at a file offset. */
static int add_counting_uprobe(const char *path, unsigned long offset)
{
	struct perf_event_attr attr = {
		.type = read_uprobe_pmu_type(),
		.size = sizeof(attr),
		.uprobe_path = (unsigned long)path,
		.probe_offset = offset,
	};

	if (nr_uprobes == UPROBES_MOST)
		return -ENOSPC;
	uprobes[nr_uprobes] = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (uprobes[nr_uprobes] < 0)
		return -errno;
	nr_uprobes++;
	return 0;
}

static void close_uprobes(void)
{
	while (nr_uprobes)
		close(uprobes[--nr_uprobes]);
}

static const char *explain_uprobe_error(int err)
{
	return err == -EACCES || err == -EPERM ? "no permission to create uprobes" : strerror(-err);
}

#endif /* NATIVE_PEERS_UPROBES_H */
