/* SPDX-License-Identifier: GPL-2.0-only */
/* Disconnecting probes for which a function returns true. */
#ifndef MARKERS_PROBES_H
#define MARKERS_PROBES_H

#include <linux/types.h>

/* Return true to disconnect the probe whose code is at the address @code from the marker @name. */
typedef bool probe_predicate(void *data, const char *name, unsigned long code);

unsigned int marker_probes_disconnect_if(probe_predicate *must_disconnect, void *data);

#endif /* MARKERS_PROBES_H */
