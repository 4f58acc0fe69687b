/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Markers: places in the code where a probe can be connected at run time.
 *
 * OVERVIEW
 *
 * A marker is written once into the code, with a name, a format and arguments.  While no probe is
 * connected, the marker costs one nop and no data, and its arguments are not evaluated.  Probes are
 * connected by name, before or after the marked module loads.
 *
 * EXAMPLE
 *
 *	The marked module:
 *
 *	trace_mark(disk_request, "sector %llu bytes %u", sector, bytes);
 *
 *	The probe module:
 *
 *	static void probe(void *probe_private, void *call_private,
 *			  const char *fmt, va_list *args)
 *	{
 *		u64 sector = va_arg(*args, u64);
 *		...
 *	}
 *
 *	err = marker_probe_register("disk_request", "sector %llu bytes %u",
 *				    probe, NULL);
 *	...
 *	marker_probe_unregister("disk_request", probe, NULL);
 *	marker_synchronize_unregister();
 *
 *	As in 2006, on the same markers, with <linux/marker.h>:
 *
 *	MARK(disk_request, "sector %llu bytes %u", sector, bytes);
 *
 *	static void probe(const char *fmt, ...)
 *	...
 *	if (!marker_set_probe("disk_request", "sector %llu bytes %u", probe))
 *		...
 *	marker_remove_probe(probe);
 *
 *	A walk through all markers:
 *
 *	struct marker_iter iter;
 *
 *	marker_iter_reset(&iter);
 *	for (marker_iter_start(&iter); iter.marker; marker_iter_next(&iter))
 *		...
 *	marker_iter_stop(&iter);
 *
 * Markers with types that the compiler checks are in <kmarkers/typed.h>.
 *
 * FLAVOURS
 *
 *	jump		one nop or jump (the default)
 *	immediate	the state is an operand of an instruction, then test and branch
 *	generic		the state is a byte in memory; also allowed in __init and __exit text
 *	cmp_flip	a comparison of a register with itself, and a conditional jump
 *	xor_flip	an xor of a register with itself, and a conditional jump
 *
 * All flavours do the same; they differ in their cost while no probe is connected.
 *
 * CONTEXT
 *
 *	function			may sleep  irq	nmi
 *	trace_mark(), MARK() of 2006	no	   yes	yes (if the probes can)
 *	all others			yes	   no	no
 *
 * Probes run in the context of the marked code, with preemption disabled, and
 * must not sleep.  Each probe gets a va_list of its own.
 *
 * GUARANTEES
 *
 * A probe is always called with the private data it was registered with.  After
 * marker_synchronize_unregister() returned, no probe unregistered before this call still runs.  A
 * marker stays off, and is logged, if its format differs from the format registered for its name.
 * The probes of a module that is unloaded without unregistering them are disconnected and logged.
 * A probe that hits its own marker recurses without end: there is no recursion guard.
 *
 * WHERE MARKERS ARE FORBIDDEN
 *
 * A marker must not be placed where RCU is not watching: in the innermost part of the idle loop, in
 * entry code and in other noinstr code.  Nothing waits for a probe that runs there: neither
 * marker_synchronize_unregister() nor the code that frees arrays of probes.  A kernel with
 * PROVE_RCU reports a hit of a marker that is placed there.
 *
 * Source: Linux Kernel Markers, 2006 (MARK) and 2.6.25-2.6.31 (trace_mark).
 */
#ifndef KMARKERS_MARKER_H
#define KMARKERS_MARKER_H

#if !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#endif

#include <kmarkers/dialect.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/types.h>
#include <kmarkers/arguments.h>
#include <kmarkers/immediate.h>
#include <kmarkers/table.h>

/* Tables of markers refer to this symbol, so modules with markers depend on kmarkers_markers. */
extern const u8 marker_tables_need_markers;

KMARKERS_CHUNK(markers, marker_tables_need_markers, 4);

/* Format of a marker that has no arguments. */
#define MARK_NOARGS	" "

/**
 * typedef marker_probe_func - a probe
 * @probe_private: private data that was passed to marker_probe_register()
 * @call_private: pointer that the marked code passes; NULL with trace_mark()
 * @fmt: the marker's format
 * @args: arguments of the marker
 */
typedef void marker_probe_func(void *probe_private, void *call_private,
			       const char *fmt, va_list *args);

