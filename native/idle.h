/* SPDX-License-Identifier: GPL-2.0-only */
/* Choose the CPU to measure on. */
#ifndef NATIVE_IDLE_H
#define NATIVE_IDLE_H

#include <sched.h>
#include <stddef.h>

/*
 * Return the number of the CPU that was idlest during a pilot of a tenth of a second, among those
 * that the process may use.  Of CPUs that were idle alike, it is @preferred, or the last one if
 * @preferred is not among them; -1 prefers none.  If the CPU was chosen among several, set @why to
 * the reason, as text; else set @why to "".
 */
int native_find_idlest_cpu(int preferred, char *why, size_t size);

/*
 * Return the CPU among @allowed to which the calling thread, which runs on @current, should move:
 * the idlest one, if other programs used @current since the last call that looked; set @why to the
 * reason, as text.  Else return @current.  At most one call in a second looks at the CPUs.
 */
int native_find_idler_cpu(int current, const cpu_set_t *allowed, char *why, size_t size);

#endif /* NATIVE_IDLE_H */
