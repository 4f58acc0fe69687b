/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Statically defined tracing probes, spelt as in FreeBSD.
 *
 * OVERVIEW
 *
 * A probe is defined once, in one file, with the types of its arguments.  Each place in the code
 * that uses the probe is a *site*: one nop while no handler is attached.  Sites are named
 * provider:module:function:name, and handlers are attached to a pattern of such names: to a single
 * site, to a probe, or to all sites that match, also in modules that are loaded later.  All sites
 * that a pattern matches are switched in one batch.
 *
 * EXAMPLE
 *
 *	SDT_PROVIDER_DEFINE(disk);
 *	SDT_PROBE_DEFINE2(disk, , , io__start, "struct request *", "unsigned int");
 *
 *	SDT_PROBE2(disk, , , io__start, request, bytes);
 *
 * and in a module with a handler:
 *
 *	static void handler(void *private, const struct sdt_hit *hit)
 *	{
 *		unsigned int bytes = hit->args[1];
 *		...
 *	}
 *
 *	err = sdt_attach("disk:::io-start", handler, private);
 *	...
 *	sdt_detach("disk:::io-start", handler, private);
 *	sdt_synchronize();
 *
 * NAMES
 *
 * If the definition of a probe leaves the module or the function empty, the name of each site has
 * the module or the function that contains the site's code.  For an inlined copy, this is the
 * function into which the copy was inlined.  Two underscores in the name of a probe
 * are shown as a dash.
 *
 * PATTERNS
 *
 * A pattern has up to four parts with colons between them; leading parts may be omitted:
 * "io-start" matches probes of any provider.  An empty part matches anything, other parts
 * are shell patterns.  A pattern may end with @ and the offset of a single site in its function,
 * as shown by the file sdt/list: "disk::submit:io-start@+0x1c".
 *
 * FLAVOURS
 *
 *	jump		one nop or jump of 7 bytes; arguments are evaluated only while
 *			the site is armed
 *	breakpoint	the same nop, armed by a breakpoint of one byte; its arguments
 *			are always in registers.  A hot site may be promoted: it
 *			is then armed by a jump, until it is demoted
 *	nop		one nop of 1 byte, armed by a breakpoint; cannot be promoted
 *	split		a nop of 3 bytes, armed by a breakpoint, and a nop of 2 bytes;
 *			cannot be promoted, because a task may have been preempted
 *			between the two nops
 *
 *	note		no instruction; a record holds the address of the site and the
 *			locations of its arguments at this address.  In a module, a note
 *			is armed by a kprobe, and other tracers can use it: see the file
 *			sdt/notes.  In user space, it is a note as in sys/sdt.h, has a
 *			nop, and is not registered with kmarkers
 *
 * In a module, the site of a note is the next instruction, which other code paths may execute, too.
 * If no instruction follows, the note cannot be armed: see Documentation/sdt.md.  In a program that
 * defines SDT_NOTES_WITHOUT_NOP before it includes this file, notes have no nop, as in a module.
 *
 * SDT_FLAVOUR, defined before this file is included, is the flavour of all SDT_PROBEn() in
 * the file; the default is jump.  SDT_PROBE_FLAVOUR() takes the flavour as an argument.
 * With SDT_NOTES_ONLY the only flavour is note, and the program need not be linked with
 * libkmarkers.a.
 *
 * CONTEXT
 *
 *	function			may sleep  irq	nmi
 *	SDT_PROBE0() to SDT_PROBE7()	no	   yes	yes (if the handlers can)
 *	all others			yes	   no	no
 *
 * Handlers run in the context of the site, with preemption disabled, and must not
 * sleep.  While a site is armed by a breakpoint or a kprobe, its handlers run in an NMI-like
 * context, as handlers of kprobes do.
 *
 * GUARANTEES
 *
 * While a site is armed, each execution calls each of its handlers once, also during
 * promotion and demotion.  Exception: a note that a CPU executes in the handler of a kprobe
 * is missed, and counted as missed.  A handler is always called with its own private data.  After
 * sdt_synchronize() returned, no handler detached before this call still runs.  A handler that hits
 * a site to which it is attached recurses without end: there is no recursion guard.
 *
 * Sites must not be in __init or __exit text: a module with a site there is not loaded.  Nor may
 * sites be in code that runs while RCU is not watching, such as noinstr functions and the idle
 * loop.
 *
 * Sources: the manual page sdt(9) of FreeBSD, and its zero-cost SDT probes of 2015.  No code was
 * taken from FreeBSD.
 */
