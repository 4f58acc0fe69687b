/* SPDX-License-Identifier: GPL-2.0-only */
/* First bytes and lengths of instructions that more than one file uses. */
#ifndef KMARKERS_OPCODES_H
#define KMARKERS_OPCODES_H

#define KMARKERS_INT3		0xcc
#define KMARKERS_CALL		0xe8
#define KMARKERS_JMP		0xe9

/* Lengths of instructions with a displacement of 32 bits. */
#define KMARKERS_CALL_LEN	5
#define KMARKERS_JMP_LEN	5

#define KMARKERS_ENDBR_LEN	4

#endif /* KMARKERS_OPCODES_H */