/**
 * struct marker_probe - one connected probe; the last element of an array has a NULL @func
 * @func: the probe
 * @private: private data of the probe
 */
struct marker_probe {
	marker_probe_func *func;
	void *private;
};

enum marker_flavour {
	MARKER_GENERIC,
	MARKER_IMMEDIATE,
	MARKER_JUMP,
	MARKER_CMP_FLIP,
	MARKER_XOR_FLIP,
	MARKER_TYPED,
	MARKER_FUNCTION,
	MARKER_TRACEPOINT,
};

/**
 * struct marker - a marker: one place in the code
 * @name: the marker's name
 * @format: the marker's format
 * @func: name of the function that contains the marker
 * @file: source file of the marker; NULL for a marker attached to a function
 * @line: line number of the marker in @file
 * @state__imv: 1 while probes are connected; read by the site
 * @flavour: enum marker_flavour; how the site reads @state__imv
 * @nr_args: number of arguments of the marker
 * @probes: array of the probes to call, protected by RCU; NULL if there are none
 * @node: link in the registry; private
 * @module: name of the module that contains the marker
 */
struct marker {
	const char *name;
	const char *format;
	const char *func;
	const char *file;
	unsigned int line;
	u8 state__imv;
	u8 flavour;
	u8 nr_args;
	const struct marker_probe __rcu *probes;
	struct list_head node;
	const char *module;
};

/**
 * struct marker_tp - a marker inside the callback of a tracepoint
 * @marker: the fields that all markers have
 * @tracepoint: the tracepoint
 * @callback: function that is connected to @tracepoint while the marker has probes
 * @ready: true when all module notifiers have run for the module, so that the callback may run;
 *	private
 * @node: link in a list while the callback is connected; private
 */
struct marker_tp {
	struct marker marker;
	struct tracepoint *tracepoint;
	void *callback;
	bool ready;
	struct list_head node;
};

/**
 * struct marker_call - the data of one hit, which a marker passes to its probes
 * @marker: the marker
 * @private: passed to each probe as call_private
 * @format: the marker's format
 * @args: the marker's arguments
 */
struct marker_call {
	const struct marker *marker;
	void *private;
	const char *format;
	va_list args;
};

/**
 * marker_of_args() - return the marker that called a probe
 * @args: the pointer that was passed to the probe, not a pointer to a copy
 *
 * Return: the marker, which is valid until the probe returns.
 */
static inline const struct marker *marker_of_args(va_list *args)
{
	return container_of(args, struct marker_call, args)->marker;
}

/* Emit the record of a marker: the address of its struct marker, relative to the record. */
#define __MARKER_RECORD(marker)						\
	asm volatile(KMARKERS_RECORD(markers,				\
		     "	.long %c0 - .\n")				\
		     : : "i" (&(marker)))

#ifdef __KERNEL__
#define __MARKER_MODULE		KBUILD_MODNAME
#else
#define __MARKER_MODULE		"program"
#endif

#define __marker_state_generic(marker)		READ_ONCE((marker).state__imv)
#define __marker_state_immediate(marker)	imv_read((marker).state)
#define __marker_state_jump(marker)		imv_branch((marker).state)
#define __marker_state_cmp_flip(marker)		imv_cmp_flip((marker).state)
#define __marker_state_xor_flip(marker)		imv_xor_flip((marker).state)
#define __marker_flavour_generic		MARKER_GENERIC
#define __marker_flavour_immediate		MARKER_IMMEDIATE
#define __marker_flavour_jump			MARKER_JUMP
#define __marker_flavour_cmp_flip		MARKER_CMP_FLIP
#define __marker_flavour_xor_flip		MARKER_XOR_FLIP

static inline __printf(1, 2) void __marker_check_format(const char *fmt __maybe_unused, ...)
{
}

/**
 * trace_mark_flavour() - place a marker of a chosen flavour
 * @kind: generic, immediate, jump, cmp_flip or xor_flip
 * @mark: name of the marker, an identifier of at most MARKER_NAME_MOST characters
 * @call_data: passed to the probes as call_private
 * @fmt: format of the marker, a literal; MARK_NOARGS if there are no arguments
 * @args: arguments of the marker, evaluated only while a probe is connected
 */