#ifndef KMARKERS_SDT_H
#define KMARKERS_SDT_H

#if !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#endif

#include <kmarkers/dialect.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <kmarkers/arguments.h>
#include <kmarkers/branch.h>
#include <kmarkers/sdt_kind.h>
#include <kmarkers/table.h>

/* Tables of SDT sites refer to this symbol, so modules with SDT sites depend on kmarkers_sdt. */
extern const u8 sdt_tables_need_sdt;

#ifndef SDT_NOTES_ONLY
KMARKERS_CHUNK(sdt, sdt_tables_need_sdt, 12);
KMARKERS_CHUNK(sdttarget, sdt_tables_need_sdt, 16);
#endif

#define SDT_MAX_ARGS	7
/*
 * Maximum lengths of provider names and probe names in characters.  Longer names do not fit into
 * the names of trace events.
 */
#define SDT_PROVIDER_MOST	59
#define SDT_PROBE_MOST		63

enum sdt_flavour {
	SDT_JUMP,
	SDT_BREAKPOINT,
	SDT_NOP,
	SDT_SPLIT,
	SDT_NOTE,
};

/**
 * struct sdt_provider - a provider of probes
 * @name: name of the provider
 */
struct sdt_provider {
	const char *name;
};

/**
 * struct sdt_probe - a probe
 * @provider: provider of the probe
 * @module: module in the definition of the probe; if "", the name of a site has the site's module
 * @function: function in the definition; if "", the name of a site has the site's function
 * @name: name of the probe
 * @types: types of the arguments, with commas between them
 * @nr: maximum number of arguments; a site may pass fewer
 */
struct sdt_probe {
	const struct sdt_provider *provider;
	const char *module;
	const char *function;
	const char *name;
	const char *types;
	u8 nr;
};

/**
 * struct sdt_origin - one SDT_PROBEn() in the source code; the compiler may copy its site
 * @probe: probe of the site
 */
struct sdt_origin {
	struct sdt_probe *probe;
};

struct sdt_state;

/**
 * struct sdt_target - record of the code to which the jump of a site leads
 * @state: state of the site; NULL while the table is not registered
 * @addr: address of the code, relative to this field
 * @origin: address of the struct sdt_origin, relative to this field
 */
struct sdt_target {
	struct sdt_state __rcu *state;
	s32 addr;
	s32 origin;
};

/* Data that all hits of a site share, to be read by sdt_hit_probe() and sdt_hit_ip(). */
struct sdt_site {
	const struct sdt_probe *probe;
	unsigned long ip;
};

/**
 * struct sdt_hit - the data of one hit, which a site passes to its handlers
 * @site: private
 * @nr: number of arguments that the site passes
 * @counted: private
 * @args: the arguments, extended to 64 bits as C does: @args[0] to @args[@nr - 1]. The elements
 *	from @args[@nr] on are undefined: they may hold anything that was on the stack
 */
struct sdt_hit {
	const struct sdt_site *site;
	unsigned int nr;
	unsigned int counted;
	unsigned long args[SDT_MAX_ARGS];
};

/**
 * sdt_hit_probe() - get the probe of a hit
 * @hit: the hit
 *
 * Context: any.
 * Return: the probe.
 */
static inline const struct sdt_probe *sdt_hit_probe(const struct sdt_hit *hit)
{
	return hit->site->probe;
}

/**
 * sdt_hit_ip() - get the address of the site that was hit
 * @hit: the hit
 *
 * Context: any.
 * Return: the address of the site, or of its first copy if the compiler made copies.
 */
static inline unsigned long sdt_hit_ip(const struct sdt_hit *hit)
{
	return hit->site->ip;
}

/**
 * typedef sdt_handler - a handler, called for each hit
 * @private: private data that was passed to sdt_attach()
 * @hit: the hit; valid until the handler returns
 */
typedef void sdt_handler(void *private, const struct sdt_hit *hit);

