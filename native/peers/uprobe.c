// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peer: a uprobe on a nop of five bytes.  Since Linux 6.18 the kernel optimises such a uprobe after
 * its first hit: it replaces the nop by a call to code that makes a system call.  On other kernels
 * the uprobe is a breakpoint, as in sdt.c, so the variant with the uprobe is left out.
 *
 * The call pushes a return address.  In the first kernels that optimise uprobes, the return address
 * overwrites the red zone of the function, so this file is compiled without a red zone.
 */
#include <dlfcn.h>
#include <sys/utsname.h>

#include "peer.h"
#include "uprobes.h"

#define CALL	0xe8
#define NOP	".byte 0x0f, 0x1f, 0x44, 0, 0"

BENCH_OPS(off, asm volatile(NOP : : "D" (1), "S" (NULL)))
UPROBES_OPS(on, asm volatile("771: " NOP "\n\t"			\
			     ".pushsection uprobe_sites, \"aw\"\n\t"	\
			     ".quad 771b\n\t"			\
			     ".popsection" : : "D" (1), "S" (NULL)));

static const struct bench_variant on_row = BENCH_ROW("peer-uprobe-optimised-on", on);

extern const unsigned char *const __start_uprobe_sites[], *const __stop_uprobe_sites[];

static int add_site_uprobes(void)
{
	const unsigned char *const *site;
	Dl_info own;
	int err = 0;

	if (!dladdr(&bench_peer, &own))
		return -ENOENT;
	for (site = __start_uprobe_sites; site < __stop_uprobe_sites && !err; site++) {
		unsigned long addr = *site - (const unsigned char *)own.dli_fbase;

		err = add_counting_uprobe(own.dli_fname, find_file_offset(own.dli_fbase, addr));
	}
	return err;
}

/* Execute all sites.  Return true if the kernel has replaced each of them by a call. */
static bool are_all_sites_optimised(void)
{
	const unsigned char *const *site;
	unsigned int i;

	for (i = 0; i < on_row.nr_layouts; i++)
		on_row.op[i](2);
	for (site = __start_uprobe_sites; site < __stop_uprobe_sites; site++)
		if (READ_ONCE(**site) != CALL)
			return false;
	return true;
}

static const char *enable_measured_probe(void)
{
	static char why[128];
	struct utsname name;
	int err;

	if (read_uprobe_pmu_type() < 0)
		return "this kernel has no uprobes for perf events";
	err = add_site_uprobes();
	if (!err && are_all_sites_optimised())
		return NULL;
	close_uprobes();
	if (err)
		return explain_uprobe_error(err);
	uname(&name);
	snprintf(why, sizeof(why), "kernel %.65s does not optimise uprobes", name.release);
	return why;
}

const struct bench_peer bench_peer = {
	.off = BENCH_ROW("peer-uprobe-optimised-off", off),
	.on = BENCH_ROW("peer-uprobe-optimised-on", on),
	.switch_on = enable_measured_probe,
	.switch_off = close_uprobes,
};
