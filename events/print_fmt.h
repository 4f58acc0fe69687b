/* SPDX-License-Identifier: GPL-2.0-only */
/* The print_fmt of a trace event, by which tracers in user space print records of the event. */
#ifndef EVENTS_PRINT_FMT_H
#define EVENTS_PRINT_FMT_H

struct record_layout;

char *kmarkers_make_print_fmt(const struct record_layout *layout, const char *format);

#endif /* EVENTS_PRINT_FMT_H */
