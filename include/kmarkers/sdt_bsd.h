/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sources for FreeBSD use besides: see <kmarkers/sdt.h>.
 *
 * Source: sdt(9) of FreeBSD.
 */
#ifndef KMARKERS_SDT_BSD_H
#define KMARKERS_SDT_BSD_H

#ifndef KMARKERS_SDT_H
#error "include <kmarkers/sdt.h>"
#endif

/**
 * SDT_PROBES_ENABLED() - 1: each site is switched by itself, and there is nothing to ask before
 */
#define SDT_PROBES_ENABLED()		1

/**
 * SDT_PROBE_DEFINE() - define a probe without arguments, in one file
 * @prov: its provider
 * @mod: a module, or nothing
 * @func: a function, or nothing
 * @probe: its name
 */
#define SDT_PROBE_DEFINE(prov, mod, func, probe)			\
	SDT_PROBE_DEFINE0(prov, mod, func, probe)

/* The second of each two types is what scripts of dtrace(1) are shown; it is not kept. */

/**
 * SDT_PROBE_DEFINE0_XLATE() - the same
 */
#define SDT_PROBE_DEFINE0_XLATE(prov, mod, func, probe)			\
	SDT_PROBE_DEFINE0(prov, mod, func, probe)
/**
 * SDT_PROBE_DEFINE1_XLATE() - the same with one argument, each of two types, which are strings
 */
#define SDT_PROBE_DEFINE1_XLATE(prov, mod, func, probe, t0, x0)		\
	SDT_PROBE_DEFINE1(prov, mod, func, probe, t0)
/**
 * SDT_PROBE_DEFINE2_XLATE() - the same with two arguments, each of two types, which are strings
 */
#define SDT_PROBE_DEFINE2_XLATE(prov, mod, func, probe, t0, x0, t1, x1)	\
	SDT_PROBE_DEFINE2(prov, mod, func, probe, t0, t1)
/**
 * SDT_PROBE_DEFINE3_XLATE() - the same with three arguments, each of two types, which are strings
 */
#define SDT_PROBE_DEFINE3_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2)			\
	SDT_PROBE_DEFINE3(prov, mod, func, probe, t0, t1, t2)
/**
 * SDT_PROBE_DEFINE4_XLATE() - the same with four arguments, each of two types, which are strings
 */
#define SDT_PROBE_DEFINE4_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3)		\
	SDT_PROBE_DEFINE4(prov, mod, func, probe, t0, t1, t2, t3)
/**
 * SDT_PROBE_DEFINE5_XLATE() - the same with five arguments, each of two types, which are strings
 */
#define SDT_PROBE_DEFINE5_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3, t4, x4)	\
	SDT_PROBE_DEFINE5(prov, mod, func, probe, t0, t1, t2, t3, t4)
/**
 * SDT_PROBE_DEFINE6_XLATE() - the same with six arguments, each of two types, which are strings
 */
#define SDT_PROBE_DEFINE6_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3, t4, x4, t5, x5)	\
	SDT_PROBE_DEFINE6(prov, mod, func, probe, t0, t1, t2, t3, t4, t5)
/**
 * SDT_PROBE_DEFINE7_XLATE() - the same with seven arguments, each of two types, which are strings
 */
#define SDT_PROBE_DEFINE7_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3, t4, x4,	\
				 t5, x5, t6, x6)			\
	SDT_PROBE_DEFINE7(prov, mod, func, probe, t0, t1, t2, t3, t4, t5, t6)

#endif /* KMARKERS_SDT_BSD_H */
