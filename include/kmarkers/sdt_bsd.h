/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Further macros of FreeBSD's sdt(9): see <kmarkers/sdt.h>.
 *
 * Source: sdt(9) of FreeBSD.
 */
#ifndef KMARKERS_SDT_BSD_H
#define KMARKERS_SDT_BSD_H

#ifndef KMARKERS_SDT_H
#error "include <kmarkers/sdt.h> instead of this header"
#endif

/**
 * SDT_PROBES_ENABLED() - always 1, because sites are enabled one by one, without a common switch
 */
#define SDT_PROBES_ENABLED()		1

/**
 * SDT_PROBE_DEFINE() - define a probe without declared arguments, in one file
 * @prov: provider of the probe
 * @mod: a module, or nothing
 * @func: a function, or nothing
 * @probe: name of the probe
 *
 * A site passes zero to seven arguments, which a handler casts.  The probe's trace event has seven
 * fields of 64 bits.
 */
#define SDT_PROBE_DEFINE(prov, mod, func, probe)			\
	__SDT_PROBE_DEFINE_UNTYPED(prov, mod, func, probe)
#define __SDT_PROBE_DEFINE_UNTYPED(prov, mod, func, probe)		\
	__SDT_CHECK_NAMES(mod, func, probe);				\
	__SDT_DECLARE(sdt_##prov##_##mod##_##func##_##probe);		\
	__SDT_DEFINE_PROBE(sdt_##prov##_##mod##_##func##_##probe, sdt_provider_##prov, \
			   #mod, #func, #probe, "", SDT_MAX_ARGS)

/**
 * SDT_PROBE_ARGTYPE() - does nothing: types given after the definition are not recorded
 * @prov: a provider
 * @mod: module in the definition of the probe, or nothing
 * @func: function in the definition of the probe, or nothing
 * @probe: the name of a probe
 * @num: the number of an argument
 * @type: type of the argument, a string
 * @xtype: the type that dtrace(1) uses in scripts, or NULL
 */
#define SDT_PROBE_ARGTYPE(prov, mod, func, probe, num, type, xtype)	\
	_Static_assert(sizeof("" type), "")

/**
 * SDT_PROBE() - place a site with up to five arguments, padded with constant zeros to five
 * @prov: provider of the probe
 * @mod: module in the definition of the probe, or nothing
 * @func: function in the definition of the probe, or nothing
 * @probe: name of the probe
 * @a0: an argument
 * @a1: an argument
 * @a2: an argument
 * @a3: an argument
 * @a4: an argument
 *
 * The macro expands to SDT_PROBEn(), where the last argument that is not a constant 0 is number n.
 * If all arguments are constant zeros, n is 0 for a probe without arguments, and 1 for any other.
 */
#define SDT_PROBE(prov, mod, func, probe, a0, a1, a2, a3, a4)		\
	__SDT_PROBE_PADDED(SDT_FLAVOUR, prov, mod, func, probe, a0, a1, a2, a3, a4)
#define __SDT_PROBE_PADDED(flavour, prov, mod, func, probe, args...)	\
	__SDT_PADDED(flavour, sdt_##prov##_##mod##_##func##_##probe, #prov, #probe, args)

#define __SDT_USED_5(a0, a1, a2, a3, a4)	(!__SDT_IS_NOTHING(a4))
#define __SDT_USED_4(a0, a1, a2, a3, a4)	(!__SDT_IS_NOTHING(a3) && __SDT_IS_NOTHING(a4))
#define __SDT_USED_3(a0, a1, a2, a3, a4)				\
	(!__SDT_IS_NOTHING(a2) && __SDT_IS_NOTHING(a3) && __SDT_IS_NOTHING(a4))
#define __SDT_USED_2(a0, a1, a2, a3, a4)				\
	(!__SDT_IS_NOTHING(a1) && __SDT_IS_NOTHING(a2) && __SDT_IS_NOTHING(a3) && \
	 __SDT_IS_NOTHING(a4))
#define __SDT_USED_1(a0, a1, a2, a3, a4)				\
	(__SDT_IS_NOTHING(a1) && __SDT_IS_NOTHING(a2) && __SDT_IS_NOTHING(a3) && \
	 __SDT_IS_NOTHING(a4))

#define __SDT_PADDED(flavour, id, prov, name, a0, a1, a2, a3, a4)	\
do {									\
	__SDT_SITE_IF(__SDT_USED_5(a0, a1, a2, a3, a4), flavour, id, prov, name, 5, \
		      a0, a1, a2, a3, a4);				\
	__SDT_SITE_IF(__SDT_USED_4(a0, a1, a2, a3, a4), flavour, id, prov, name, 4, \
		      a0, a1, a2, a3);					\
	__SDT_SITE_IF(__SDT_USED_3(a0, a1, a2, a3, a4), flavour, id, prov, name, 3, \
		      a0, a1, a2);					\
	__SDT_SITE_IF(__SDT_USED_2(a0, a1, a2, a3, a4), flavour, id, prov, name, 2, \
		      a0, a1);						\
	__SDT_SITE_IF(__SDT_USED_1(a0, a1, a2, a3, a4) &&		\
		      (!__SDT_IS_NOTHING(a0) || __SDT_TAKES_1(id)),	\
		      flavour, id, prov, name, 1, a0);			\
	__SDT_SITE_IF(__SDT_USED_1(a0, a1, a2, a3, a4) &&		\
		      __SDT_IS_NOTHING(a0) && !__SDT_TAKES_1(id),	\
		      flavour, id, prov, name, 0);			\
} while (0)

/* Define a probe and its only site.  @prov and @probe are strings. */
#define __SDT_SITE_OF_ITS_OWN(flavour, prov, probe, n, list, args...)	\
do {									\
	static const struct sdt_provider __sdt_provider = { .name = prov }; \
	static __maybe_unused						\
	__SDT_DEFINE_PROBE(__sdt_probe, __sdt_provider, "", "", probe, list, n); \
	__SDT_DECLARE_KINDS(__sdt_probe);				\
	__SDT_CHECK_KINDS_##n(1, __sdt_probe, ## args)			\
	(void)__SDT_HAS_##flavour;					\
	__SDT_SITE_##flavour(__sdt_probe, prov, probe, n, ## args);	\
} while (0)

/*
 * Macros of illumos that sources of the FreeBSD kernel use: each site defines its own probe, whose
 * provider is "sdt".  In user space, the macros that have these names in <sys/sdt.h> take the
 * provider as an argument.
 */
#if (defined(__KERNEL__) || defined(NATIVE_BUILD)) && !defined(DTRACE_PROBE)
#define __DTRACE_PROBE(name, n, list, args...)				\
	__DTRACE_PROBE_OF(SDT_FLAVOUR, name, n, list, ## args)
#define __DTRACE_PROBE_OF(flavour, name, n, list, args...)		\
	__SDT_SITE_OF_ITS_OWN(flavour, "sdt", #name, n, list, ## args)

/**
 * DTRACE_PROBE() - define a probe of the provider sdt and its only site
 * @name: the name of the probe
 */
#define DTRACE_PROBE(name)						\
	__DTRACE_PROBE(name, 0, "")
/**
 * DTRACE_PROBE1() - DTRACE_PROBE() with one argument, given as a type and a value
 */
#define DTRACE_PROBE1(name, t0, a0)					\
	__DTRACE_PROBE(name, 1, __SDT_LIST_1(#t0), a0)
/**
 * DTRACE_PROBE2() - DTRACE_PROBE() with two arguments, each given as a type and a value
 */
#define DTRACE_PROBE2(name, t0, a0, t1, a1)				\
	__DTRACE_PROBE(name, 2, __SDT_LIST_2(#t0, #t1), a0, a1)
/**
 * DTRACE_PROBE3() - DTRACE_PROBE() with three arguments, each given as a type and a value
 */
#define DTRACE_PROBE3(name, t0, a0, t1, a1, t2, a2)			\
	__DTRACE_PROBE(name, 3, __SDT_LIST_3(#t0, #t1, #t2), a0, a1, a2)
/**
 * DTRACE_PROBE4() - DTRACE_PROBE() with four arguments, each given as a type and a value
 */
#define DTRACE_PROBE4(name, t0, a0, t1, a1, t2, a2, t3, a3)		\
	__DTRACE_PROBE(name, 4, __SDT_LIST_4(#t0, #t1, #t2, #t3), a0, a1, a2, a3)
/**
 * DTRACE_PROBE5() - DTRACE_PROBE() with five arguments, each given as a type and a value
 */
#define DTRACE_PROBE5(name, t0, a0, t1, a1, t2, a2, t3, a3, t4, a4)	\
	__DTRACE_PROBE(name, 5, __SDT_LIST_5(#t0, #t1, #t2, #t3, #t4), a0, a1, a2, a3, a4)
#endif

/* In the macros below, the second type of an argument is for dtrace(1) and is not recorded. */

/**
 * SDT_PROBE_DEFINE0_XLATE() - another name of SDT_PROBE_DEFINE0()
 */
#define SDT_PROBE_DEFINE0_XLATE(prov, mod, func, probe)			\
	SDT_PROBE_DEFINE0(prov, mod, func, probe)
/**
 * SDT_PROBE_DEFINE1_XLATE() - SDT_PROBE_DEFINE1() with two types for each argument
 */
#define SDT_PROBE_DEFINE1_XLATE(prov, mod, func, probe, t0, x0)		\
	SDT_PROBE_DEFINE1(prov, mod, func, probe, t0)
/**
 * SDT_PROBE_DEFINE2_XLATE() - SDT_PROBE_DEFINE2() with two types for each argument
 */
#define SDT_PROBE_DEFINE2_XLATE(prov, mod, func, probe, t0, x0, t1, x1)	\
	SDT_PROBE_DEFINE2(prov, mod, func, probe, t0, t1)
/**
 * SDT_PROBE_DEFINE3_XLATE() - SDT_PROBE_DEFINE3() with two types for each argument
 */
#define SDT_PROBE_DEFINE3_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2)			\
	SDT_PROBE_DEFINE3(prov, mod, func, probe, t0, t1, t2)
/**
 * SDT_PROBE_DEFINE4_XLATE() - SDT_PROBE_DEFINE4() with two types for each argument
 */
#define SDT_PROBE_DEFINE4_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3)		\
	SDT_PROBE_DEFINE4(prov, mod, func, probe, t0, t1, t2, t3)
/**
 * SDT_PROBE_DEFINE5_XLATE() - SDT_PROBE_DEFINE5() with two types for each argument
 */
#define SDT_PROBE_DEFINE5_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3, t4, x4)	\
	SDT_PROBE_DEFINE5(prov, mod, func, probe, t0, t1, t2, t3, t4)
/**
 * SDT_PROBE_DEFINE6_XLATE() - SDT_PROBE_DEFINE6() with two types for each argument
 */
#define SDT_PROBE_DEFINE6_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3, t4, x4, t5, x5)	\
	SDT_PROBE_DEFINE6(prov, mod, func, probe, t0, t1, t2, t3, t4, t5)
/**
 * SDT_PROBE_DEFINE7_XLATE() - SDT_PROBE_DEFINE7() with two types for each argument
 */
#define SDT_PROBE_DEFINE7_XLATE(prov, mod, func, probe, t0, x0,		\
				 t1, x1, t2, x2, t3, x3, t4, x4,	\
				 t5, x5, t6, x6)			\
	SDT_PROBE_DEFINE7(prov, mod, func, probe, t0, t1, t2, t3, t4, t5, t6)

#endif /* KMARKERS_SDT_BSD_H */
