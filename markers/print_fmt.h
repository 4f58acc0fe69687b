/* SPDX-License-Identifier: GPL-2.0-only */
/* The print_fmt of a trace event, by which tracers in user space print its records. */
#ifndef MARKERS_PRINT_FMT_H
#define MARKERS_PRINT_FMT_H

struct record_layout;

char *marker_print_fmt(const struct record_layout *layout, const char *format);

#endif /* MARKERS_PRINT_FMT_H */
