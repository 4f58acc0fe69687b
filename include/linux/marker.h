/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The historical name of <kmarkers/marker.h>, and MARK() of 2006.  <kmarkers/marker.h> lacks
 * MARK(), because drivers define macros of this name.
 */
#ifndef LINUX_MARKER_H
#define LINUX_MARKER_H

#include <kmarkers/marker.h>

/**
 * MARK() - place a marker, as in 2006
 * @name: name of the marker, an identifier of at most MARKER_NAME_MOST characters
 * @format: format of the marker, a literal; MARK_NOARGS if there are no arguments
 * @args: arguments of the marker
 *
 * MARK() is another name of trace_mark().
 */
#define MARK(name, format, args...)	trace_mark(name, format, ## args)

#endif /* LINUX_MARKER_H */
