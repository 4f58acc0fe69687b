// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers with every kind of format.  A write of "NAME" or "NAME TIMES" to kmarkers_test_events/hit
 * in debugfs calls the function hit_NAME() below, once or TIMES times.  Some markers are hit in
 * interrupts, in handlers of kprobes, and while the hit of another marker is recorded.
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <linux/marker.h>

#define MAX_LINE	64

#define TEN(t)	t t t t t t t t t t
#define LONG		TEN(TEN(TEN("long ")))	/* 5000 bytes */

static DEFINE_MUTEX(lock);
static struct dentry *dir;

static void hit_plain(void)
{
	trace_mark(ev_plain, "number %d text %s", 42, "abc");
}

static void hit_marker_noargs(void)
{
	MARK(ev_noargs, MARK_NOARGS);
}

static void hit_integers(void)
{
	trace_mark(ev_integers, "%hhd %hhu %hd %u %ld %llx %#lx %c %5d|%-5d|%05d %% %*d %.3d",
		   (signed char)-1, (unsigned char)255, (short)-2, ~0U, -3L, ~0ULL, 255UL, 'x',
		   1, 2, 3, 4, 5, 6);
}

static void hit_strings(void)
{
	trace_mark(ev_strings, "%s|%5s|%-5s|%.2s|%.*s|%s", "abc", "de", "fg", "hij", 1, "klm",
		   (const char *)NULL);
}

static void hit_pointers(void)
{
	trace_mark(ev_pointers, "%ps %p", hit_plain, &lock);
}

/* Pass three invalid string pointers: one to user space, one non-canonical, one unmapped. */
static void hit_bad_strings(void)
{
	trace_mark(ev_bad_strings, "%s %s %s", (char *)0x1234, (char *)0xdead000000000000,
		   (char *)-4096L);
}

static char endless[PAGE_SIZE];

/* Pass a page without a terminating zero. */
static void hit_endless(void)
{
	memset(endless, 'e', sizeof(endless));
	trace_mark(ev_endless, "%s", endless);
}

/* Pass the address of a variable for %n.  The hit must store nothing in the variable. */
static void hit_hostile(void)
{
	int unused = 0;

	trace_mark(ev_count, "%d %n", 1, &unused);
	if (unused)
		pr_err("marker ev_count: %%n in the format stored a number\n");
}

static void hit_marker_with_long_format(void)
{
	trace_mark(ev_long, LONG "%d", 1);
}

static void hit_markers_with_field_widths(void)
{
	trace_mark(ev_wide, "%100000d", 1);
	trace_mark(ev_wide_argument, "%*d|%.*d", 100000, 1, 100000, 1);
}

/* Hit a marker whose name, "list", is also the name of a file of kmarkers in debugfs. */
static void hit_marker_with_taken_name(void)
{
	trace_mark(list, "%d", 1);
}

/* Hit two markers of the same name and of different flavours. */
static void hit_two_flavours(void)
{
	trace_mark(ev_twice, "%d", 1);
	_trace_mark(ev_twice, "%d", 2);
}

static void hit_in_irq(void *unused)
{
	trace_mark(ev_irq, "irq %d", !!hardirq_count());
}

static void hit_irq(void)
{
	on_each_cpu(hit_in_irq, NULL, 1);
}

/* Execute the breakpoint of a kprobe, whose handler hits a marker in NMI context. */
static noinline void hit_nmi(void)
{
	asm volatile("nop" : : : "memory");
}

static int hit_marker_in_nmi(struct kprobe *probe, struct pt_regs *regs)
{
	trace_mark(ev_nmi, "nmi %d", !!in_nmi());
	return 0;
}

/* The kernel does not optimise a kprobe with a post_handler, even an empty one, into a jump. */
static void empty_breakpoint_post_handler(struct kprobe *probe, struct pt_regs *regs,
					  unsigned long flags)
{
}

static struct kprobe breakpoint = {
	.pre_handler = hit_marker_in_nmi,
	.post_handler = empty_breakpoint_post_handler,
};

/*
 * Register the kprobe behind the 5-byte ftrace site of hit_nmi().  An ENDBR may precede this site.
 */
static int register_breakpoint_kprobe(void)
{
	static const unsigned int offsets[] = { 5, 9 };
	unsigned int i;
	void *start = hit_nmi;
	int err = -EINVAL;

	/* Hide the pointer from the compiler: objtool warns of pointers into a function. */
	OPTIMIZER_HIDE_VAR(start);
	for (i = 0; i < ARRAY_SIZE(offsets) && err; i++) {
		breakpoint.addr = start + offsets[i];
		breakpoint.flags = 0;
		err = register_kprobe(&breakpoint);
	}
	return err;
}

/*
 * Hit ev_nested during a hit of ev_outer.  This is the handler of a kprobe on
 * kmarkers_layout_compute_size(), which a hit calls before it reserves a record.  The kprobe uses
 * ftrace, so its handler runs in the context of the hit.
 */
static int hit_nested_marker(struct kprobe *probe, struct pt_regs *regs)
{
	trace_mark(ev_nested, "nested %d", 1);
	return 0;
}

static struct kprobe inside = {
	.symbol_name = "kmarkers_layout_compute_size",
	.pre_handler = hit_nested_marker,
};

static void hit_nested(void)
{
	if (register_kprobe(&inside))
		return;
	trace_mark(ev_outer, "outer %d", 1);
	unregister_kprobe(&inside);
	inside.addr = NULL;
}

static const struct {
	const char *name;
	void (*hit)(void);
} hit_functions[] = {
	{ "plain", hit_plain },
	{ "noargs", hit_marker_noargs },
	{ "integers", hit_integers },
	{ "strings", hit_strings },
	{ "pointers", hit_pointers },
	{ "bad_strings", hit_bad_strings },
	{ "endless", hit_endless },
	{ "hostile", hit_hostile },
	{ "long", hit_marker_with_long_format },
	{ "wide", hit_markers_with_field_widths },
	{ "taken", hit_marker_with_taken_name },
	{ "twice", hit_two_flavours },
	{ "irq", hit_irq },
	{ "nmi", hit_nmi },
	{ "nested", hit_nested },
};

static int call_hit_function_by_name(char *line)
{
	char *name = strsep(&line, " ");
	unsigned int i, times = 1;

	if (line && kstrtouint(line, 0, &times))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(hit_functions); i++) {
		if (strcmp(name, hit_functions[i].name))
			continue;
		while (times--)
			hit_functions[i].hit();
		return 0;
	}
	return -EINVAL;
}

static ssize_t hit_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	char *line;
	int err;

	if (!count || count > MAX_LINE)
		return -EINVAL;
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&lock);
	err = call_hit_function_by_name(strim(line));
	mutex_unlock(&lock);
	kfree(line);
	return err ?: count;
}

static const struct file_operations hit_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = hit_write,
	.llseek = noop_llseek,
};

static int __init events_init(void)
{
	int err = register_breakpoint_kprobe();

	if (err)
		return err;
	dir = debugfs_create_dir("kmarkers_test_events", NULL);
	debugfs_create_file("hit", 0200, dir, NULL, &hit_fops);
	return 0;
}

static void __exit events_exit(void)
{
	debugfs_remove_recursive(dir);
	unregister_kprobe(&breakpoint);
}

module_init(events_init);
module_exit(events_exit);

MODULE_DESCRIPTION("Markers with every kind of format");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
