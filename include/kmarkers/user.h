/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Markers and immediate values in user space.
 *
 * OVERVIEW
 *
 * A program uses the macros of marker.h and immediate.h, and the library libkmarkers.a, which is
 * built from the sources of the kernel modules.  The program calls kmarkers_start() once;
 * afterwards, markers can be switched and immediate values set while threads run.
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
 * To compile the program with the files of the package kmarkers-dev, or of "make install":
 *
 *	gcc -O2 program.c $(pkg-config --cflags --libs kmarkers-user)
 *
 * To compile the program with a checkout in the directory K:
 *
 *	cc -std=gnu11 -Og -D_GNU_SOURCE -IK/native/include -IK/include -c program.c
 *	cc program.o K/build/native/libkmarkers.a -lpthread
 *
 * CONTEXT
 *
 *	function			may block  signal handler
 *	trace_mark(), imv_read()	no	   yes
 *	all others			yes	   no
 *
 * GUARANTEES
 *
 * The guarantees of marker.h and immediate.h hold, for threads instead of CPUs.
 * During fork(), before the child can take a signal, the child gets its own copy of the
 * text, with all markers and values unchanged; later changes in one process do not affect
 * the other.  If there is no memory for the copy, the child exits with a message and exit
 * code 127.
 *
 * Only marker_synchronize_unregister() and sdt_synchronize() wait for running probes, and only
 * these two functions are cancellation points, before they wait.  A thread that holds a lock which
 * probes take may call all other functions, and fork.  A thread that is cancelled in another
 * function ends after that function, and no lock stays locked.  A hit does not change errno, unless
 * a probe of trace_mark() does.
 *
 * ERRORS
 *
 * Functions return the errors of marker.h and immediate.h.  Every function that changes text
 * may also return, with nothing changed:
 *
 *	-ENOLINK	SIGTRAP has a handler that kmarkers_start() did not install
 *	-EOPNOTSUPP	membarrier(2), which kmarkers_start() could use, is now forbidden; or a
 *			call would be patched while the thread has a user shadow stack
 *	-EPERM		this process is a child created without fork()'s handlers
 *
 * CONTRACTS
 *
 * Sites may be in the program itself, not in shared libraries.  A thread that
 * executes sites must not block SIGTRAP, nor may the sa_mask of a signal handler that
 * executes sites: a breakpoint that is hit while SIGTRAP is blocked kills the program.  The
 * program must not replace the handler of SIGTRAP.  A child of clone(2) without
 * fork()'s handlers must not change text.  Probes must not fork, and must not leave by
 * longjmp().
 *
 * Documentation/native.md has the details.
 */
#ifndef KMARKERS_USER_H
#define KMARKERS_USER_H

#if !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#endif

#include <kmarkers/dialect.h>

#include <stdarg.h>
#include <stdio.h>

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>

/**
 * kmarkers_start() - make the program's text patchable and register its tables
 *
 * The function moves the program's text into shared memory, installs a SIGTRAP handler that calls
 * the previous handler for every SIGTRAP of another cause, registers for membarrier(2), and
 * registers the tables of immediate values, markers and SDT probes.  Before this call, immediate
 * values with an initialiser read 0.  Other threads may run, but none may read immediate values
 * yet.
 *
 * Return: 0, -EBUSY if an earlier call has succeeded, or a negative errno after a message on
 * stderr that names the missing feature of the machine or the refused table.  A refused table
 * does not affect other tables: with a bad table of SDT probes, markers and values work.  After
 * an error the function may be called again, and continues with the step that failed.
 */
int kmarkers_start(void);

/**
 * kmarkers_list() - print each marker with its state, its probes and its source location
 * @file: the stream to print to
 */
void kmarkers_list(FILE *file);

#endif /* KMARKERS_USER_H */
