/* SPDX-License-Identifier: GPL-2.0-only */
/* Disconnecting typed probes whose code goes away, and dropping typed markers. */
#ifndef MARKERS_TYPED_H
#define MARKERS_TYPED_H

#include <kmarkers/typed.h>

#include "probes.h"

struct marker;

int marker_typed_connect(struct marker_typed *typed, marker_typed_func *probe, void *private);
int marker_typed_disconnect(struct marker_typed *typed, marker_typed_func *probe, void *private);
unsigned int marker_typed_disconnect_gone(probe_gone *gone, void *data);
void marker_typed_drop(struct marker *marker);

#endif /* MARKERS_TYPED_H */
