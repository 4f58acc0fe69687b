/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Raw tracepoints of typed markers: a BPF program for raw tracepoints is attached to a typed
 * marker by the marker's name, as to a tracepoint of the kernel.
 *
 * DEFINE_MARKER() defines a tracepoint that no code hits, and a record by which the
 * kernel finds the tracepoint.  When the first program is attached, the kernel enables the
 * tracepoint, and marker_raw_switch() connects a probe to the marker.  The probe calls the
 * programs of the tracepoint with the marker's arguments, each as 64 bits.
 *
 * A BPF program gets at most twelve arguments, which is the kernel's limit.
 */
#ifndef KMARKERS_RAW_H
#define KMARKERS_RAW_H

#include <linux/types.h>

struct marker_typed;

#if defined(__KERNEL__) && defined(CONFIG_BPF_EVENTS)
#include <compat/tracepoint.h>

/**
 * struct marker_raw - the raw tracepoint of a typed marker
 * @known: the tracepoint; the functions connected to it call the attached BPF programs
 * @probe: probe that calls the functions of @known; cast from the type of the marker's probes
 * @wanted: true while programs are attached; written under the kernel's lock of tracepoints
 * @connected: true while @probe is connected; guarded by the registry's lock
 */
struct marker_raw {
	struct compat_tracepoint known;
	void (*probe)(void);
	bool wanted, connected;
};

int marker_raw_switch(struct marker_typed *typed, bool on);
void marker_raw_call_5(void *tracepoint, u64 a, u64 b, u64 c, u64 d, u64 e);
void marker_raw_call_12(void *tracepoint, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h,
			u64 i, u64 j, u64 k, u64 l);

/*
 * The kernel's functions that run BPF programs with 5 and with 12 arguments, declared as data
 * because their types differ between kernel versions.
 */
extern const char __marker_bpf_run_5[] asm("bpf_trace_run5");
extern const char __marker_bpf_run_12[] asm("bpf_trace_run12");

/* Expand to the first 5 or 12 arguments of a list, each as 64 bits; missing arguments are 0. */
#define __MARKER_U64(x)		((u64)(unsigned long)(x))
#define __MARKER_U64_5(args...)	__MARKER_TAKE_5(0, ## args, 0, 0, 0, 0, 0)
#define __MARKER_U64_12(args...)					\
	__MARKER_TAKE_12(0, ## args, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define __MARKER_TAKE_5(_0, a, b, c, d, e, rest...)			\
	__MARKER_U64(a), __MARKER_U64(b), __MARKER_U64(c), __MARKER_U64(d), __MARKER_U64(e)
#define __MARKER_TAKE_12(_0, a, b, c, d, e, f, g, h, i, j, k, l, rest...)	\
	__MARKER_TAKE_5(0, a, b, c, d, e), __MARKER_TAKE_5(0, f, g, h, i, j),	\
	__MARKER_U64(k), __MARKER_U64(l)

#define __DECLARE_MARKER_RAW(mark, probe_proto, args)			\
static inline void __marker_raw_probe_##mark(probe_proto)		\
{									\
	if (__marker_nr_##mark <= 5)					\
		marker_raw_call_5(__data, __MARKER_U64_5(args));	\
	else								\
		marker_raw_call_12(__data, __MARKER_U64_12(args));	\
}

#define __DEFINE_MARKER_RAW(mark)					\
static int __marker_raw_on_##mark(void)					\
{									\
	return marker_raw_switch(&__typed_marker_##mark, true);		\
}									\
									\
static void __marker_raw_off_##mark(void)				\
{									\
	marker_raw_switch(&__typed_marker_##mark, false);		\
}									\
									\
static struct marker_raw __marker_raw_##mark = {			\
	.known = COMPAT_TRACEPOINT_INIT(__marker_raw_##mark.known, #mark, \
					__marker_raw_on_##mark, __marker_raw_off_##mark), \
	.probe = (void (*)(void))(void *)__marker_raw_probe_##mark,	\
};									\
									\
static struct bpf_raw_event_map __marker_raw_map_##mark __used		\
	__section("__bpf_raw_tp_map") = {				\
	.tp = &__marker_raw_##mark.known.tp,				\
	.bpf_func = (void *)(__marker_nr_##mark <= 5 ? __marker_bpf_run_5 : __marker_bpf_run_12), \
	.num_args = __marker_nr_##mark < 12 ? __marker_nr_##mark : 12,	\
}
#define __MARKER_RAW(mark)	(&__marker_raw_##mark)

#else

#define __DECLARE_MARKER_RAW(mark, probe_proto, args)
#define __DEFINE_MARKER_RAW(mark)	extern struct marker_typed __typed_marker_##mark
#define __MARKER_RAW(mark)		NULL

#endif

#endif /* KMARKERS_RAW_H */
