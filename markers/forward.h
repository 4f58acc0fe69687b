/* SPDX-License-Identifier: GPL-2.0-only */
/* Probes of 2006 as probes of today. */
#ifndef MARKERS_FORWARD_H
#define MARKERS_FORWARD_H

#include <kmarkers/marker.h>

void marker_forward_2006(void *private, void *call_private, const char *fmt, va_list *args);
unsigned long marker_probe_code(const struct marker_probe *probe);

#endif /* MARKERS_FORWARD_H */
