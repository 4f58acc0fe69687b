/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calling probes that have the interface of 2006: each argument of a va_list becomes a parameter.
 */
#ifndef MARKERS_FORWARD_H
#define MARKERS_FORWARD_H

#include <kmarkers/marker.h>

void marker_call_2006_probe(void *private, void *call_private, const char *fmt, va_list *args);
unsigned long marker_probe_get_code_addr(const struct marker_probe *probe);

#endif /* MARKERS_FORWARD_H */
