/* SPDX-License-Identifier: GPL-2.0-only */
/* Typed markers and their stubs. */
#ifndef MARKERS_STUBS_H
#define MARKERS_STUBS_H

#include <kmarkers/table.h>
#include <kmarkers/typed.h>

#include "array.h"

struct module;

static inline struct marker_typed *typed_of(const struct marker *marker)
{
	if (marker->flavour != MARKER_TYPED)
		return NULL;
	return container_of(marker, struct marker_typed, marker);
}

static inline unsigned int typed_probes(const struct marker *marker)
{
	const struct marker_typed *typed = typed_of(marker);

	return typed ? live_probes(typed->array) : 0;
}

/* The function that is called in place of a typed probe that was removed in place. */
static inline marker_probe_func *typed_nothing(const struct marker_typed *typed)
{
	return (marker_probe_func *)(void *)typed->nothing;
}

/*
 * A probe that is registered by name may have a register probe, which does the same and takes the
 * arguments of a typed marker in registers.  marker_stub_register_probe() returns it, or NULL; it is
 * itself NULL if no probe has one.
 */
typedef marker_typed_func *marker_register_probe_func(const struct marker_probe *probe);
extern marker_register_probe_func *marker_stub_register_probe;

int marker_stub_leave(struct marker *marker);
void marker_stub_update(struct marker *marker);
int marker_stubs_add(struct module *module, const struct kmarkers_span *span);
void marker_stubs_drop(struct module *module);

#endif /* MARKERS_STUBS_H */
