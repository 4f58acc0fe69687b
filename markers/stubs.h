/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stubs of typed markers.  The sites of a marker call the marker's stub, which jumps to the only
 * probe of the marker or to the iterator, a function that calls all probes.
 */
#ifndef MARKERS_STUBS_H
#define MARKERS_STUBS_H

#include <kmarkers/table.h>
#include <kmarkers/typed.h>

#include "array.h"

struct module;

static inline struct marker_typed *get_typed_marker(const struct marker *marker)
{
	if (marker->flavour != MARKER_TYPED)
		return NULL;
	return container_of(marker, struct marker_typed, marker);
}

static inline unsigned int count_typed_probes(const struct marker *marker)
{
	const struct marker_typed *typed = get_typed_marker(marker);

	return typed ? count_live_probes(typed->array) : 0;
}

/* Return the no-op function that replaces a removed probe in the array of a typed marker. */
static inline marker_probe_func *get_typed_noop(const struct marker_typed *typed)
{
	return (marker_probe_func *)(void *)typed->nothing;
}

/*
 * A probe that is registered by name may have a *register-argument probe*: a function that does the
 * same as the probe, but takes the arguments of a typed marker in CPU registers instead of a
 * va_list.  marker_stub_find_reg_args_probe() returns the register-argument probe of @probe, or
 * NULL if there is none.  In user space no probe has a register-argument probe, and this function
 * pointer is NULL.
 */
typedef marker_typed_func *marker_reg_args_probe_func(const struct marker_probe *probe);
extern marker_reg_args_probe_func *marker_stub_find_reg_args_probe;

int marker_stub_use_iterator(struct marker *marker);
void marker_stub_use_single_probe(struct marker *marker);
int marker_stubs_register_module(struct module *module, const struct kmarkers_span *span);
void marker_stubs_unregister_module(struct module *module);

#endif /* MARKERS_STUBS_H */
