/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PRINTK_H
#define NATIVE_PRINTK_H
#include <stdio.h>
/* Messages begin with the name of the module whose sources print them. */
#ifdef KBUILD_MODNAME
#define pr_fmt(fmt)	KBUILD_MODNAME ": " fmt
#else
#define pr_fmt(fmt)	fmt
#endif
#ifdef NATIVE_QUIET
#define pr_warn(fmt, args...)	((void)(0 && fprintf(stderr, pr_fmt(fmt), ## args)))
#else
#define pr_warn(fmt, args...)	fprintf(stderr, pr_fmt(fmt), ## args)
#endif
#define pr_info(fmt, args...)	fprintf(stderr, pr_fmt(fmt), ## args)
#define pr_err(fmt, args...)	fprintf(stderr, pr_fmt(fmt), ## args)
#endif
