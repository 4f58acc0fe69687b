/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SDT probe implementations that were measured or discussed for FreeBSD in 2015.  <kmarkers/sdt.h>
 * has no such flavours, because these probes execute a test or a call while they are disabled.
 */
#ifndef BENCH_MODULES_SDT_FORMS_H
#define BENCH_MODULES_SDT_FORMS_H

#include <linux/compiler.h>
#include <linux/types.h>

typedef void form_handler(u32 id, unsigned long arg);

/**
 * struct form_probe - a probe of such an implementation
 * @id: number that is passed to the handler; 0 while the probe is disabled
 */
struct form_probe {
	u32 id;
};

/* Handler that all these probes call, and a flag that is set while any of them is enabled. */
extern form_handler *bench_form_handler;
extern bool bench_form_gate;

/*
 * Call the handler if the probe is enabled.  This check is in the callee, so a site is only a
 * call.
 */
void bench_form_decode(const struct form_probe *probe, unsigned long arg);

/* func-ptr: test the probe, and call the handler through a pointer. */
#define FORM_FUNC_PTR(probe, arg)					\
do {									\
	u32 __id = READ_ONCE((probe).id);				\
									\
	if (unlikely(__id))						\
		READ_ONCE(bench_form_handler)(__id, (unsigned long)(arg)); \
} while (0)

/* global-gate: test the flag for all probes, then the probe. */
#define FORM_GLOBAL_GATE(probe, arg)					\
do {									\
	if (unlikely(READ_ONCE(bench_form_gate)))			\
		FORM_FUNC_PTR(probe, arg);				\
} while (0)

/* decoder-call: always call a function that tests the probe. */
#define FORM_DECODER_CALL(probe, arg)	bench_form_decode(&(probe), (unsigned long)(arg))

#endif /* BENCH_MODULES_SDT_FORMS_H */
