/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PRINTK_H
#define NATIVE_PRINTK_H
#include <stdio.h>
#include <unistd.h>
/*
 * Print to the descriptor, not to the stream stderr: a thread that holds the lock of the stream may
 * wait for a lock under which messages are printed, which would be a deadlock.
 */
#define native_print(fmt, args...)	((void)dprintf(STDERR_FILENO, fmt, ## args))
/* Messages begin with the name of the module whose sources print them. */
#ifdef KBUILD_MODNAME
#define pr_fmt(fmt)	KBUILD_MODNAME ": " fmt
#else
#define pr_fmt(fmt)	fmt
#endif
#ifdef NATIVE_QUIET
#define pr_warn(fmt, args...)	((void)(0 && fprintf(stderr, pr_fmt(fmt), ## args)))
#else
#define pr_warn(fmt, args...)	native_print(pr_fmt(fmt), ## args)
#endif
#define pr_info(fmt, args...)	native_print(pr_fmt(fmt), ## args)
#define pr_err(fmt, args...)	native_print(pr_fmt(fmt), ## args)
#endif
