/* SPDX-License-Identifier: GPL-2.0-only */
/* The parameter "pass" of modules with sites: a write of N executes the sites N times. */
#ifndef TESTS_KERNEL_PASS_H
#define TESTS_KERNEL_PASS_H

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "each.h"

/*
 * Define the parameter, with a description. A write of N calls @execute N times, with the argument
 * N - 1, N - 2 and so on down to 0.
 */
#define DEFINE_PASS(execute, description)				\
static int set_pass(const char *text, const struct kernel_param *unused) \
{									\
	unsigned int times;						\
	int err = kstrtouint(text, 0, &times);				\
									\
	if (err)							\
		return err;						\
	while (times--)							\
		execute(times);						\
	return 0;							\
}									\
									\
static const struct kernel_param_ops pass_ops = {			\
	.set = set_pass,						\
};									\
module_param_cb(pass, &pass_ops, NULL, 0200);				\
MODULE_PARM_DESC(pass, description)

#define PASS_FUNCTION(n)	pass_##n,

/* Define the parameter, so that a write of N calls pass_0() to pass_9() N times. */
#define DEFINE_PASS_OF_TEN(description)					\
static void (*const passes[])(int value) = {				\
	EACH_1(PASS_FUNCTION)						\
};									\
									\
static void call_ten_passes(unsigned int value)				\
{									\
	unsigned int i;							\
									\
	for (i = 0; i < ARRAY_SIZE(passes); i++)			\
		passes[i](value);					\
}									\
									\
DEFINE_PASS(call_ten_passes, description)

#endif /* TESTS_KERNEL_PASS_H */
