// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes, which are SDT sites without an instruction of their own, in functions that are compiled
 * with several options.  The main parameters of the module are:
 *
 *	pass	write o1, o2, o3 or fp to execute the functions of one option once, or "others"
 *		to execute all other functions once
 *	repeat	write N to execute the functions of all options N times
 *	listen	while 1, a handler stores the probe and the arguments of each hit
 *	seen	the hits since the last write to pass
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "../common/notes_probes.h"
#include "notes_doubts.h"

SDT_PROBE_DEFINE1(tnotes, , , own, "int *");
SDT_PROVIDER_DEFINE(tpair);
SDT_PROBE_DEFINE0(tpair, , , first);
SDT_PROBE_DEFINE0(tpair, , , second);

void o1_notes(void);
void o2_notes(void);
void o3_notes(void);
void fp_notes(void);

static const struct {
	const char *name;
	void (*run)(void);
} levels[] = {
	{ "o1", o1_notes },
	{ "o2", o2_notes },
	{ "o3", o3_notes },
	{ "fp", fp_notes },
};

static char seen[PAGE_SIZE - 16];
static size_t written;

static void print_hit_to_seen(void *private, const struct sdt_hit *hit)
{
	unsigned int i;

	written += scnprintf(seen + written, sizeof(seen) - written, "%s", sdt_hit_probe(hit)->name);
	for (i = 0; i < hit->nr; i++)
		written += scnprintf(seen + written, sizeof(seen) - written, " %ld",
				     hit->args[i]);
	written += scnprintf(seen + written, sizeof(seen) - written, "\n");
}

static int attach_on_write(const char *text, const struct kernel_param *unused)
{
	bool on;
	int err = kstrtobool(text, &on);

	if (err)
		return err;
	if (on)
		return sdt_attach("tnotes:::*", print_hit_to_seen, NULL);
	err = sdt_detach("tnotes:::*", print_hit_to_seen, NULL);
	sdt_synchronize();
	return err;
}

static const struct kernel_param_ops listen_ops = {
	.set = attach_on_write,
};
module_param_cb(listen, &listen_ops, NULL, 0200);
MODULE_PARM_DESC(listen, "1: attach a handler to all probes of tnotes; 0: detach it");

static noinline void hit_own(void)
{
	SDT_PROBE_FLAVOUR(note, tnotes, , , own, &notes_global);
	WRITE_ONCE(notes_sink, 3);
}

/* Hit a note directly before a jump site.  The kprobe of the note is on the jump site. */
static noinline void hit_pair(void)
{
	SDT_PROBE_FLAVOUR(note, tpair, , , first);
	SDT_PROBE_FLAVOUR(jump, tpair, , , second);
	WRITE_ONCE(notes_sink, 4);
}

static int run_level_on_write(const char *text, const struct kernel_param *unused)
{
	unsigned int i;

	written = 0;
	seen[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!sysfs_streq(text, levels[i].name))
			continue;
		levels[i].run();
		return 0;
	}
	if (!sysfs_streq(text, "others"))
		return -EINVAL;
	notes_alone(written);
	notes_refused();
	hit_own();
	hit_pair();
	return 0;
}

static int print_seen(char *buffer, const struct kernel_param *unused)
{
	memcpy(buffer, seen, written);
	return written;
}

static const struct kernel_param_ops pass_ops = {
	.set = run_level_on_write,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "o1, o2, o3, fp or others: execute these functions once");

static const struct kernel_param_ops seen_ops = {
	.get = print_seen,
};
module_param_cb(seen, &seen_ops, NULL, 0400);
MODULE_PARM_DESC(seen, "probe and arguments of each hit since the last write to pass");

static int print_address_of_global(char *buffer, const struct kernel_param *unused)
{
	return sprintf(buffer, "%ld\n", (long)&notes_global);
}

static const struct kernel_param_ops address_ops = {
	.get = print_address_of_global,
};
module_param_cb(address, &address_ops, NULL, 0400);
MODULE_PARM_DESC(address, "value of the argument of the probe own: the address of notes_global");

static int run_levels_repeatedly(const char *text, const struct kernel_param *unused)
{
	unsigned int i, times;
	int err = kstrtouint(text, 0, &times);

	for (; !err && times; times--)
		for (i = 0; i < ARRAY_SIZE(levels); i++)
			levels[i].run();
	return err;
}

static const struct kernel_param_ops repeat_ops = {
	.set = run_levels_repeatedly,
};
module_param_cb(repeat, &repeat_ops, NULL, 0200);
MODULE_PARM_DESC(repeat, "write N to execute the functions of o1, o2, o3 and fp N times");

static int __init test_notes_init(void)
{
	return 0;
}

static void __exit test_notes_exit(void)
{
}

module_init(test_notes_init);
module_exit(test_notes_exit);

MODULE_DESCRIPTION("SDT probes of the flavour note");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
