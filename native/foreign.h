/* SPDX-License-Identifier: GPL-2.0-only */
/* Breakpoints of tracers and debuggers in the program's text. */
#ifndef NATIVE_FOREIGN_H
#define NATIVE_FOREIGN_H

#include <link.h>

/*
 * Replace foreign breakpoints in a copy of a segment by the bytes of the program's file.
 * @copy: the pages of the segment, from the one on which it begins
 * @size: their size
 */
void native_drop_foreign(unsigned char *copy, size_t size, const ElfW(Phdr) *segment);

#endif /* NATIVE_FOREIGN_H */
