// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers for tests of trace events.  A write of "NAME" or "NAME TIMES" to the parameter "hit"
 * calls the function hit_NAME() below on every CPU, once or TIMES times.  Two modules are built
 * from this file, so that both modules have markers of the same names.  With fail=1 the init
 * function returns an error; with wait=1 the init function waits until the parameter "wait" is 0.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include <kmarkers/marker.h>
#include <kmarkers/typed.h>

#ifdef FIELDS_AGAIN
#define DIFFERS	"another %lu"
#else
#define DIFFERS	"one %lu"
#endif

#define FORTY	"%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d " \
		"%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d"

DECLARE_MARKER(fd_typed,
	MARKER_PROTO(u64 sector, u32 bytes),
	MARKER_ARGS(sector, bytes),
	"sector %llu bytes %u");
DEFINE_MARKER(fd_typed);

/* A marker that is never hit, with 200 arguments, more than a trace event supports. */
DEFINE_MARKER(fd_two_hundred, FORTY " " FORTY " " FORTY " " FORTY " " FORTY);

static void hit_request(unsigned long nr)
{
	trace_mark(fd_request, "sector %lu bytes %u name %s", nr, 512, nr % 2 ? "odd" : "even");
}

static void hit_typed(unsigned long nr)
{
	mark_typed(fd_typed, nr, 512);
}

static void hit_differs(unsigned long nr)
{
	trace_mark(fd_differs, DIFFERS, nr);
}

/* Pass zero and negative numbers of every width. */
static void hit_signed(unsigned long nr)
{
	trace_mark(fd_signed, "tiny %hhd small %hd number %d big %ld wide %lld", -(int)nr, -(int)nr,
		   -(int)nr, -(long)nr, -(long long)nr);
}

/* Pass an address at which there is no string, and a precision that truncates a string. */
static void hit_marker_with_bad_string(unsigned long nr)
{
	trace_mark(fd_bad, "string %s and %.*s then %ld", (char *)0x10, 2, "abc", nr);
}

static void hit_array(unsigned long nr)
{
	static const u8 bytes[] = { 0x00, 0x1f, 0xa0, 0xff, 0x05, 0x60 };

	trace_mark(fd_array, "mac %pM key %4ph bad %2phN nr %lu", bytes, bytes, (void *)0x10, nr);
}

/* Pass a string whose characters and length other CPUs change while it is copied. */
static void hit_changing(unsigned long nr)
{
	static char string[64];
	unsigned int i;

	for (i = 0; i < nr % sizeof(string); i++)
		WRITE_ONCE(string[i], nr % 2 ? 'a' : 'b');
	WRITE_ONCE(string[i], '\0');
	trace_mark(fd_changing, "string %s", string);
}

/* Hit a marker with the same format as the markers that kmarkers attaches to functions. */
static void hit_shared(unsigned long nr)
{
#ifdef FIELDS_AGAIN
	trace_mark(fd_shared, "caller %pS args %lx %lx %lx %lx %lx %lx", (void *)_THIS_IP_, nr, nr,
		   nr, nr, nr, nr);
#endif
}

static unsigned long evaluated;
module_param(evaluated, ulong, 0400);
MODULE_PARM_DESC(evaluated, "number of evaluations of the argument of fd_counted");
static bool fail, wait;
module_param(fail, bool, 0400);
module_param(wait, bool, 0600);

static void hit_counted(unsigned long nr)
{
	trace_mark(fd_counted, "nr %lu evaluated %lu", nr, ++evaluated);
}

/* Hit markers whose names are also names of files in a directory of trace events. */
static void hit_taken(unsigned long nr)
{
	trace_mark(enable, "nr %lu", nr);
	trace_mark(filter, "nr %lu", nr);
}

static const struct {
	const char *name;
	void (*hit)(unsigned long nr);
} hit_functions[] = {
	{ "request", hit_request },
	{ "typed", hit_typed },
	{ "differs", hit_differs },
	{ "array", hit_array },
	{ "signed", hit_signed },
	{ "bad", hit_marker_with_bad_string },
	{ "changing", hit_changing },
	{ "counted", hit_counted },
	{ "taken", hit_taken },
	{ "shared", hit_shared },
};

struct hits {
	void (*hit)(unsigned long nr);
	unsigned int times;
};

static void hit_on_cpu(void *data)
{
	const struct hits *hits = data;
	unsigned long i;

	for (i = 0; i < hits->times; i++)
		hits->hit(i);
}

static int call_hit_function_on_all_cpus(char *line)
{
	char *name = strsep(&line, " ");
	struct hits hits = { .times = 1 };
	unsigned int i;

	if (line && kstrtouint(line, 0, &hits.times))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(hit_functions); i++) {
		if (strcmp(name, hit_functions[i].name))
			continue;
		hits.hit = hit_functions[i].hit;
		on_each_cpu(hit_on_cpu, &hits, 1);
		return 0;
	}
	return -EINVAL;
}

static int hit_on_write(const char *value, const struct kernel_param *param)
{
	char *line = kstrdup(value, GFP_KERNEL);
	int err = line ? call_hit_function_on_all_cpus(strim(line)) : -ENOMEM;

	kfree(line);
	return err;
}

static const struct kernel_param_ops hit_ops = { .set = hit_on_write };
module_param_cb(hit, &hit_ops, NULL, 0200);
MODULE_PARM_DESC(hit, "name of the markers to hit, and number of hits on each CPU (default 1)");

/* The wait is limited to 60 seconds, so that a failing test does not keep the module loaded. */
static int __init fields_init(void)
{
	unsigned long end = jiffies + 60 * HZ;

	while (READ_ONCE(wait) && time_before(jiffies, end))
		msleep(20);
	return fail ? -ENODEV : 0;
}

static void __exit fields_exit(void)
{
}

module_init(fields_init);
module_exit(fields_exit);

MODULE_DESCRIPTION("Markers for tests of trace events");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
