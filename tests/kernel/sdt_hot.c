// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two SDT probes with sites whose flavour is "breakpoint".  A site that is hit often is promoted to
 * a jump.  A kprobe on the one-byte nop before the first site keeps that site from being promoted.
 * A write of N to the parameter "pass" executes both sites N times.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

#include "pass.h"

SDT_PROVIDER_DEFINE(thot);
SDT_PROBE_DEFINE1(thot, , , probed, "int");
SDT_PROBE_DEFINE1(thot, , , free, "int");

static unsigned long sum;

static noinline void thot_probed(int number)
{
	sum += number;
	asm volatile("nop" : : "D" ((long)number) : "memory");
	SDT_PROBE_FLAVOUR(breakpoint, thot, , , probed, number);
}

static noinline void thot_free(int number)
{
	sum -= number;
	SDT_PROBE_FLAVOUR(breakpoint, thot, , , free, number);
}

static void execute_probes(unsigned int number)
{
	thot_probed(number);
	thot_free(number);
}

DEFINE_PASS(execute_probes, "write N to execute both sites N times");

MODULE_DESCRIPTION("SDT probes that are promoted when they are hit often");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
