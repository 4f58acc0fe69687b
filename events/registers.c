// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register writers: variants of kmarkers_event_probe() that get the arguments of a typed marker in
 * CPU registers. The stub of a marker calls a register writer directly if a single trace buffer
 * records the marker, and no other probe is connected to the marker.
 *
 * A register writer stores eight bytes for each field, in the order of the fields' offsets. Each
 * store overwrites the excess bytes that the previous store has written. The size of the record
 * includes the excess bytes of the last store.
 *
 * Every hit runs this code, so this file is compiled without the stack protector, like
 * markers/call.c.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/trace_events.h>

#include "call.h"
#include "layout.h"
#include "registers.h"

static __always_inline void *reserve_trace_record(struct trace_event_buffer *buffer,
						  const struct event_user *user)
{
	struct trace_event_file *file = READ_ONCE(user->file);

	if (trace_trigger_soft_disabled(file))
		return NULL;
	return trace_event_buffer_reserve(buffer, file, user->bytes);
}

static __always_inline void store_field_value(void *record, const struct event_user *user,
					      unsigned int i, unsigned long value)
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
#define STORE_1(record, user)	store_field_value(record, user, 0, a)
#define STORE_2(record, user)	STORE_1(record, user); store_field_value(record, user, 1, b)
#define STORE_3(record, user)	STORE_2(record, user); store_field_value(record, user, 2, c)
#define STORE_4(record, user)	STORE_3(record, user); store_field_value(record, user, 3, d)
#define STORE_5(record, user)	STORE_4(record, user); store_field_value(record, user, 4, e)

/* Define the register writer write_N() for N fields, which is called with preemption disabled. */
#define DEFINE_REGISTER_WRITER(nr)					\
static void write_##nr(PARAMS_##nr(user))				\
{									\
	struct trace_event_buffer buffer;				\
	void *record = reserve_trace_record(&buffer, user);			\
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
 * kmarkers_event_choose_register_writer() - choose the register writer for a user of an event
 * @user: the user, a trace buffer or perf, with event and file set
 *
 * perf gets no register writer. A trace buffer gets none if the event has more than EVENT_REGISTERS
 * arguments, or a string or an array as argument.
 *
 * Context: any.
 */
void kmarkers_event_choose_register_writer(struct event_user *user)
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
	user->register_writer = register_writers[layout->nr];
}

/* Return the register writer of a user (struct event_user), or NULL if the user has none. */
void *kmarkers_event_get_register_writer(const void *user)
{
	return ((const struct event_user *)user)->register_writer;
}
