// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of an SDT probe with two arguments in an empty loop: disabled (sdt-dormant), enabled
 * without a breakpoint (sdt-enabled), or enabled by a breakpoint (sdt-trapped).  The handler is
 * empty.  The variants are the flavours of <kmarkers/sdt.h> and other implementations that were
 * discussed in 2015.  A probe whose flavour is "note" has no instruction of its own, only a record
 * of its address.  Such a probe is measured only while it is disabled: it can be enabled only by
 * another program in user space, and by a kprobe in the kernel.  peer-kprobe-optimised measures the
 * cost of a kprobe.
 */
/*
 * In user space, omit the nop that is the site of a USDT note.  In modules, the site of an SDT note
 * never has a nop.
 */
#define SDT_NOTES_WITHOUT_NOP

#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/sdt.h>

#include "ops.h"
#include "sdt_forms.h"

SDT_PROVIDER_DEFINE(bench_sdt);
SDT_PROBE_DEFINE2(bench_sdt, , , off, "int", "unsigned long");
SDT_PROBE_DEFINE2(bench_sdt, , , on, "int", "unsigned long");
/* A probe with two handlers. */
SDT_PROBE_DEFINE2(bench_sdt, , , two, "int", "unsigned long");
/* A probe whose flavour is "breakpoint", and whose breakpoint is replaced by a jump (promoted). */
SDT_PROBE_DEFINE2(bench_sdt, , , promoted, "int", "unsigned long");

form_handler *bench_form_handler;
bool bench_form_gate;

noinline void bench_call_handler_if_enabled(const struct form_probe *probe, unsigned long arg)
{
	FORM_FUNC_PTR(*probe, arg);
}

static struct form_probe form_off, form_on;

#define SITE(flavour, probe)						\
	SDT_PROBE_FLAVOUR(flavour, bench_sdt, , , probe, 1, (unsigned long)i)

BENCH_OPS(off_none, (void)0)
BENCH_OPS(off_clone, (void)0)
BENCH_OPS(off_jump, SITE(jump, off))
BENCH_OPS(off_breakpoint, SITE(breakpoint, off))
BENCH_OPS(off_nop, SITE(nop, off))
BENCH_OPS(off_split, SITE(split, off))
BENCH_OPS(off_func_ptr, FORM_FUNC_PTR(form_off, i))
BENCH_OPS(off_global_gate, FORM_GLOBAL_GATE(form_off, i))
BENCH_OPS(off_decoder_call, FORM_DECODER_CALL(form_off, i))
BENCH_OPS(off_note, SITE(note, off))

static const struct bench_variant off_variants[] = {
	BENCH_ROW("none", off_none),
	BENCH_ROW("none-clone", off_clone),
	BENCH_ROW("sdt-jump", off_jump),
	BENCH_ROW("sdt-breakpoint", off_breakpoint),
	BENCH_ROW("sdt-nop", off_nop),
	BENCH_ROW("sdt-split", off_split),
	BENCH_ROW("sdt-func-ptr", off_func_ptr),
	BENCH_ROW("sdt-global-gate", off_global_gate),
	BENCH_ROW("sdt-decoder-call", off_decoder_call),
	BENCH_ROW("sdt-note", off_note),
};

/*
 * Check that the sites are disabled: another program may attach handlers, and promote_after may
 * promote or demote sites at any time.  The check reads the states of all sites, which replaces data
 * in the caches, so it is made before the windows of every variant.
 */
static int check_sites_of_disabled_probe(unsigned int variant)
{
	return sdt_check_site_states(&sdt_bench_sdt___off, 0, false);
}

const struct bench_group bench_sdt_dormant = {
	.name = "sdt-dormant",
	.variants = off_variants,
	.nr_variants = ARRAY_SIZE(off_variants),
	.select = check_sites_of_disabled_probe,
};

BENCH_OPS(on_none, (void)0)
BENCH_OPS(on_clone, (void)0)
BENCH_OPS(on_jump, SITE(jump, on))
BENCH_OPS(on_jump_2, SITE(jump, two))
BENCH_OPS(on_promoted, SITE(breakpoint, promoted))
BENCH_OPS(on_func_ptr, FORM_FUNC_PTR(form_on, i))
BENCH_OPS(on_global_gate, FORM_GLOBAL_GATE(form_on, i))
BENCH_OPS(on_decoder_call, FORM_DECODER_CALL(form_on, i))

