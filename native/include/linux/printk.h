/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PRINTK_H
#define NATIVE_PRINTK_H
#include <stdio.h>
#ifdef NATIVE_QUIET
#define pr_warn(fmt, args...)	((void)(0 && fprintf(stderr, fmt, ## args)))
#else
#define pr_warn(fmt, args...)	fprintf(stderr, fmt, ## args)
#endif
#define pr_info(fmt, args...)	fprintf(stderr, fmt, ## args)
#define pr_err(fmt, args...)	fprintf(stderr, fmt, ## args)
#endif
