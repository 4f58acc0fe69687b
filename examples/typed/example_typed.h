/* SPDX-License-Identifier: GPL-2.0-only */
/* Declaration of the marker example_request, for the marked module and for probes. */
#ifndef EXAMPLE_TYPED_H
#define EXAMPLE_TYPED_H

#include <kmarkers/typed.h>

DECLARE_MARKER(example_request,
	MARKER_PROTO(u64 sector, u32 bytes),
	MARKER_ARGS(sector, bytes),
	"sector %llu bytes %u");

#endif /* EXAMPLE_TYPED_H */
