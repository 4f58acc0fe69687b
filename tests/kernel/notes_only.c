// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module in which the flavour of all SDT probes is "note", so that the module has no table of
 * patch sites.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#define SDT_NOTES_ONLY
#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(tonly);
SDT_PROBE_DEFINE1(tonly, , , passed, "int");

static int passes;

static noinline void hit_passed(int number)
{
	SDT_PROBE1(tonly, , , passed, number);
	WRITE_ONCE(passes, number);
}

static int hit_probe_on_write(const char *text, const struct kernel_param *unused)
{
	hit_passed(passes + 1);
	return 0;
}

static const struct kernel_param_ops pass_ops = {
	.set = hit_probe_on_write,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "any value: hit the note once");

static unsigned int leave_ms;
module_param(leave_ms, uint, 0600);
MODULE_PARM_DESC(leave_ms, "duration of the module's exit function in milliseconds");

static int __init notes_only_init(void)
{
	return 0;
}

static void __exit notes_only_exit(void)
{
	msleep(leave_ms);
}

module_init(notes_only_init);
module_exit(notes_only_exit);

MODULE_DESCRIPTION("A module whose SDT probes are all of the flavour note");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
