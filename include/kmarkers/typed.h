/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Typed markers: markers whose arguments have types that the compiler checks.
 *
 * OVERVIEW
 *
 * A typed marker is declared once, in a header that the marked code and the
 * probes include.  The compiler checks the arguments where the marker is hit and the
 * probe where it is registered; arguments are passed in registers and no format is
 * parsed.  A single probe is called by a direct call that is patched into the
 * code; several probes are called through one RCU array.
 *
 * A typed marker is also a marker as in <kmarkers/marker.h>, and is in the same list.  A probe may
 * also be registered by the marker's name with marker_probe_register(), and then gets the marker's
 * arguments in a va_list.
 *
 * EXAMPLE
 *
 *	disk.h:
 *
 *	DECLARE_MARKER(disk_request,
 *		MARKER_PROTO(u64 sector, u32 bytes),
 *		MARKER_ARGS(sector, bytes),
 *		"sector %llu bytes %u");
 *
 *	one .c file of the module that owns the marker:
 *
 *	DEFINE_MARKER(disk_request);
 *	EXPORT_MARKER_SYMBOL_GPL(disk_request);	(if other modules use it)
 *
 *	the marked code, in any module:
 *
 *	mark_typed(disk_request, sector, bytes);
 *
 *	a probe:
 *
 *	static void probe(void *private, u64 sector, u32 bytes)
 *	...
 *	err = marker_register_disk_request(probe, private);
 *	...
 *	marker_unregister_disk_request(probe, private);
 *	marker_synchronize_unregister();
 *
 * CONTEXT
 *
 *	function			may sleep  irq	nmi
 *	mark_typed()			no	   yes	yes (if the probes can)
 *	marker_register_NAME()		yes	   no	no
 *	marker_unregister_NAME()	yes	   no	no
 *
 * GUARANTEES
 *
 * The guarantees of marker.h hold: a probe is always called with its own private
 * data, and no unregistered probe runs after marker_synchronize_unregister().  A probe
 * that hits its own marker recurses without end: as with tracepoints, there is no
 * recursion guard.
 *
 * HOW A PROBE IS CALLED
 *
 * The site calls a stub, which every typed marker has in its module's text:
 *
 *	jmp iterator		a nop while there is exactly one probe
 *	movabs $private, %rdi
 *	jmp probe
 *
 * The last two instructions are changed only while no CPU can be between them.  For this purpose,
 * the first instruction remains a jump to the iterator for an RCU grace period before the change; a
 * site disables preemption while it calls the stub, so the grace period waits for all calls of the
 * stub that have begun.  If a 32-bit displacement does not reach the only probe, the iterator calls
 * the probe.
 */
#ifndef KMARKERS_TYPED_H
#define KMARKERS_TYPED_H

#if !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#endif

#include <kmarkers/dialect.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <kmarkers/marker.h>
#include <kmarkers/raw.h>

#if defined(__x86_64__) && !defined(CONFIG_UML)
#define MARKER_STUBS
KMARKERS_CHUNK(stubs, marker_tables_need_markers, 12);
#endif

/* Type for storing the functions of typed markers, whose parameters differ between markers. */
typedef void marker_typed_func(void);

/**
 * struct marker_typed - a typed marker
 * @marker: the fields that all markers have
 * @probes: array of the marker's typed probes, protected by RCU, or NULL; the member func of each
 *	element holds a typed probe, cast to marker_probe_func
 * @iterator: function that calls all probes, including the probes that are registered by the
 *	marker's name
 * @nothing: probe of the marker's type that does nothing
 * @stub: address of the first instruction of the marker's stub, which sites call; or NULL
 * @array: the array of @probes; private to the registry, protected by the registry's lock
 * @idle: state from get_state_synchronize_rcu(): once this grace period has ended, no CPU executes
 *	the last two instructions of the stub
 * @direct: true while the last two instructions of the stub call a single probe
 * @raw: the marker's raw tracepoint; NULL in user space, and on kernels without BPF programs for
 *	tracepoints
 */
struct marker_typed {
	struct marker marker;
	const struct marker_probe __rcu *probes;
	marker_typed_func *iterator;
	marker_typed_func *nothing;
	u8 *stub;
	struct probe_array *array;
	unsigned long idle;
	bool direct;
	struct marker_raw *raw;
};

int marker_typed_register(struct marker_typed *typed, marker_typed_func *probe, void *private);
int marker_typed_unregister(struct marker_typed *typed, marker_typed_func *probe, void *private);
void marker_typed_nothing(void);

#ifdef MARKER_STUBS

#ifdef CONFIG_X86_KERNEL_IBT
#define __MARKER_ENDBR	"	endbr64\n"
#else
#define __MARKER_ENDBR
#endif

