// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write records of typed markers directly from registers: variants of marker_event_to_buffer(),
 * which stubs call with the arguments in registers. A hit of a marker with one user is written by
 * one of them, as by the probe that TRACE_EVENT() makes.
 *
 * Fields are stored in the order of their offsets with eight bytes each: what is too much
 * is overwritten by the next, or is behind the last, where the record has room for it.
 *
 * Every hit runs this code.  So it is compiled as call.c is.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/trace_events.h>

#include "event_call.h"
#include "event_registers.h"
#include "event_write.h"
#include "layout.h"
#include "stubs.h"

static __always_inline void *begin(struct trace_event_buffer *buffer, const struct event_user *user)
{
	struct trace_event_file *file = READ_ONCE(user->file);

	if (trace_trigger_soft_disabled(file))
		return NULL;
	return trace_event_buffer_reserve(buffer, file, user->bytes);
}

static __always_inline void store(void *record, const struct event_user *user, unsigned int i,
				  unsigned long value)
{
	memcpy(record + user->offsets[i], &value, sizeof(value));
}

#define PARAMS_0(user)	void *user
#define PARAMS_1(user)	PARAMS_0(user), unsigned long a
#define PARAMS_2(user)	PARAMS_1(user), unsigned long b
#define PARAMS_3(user)	PARAMS_2(user), unsigned long c
#define PARAMS_4(user)	PARAMS_3(user), unsigned long d
#define PARAMS_5(user)	PARAMS_4(user), unsigned long e

#define STORE_0(record, user)
#define STORE_1(record, user)	store(record, user, 0, a)
#define STORE_2(record, user)	STORE_1(record, user); store(record, user, 1, b)
#define STORE_3(record, user)	STORE_2(record, user); store(record, user, 2, c)
#define STORE_4(record, user)	STORE_3(record, user); store(record, user, 3, d)
#define STORE_5(record, user)	STORE_4(record, user); store(record, user, 4, e)

/* Preemption is disabled, as always in a probe. */
#define DEFINE_REGISTER_WRITER(nr)							\
static void write_##nr(PARAMS_##nr(user))				\
{									\
	struct trace_event_buffer buffer;				\
	void *record = begin(&buffer, user);				\
									\
	if (!record)							\
		return;							\
	STORE_##nr(record, user);					\
	trace_event_buffer_commit(&buffer);				\
}

DEFINE_REGISTER_WRITER(0)
DEFINE_REGISTER_WRITER(1)
DEFINE_REGISTER_WRITER(2)
DEFINE_REGISTER_WRITER(3)
DEFINE_REGISTER_WRITER(4)
DEFINE_REGISTER_WRITER(5)

static void *const register_writers[EVENT_REGISTERS + 1] = {
	write_0, write_1, write_2, write_3, write_4, write_5,
};

/**
 * marker_event_find_register_writer() - choose the writer for arguments in registers, if possible
 * @user: a user of an event; its file is set
 *
 * They cannot be if there are more arguments than registers, strings or arrays.
 *
 * Context: any.
 */
void marker_event_find_register_writer(struct event_user *user)
{
	const struct record_layout *layout = user->event->layout;
	unsigned int i;

	user->bytes = layout->bytes;
	if (!user->file || layout->nr > EVENT_REGISTERS)
		return;
	for (i = 0; i < layout->nr; i++) {
		if (layout->field[i].is_string || layout->field[i].is_array)
			return;
		user->offsets[i] = layout->field[i].offset;
		user->bytes = user->offsets[i] + sizeof(unsigned long);
	}
	user->register_writer = (marker_typed_func *)register_writers[layout->nr];
}

static marker_typed_func *register_writer_of(const struct marker_probe *probe)
{
	const struct event_user *user = probe->private;

	return probe->func == marker_event_to_buffer ? user->register_writer : NULL;
}

/* Called before any event source is registered. */
void marker_event_use_register_writers(void)
{
	marker_stub_register_probe = register_writer_of;
}
