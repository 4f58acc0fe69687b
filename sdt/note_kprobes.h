/* SPDX-License-Identifier: GPL-2.0-only */
/* Arming and disarming of SDT notes with kprobes. */
#ifndef SDT_NOTE_KPROBES_H
#define SDT_NOTE_KPROBES_H

struct sdt_note;

int sdt_arm_notes(void);
void sdt_disarm_notes(void);
unsigned long sdt_count_missed_hits(const struct sdt_note *note);

#endif /* SDT_NOTE_KPROBES_H */