/*
 * Stubs are in .kprobes.text, where kprobes are forbidden, because stubs are patched whenever a
 * probe is registered or unregistered.
 */
#ifdef __KERNEL__
#define __MARKER_STUB_TEXT	".kprobes.text, \"ax\", @progbits"
#else
#define __MARKER_STUB_TEXT	".text"
#endif

/* Emit the struct patcher_site of the instruction at @label, in the stub of the marker @mark. */
#define __MARKER_STUB_SITE(mark, label, len)				\
	"	.long " label " - ., __typed_marker_" #mark " - .\n"		\
	"	.byte " #len ", 0\n"					\
	"	.short 0\n"

#define __DEFINE_MARKER_STUB(mark)					\
asm(".pushsection " __MARKER_STUB_TEXT "\n"			\
	"	.p2align 4\n"						\
	"	.globl __marker_stub_" #mark "\n"			\
	"	.type __marker_stub_" #mark ", @function\n"		\
	"__marker_stub_" #mark ":\n"					\
	__MARKER_ENDBR							\
	"1:	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"			\
	"2:	movabsq $0, %rdi\n"					\
	"3:	jmp marker_typed_nothing\n"				\
	"	.size __marker_stub_" #mark ", . - __marker_stub_" #mark "\n" \
	KMARKERS_RECORD(stubs,						\
			__MARKER_STUB_SITE(mark, "1b", 5)		\
			__MARKER_STUB_SITE(mark, "2b", 10)		\
			__MARKER_STUB_SITE(mark, "3b", 5))		\
	".popsection\n")

