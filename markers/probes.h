/* SPDX-License-Identifier: GPL-2.0-only */
/* Disconnecting probes whose code goes away. */
#ifndef MARKERS_PROBES_H
#define MARKERS_PROBES_H

#include <linux/types.h>

/* Tells whether the code of a probe for a name goes away; @code is its address. */
typedef bool probe_gone(void *data, const char *name, unsigned long code);

unsigned int marker_probes_disconnect(probe_gone *gone, void *data);

#endif /* MARKERS_PROBES_H */
