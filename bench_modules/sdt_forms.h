/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Forms of probe that were measured or discussed for FreeBSD in 2015 and that are no
 * flavours of ours, since they are a test or a call while they are off.
 */
#ifndef BENCH_MODULES_SDT_FORMS_H
#define BENCH_MODULES_SDT_FORMS_H

#include <linux/compiler.h>
#include <linux/types.h>

typedef void form_handler(u32 id, unsigned long arg);

/**
 * struct form_probe - a probe of such a form
 * @id: 0 while the probe is off
 */
struct form_probe {
	u32 id;
};

/* What every probe of these forms calls; and whether any probe is on. */
extern form_handler *bench_form_handler;
extern bool bench_form_gate;

/* The callee checks whether a probe is on, so that a site is only a call. */
void bench_form_decode(const struct form_probe *probe, unsigned long arg);

/* func-ptr: the probe is tested, and the handler is called through a pointer. */
#define FORM_FUNC_PTR(probe, arg)					\
do {									\
	u32 __id = READ_ONCE((probe).id);				\
									\
	if (unlikely(__id))						\
		READ_ONCE(bench_form_handler)(__id, (unsigned long)(arg)); \
} while (0)

/* global-gate: whether any probe is on is tested before the probe is. */
#define FORM_GLOBAL_GATE(probe, arg)					\
do {									\
	if (unlikely(READ_ONCE(bench_form_gate)))			\
		FORM_FUNC_PTR(probe, arg);				\
} while (0)

/* decoder-call: one function for all probes is always called. */
#define FORM_DECODER_CALL(probe, arg)	bench_form_decode(&(probe), (unsigned long)(arg))

#endif /* BENCH_MODULES_SDT_FORMS_H */
