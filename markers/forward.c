// SPDX-License-Identifier: GPL-2.0-only
/* Call probes that have the interface of 2006: pass each argument of a va_list as a parameter. */
#include <linux/kernel.h>

#include "forward.h"

#define FEW_ARGS	8

/* Fetch @nr arguments; a variadic integer or pointer takes as many bytes as an unsigned long. */
static void fetch_args(unsigned long *slots, unsigned int nr, va_list *args)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		slots[i] = va_arg(*args, unsigned long);
}

static noinline void call_probe_with_many_args(marker_probe_2006 *probe, const char *fmt,
					       unsigned int nr, va_list *args)
{
	unsigned long a[MARKER_MAX_ARGS] = { 0 };

	fetch_args(a, nr < MARKER_MAX_ARGS ? nr : MARKER_MAX_ARGS, args);
	probe(fmt, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
	      a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21],
	      a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31]);
}

/*
 * Call the probe of the 2006 API at the address @private, with the arguments of the hit.  Markers
 * call this function instead of the 2006 probe.  The number of arguments is in struct marker; the
 * format is not parsed.
 */
void marker_call_2006_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	unsigned int nr = marker_of_args(args)->nr_args;
	marker_probe_2006 *probe = private;
	unsigned long a[FEW_ARGS] = { 0 };

	if (nr > FEW_ARGS) {
		call_probe_with_many_args(probe, fmt, nr, args);
		return;
	}
	fetch_args(a, nr, args);
	probe(fmt, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

/*
 * Return the address of the function that was connected as a probe.  For a probe of the 2006 API,
 * return the address of the 2006 probe, not of marker_call_2006_probe(), which calls it.
 */
unsigned long marker_probe_get_code_addr(const struct marker_probe *probe)
{
	bool forwards = probe->func == marker_call_2006_probe;

	return (unsigned long)(forwards ? probe->private : (void *)probe->func);
}
