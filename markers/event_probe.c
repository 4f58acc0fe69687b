// SPDX-License-Identifier: GPL-2.0-only
/*
 * The built-in probe "trace", which writes each hit of a marker as the trace event
 * kmarkers:marker, for ftrace, perf and BPF.
 *
 * The probe runs in every context of a marker, NMIs included.  Each CPU has a buffer for each of
 * four contexts: task, softirq, hard interrupt and NMI.  If the probe itself hits a traced marker,
 * or calls a function with one, that hit is skipped and counted.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#include "event_probe.h"
#include "format.h"

#define CREATE_TRACE_POINTS
#include "event.h"

#define TEXT_BYTES	512
#define SITE_BYTES	256
#define NAME_BYTES	128

enum { IN_TASK, IN_SOFTIRQ, IN_IRQ, IN_NMI, CONTEXTS };

struct texts {
	char name[NAME_BYTES];
	char site[SITE_BYTES];
	char text[TEXT_BYTES];
};

/**
 * struct event_buffers - the buffers of one CPU
 * @inside: bit mask of the contexts that are in the probe; a context clears its bit at the end
 * @nested: number of hits that were skipped
 * @texts: the text buffers of each context
 */
struct event_buffers {
	unsigned long inside;
	unsigned long nested;
	struct texts texts[CONTEXTS];
};

static struct event_buffers __percpu *buffers;

static unsigned int current_context(void)
{
	if (in_nmi())
		return IN_NMI;
	if (hardirq_count())
		return IN_IRQ;
	return softirq_count() & SOFTIRQ_OFFSET ? IN_SOFTIRQ : IN_TASK;
}

static void describe_site(char *site, const struct marker *marker)
{
	if (marker->file)
		snprintf(site, SITE_BYTES, "%s %s %s:%u", marker->module, marker->func,
			 kbasename(marker->file), marker->line);
	else
		snprintf(site, SITE_BYTES, "%s %s", marker->module, marker->func);
}

/* The probe: writes the event of a hit. Preemption is disabled, as in every probe. */
void marker_event_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	const struct marker *marker = marker_of_args(args);
	struct event_buffers *own;
	unsigned int context;
	struct texts *texts;

	if (!trace_marker_enabled())
		return;
	own = this_cpu_ptr(buffers);
	context = current_context();
	if (own->inside & BIT(context)) {
		own->nested++;
		return;
	}
	own->inside |= BIT(context);
	barrier();
	texts = &own->texts[context];
	strscpy(texts->name, marker->name, NAME_BYTES);
	describe_site(texts->site, marker);
	marker_format_print(texts->text, TEXT_BYTES, fmt, args);
	trace_marker(texts->name, texts->site, texts->text);
	barrier();
	own->inside &= ~BIT(context);
}

unsigned long marker_event_nested(void)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(buffers, cpu)->nested);
	return sum;
}

int marker_event_enable(void)
{
	return trace_set_clr_event("kmarkers", "marker", 1);
}

int __init marker_event_init(void)
{
	buffers = alloc_percpu(struct event_buffers);
	return buffers ? 0 : -ENOMEM;
}

void marker_event_exit(void)
{
	free_percpu(buffers);
}
