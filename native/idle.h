/* SPDX-License-Identifier: GPL-2.0-only */
/* Choose the CPU on which to measure. */
#ifndef NATIVE_IDLE_H
#define NATIVE_IDLE_H

#include <sched.h>
#include <stddef.h>

/*
 * Sleep for a tenth of a second, and return the idlest CPU that the process may use.  If several
 * CPUs are equally idle, return CPU @preferred if it is one of them (-1: no CPU is preferred), else
 * the CPU with the highest number.  Set @why to the reason, as text, or to "" if no CPUs were
 * compared.  If the CPUs are unknown, return the current CPU.
 */
int native_find_idlest_cpu(int preferred, char *why, size_t size);

/*
 * CPU @current is the CPU of the calling thread.  If other programs used this CPU since the last
 * check, or if this CPU is offline, return the idlest CPU in @allowed, and set @why to the reason,
 * as text.  Otherwise return @current.  The CPUs are checked at most once a second; calls between
 * two checks return @current.
 */
int native_find_quieter_cpu(int current, const cpu_set_t *allowed, char *why, size_t size);

#endif /* NATIVE_IDLE_H */
