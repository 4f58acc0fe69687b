/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of the SDT notes of a module. */
#ifndef SDT_NOTES_H
#define SDT_NOTES_H

struct kmarkers_span;
struct module;

int sdt_register_notes(struct module *module, const struct kmarkers_span *span);

#endif /* SDT_NOTES_H */