static const struct bench_variant on_variants[] = {
	BENCH_ROW("none", on_none),
	BENCH_ROW("none-clone", on_clone),
	BENCH_ROW("sdt-jump", on_jump),
	BENCH_ROW("sdt-jump-2-handlers", on_jump_2),
	BENCH_ROW("sdt-breakpoint-promoted", on_promoted),
	BENCH_ROW("sdt-func-ptr", on_func_ptr),
	BENCH_ROW("sdt-global-gate", on_global_gate),
	BENCH_ROW("sdt-decoder-call", on_decoder_call),
};

/*
 * Variants of sdt-trapped: probes that are enabled by a breakpoint.  In user space, a hit of a
 * probe with a breakpoint takes about a thousand times as long as a hit of a probe without a
 * breakpoint.
 */
BENCH_OPS(trap_none, (void)0)
BENCH_OPS(trap_clone, (void)0)
BENCH_OPS(trap_breakpoint, SITE(breakpoint, on))
BENCH_OPS(trap_nop, SITE(nop, on))
BENCH_OPS(trap_split, SITE(split, on))

static const struct bench_variant trap_variants[] = {
	BENCH_ROW("none", trap_none),
	BENCH_ROW("none-clone", trap_clone),
	BENCH_ROW("sdt-breakpoint", trap_breakpoint),
	BENCH_ROW("sdt-nop", trap_nop),
	BENCH_ROW("sdt-split", trap_split),
};

static noinline void empty_handler_with_id(u32 id, unsigned long arg)
{
	barrier();
}

static void empty_handler(void *private, const struct sdt_hit *hit)
{
}

#define ARMED		"bench_sdt:::on"
#define TWO		"bench_sdt:::two"
#define PROMOTED	"bench_sdt:::promoted"

static void teardown_sdt_probes(void)
{
	WRITE_ONCE(bench_form_gate, false);
	WRITE_ONCE(form_on.id, 0);
	sdt_promote(PROMOTED, false);
	sdt_detach(PROMOTED, empty_handler, NULL);
	sdt_detach(TWO, empty_handler, &form_on);
	sdt_detach(TWO, empty_handler, NULL);
	sdt_detach(ARMED, empty_handler, NULL);
	sdt_synchronize();
}

static int setup_sdt_probes(void)
{
	int err = sdt_attach(ARMED, empty_handler, NULL);

	WRITE_ONCE(bench_form_handler, empty_handler_with_id);
	WRITE_ONCE(form_on.id, 1);
	WRITE_ONCE(bench_form_gate, true);
	if (!err)
		err = sdt_attach(TWO, empty_handler, NULL);
	if (!err)
		err = sdt_attach(TWO, empty_handler, &form_on);
	if (!err)
		err = sdt_attach(PROMOTED, empty_handler, NULL);
	if (!err)
		err = sdt_promote(PROMOTED, true);
	if (err)
		teardown_sdt_probes();
	return err;
}

static int check_sites_of_enabled_probes(unsigned int variant)
{
	return sdt_check_site_states(&sdt_bench_sdt___on, 1, false) ?:
	       sdt_check_site_states(&sdt_bench_sdt___two, 2, false) ?:
	       sdt_check_site_states(&sdt_bench_sdt___promoted, 1, true);
}

const struct bench_group bench_sdt_enabled = {
	.name = "sdt-enabled",
	.variants = on_variants,
	.nr_variants = ARRAY_SIZE(on_variants),
	.setup = setup_sdt_probes,
	.teardown = teardown_sdt_probes,
	.select = check_sites_of_enabled_probes,
};

const struct bench_group bench_sdt_trapped = {
	.name = "sdt-trapped",
	.variants = trap_variants,
	.nr_variants = ARRAY_SIZE(trap_variants),
	.setup = setup_sdt_probes,
	.teardown = teardown_sdt_probes,
	.select = check_sites_of_enabled_probes,
};
