// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write hits as trace records: probes for trace buffers and for perf.
 *
 * As in tracepoints, nothing here prevents recursion: the ring buffer rejects a record that is
 * reserved while another one is written in the same context.
 */
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/trace_events.h>

#include <kmarkers/arguments.h>

#include "event_call.h"
#include "event_write.h"
#include "layout.h"

/* The arguments of a hit, and the sizes of its strings in bytes. */
struct hit {
	unsigned long slots[MARKER_MAX_ARGS];
	u16 lengths[MARKER_MAX_ARGS];
};

/*
 * Fetch the arguments of a hit, and return the size of its record.  Each variadic integer or
 * pointer has the size of an unsigned long.
 */
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

/* Probe that writes a record to a trace buffer. Preemption is disabled, as in every probe. */
void marker_event_to_buffer(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct event_user *user = private;
	struct trace_event_file *file = READ_ONCE(user->file);
	const struct record_layout *layout;
	unsigned int size;
	struct hit hit;

	/*
	 * Check this first: after del_user() failed to disconnect a user, its file is disabled and
	 * its event may have been removed.
	 */
	if (trace_trigger_soft_disabled(file))
		return;
	layout = user->event->layout;
	size = take_hit(&hit, layout, args);
	put_in_buffer(layout, file, size, hit.slots, hit.lengths);
}

/* Return the size of a perf record: perf requires a multiple of 8, less 4 bytes. */
static unsigned int align_perf_size(unsigned int bytes)
{
	return ALIGN(bytes + sizeof(u32), sizeof(u64)) - sizeof(u32);
}

/* Return true if perf or a BPF program uses this event on this CPU. */
static __always_inline bool is_event_wanted(struct marker_event *event)
{
	return bpf_prog_array_valid(&event->call) ||
	       !hlist_empty(this_cpu_ptr(event->call.perf_events));
}

static __always_inline void put_in_perf(struct marker_event *event, unsigned int bytes,
					const unsigned long *slots, const u16 *lengths)
{
	struct hlist_head *head = this_cpu_ptr(event->call.perf_events);
	unsigned int size = align_perf_size(bytes);
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

/* Probe that writes a record for perf and for BPF programs attached to the perf event. */
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
 * marker_event_write() - write the record of a hit, for event sources other than markers
 * @private: the user that the source's connect() was called with
 * @args: the arguments, one for each field
 *
 * Context: any; preemption is disabled once, as the trace core assumes when it records that count.
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
