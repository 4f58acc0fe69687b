/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Markers and immediate values in a program.
 *
 * OVERVIEW
 *
 * The macros of marker.h and immediate.h, and the library libkmarkers.a, which
 * is the sources of the kernel modules built for user space.  The program calls
 * kmarkers_start() once; from then on its markers are switched and its
 * immediate values set while its threads run.
 *
 * EXAMPLE
 *
 *	#include <kmarkers/user.h>
 *
 *	static void probe(void *probe_private, void *call_private,
 *			  const char *fmt, va_list *args)
 *	{
 *		printf("request of %d bytes\n", va_arg(*args, int));
 *	}
 *
 *	...
 *		trace_mark(request, "%d", bytes);
 *	...
 *		err = kmarkers_start();
 *		...
 *		err = marker_probe_register("request", "%d", probe, NULL);
 *
 * with K the directory of kmarkers:
 *
 *	cc -std=gnu11 -Og -D_GNU_SOURCE -IK/native/include -IK/include -c program.c
 *	cc program.o K/build/native/libkmarkers.a -lurcu-bp -lpthread
 *
 * CONTEXT
 *
 *	function			may block  signal handler
 *	trace_mark(), imv_read()	no	   yes
 *	all others			yes	   no
 *
 * PROMISES
 *
 * Those of marker.h and immediate.h, with threads in place of CPUs.  Between
 * fork() and its return, before it takes a signal, the child gets its own copy of
 * the text, with every marker and value as they were; what either changes later,
 * the other does not see.  Without memory for the copy the child ends with a message and
 * exit code 127.
 *
 * ERRORS
 *
 * Those of marker.h and immediate.h.  Also, with nothing changed, of whatever
 * changes text:
 *
 *	-ENOLINK	SIGTRAP has another handler than that of kmarkers_start()
 *	-EOPNOTSUPP	membarrier(2) was allowed then, and is no longer
 *	-EPERM		this is a child without fork()'s handlers
 *
 * CONTRACTS
 *
 * Sites may stand in the program itself, not in shared libraries.  A thread
 * that executes sites must not block SIGTRAP, nor may a signal handler that
 * does, by its sa_mask: a breakpoint met while the signal is blocked ends the
 * program.  SIGTRAP's handler stays.  A child of clone(2) without fork()'s
 * handlers must not change anything.  Probes must not fork.
 *
 * Documentation/native.md explains all this.
 */
#ifndef KMARKERS_USER_H
#define KMARKERS_USER_H

#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
#error "kmarkers is for C: its headers are not C++"
#endif
#ifdef __STRICT_ANSI__
#error "kmarkers needs the GNU dialect, as -std=gnu11"
#endif
#ifndef __OPTIMIZE__
#error "kmarkers needs optimisation, -Og or more: sites name their variables by constants"
#endif

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>

/**
 * kmarkers_start() - make the program's sites patchable and its tables known
 *
 * Moves the program's text into shared memory, installs a SIGTRAP handler
 * that passes on what is not ours, registers for membarrier() and takes over the
 * tables of immediate values and markers.  Immediate values with an initialiser
 * read 0 before.  Other threads may run, but none may read immediate values yet.
 *
 * Return: 0, -EBUSY if it has succeeded before, or a negative errno after a message
 * on stderr that says what this machine lacks.  Then it may be called again, and
 * goes on where it failed.
 */
int kmarkers_start(void);

/**
 * kmarkers_list() - every marker, whether it is on, its probes and its place
 * @file: where to
 */
void kmarkers_list(FILE *file);

#endif /* KMARKERS_USER_H */
