/* SPDX-License-Identifier: GPL-2.0-only */
/* Calling probes of the marker API of 2006, with each argument of a va_list as a parameter. */
#ifndef MARKERS_FORWARD_H
#define MARKERS_FORWARD_H

#include <kmarkers/marker.h>

void marker_call_2006_probe(void *private, void *call_private, const char *fmt, va_list *args);
unsigned long marker_probe_get_code_addr(const struct marker_probe *probe);

#endif /* MARKERS_FORWARD_H */