#define __marker_stub(mark)		__marker_stub_##mark
#define __EXPORT_MARKER(export, mark)					\
	__MARKER_CHECK_EXPORT(mark);					\
	export(__typed_marker_##mark);					\
	export(__marker_stub_##mark)

/*
 * Return a value for the first parameter of a stub.  The stub ignores the value, because the stub
 * itself loads %rdi.  So return the present contents of %rdi, which takes no instruction.
 */
static __always_inline void *__marker_unused_data(void)
{
	void *data;

	asm("" : "=D" (data));
	return data;
}

#else

#define __DEFINE_MARKER_STUB(mark)	extern struct marker_typed __typed_marker_##mark
#define __marker_stub(mark)		__marker_iterate_##mark
#define __EXPORT_MARKER(export, mark)					\
	__MARKER_CHECK_EXPORT(mark);					\
	export(__typed_marker_##mark)

static __always_inline void *__marker_unused_data(void)
{
	return NULL;
}

#endif /* MARKER_STUBS */

/*
 * Maximum length of an exported marker's name.  The symbols of the marker have a prefix of up to 15
 * characters, and the module loader allows 55 for a symbol.
 */
#define MARKER_EXPORT_MOST	40
#define __MARKER_CHECK_EXPORT(mark)					\
	_Static_assert(sizeof(#mark) <= MARKER_EXPORT_MOST + 1,		\
		       "the name of an exported marker has more than 40 characters, too many for the module loader")

static inline void __marker_ignore(int nothing __maybe_unused, ...)
{
}

/**
 * MARKER_PROTO() - the parameters of a typed marker
 * @args: as in a prototype
 */
#define MARKER_PROTO(args...)		args

/**
 * MARKER_ARGS() - the names of a typed marker's parameters
 * @args: names, in the order of MARKER_PROTO()
 */
#define MARKER_ARGS(args...)		args

/**
 * DECLARE_MARKER() - declare a typed marker, in a header
 * @mark: name of the marker, an identifier of at most MARKER_NAME_MOST characters
 * @proto: parameters of the marker, in MARKER_PROTO(): integers and pointers
 * @args: names of the parameters, in MARKER_ARGS()
 * @fmt: the format for probes that are registered by name, a literal
 *
 * DECLARE_MARKER() lets mark_typed() be used with the marker, and declares
 * marker_register_NAME(probe, private) and marker_unregister_NAME(probe, private), which
 * return the same as marker_typed_register() and marker_typed_unregister().
 */
#define DECLARE_MARKER(mark, proto, args, fmt)				\
	__DECLARE_MARKER(mark, fmt, MARKER_PROTO(proto), MARKER_ARGS(args), \
			 MARKER_PROTO(void *__data, proto),		\
			 MARKER_ARGS(__data, args), MARKER_ARGS(fmt, args))

/**
 * DECLARE_MARKER_NOARGS() - declare a typed marker without arguments
 * @mark: name of the marker, an identifier of at most MARKER_NAME_MOST characters
 */
#define DECLARE_MARKER_NOARGS(mark)					\
	__DECLARE_MARKER(mark, MARK_NOARGS, void, MARKER_ARGS(),	\
			 void *__data, __data, MARK_NOARGS)

#define __DECLARE_MARKER(mark, fmt, proto, args, probe_proto, probe_args, fmt_args) \
__MARKER_CHECK_NAME(mark);						\
extern struct marker_typed __typed_marker_##mark;			\
void __marker_stub_##mark(probe_proto);					\
static const char __marker_format_##mark[] __maybe_unused = fmt;	\
enum { __marker_nr_##mark = __MARKER_COUNT(args) };			\
									\
/* Call the probes that were registered by name. */			\
static inline void __marker_classic_##mark(proto)			\
{									\
	if (0)								\
		__marker_check_format(fmt_args);			\
	marker_probe_call(&__typed_marker_##mark.marker, NULL, fmt_args); \
}									\
									\
/* Call all probes; preemption is off. */				\
static inline void __marker_iterate_##mark(probe_proto)			\
{									\
	const struct marker_probe *__probe;				\
	marker_probe_func *__func;					\
									\
	/* smp_load_acquire() below pairs with append_probe().  No published array is empty. */ \
	__probe = rcu_dereference_raw(__typed_marker_##mark.probes);	\
	if (__probe) {							\
		__func = smp_load_acquire(&__probe->func);		\
		do {							\
			__data = __probe->private;			\
			((void (*)(probe_proto))(void *)__func)(probe_args); \
			__probe++;					\
			__func = smp_load_acquire(&__probe->func);	\
		} while (__func);					\
	}								\
	if (READ_ONCE(__typed_marker_##mark.marker.probes))		\
		__marker_classic_##mark(args);				\
}									\
									\
static inline void __marker_nothing_##mark(probe_proto)			\
{									\
	if (0)								\
		__marker_ignore(0, probe_args);				\
}									\
									\
__DECLARE_MARKER_RAW(mark, MARKER_PROTO(probe_proto), MARKER_ARGS(args)) \
									\
/* Call the stub.  Sites call this function while the marker is on. */	\
static __always_inline void __marker_call_##mark(proto)			\
{									\
	void *__data;						\
									\
	preempt_disable_notrace();					\
	__data = __marker_unused_data();				\
	__marker_stub(mark)(probe_args);				\
	preempt_enable_notrace();					\
}									\
									\
static inline int __maybe_unused marker_register_##mark(void (*probe)(probe_proto), void *private) \
{									\
	return marker_typed_register(&__typed_marker_##mark,		\
				     (marker_typed_func *)(void *)probe, private); \
}									\
									\
static inline int __maybe_unused marker_unregister_##mark(void (*probe)(probe_proto), void *private) \
{									\
	return marker_typed_unregister(&__typed_marker_##mark,		\
				       (marker_typed_func *)(void *)probe, private); \
}									\
									\
extern struct marker_typed __typed_marker_##mark

/* DEFINE_MARKER() with one argument: define a declared typed marker, in one file. */
#define __DEFINE_MARKER_1(mark)						\
__DEFINE_MARKER_RAW(mark);						\
struct marker_typed __typed_marker_##mark = {				\
	.marker = __MARKER_INIT(mark, __marker_format_##mark, "DEFINE_MARKER", \
				MARKER_TYPED, __marker_nr_##mark),	\
	.iterator = (marker_typed_func *)(void *)__marker_iterate_##mark,	\
	.nothing = (marker_typed_func *)(void *)__marker_nothing_##mark,	\
	.raw = __MARKER_RAW(mark),					\
};									\
asm(KMARKERS_RECORD(markers, "	.long __typed_marker_" #mark " - .\n")); \
__DEFINE_MARKER_STUB(mark)

/**
 * EXPORT_MARKER_SYMBOL() - let other modules place sites of a typed marker, and probe the marker
 * @mark: name of the marker, as in DEFINE_MARKER(); at most MARKER_EXPORT_MOST characters
 */
#define EXPORT_MARKER_SYMBOL(mark)	__EXPORT_MARKER(EXPORT_SYMBOL, mark)

/**
 * EXPORT_MARKER_SYMBOL_GPL() - EXPORT_MARKER_SYMBOL() for GPL-compatible modules only
 * @mark: name of the marker, as in DEFINE_MARKER(); at most MARKER_EXPORT_MOST characters
 */
#define EXPORT_MARKER_SYMBOL_GPL(mark)	__EXPORT_MARKER(EXPORT_SYMBOL_GPL, mark)

/**
 * mark_typed() - place a site of a typed marker
 * @mark: name of the marker, as declared
 * @args: arguments of the marker, evaluated only while a probe is connected
 *
 * The marker costs one nop while it is off.
 */
#define mark_typed(mark, args...)					\
do {									\
	if (unlikely(imv_branch(__typed_marker_##mark.marker.state)))	\
		__marker_call_##mark(args);				\
} while (0)

#endif /* KMARKERS_TYPED_H */
