/* SPDX-License-Identifier: GPL-2.0-only */
/* Arming of notes by kprobes. */
#ifndef SDT_NOTE_KPROBES_H
#define SDT_NOTE_KPROBES_H

struct sdt_note;

int sdt_notes_on(void);
void sdt_notes_off(void);
unsigned long sdt_note_missed(const struct sdt_note *note);

#endif /* SDT_NOTE_KPROBES_H */
