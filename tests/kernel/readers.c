// SPDX-License-Identifier: GPL-2.0-only
/*
 * A marker for each row of the table in readers.h.  Tracers must decode the trace events of these
 * markers correctly.  A write to the parameter "hit" hits each marker once.  The parameters
 * rows_... show the rows: name, conversion, filter expression and text, separated by tabs.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sysfs.h>

#include <kmarkers/marker.h>
#include <kmarkers/sdt.h>

#include "readers.h"

/* -Wformat does not know all formats of the kernel's printk(). */
#pragma GCC diagnostic ignored "-Wformat"

#define SENTINEL	4711

static const u8 bytes[] = { 0x00, 0x1f, 0xa0, 0xff, 0x05, 0x60 };

SDT_PROVIDER_DEFINE(readers);
SDT_PROBE_DEFINE7(readers, , , all, "const pid_t", "volatile u8", "s16 const", "unsigned long",
		  "const char *", "void *", "int");

/* Hit the marker of a row.  A bar marks the beginning of the text, which may begin with blanks. */
#define HIT(row, conversion, text, value, args...)			\
	trace_mark(rd_##row, "|" conversion " sentinel %d", ## args, SENTINEL);

static noinline void hit_markers_with_numbers(void)
{
	NUMBERS(HIT)
}

static noinline void hit_flag_markers(void)
{
	FLAGS(HIT)
}

static noinline void hit_star_markers(void)
{
	STARS(HIT)
}

static noinline void hit_strings(void)
{
	STRINGS(HIT)
}

static noinline void hit_pointers(void)
{
	POINTERS(HIT)
}

/*
 * Eight numbers, each of 250 characters.  The text of one EIGHT fits in a page; the text of three
 * EIGHT does not.
 */
#define EIGHT	" %250d %250d %250d %250d %250d %250d %250d %250d"

static noinline void hit_long_marker(int nr)
{
	trace_mark(rl_long, "|nr %d" EIGHT " sentinel %d", nr, nr, nr, nr, nr, nr, nr, nr, nr,
		   SENTINEL);
}

static noinline void hit_endless_marker(void)
{
	trace_mark(rl_endless, "|nr %d" EIGHT EIGHT EIGHT " sentinel %d", 1, 1, 1, 1, 1, 1, 1, 1, 1,
		   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, SENTINEL);
}

static int set_hit(const char *line, const struct kernel_param *param)
{
	int i;

	hit_markers_with_numbers();
	hit_flag_markers();
	hit_star_markers();
	hit_strings();
	hit_pointers();
	for (i = 0; i < 40; i++)
		hit_long_marker(i);
	hit_endless_marker();
	SDT_PROBE7(readers, , , all, (pid_t)-3, (u8)200, (s16)-300, 3000000000UL, "text",
		   (void *)0x1234, SENTINEL);
	return 0;
}

static const struct kernel_param_ops hit_ops = { .set = set_hit };
module_param_cb(hit, &hit_ops, NULL, 0200);
MODULE_PARM_DESC(hit, "any value: hit each marker once");

#define SHOW(row, conversion, text, value, args...)			\
	at += scnprintf(buffer + at, PAGE_SIZE - at, "%s\t%s\t%s\t%s\n", #row, conversion, value, \
			text);

#define SHOW_ROWS(rows, ROWS)						\
static int show_##rows(char *buffer, const struct kernel_param *param)	\
{									\
	int at = 0;							\
									\
	ROWS(SHOW)							\
	return at;							\
}									\
									\
static const struct kernel_param_ops rows##_ops = { .get = show_##rows };	\
module_param_cb(rows_##rows, &rows##_ops, NULL, 0400)

SHOW_ROWS(numbers, NUMBERS);
SHOW_ROWS(flags, FLAGS);
SHOW_ROWS(stars, STARS);
SHOW_ROWS(strings, STRINGS);
SHOW_ROWS(pointers, POINTERS);

static int __init readers_init(void)
{
	return 0;
}

static void __exit readers_exit(void)
{
}

module_init(readers_init);
module_exit(readers_exit);

MODULE_DESCRIPTION("Markers with every format that tracers must decode");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
