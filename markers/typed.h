/* SPDX-License-Identifier: GPL-2.0-only */
/* Disconnecting typed probes whose code goes away, and dropping typed markers. */
#ifndef MARKERS_TYPED_H
#define MARKERS_TYPED_H

#include "probes.h"

struct marker;

unsigned int marker_typed_disconnect(probe_gone *gone, void *data);
void marker_typed_drop(struct marker *marker);

#endif /* MARKERS_TYPED_H */
