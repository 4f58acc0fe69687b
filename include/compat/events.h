/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compatibility code, as in compat.h, for events/call.c, which adds trace events.  No other file
 * may include this header, because a static variable in it holds pointers to kernel functions.
 */
#ifndef KMARKERS_COMPAT_EVENTS_H
#define KMARKERS_COMPAT_EVENTS_H

#include <linux/trace_events.h>

/*
 * ("tracing: Have dynamic events have a ref counter"), v5.15: before, the member module of struct
 * trace_event_call was called mod, and events had no reference count.  Kernels without
 * CONFIG_DYNAMIC_EVENTS have no reference count either.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0)
#define compat_event_module	module
#else
#define compat_event_module	mod
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0) && defined(CONFIG_DYNAMIC_EVENTS)
#define COMPAT_EVENT_COUNTED	TRACE_EVENT_FL_DYNAMIC

static inline bool compat_event_is_referenced(struct trace_event_call *call)
{
	return call->flags & TRACE_EVENT_FL_DYNAMIC && atomic_read(&call->refcnt);
}

/*
 * Let the kernel count the references to an event in the event's member refcnt, which is in a union
 * with the member module.
 */
static inline void compat_event_use_own_refs(struct trace_event_call *call, struct module *module)
{
	if (call->flags & TRACE_EVENT_FL_DYNAMIC)
		return;
	call->module = NULL;
	atomic_set(&call->refcnt, 0);
	call->flags |= TRACE_EVENT_FL_DYNAMIC;
}
#else
#define COMPAT_EVENT_COUNTED	0

static inline bool compat_event_is_referenced(struct trace_event_call *call)
{
	return false;
}

static inline void compat_event_use_own_refs(struct trace_event_call *call, struct module *module)
{
	call->compat_event_module = module;
}
#endif

/*
 * Let the kernel count each reference to an event as a reference to @module.  The event must be
 * unreferenced.
 */
static inline void compat_event_use_module_refs(struct trace_event_call *call,
						struct module *module)
{
	call->flags &= ~COMPAT_EVENT_COUNTED;
	call->compat_event_module = module;
}

/*
 * b6c7abd1c28a ("tracing: Fix TASK_COMM_LEN in trace event format file"), v6.3, and in
 * v6.1.y: before, fields had no .len, and only the type string contained an array's length.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 20)
#define COMPAT_ARRAY_LENGTH(bytes)	.len = (bytes),
#else
#define COMPAT_ARRAY_LENGTH(bytes)
#endif

/*
 * ("tracing: Allow custom events to be added to the tracefs directory"), v5.18:
 * trace_add_event_call() and trace_remove_event_call() are exported.  On older kernels both
 * functions are looked up by name and called through pointers.  Such calls succeed, because these
 * kernels do not check the targets of indirect branches.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
static inline int compat_find_event_calls(unsigned long (*find)(const char *symbol))
{
	return 0;
}
#else
static struct {
	int (*add)(struct trace_event_call *call);
	int (*remove)(struct trace_event_call *call);
} compat_event_calls;

static inline int compat_find_event_calls(unsigned long (*find)(const char *symbol))
{
	compat_event_calls.add = (void *)find("trace_add_event_call");
	compat_event_calls.remove = (void *)find("trace_remove_event_call");
	return compat_event_calls.add && compat_event_calls.remove ? 0 : -ENOENT;
}

#define trace_add_event_call	compat_event_calls.add
#define trace_remove_event_call	compat_event_calls.remove
#endif

#endif /* KMARKERS_COMPAT_EVENTS_H */
