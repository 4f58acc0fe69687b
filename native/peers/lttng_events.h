/* SPDX-License-Identifier: GPL-2.0-only */
/* The two tracepoints of native/peers/lttng_ust.c.  LTTng includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kmarkers

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined(NATIVE_PEERS_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define NATIVE_PEERS_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(kmarkers, bench_off,
	LTTNG_UST_TP_ARGS(int, number, const void *, pointer),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, number, number)
		lttng_ust_field_integer_hex(unsigned long, pointer, (unsigned long)pointer)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(kmarkers, bench_on,
	LTTNG_UST_TP_ARGS(int, number, const void *, pointer),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, number, number)
		lttng_ust_field_integer_hex(unsigned long, pointer, (unsigned long)pointer)
	)
)

#endif /* NATIVE_PEERS_LTTNG_EVENTS_H */

#include <lttng/tracepoint-event.h>
