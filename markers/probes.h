/* SPDX-License-Identifier: GPL-2.0-only */
/* Probes whose code goes away. */
#ifndef MARKERS_PROBES_H
#define MARKERS_PROBES_H

#include <linux/types.h>

/* Tells whether the code at an address, of a probe for a name, goes away. */
typedef bool probe_gone(void *data, const char *name, unsigned long code);

unsigned int marker_probes_disconnect(probe_gone *gone, void *data);

#endif /* MARKERS_PROBES_H */
