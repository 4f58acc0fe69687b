/* SPDX-License-Identifier: GPL-2.0-only */
/* Choose the CPU to measure on. */
#ifndef NATIVE_IDLE_H
#define NATIVE_IDLE_H

#include <sched.h>
#include <stddef.h>

/*
 * Sleep for a tenth of a second, and return the idlest of the CPUs that the process may use.  If
 * several CPUs are equally idle, return @preferred if it is one of them, else the CPU with the
 * highest number.  @preferred is -1 if no CPU is preferred.  Set @why to the reason, as text, or to
 * "" if no CPUs were compared.
 */
int native_find_idlest_cpu(int preferred, char *why, size_t size);

/*
 * Return @current, the CPU of the calling thread, unless other programs used this CPU since the
 * last check.  If they did, return the idlest CPU in @allowed, and set @why to the reason, as text.
 * The CPUs are checked at most once a second; other calls return @current.
 */
int native_find_quieter_cpu(int current, const cpu_set_t *allowed, char *why, size_t size);

#endif /* NATIVE_IDLE_H */
