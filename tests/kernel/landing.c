// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jumps that are switched on and off by patching.  The instruction before the target of each jump
 * is shorter than 5 bytes: if a kprobe on that instruction were optimised into a jump of 5 bytes,
 * the kprobe's jump would overwrite the target.
 *
 *	branch	imv_branch()
 *	jump	a nop that becomes a jump; a patcher site of this module
 *	run	five nops that become xor, jmp and nop; a patcher site of several instructions
 *	compare	a cmp of eax with 0 that becomes a cmp with 3; not a jump
 *	plain	code that does not change
 *
 * A write of 0 or 1 to a parameter switches the jump that has the parameter's name off or on.  A
 * read of a parameter calls the function that has the parameter's name, and returns the result: 43,
 * or 36 if a jump skipped the add.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#define LEN	5
#define OFF	43

static const char owner[] = "landing";
static DEFINE_IMV(bool, passed_over);

extern struct patcher_site landing_sites[];

asm(".pushsection .discard_test_landing, \"aw\", @progbits\n"
	"	.balign 4\n"
	"landing_sites:\n"
	".popsection\n");

/* Define a site.  @number is stored in the record's field size, which the patcher does not use. */
#define SITE(number, flags, bytes)					\
	"77:	.byte " bytes "\n"					\
	".pushsection .discard_test_landing, \"aw\", @progbits\n"	\
	"	.long 77b - ., 0\n"					\
	"	.byte 5, " number "\n"					\
	"	.short " flags "\n"					\
	".popsection\n"

/*
 * The instruction add (83 c0 01), on which the kprobe is, and imul (6b c0 07), to which the jump
 * leads.
 */
#define ADD_AND_MULTIPLY	"	addl $1, %%eax\n	imull $7, %%eax, %%eax\n"

static noinline int landing_branch(int n, int m)
{
	if (!imv_branch(passed_over))
		asm volatile("addl $1, %%eax" : "+a" (n));
	asm volatile("imull $7, %%eax, %%eax" : "+a" (n));
	return n + m;
}

static noinline int landing_jump(int n, int m)
{
	asm volatile(SITE("0", "0", "0x0f, 0x1f, 0x44, 0, 0") ADD_AND_MULTIPLY : "+a" (n) : : "cc");
	return n + m;
}

static noinline int landing_run(int n, int m)
{
	asm volatile(SITE("1", "1", "0x90, 0x90, 0x90, 0x90, 0x90") ADD_AND_MULTIPLY
		     : "+a" (n) : : "cc", "rdx");
	return n + m;
}

static noinline int landing_compare(int n, int m)
{
	asm volatile(SITE("2", "0", "0x3d, 0, 0, 0, 0") ADD_AND_MULTIPLY : "+a" (n) : : "cc");
	return n + m;
}

static noinline int landing_plain(int n, int m)
{
	asm volatile(ADD_AND_MULTIPLY : "+a" (n) : : "cc");
	return n + m;
}

static struct patcher_table table = {
	.sites = landing_sites, .nr = 3, .module = THIS_MODULE, .owner = owner,
};

static const u8 insn[][2][LEN] = {
	{ { 0x0f, 0x1f, 0x44, 0, 0 }, { 0xe9, 3, 0, 0, 0 } },
	/* The site "run" while it is on: xor %edx, %edx; jmp over the nop and the add; nop. */
	{ { 0x90, 0x90, 0x90, 0x90, 0x90 }, { 0x31, 0xd2, 0xeb, 4, 0x90 } },
	{ { 0x3d, 0, 0, 0, 0 }, { 0x3d, 3, 0, 0, 0 } },
};

/*
 * Switch a site on or off.  If @wrong is true, pass wrong old bytes, so that the batch is refused.
 */
