// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the hits of markers as records: probes for trace buffers and perf.
 *
 * As with tracepoints there is no guard: the ring buffer rejects recursion in one context.
 */
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/trace_events.h>

#include <kmarkers/arguments.h>

#include "event_call.h"
#include "event_write.h"
#include "layout.h"

/* The arguments of a hit. */
struct hit {
	unsigned long slots[MARKER_MAX_ARGS];
	u16 lengths[MARKER_MAX_ARGS];
};

/* Every variadic argument that is an integer or a pointer has a slot of this size. */
static __always_inline unsigned int take_hit(struct hit *hit, const struct record_layout *layout,
					     va_list *args)
{
	unsigned int i;

	for (i = 0; i < layout->nr; i++)
		hit->slots[i] = va_arg(*args, unsigned long);
	return marker_layout_measure(layout, hit->slots, hit->lengths);
}

static __always_inline void put_in_buffer(const struct record_layout *layout,
					  struct trace_event_file *file, unsigned int size,
					  const unsigned long *slots, const u16 *lengths)
{
	struct trace_event_buffer buffer;
	void *record = trace_event_buffer_reserve(&buffer, file, size);

	if (!record)
		return;
	marker_layout_fill(layout, record, slots, lengths);
	trace_event_buffer_commit(&buffer);
}

/* Preemption is disabled, as always in a probe. */
void marker_event_to_buffer(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct event_user *user = private;
	struct trace_event_file *file = READ_ONCE(user->file);
	const struct record_layout *layout;
	unsigned int size;
	struct hit hit;

	/*
	 * A user that could not be disconnected has a disabled file, and its event may have been
	 * removed.
	 */
	if (trace_trigger_soft_disabled(file))
		return;
	layout = user->event->layout;
	size = take_hit(&hit, layout, args);
	put_in_buffer(layout, file, size, hit.slots, hit.lengths);
}

/* perf aligns a record so that its size is 4 bytes less than a multiple of 8. */
static unsigned int perf_size(unsigned int bytes)
{
	return ALIGN(bytes + sizeof(u32), sizeof(u64)) - sizeof(u32);
}

/* Does perf, or a BPF program, record this event on this CPU? */
static __always_inline bool is_event_wanted(struct marker_event *event)
{
	return bpf_prog_array_valid(&event->call) ||
	       !hlist_empty(this_cpu_ptr(event->call.perf_events));
}

static __always_inline void put_in_perf(struct marker_event *event, unsigned int bytes,
					const unsigned long *slots, const u16 *lengths)
{
	struct hlist_head *head = this_cpu_ptr(event->call.perf_events);
	unsigned int size = perf_size(bytes);
	struct pt_regs *regs;
	void *record;
	int context;

	record = perf_trace_buf_alloc(size, &regs, &context);
	if (!record)
		return;
	perf_fetch_caller_regs(regs);
	marker_layout_fill(event->layout, record, slots, lengths);
	perf_trace_run_bpf_submit(record, size, context, &event->call, 1, regs, head, NULL);
}

/* Write a record for perf and for BPF programs that perf runs. */
void marker_event_to_perf(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct event_user *user = private;
	struct marker_event *event = user->event;
	unsigned int bytes;
	struct hit hit;

	if (!is_event_wanted(event))
		return;
	bytes = take_hit(&hit, event->layout, args);
	put_in_perf(event, bytes, hit.slots, hit.lengths);
}

/**
 * marker_event_write() - write the record of a hit of another event source
 * @private: what the source's connect() was given
 * @args: one for each field
 *
 * Context: any, with preemption disabled once.
 */
void marker_event_write(void *private, const unsigned long *args)
{
	struct event_user *user = private;
	struct trace_event_file *file = READ_ONCE(user->file);
	struct marker_event *event = user->event;
	u16 lengths[MARKER_MAX_ARGS];
	unsigned int size;

	if (file ? trace_trigger_soft_disabled(file) : !is_event_wanted(event))
		return;
	size = marker_layout_measure(event->layout, args, lengths);
	if (file)
		put_in_buffer(event->layout, file, size, args, lengths);
	else
		put_in_perf(event, size, args, lengths);
}
