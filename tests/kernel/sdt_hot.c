// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two SDT probes that breakpoints arm, in functions of their own.  In front of the first site is an
 * instruction of one byte, for a kprobe.  Writing a number to the parameter pass passes both that
 * often.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(thot);
SDT_PROBE_DEFINE1(thot, , , probed, "int");
SDT_PROBE_DEFINE1(thot, , , free, "int");

static unsigned long sum;

static noinline void thot_probed(int number)
{
	sum += number;
	asm volatile("nop" : : "D" ((long)number) : "memory");
	SDT_PROBE_FLAVOUR(breakpoint, thot, , , probed, number);
}

static noinline void thot_free(int number)
{
	sum -= number;
	SDT_PROBE_FLAVOUR(breakpoint, thot, , , free, number);
}

static int pass(const char *text, const struct kernel_param *unused)
{
	unsigned int times;
	int err = kstrtouint(text, 0, &times);

	if (err)
		return err;
	while (times--) {
		thot_probed(times);
		thot_free(times);
	}
	return 0;
}

static const struct kernel_param_ops pass_ops = {
	.set = pass,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "pass both probes that often");

MODULE_DESCRIPTION("SDT probes that become hot");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
