/* SPDX-License-Identifier: GPL-2.0-only */
/* kmarkers in a program: what stands in for the module loader. */
#ifndef NATIVE_NATIVE_H
#define NATIVE_NATIVE_H

/**
 * native_start() - make the program's sites patchable and its tables known
 *
 * Moves the program's text into a shared mapping, installs the SIGTRAP handler,
 * registers for membarrier() and takes over the tables of immediate values and
 * markers.  Call it once, before other threads exist.  SIGTRAP must not be
 * blocked in any thread.
 *
 * Return: 0, or a negative errno after a message on stderr that says what this
 * machine lacks.
 */
int native_start(void);

#endif /* NATIVE_NATIVE_H */
