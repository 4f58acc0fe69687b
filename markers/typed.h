/* SPDX-License-Identifier: GPL-2.0-only */
/* Connecting and disconnecting typed probes, for callers that hold the registry's lock. */
#ifndef MARKERS_TYPED_H
#define MARKERS_TYPED_H

#include "probes.h"

struct marker;
struct marker_typed;

int marker_typed_connect_probe(struct marker_typed *typed, void (*probe)(void), void *private);
int marker_typed_disconnect_probe(struct marker_typed *typed, void (*probe)(void), void *private);
unsigned int marker_typed_disconnect_if(probe_predicate *must_disconnect, void *data);
void marker_typed_unpublish_probes(struct marker *marker);
void marker_typed_free_probes(struct marker *marker);

#endif /* MARKERS_TYPED_H */
