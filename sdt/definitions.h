/* SPDX-License-Identifier: GPL-2.0-only */
/* What other tracers have to be told to trace a note. */
#ifndef SDT_DEFINITIONS_H
#define SDT_DEFINITIONS_H

struct seq_file;

int sdt_notes_show(struct seq_file *m, void *unused);

#endif /* SDT_DEFINITIONS_H */
