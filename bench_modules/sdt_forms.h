/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SDT probe implementations that were measured or discussed for FreeBSD in 2015.  <kmarkers/sdt.h>
 * has no flavours for these implementations, because a disabled probe would execute a test or a
 * call.
 */
#ifndef BENCH_MODULES_SDT_FORMS_H
#define BENCH_MODULES_SDT_FORMS_H

#include <linux/compiler.h>
#include <linux/types.h>

typedef void form_handler(u32 id, unsigned long arg);

/**
 * struct form_probe - the state of an SDT probe in the implementations of this file
 * @id: number that is passed to the handler; 0 while the probe is disabled
 */
struct form_probe {
	u32 id;
};

/* The handler that each form_probe calls, and a flag that is set while a form_probe is enabled. */
extern form_handler *bench_form_handler;
extern bool bench_form_gate;

/*
 * Call the handler if the probe is enabled.  The probe's id is tested in this function, so that a
 * site consists only of the call of this function.
 */
void bench_call_handler_if_enabled(const struct form_probe *probe, unsigned long arg);

/* func-ptr: test the probe's id; if it is not 0, call the handler through a pointer. */
#define FORM_FUNC_PTR(probe, arg)					\
do {									\
	u32 __id = READ_ONCE((probe).id);				\
									\
	if (unlikely(__id))						\
		READ_ONCE(bench_form_handler)(__id, (unsigned long)(arg)); \
} while (0)

/* global-gate: test one flag that all probes share; if it is set, proceed as in func-ptr. */
#define FORM_GLOBAL_GATE(probe, arg)					\
do {									\
	if (unlikely(READ_ONCE(bench_form_gate)))			\
		FORM_FUNC_PTR(probe, arg);				\
} while (0)

/* decoder-call: always call a function, which then tests the probe's id. */
#define FORM_DECODER_CALL(probe, arg)					\
	bench_call_handler_if_enabled(&(probe), (unsigned long)(arg))

#endif /* BENCH_MODULES_SDT_FORMS_H */
