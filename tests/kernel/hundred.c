// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hundred markers, many_000 to many_099. A write of N to the parameter "pass" hits each marker N
 * times.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/marker.h>

#include "each.h"
#include "pass.h"

#define ONE(n)		{ trace_mark(many_##n, "%d", value); }
#define TEN(n)		EACH_2(ONE, n)

static noinline void hit_all_markers(int value)
{
	EACH_3(TEN, 0)
}

DEFINE_PASS(hit_all_markers, "write N to hit each marker N times");

static int __init hundred_init(void)
{
	return 0;
}

static void __exit hundred_exit(void)
{
}

module_init(hundred_init);
module_exit(hundred_exit);

MODULE_DESCRIPTION("A hundred markers");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
