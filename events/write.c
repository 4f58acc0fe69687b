// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a record for each hit of an event, for trace buffers, perf and BPF programs that perf runs.
 *
 * As in the kernel's tracepoints, nothing here guards against recursion: if a hit writes a record
 * while another record is being written in the same context, the ring buffer rejects the second
 * record.
 */
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/trace_events.h>

#include <kmarkers/arguments.h>

#include "call.h"
#include "layout.h"
#include "write.h"

static __always_inline void write_buffer_record(const struct record_layout *layout,
						struct trace_event_file *file, unsigned int size,
						const unsigned long *slots, const u16 *lengths)
{
	struct trace_event_buffer buffer;
	void *record = trace_event_buffer_reserve(&buffer, file, size);

	if (!record)
		return;
	kmarkers_layout_write_record(layout, record, slots, lengths);
	trace_event_buffer_commit(&buffer);
}

/* Round up the size of a perf record, so that size + 4 is divisible by 8: perf adds 4 bytes. */
static unsigned int round_up_perf_size(unsigned int bytes)
{
	return ALIGN(bytes + sizeof(u32), sizeof(u64)) - sizeof(u32);
}

/* Return true if perf records the event on this CPU, or a BPF program is attached to the event. */
static __always_inline bool has_perf_or_bpf_user(struct kmarkers_event *event)
{
	return bpf_prog_array_valid(&event->call) ||
	       !hlist_empty(this_cpu_ptr(event->call.perf_events));
}

static __always_inline void write_perf_record(struct kmarkers_event *event, unsigned int bytes,
					      const unsigned long *slots, const u16 *lengths)
{
	struct hlist_head *head = this_cpu_ptr(event->call.perf_events);
	unsigned int size = round_up_perf_size(bytes);
	struct pt_regs *regs;
	void *record;
	int context;

	record = perf_trace_buf_alloc(size, &regs, &context);
	if (!record)
		return;
	perf_fetch_caller_regs(regs);
	kmarkers_layout_write_record(event->layout, record, slots, lengths);
	perf_trace_run_bpf_submit(record, size, context, &event->call, 1, regs, head, NULL);
}

/*
 * Return true if a user records hits now.  If the user has a file, read only the file, not the
 * event: if the user could not be disconnected, the file is soft-disabled, and the event may have
 * been removed.
 */
static __always_inline bool is_event_user_recording(const struct event_user *user,
						    struct trace_event_file *file)
{
	return file ? !trace_trigger_soft_disabled(file) : has_perf_or_bpf_user(user->event);
}

static __always_inline void write_hit_record(const struct event_user *user,
					     struct trace_event_file *file,
					     const unsigned long *slots)
{
	struct kmarkers_event *event = user->event;
	u16 lengths[MARKER_MAX_ARGS];
	unsigned int size = kmarkers_layout_compute_size(event->layout, slots, lengths);

	if (file)
		write_buffer_record(event->layout, file, size, slots, lengths);
	else
		write_perf_record(event, size, slots, lengths);
}

/**
 * kmarkers_event_write_record() - write the record of a hit
 * @private: the user that the source's connect() was given
 * @args: the arguments, one for each field
 *
 * Context: any; the caller has disabled preemption once, so the record shows the preemption count
 * minus 1.
 */
void kmarkers_event_write_record(void *private, const unsigned long *args)
{
	struct event_user *user = private;
	struct trace_event_file *file = READ_ONCE(user->file);

	if (is_event_user_recording(user, file))
		write_hit_record(user, file, args);
}

/**
 * kmarkers_event_probe() - write the record of a hit, as the probe function of a marker
 * @private: the user that the source's connect() was given
 * @call_private: ignored
 * @format: ignored
 * @args: the arguments, one for each field, each an integer or a pointer
 *
 * Context: any; the caller has disabled preemption once, so the record shows the preemption count
 * minus 1.
 */
void kmarkers_event_probe(void *private, void *call_private, const char *format, va_list *args)
{
	struct event_user *user = private;
	struct trace_event_file *file = READ_ONCE(user->file);
	unsigned long slots[MARKER_MAX_ARGS];
	unsigned int i;

	if (!is_event_user_recording(user, file))
		return;
	/* Every variadic integer or pointer has a slot as large as an unsigned long. */
	for (i = 0; i < user->event->layout->nr; i++)
		slots[i] = va_arg(*args, unsigned long);
	write_hit_record(user, file, slots);
}
