/* SPDX-License-Identifier: GPL-2.0-only */
/* Disconnecting probes whose code is being unloaded. */
#ifndef MARKERS_PROBES_H
#define MARKERS_PROBES_H

#include <linux/types.h>

/* Return true if the function at the address @code, a probe of marker @name, is being unloaded. */
typedef bool probe_gone(void *data, const char *name, unsigned long code);

unsigned int marker_probes_disconnect_gone(probe_gone *is_gone, void *data);

#endif /* MARKERS_PROBES_H */
