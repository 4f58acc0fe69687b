/* SPDX-License-Identifier: GPL-2.0-only */
/* Breakpoints of tracers and debuggers in the program's text. */
#ifndef NATIVE_FOREIGN_H
#define NATIVE_FOREIGN_H

#include <link.h>

/*
 * Replace the breakpoints of tracers and debuggers in a copy of a segment by the bytes of the
 * file.
 * @copy: copy of the segment, from the beginning of its first page
 * @size: size of the copy in bytes
 * @segment: program header of the segment
 */
void native_remove_breakpoints(unsigned char *copy, size_t size, const ElfW(Phdr) *segment);

#endif /* NATIVE_FOREIGN_H */