int sdt_attach(const char *pattern, sdt_handler *handler, void *private);
int sdt_detach(const char *pattern, sdt_handler *handler, void *private);
void sdt_synchronize(void);
int sdt_promote(const char *pattern, bool on);
int sdt_check_site_states(const struct sdt_probe *probe, unsigned int handlers, bool promoted);

/**
 * SDT_PROVIDER_DEFINE() - define a provider, in one file
 * @prov: name of the provider; at most SDT_PROVIDER_MOST characters
 */
#define SDT_PROVIDER_DEFINE(prov)	__SDT_PROVIDER_DEFINE(prov)
#define __SDT_PROVIDER_DEFINE(prov)					\
	__SDT_CHECK_NAME(#prov);					\
	_Static_assert(sizeof(#prov) <= SDT_PROVIDER_MOST + 1,		\
		       "the name of a provider has more than 59 characters, too many for a trace event"); \
	__SDT_PROVIDER_DECLARE(prov);					\
	struct sdt_provider sdt_provider_##prov = { .name = #prov }

/**
 * SDT_PROVIDER_DECLARE() - declare a provider that another file defines
 * @prov: name of the provider
 */
#define SDT_PROVIDER_DECLARE(prov)	__SDT_PROVIDER_DECLARE(prov)
#define __SDT_PROVIDER_DECLARE(prov)	extern struct sdt_provider sdt_provider_##prov

/**
 * SDT_PROBE_DECLARE() - declare a probe that another file defines
 * @prov: provider of the probe
 * @mod: module in the definition of the probe, or nothing
 * @func: function in the definition of the probe, or nothing
 * @probe: name of the probe
 *
 * The compiler does not check the sites of a probe that is only declared: if a site passes
 * more arguments than the probe has, its module is refused when it is loaded.
 */
#define SDT_PROBE_DECLARE(prov, mod, func, probe)			\
	__SDT_PROBE_DECLARE(prov, mod, func, probe)
#define __SDT_PROBE_DECLARE(prov, mod, func, probe)			\
	__SDT_DECLARE(sdt_##prov##_##mod##_##func##_##probe)

/*
 * The address of a probe is an asm operand of the sites, so the address must be a constant.  In
 * clang's position-independent code, this requires that the visibility of the probe is hidden.
 */
#if defined(__clang__) && defined(__PIC__)
#define __SDT_LOCAL			__attribute__((__visibility__("hidden")))
#else
#define __SDT_LOCAL
#endif

#define __SDT_DECLARE(id)						\
	extern struct sdt_probe id __SDT_LOCAL;				\
	extern char __sdt_args_##id[];					\
	__SDT_DECLARE_KINDS(id);					\
	void __sdt_check_##id(int, ...)

/*
 * The array __sdt_args_ID is only declared: its length, the number of arguments plus one, lets the
 * compiler check the number of arguments of each site.
 */
#define __SDT_DEFINE(id, prov, mod, func, probe, args, list...)	\
	__SDT_DECLARE(id);						\
	extern char __sdt_args_##id[(args) + 1];			\
	__SDT_DEFINE_KINDS_##args(id, ## list)				\
	__SDT_DEFINE_PROBE(id, prov, mod, func, probe, __SDT_LIST_##args(list), args)
#define __SDT_DEFINE_PROBE(id, prov, mod, func, probe, list, args)	\
	struct sdt_probe id = {						\
		.provider = &(prov), .module = mod, .function = func,	\
		.name = probe, .types = list, .nr = args,		\
	}

/* Check and join the parts of a probe's name.  A part that is a macro is expanded by the caller. */
#define __SDT_PROBE_DEFINE_0(prov, mod, func, probe)			\
	__SDT_CHECK_NAMES(mod, func, probe);				\
	__SDT_DEFINE(sdt_##prov##_##mod##_##func##_##probe, sdt_provider_##prov, \
		     #mod, #func, #probe, 0)
#define __SDT_PROBE_DEFINE(prov, mod, func, probe, n, types...)		\
	__SDT_CHECK_NAMES(mod, func, probe);				\
	__SDT_DEFINE(sdt_##prov##_##mod##_##func##_##probe, sdt_provider_##prov, \
		     #mod, #func, #probe, n, types)
#define __SDT_CHECK_NAMES(mod, func, probe)				\
	__SDT_CHECK_NAME(#mod);						\
	__SDT_CHECK_NAME(#func);					\
	__SDT_CHECK_NAME(#probe);					\
	_Static_assert(sizeof(#probe) <= SDT_PROBE_MOST + 1,		\
		       "the name of a probe has more than 63 characters, too many for a trace event")
#define __SDT_PROBE_0(flavour, prov, mod, func, probe)			\
	__SDT_SITE(flavour, sdt_##prov##_##mod##_##func##_##probe, #prov, #probe, 0)
#define __SDT_PROBE(flavour, prov, mod, func, probe, n, args...)	\
	__SDT_SITE(flavour, sdt_##prov##_##mod##_##func##_##probe, #prov, #probe, n, ## args)

/*
 * Refuse names that the preprocessor replaces by 0 or 1, such as "linux" and "unix", which GNU C
 * defines as 1.
 */
#ifdef __CHECKER__
#define __SDT_CHECK_NAME(name)	_Static_assert(1, "")
#else
#define __SDT_CHECK_NAME(name)						\
	_Static_assert(__builtin_strcmp(name, "1") && __builtin_strcmp(name, "0"), \
		       "a part of the probe's name is a macro for 0 or 1, such as linux or unix: #undef this macro first")
#endif

#define __SDT_LIST_0()			""
#define __SDT_LIST_1(t)			t
#define __SDT_LIST_2(t, u...)		t "," __SDT_LIST_1(u)
#define __SDT_LIST_3(t, u...)		t "," __SDT_LIST_2(u)
#define __SDT_LIST_4(t, u...)		t "," __SDT_LIST_3(u)
#define __SDT_LIST_5(t, u...)		t "," __SDT_LIST_4(u)
#define __SDT_LIST_6(t, u...)		t "," __SDT_LIST_5(u)
#define __SDT_LIST_7(t, u...)		t "," __SDT_LIST_6(u)

/**
 * SDT_PROBE_DEFINE0() - define a probe without arguments, in one file
 * @prov: provider of the probe
 * @mod: a module, or nothing
 * @func: a function, or nothing
 * @probe: name of the probe
 */
#define SDT_PROBE_DEFINE0(prov, mod, func, probe)			\
	__SDT_PROBE_DEFINE_0(prov, mod, func, probe)
/**
 * SDT_PROBE_DEFINE1() - define a probe with one argument; its type is a string literal
 */
#define SDT_PROBE_DEFINE1(prov, mod, func, probe, t0)			\
	__SDT_PROBE_DEFINE(prov, mod, func, probe, 1, t0)
/**
 * SDT_PROBE_DEFINE2() - define a probe with two arguments; each type is a string literal
 */
#define SDT_PROBE_DEFINE2(prov, mod, func, probe, t0, t1)		\
	__SDT_PROBE_DEFINE(prov, mod, func, probe, 2, t0, t1)
/**
 * SDT_PROBE_DEFINE3() - define a probe with three arguments; each type is a string literal
 */
#define SDT_PROBE_DEFINE3(prov, mod, func, probe, t0, t1, t2)		\
	__SDT_PROBE_DEFINE(prov, mod, func, probe, 3, t0, t1, t2)
/**
 * SDT_PROBE_DEFINE4() - define a probe with four arguments; each type is a string literal
 */
#define SDT_PROBE_DEFINE4(prov, mod, func, probe, t0, t1, t2, t3)	\
	__SDT_PROBE_DEFINE(prov, mod, func, probe, 4, t0, t1, t2, t3)
/**
 * SDT_PROBE_DEFINE5() - define a probe with five arguments; each type is a string literal
 */
#define SDT_PROBE_DEFINE5(prov, mod, func, probe, t0, t1, t2, t3, t4)	\
	__SDT_PROBE_DEFINE(prov, mod, func, probe, 5, t0, t1, t2, t3, t4)
/**
 * SDT_PROBE_DEFINE6() - define a probe with six arguments; each type is a string literal
 */
#define SDT_PROBE_DEFINE6(prov, mod, func, probe, t0, t1, t2, t3, t4, t5)	\
	__SDT_PROBE_DEFINE(prov, mod, func, probe, 6, t0, t1, t2, t3, t4, t5)
/**
 * SDT_PROBE_DEFINE7() - define a probe with seven arguments; each type is a string literal
 */
#define SDT_PROBE_DEFINE7(prov, mod, func, probe, t0, t1, t2, t3, t4, t5, t6)	\
	__SDT_PROBE_DEFINE(prov, mod, func, probe, 7, t0, t1, t2, t3, t4, t5, t6)

#ifdef SDT_NOTES_ONLY
#define SDT_FLAVOUR	note
#elif !defined(SDT_FLAVOUR)
#define SDT_FLAVOUR	jump
#endif

/**
 * SDT_PROBE0() - place a site of a probe without arguments
 * @prov: provider of the probe
 * @mod: module in the definition of the probe, or nothing
 * @func: function in the definition of the probe, or nothing
 * @probe: name of the probe
 */
#define SDT_PROBE0(prov, mod, func, probe)				\
	__SDT_PROBE_0(SDT_FLAVOUR, prov, mod, func, probe)
/**
 * SDT_PROBE1() - place a site with one argument, an integer or a pointer
 */
#define SDT_PROBE1(prov, mod, func, probe, a0)				\
	__SDT_PROBE(SDT_FLAVOUR, prov, mod, func, probe, 1, a0)
/**
 * SDT_PROBE2() - place a site with two arguments, integers or pointers
 */
#define SDT_PROBE2(prov, mod, func, probe, a0, a1)			\
	__SDT_PROBE(SDT_FLAVOUR, prov, mod, func, probe, 2, a0, a1)
/**
 * SDT_PROBE3() - place a site with three arguments, integers or pointers
 */
#define SDT_PROBE3(prov, mod, func, probe, a0, a1, a2)			\
	__SDT_PROBE(SDT_FLAVOUR, prov, mod, func, probe, 3, a0, a1, a2)
/**
 * SDT_PROBE4() - place a site with four arguments, integers or pointers
 */
#define SDT_PROBE4(prov, mod, func, probe, a0, a1, a2, a3)		\
	__SDT_PROBE(SDT_FLAVOUR, prov, mod, func, probe, 4, a0, a1, a2, a3)
/**
 * SDT_PROBE5() - place a site with five arguments, integers or pointers
 */
#define SDT_PROBE5(prov, mod, func, probe, a0, a1, a2, a3, a4)		\
	__SDT_PROBE(SDT_FLAVOUR, prov, mod, func, probe, 5, a0, a1, a2, a3, a4)
/**
 * SDT_PROBE6() - place a site with six arguments, integers or pointers
 */
#define SDT_PROBE6(prov, mod, func, probe, a0, a1, a2, a3, a4, a5)	\
	__SDT_PROBE(SDT_FLAVOUR, prov, mod, func, probe, 6, a0, a1, a2, a3, a4, a5)
/**
 * SDT_PROBE7() - place a site with seven arguments, integers or pointers
 */
#define SDT_PROBE7(prov, mod, func, probe, a0, a1, a2, a3, a4, a5, a6)	\
	__SDT_PROBE(SDT_FLAVOUR, prov, mod, func, probe, 7, a0, a1, a2, a3, a4, a5, a6)

/**
 * SDT_PROBE_FLAVOUR() - place a site of a chosen flavour
 * @flavour: jump, breakpoint, nop, split or note
 * @prov: provider of the probe
 * @mod: module in the definition of the probe, or nothing
 * @func: function in the definition of the probe, or nothing
 * @probe: name of the probe
 * @args: arguments that the site passes
 */
#ifndef __STRICT_ANSI__
#define SDT_PROBE_FLAVOUR(flavour, prov, mod, func, probe, args...)	\
	__SDT_PROBE(flavour, prov, mod, func, probe, __MARKER_COUNT(args), ## args)
#else
/*
 * In the standard dialects, the comma before an empty "## args" is kept, so arguments would be
 * miscounted.
 */
#define SDT_PROBE_FLAVOUR(args...)					\
	_Static_assert(0, "SDT_PROBE_FLAVOUR() needs a GNU dialect, such as -std=gnu11: in other dialects use SDT_PROBEn()")
#endif

#include <kmarkers/sdt_site.h>
#include <kmarkers/sdt_bsd.h>

#endif /* KMARKERS_SDT_H */