#define trace_mark_flavour(kind, mark, call_data, fmt, args...)	\
do {									\
	__MARKER_CHECK_NAME(mark);					\
	__MARKER_CHECK_FORMAT(fmt);					\
	static struct marker __marker_here =				\
		__MARKER_INIT(mark, fmt, __func__, __marker_flavour_##kind, \
			      __MARKER_COUNT(args));			\
									\
	__MARKER_SITE(kind, __marker_here, call_data, fmt, ## args);	\
} while (0)

/* Maximum length of a marker's name: names of trace events cannot be longer. */
#define MARKER_NAME_MOST	63
#ifdef __CHECKER__
#define __MARKER_CHECK_QUOTES(mark)	_Static_assert(1, "")
#else
#define __MARKER_CHECK_QUOTES(mark)					\
	_Static_assert(__builtin_memcmp(#mark, "\"", 1),		\
		       "the name of a marker is an identifier: write it without quotes")
#endif
#define __MARKER_CHECK_NAME(mark)					\
	__MARKER_CHECK_QUOTES(mark);					\
	_Static_assert(sizeof(#mark) <= MARKER_NAME_MOST + 1,		\
		       "the name of a marker has more than 63 characters, too many for a trace event")

/*
 * Refuse a format that is not a literal: LTTng's trace_mark(channel, name, ...) has the marker's
 * name where the format must be.
 */
#ifdef __CHECKER__
#define __MARKER_CHECK_FORMAT(fmt)	_Static_assert(1, "")
#else
#define __MARKER_CHECK_FORMAT(fmt)					\
	_Static_assert(!__builtin_memcmp(#fmt, "\"", 1),		\
		       "the format of a marker is not a string literal: for trace_mark(channel, name, format, ...) of LTTng write trace_mark(channel_name, format, ...)")
#endif

#define __MARKER_INIT(mark, fmt, where, how, nr) {			\
	.name = #mark,							\
	.format = fmt,							\
	.func = where,							\
	.file = __FILE__,						\
	.line = __LINE__,						\
	.flavour = how,							\
	.nr_args = nr,							\
	.module = __MARKER_MODULE,					\
}

/*
 * True if @call_data is the constant NULL.  The cast keeps gcc from warning about an argument such
 * as &object.
 */
#define __MARKER_IS_NULL(call_data)					\
	(__builtin_constant_p((unsigned long)(call_data)) && !(unsigned long)(call_data))

#define __MARKER_SITE(kind, marker, call_data, fmt, args...)		\
do {									\
	__MARKER_RECORD(marker);					\
	if (0)								\
		__marker_check_format(fmt, ## args);			\
	if (unlikely(__marker_state_##kind(marker))) {			\
		if (__MARKER_IS_NULL(call_data))			\
			marker_call_probes(&(marker), ## args);		\
		else							\
			marker_probe_call(&(marker), call_data, fmt, ## args); \
	}								\
} while (0)

/**
 * trace_mark() - place a marker, as in Linux 2.6.25-2.6.31
 * @name: name of the marker, an identifier of at most MARKER_NAME_MOST characters
 * @format: format of the marker, a literal; MARK_NOARGS if there are no arguments
 * @args: arguments of the marker
 */
#define trace_mark(name, format, args...)				\
	trace_mark_flavour(jump, name, NULL, format, ## args)

/**
 * _trace_mark() - place a marker whose state is read from memory, for __init and __exit text
 * @name: name of the marker, an identifier of at most MARKER_NAME_MOST characters
 * @format: format of the marker, a literal; MARK_NOARGS if there are no arguments
 * @args: arguments of the marker
 */
#define _trace_mark(name, format, args...)				\
	trace_mark_flavour(generic, name, NULL, format, ## args)

#ifdef __KERNEL__
/**
 * trace_mark_tp() - place a marker in the callback of a tracepoint, as in Linux 2.6.28-2.6.31
 * @mark: name of the marker, an identifier of at most MARKER_NAME_MOST characters
 * @tp_name: the tracepoint, whose header the file includes
 * @tp_cb: the callback that contains the marker, of the type that current kernels require
 * @fmt: format of the marker, a literal; MARK_NOARGS if there are no arguments
 * @args: arguments of the marker
 *
 * The callback is connected to the tracepoint while any marker in the callback has probes.  A
 * callback may contain several markers, or several copies of a marker in an inline function.
 *
 * Other code must not connect the callback with NULL as data: otherwise registering a probe returns
 * -EEXIST, and a module whose marker has a registered probe is not loaded.  The log names the
 * marker, the callback and the tracepoint.
 */
#define trace_mark_tp(mark, tp_name, tp_cb, fmt, args...)		\
do {									\
	__MARKER_CHECK_NAME(mark);					\
	__MARKER_CHECK_FORMAT(fmt);					\
	static struct marker_tp __marker_here = {			\
		.marker = __MARKER_INIT(mark, fmt, __func__, MARKER_TRACEPOINT, \
					__MARKER_COUNT(args)),		\
		.tracepoint = &__tracepoint_##tp_name,			\
		.callback = (void *)(tp_cb),				\
	};								\
									\
	check_trace_callback_type_##tp_name(tp_cb);			\
	__MARKER_SITE(jump, __marker_here.marker, NULL, fmt, ## args); \
} while (0)
#endif

/**
 * DEFINE_MARKER() - define a marker, at file scope
 * @args: either the name of a typed marker, see <kmarkers/typed.h>; or the name and the format of a
 *	  marker that the code hits by calls of marker_probe_call(), as in 2.6.28-2.6.31
 *
 * GET_MARKER(name) is the marker defined by a name and a format.  The marked code passes the
 * address of GET_MARKER(name), call_private, the format and the arguments of the marker to
 * marker_probe_call().  The number of arguments is not recorded, so a probe with the interface of
 * 2006 gets the format without the arguments.
 */
#define DEFINE_MARKER(args...)						\
	__MARKER_BY_COUNT(__DEFINE_MARKER_, __MARKER_COUNT(args))(args)
#define __MARKER_BY_COUNT(prefix, nr)		__MARKER_BY_COUNT_NR(prefix, nr)
#define __MARKER_BY_COUNT_NR(prefix, nr)	prefix ## nr

#define __DEFINE_MARKER_2(mark, fmt)					\
__MARKER_CHECK_NAME(mark);						\
static struct marker __marker_##mark __used =				\
	__MARKER_INIT(mark, fmt, "DEFINE_MARKER", MARKER_GENERIC, 0);	\
asm(KMARKERS_RECORD(markers, "	.long __marker_" #mark " - .\n"))

/**
 * GET_MARKER() - the struct marker that DEFINE_MARKER(name, format) defined
 * @mark: name of the marker
 */
#define GET_MARKER(mark)	(__marker_##mark)

void marker_call_probes(const struct marker *marker, ...);
void marker_probe_call(const struct marker *marker, void *call_private, const char *fmt, ...);
int marker_probe_register(const char *name, const char *format,
			  marker_probe_func *probe, void *probe_private);
int marker_probe_unregister(const char *name, marker_probe_func *probe, void *probe_private);
int marker_probe_unregister_private_data(marker_probe_func *probe, void *probe_private);
void *marker_get_private_data(const char *name, marker_probe_func *probe, int num);
void marker_synchronize_unregister(void);

/**
 * typedef marker_probe_2006 - a probe with the interface of 2006
 * @fmt: the marker's format; the marker's arguments follow, which are integers and pointers
 */
typedef void marker_probe_2006(const char *fmt, ...);

/*
 * Type of a parameter that is a probe with the interface of 2006.  Callers may pass the probe as it
 * is, or cast it to marker_probe_func.
 */
union marker_any_probe {
	marker_probe_2006 *probe;
	marker_probe_func *cast;
} __attribute__((__transparent_union__));

int marker_set_probe(const char *name, const char *format, union marker_any_probe probe);
int marker_remove_probe(union marker_any_probe probe);
int marker_list_probe(union marker_any_probe probe);

/**
 * struct marker_iter - a walk through all markers
 * @module: the module of @marker; NULL in user space
 * @marker: the current marker; NULL at the end of the walk
 * @pos: private
 * @index: private
 * @table: private
 * @locked: private
 */
struct marker_iter {
	struct module *module;
	struct marker *marker;
	unsigned int pos;
	unsigned int index;
	struct marker_table *table;
	bool locked;
};

void marker_iter_reset(struct marker_iter *iter);
void marker_iter_start(struct marker_iter *iter);
void marker_iter_next(struct marker_iter *iter);
void marker_iter_stop(struct marker_iter *iter);

#endif /* KMARKERS_MARKER_H */
