/* SPDX-License-Identifier: GPL-2.0-only */
/* Derivation of the fields of a trace event from the declared types of a probe's arguments. */
#ifndef SDT_TYPES_H
#define SDT_TYPES_H

#include <linux/types.h>

struct sdt_probe;

/* Buffer size of a format: "site %pS", then a text such as " arg7 %hhu" for each of 7 arguments. */
#define SDT_FORMAT	96

void sdt_make_event_format(char *format, const struct sdt_probe *probe);

#endif /* SDT_TYPES_H */
