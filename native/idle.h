/* SPDX-License-Identifier: GPL-2.0-only */
/* Choose the CPU to measure on. */
#ifndef NATIVE_IDLE_H
#define NATIVE_IDLE_H

#include <sched.h>
#include <stddef.h>

/*
 * Sleep for a tenth of a second, and return the CPU that was idlest meanwhile, among those that the
 * process may use.  Among equally idle CPUs, return @preferred or, if @preferred is -1 or less
 * idle, the CPU with the highest number.  If the CPU was chosen among several, set @why to the
 * reason, as text; else set @why to "".
 */
int native_find_idlest_cpu(int preferred, char *why, size_t size);

/*
 * If other programs used @current, the CPU of the calling thread, since the last check, return the
 * idlest CPU in @allowed, and set @why to the reason, as text.  Else return @current.  The CPUs are
 * checked at most once a second; other calls return @current.
 */
int native_find_quieter_cpu(int current, const cpu_set_t *allowed, char *why, size_t size);

#endif /* NATIVE_IDLE_H */