static int switch_landing_site(unsigned int number, bool on, bool wrong)
{
	struct patcher_poke poke = { .len = LEN };
	unsigned int i;

	/* Registering the table has sorted the sites. */
	for (i = 0; i < table.nr; i++)
		if (landing_sites[i].size == number)
			poke.addr = (u8 *)patcher_site_addr(&landing_sites[i]);
	memcpy(poke.old, poke.addr, LEN);
	poke.old[LEN - 1] ^= wrong;
	memcpy(poke.new, insn[number][on], LEN);
	return patcher_apply(owner, &poke, 1);
}

static int set_branch(const char *text, const struct kernel_param *kp)
{
	bool on;

	return kstrtobool(text, &on) ?: imv_set(passed_over, on);
}

static int set_jump(const char *text, const struct kernel_param *kp)
{
	bool on;

	return kstrtobool(text, &on) ?: switch_landing_site(0, on, false);
}

static int set_run(const char *text, const struct kernel_param *kp)
{
	bool on;

	return kstrtobool(text, &on) ?: switch_landing_site(1, on, false);
}

static int set_compare(const char *text, const struct kernel_param *kp)
{
	bool on;

	return kstrtobool(text, &on) ?: switch_landing_site(2, on, false);
}

/*
 * Try to switch the jump on in a batch that is refused, because the old bytes of the poke are
 * wrong.
 */
static int set_refused(const char *text, const struct kernel_param *kp)
{
	return switch_landing_site(0, true, true);
}

/* Call the function that kp->arg points to, and print the result of the call. */
static int call_and_print(char *text, const struct kernel_param *kp)
{
	int (*function)(int n, int m) = kp->arg;

	return sprintf(text, "%d\n", function(5, 1));
}

static const struct kernel_param_ops branch_ops = { .set = set_branch, .get = call_and_print };
static const struct kernel_param_ops jump_ops = { .set = set_jump, .get = call_and_print };
static const struct kernel_param_ops run_ops = { .set = set_run, .get = call_and_print };
static const struct kernel_param_ops compare_ops = { .set = set_compare, .get = call_and_print };
static const struct kernel_param_ops refused_ops = { .set = set_refused };
static const struct kernel_param_ops plain_ops = { .get = call_and_print };

module_param_cb(branch, &branch_ops, landing_branch, 0600);
module_param_cb(jump, &jump_ops, landing_jump, 0600);
module_param_cb(run, &run_ops, landing_run, 0600);
module_param_cb(compare, &compare_ops, landing_compare, 0600);
module_param_cb(refused, &refused_ops, NULL, 0200);
module_param_cb(plain, &plain_ops, landing_plain, 0400);

static bool target_has_endbr;
module_param(target_has_endbr, bool, 0400);
MODULE_PARM_DESC(target_has_endbr, "Y: an ENDBR is at the target of the branch");

/*
 * clang puts an ENDBR at the target of an asm goto if the kernel has indirect branch tracking.  The
 * kernel does not optimise a kprobe whose jump would overwrite an ENDBR.
 */
static bool find_endbr_at_target(void)
{
	static const u8 endbr_and_multiply[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x6b, 0xc0, 0x07 };
	const u8 *function = (const u8 *)landing_branch;
	unsigned int i;

	/* Hide the constant address: objtool would report a pointer behind the function. */
	OPTIMIZER_HIDE_VAR(function);
	for (i = 0; i < 64; i++)
		if (!memcmp(function + i, endbr_and_multiply, sizeof(endbr_and_multiply)))
			return true;
	return false;
}

static int __init landing_init(void)
{
	target_has_endbr = find_endbr_at_target();
	if (landing_branch(5, 1) != OFF || landing_jump(5, 1) != OFF || landing_run(5, 1) != OFF ||
	    landing_compare(5, 1) != OFF)
		return -EILSEQ;
	return patcher_register(&table);
}

static void __exit landing_exit(void)
{
	patcher_unregister(&table);
}

module_init(landing_init);
module_exit(landing_exit);

MODULE_DESCRIPTION("Jumps to an instruction that an optimised kprobe could overwrite");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
