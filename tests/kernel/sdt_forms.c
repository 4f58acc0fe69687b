// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hundred probes like those of the FreeBSD kernel, for paths, processes, the scheduler, timeouts,
 * streams, network cards, locks and memory.  The probes use all macros of FreeBSD's sdt(9).  A
 * write of N to the parameter "pass" executes the sites N times.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

#include "pass.h"

SDT_PROVIDER_DEFINE(tpath);
SDT_PROVIDER_DEFINE(tproc);
SDT_PROVIDER_DEFINE(tsched);
SDT_PROVIDER_DEFINE(ttimeout);
SDT_PROVIDER_DEFINE(tstream);
SDT_PROVIDER_DEFINE(tdatagram);
SDT_PROVIDER_DEFINE(tlink);
SDT_PROVIDER_DEFINE(tlock);
SDT_PROVIDER_DEFINE(tmemory);

/*
 * For each probe: the number of its arguments, the arguments of the macro that defines the probe,
 * and the arguments of the macro that places a site.
 */
#define FORMS(X)								\
	X(3, (tpath, names, lookup, entry, "void *", "char *", "unsigned long"),		\
	  (tpath, names, lookup, entry, place, text, (unsigned long)number))			\
	X(2, (tpath, names, lookup, return, "int", "void *"),					\
	  (tpath, names, lookup, return, number, place))					\
	X(3, (tpath, cache, find, hit, "void *", "char *", "void *"),				\
	  (tpath, cache, find, hit, place, text, place))					\
	X(2, (tpath, cache, find, miss, "void *", "char *"),					\
	  (tpath, cache, find, miss, place, text))						\
	X(2, (tpath, cache, find, hit__negative, "void *", "char *"),				\
	  (tpath, cache, find, hit__negative, place, text))					\
	X(3, (tpath, cache, enter, done, "void *", "char *", "void *"),				\
	  (tpath, cache, enter, done, place, text, place))					\
	X(2, (tpath, cache, enter_negative, done, "void *", "char *"),				\
	  (tpath, cache, enter_negative, done, place, text))					\
	X(3, (tpath, cache, fullpath, hit, "void *", "char *", "void *"),			\
	  (tpath, cache, fullpath, hit, place, text, place))					\
	X(1, (tpath, cache, fullpath, miss, "void *"),						\
	  (tpath, cache, fullpath, miss, place))						\
	X(1, (tpath, cache, fullpath, entry, "void *"),						\
	  (tpath, cache, fullpath, entry, place))						\
	X(2, (tpath, cache, fullpath, return, "int", "void *"),					\
	  (tpath, cache, fullpath, return, number, place))					\
	X(2, (tpath, cache, purge, done, "void *", "int"),					\
	  (tpath, cache, purge, done, place, number))						\
	X(2, (tpath, cache, purge_negative, done, "void *", "char *"),				\
	  (tpath, cache, purge_negative, done, place, text))					\
	X(1, (tpath, cache, remove, done, "void *"), (tpath, cache, remove, done, place))	\
	X(2, (tpath, cache, remove_negative, done, "void *", "char *"),				\
	  (tpath, cache, remove_negative, done, place, text))					\
	X(3, (tpath, cache, zap, done, "void *", "char *", "int"),				\
	  (tpath, cache, zap, done, place, text, number))					\
	X(2, (tpath, cache, zap_negative, done, "void *", "char *"),				\
	  (tpath, cache, zap_negative, done, place, text))					\
	X(1, (tpath, calls, open, entry, "void *"), (tpath, calls, open, entry, place))		\
	X(2, (tpath, calls, open, return, "void *", "int"),					\
	  (tpath, calls, open, return, place, number))						\
	X(1, (tpath, calls, close, entry, "void *"), (tpath, calls, close, entry, place))	\
	X(2, (tpath, calls, close, return, "void *", "int"),					\
	  (tpath, calls, close, return, place, number))						\
	X(1, (tpath, calls, read, entry, "void *"), (tpath, calls, read, entry, place))		\
	X(2, (tpath, calls, read, return, "void *", "int"),					\
	  (tpath, calls, read, return, place, number))						\
	X(1, (tpath, calls, write, entry, "void *"), (tpath, calls, write, entry, place))	\
	X(2, (tpath, calls, write, return, "void *", "int"),					\
	  (tpath, calls, write, return, place, number))						\
	X(1, (tpath, calls, ioctl, entry, "void *"), (tpath, calls, ioctl, entry, place))	\
	X(2, (tpath, calls, ioctl, return, "void *", "int"),					\
	  (tpath, calls, ioctl, return, place, number))						\
	X(1, (tpath, calls, rename, entry, "void *"), (tpath, calls, rename, entry, place))	\
	X(2, (tpath, calls, rename, return, "void *", "int"),					\
	  (tpath, calls, rename, return, place, number))					\
	X(1, (tpath, calls, create, entry, "void *"), (tpath, calls, create, entry, place))	\
	X(2, (tpath, calls, create, return, "void *", "int"),					\
	  (tpath, calls, create, return, place, number))					\
	X(1, (tpath, calls, mkdir, entry, "void *"), (tpath, calls, mkdir, entry, place))	\
	X(2, (tpath, calls, mkdir, return, "void *", "int"),					\
	  (tpath, calls, mkdir, return, place, number))						\
	X(1, (tproc, kernel, , exec, "char *"), (tproc, kernel, , exec, text))			\
	X(1, (tproc, kernel, , exec__failure, "int"),						\
	  (tproc, kernel, , exec__failure, number))						\
	X(1, (tproc, kernel, , exec__success, "char *"),					\
	  (tproc, kernel, , exec__success, text))						\
	X(1, (tproc, kernel, , exit, "int"), (tproc, kernel, , exit, number))			\
	X(3, (tproc, kernel, , create, "void *", "void *", "int"),				\
	  (tproc, kernel, , create, place, place, number))					\
	X(3, (tproc, kernel, , signal__send, "void *", "void *", "int"),			\
	  (tproc, kernel, , signal__send, place, place, number))				\
	X(2, (tproc, kernel, , signal__clear, "int", "void *"),					\
	  (tproc, kernel, , signal__clear, number, place))					\
	X(3, (tproc, kernel, , signal__discard, "void *", "void *", "int"),			\
	  (tproc, kernel, , signal__discard, place, place, number))				\
	X(3, (tsched, , , change__priority, "void *", "void *", "uint32_t"),			\
	  (tsched, , , change__priority, place, place, (u32)number))				\
	X(2, (tsched, , , dequeue, "void *", "void *"), (tsched, , , dequeue, place, place))	\
	X(4, (tsched, , , enqueue, "void *", "void *", "void *", "int"),			\
	  (tsched, , , enqueue, place, place, place, number))					\
	X(4, (tsched, , , lend__priority, "void *", "void *", "uint32_t", "void *"),		\
	  (tsched, , , lend__priority, place, place, (u32)number, place))			\
	X(2, (tsched, , , load__change, "int", "int"),						\
	  (tsched, , , load__change, number, number))						\
	X(2, (tsched, , , off__processor, "void *", "void *"),					\
	  (tsched, , , off__processor, place, place))						\
	X(0, (tsched, , , on__processor), (tsched, , , on__processor))				\
	X(0, (tsched, , , remain__processor), (tsched, , , remain__processor))			\
	X(2, (tsched, , , surrender, "void *", "void *"),					\
	  (tsched, , , surrender, place, place))						\
	X(2, (tsched, , , tick, "void *", "void *"), (tsched, , , tick, place, place))		\
	X(2, (tsched, , , wakeup, "void *", "void *"), (tsched, , , wakeup, place, place))	\
	X(1, (ttimeout, kernel, , start, "void *"), (ttimeout, kernel, , start, place))		\
	X(1, (ttimeout, kernel, , end, "void *"), (ttimeout, kernel, , end, place))		\
	X(2, (ttimeout, kernel, , insert, "void *", "unsigned long"),				\
	  (ttimeout, kernel, , insert, place, (unsigned long)number))				\
	X(4, (tstream, , , receive, "void *", "void *", "void *", "void *"),			\
	  (tstream, , , receive, place, place, place, place))					\
	X(5, (tstream, , , send, "void *", "void *", "void *", "void *", "void *"),		\
	  (tstream, , , send, place, place, place, place, place))				\
	X(5, (tstream, , , connect__request,							\
	      "void *", "void *", "void *", "void *", "void *"),				\
	  (tstream, , , connect__request, place, place, place, place, place))			\
	X(5, (tstream, , , connect__refused,							\
	      "void *", "void *", "void *", "void *", "void *"),				\
	  (tstream, , , connect__refused, place, place, place, place, place))			\
	X(5, (tstream, , , accept__established,							\
	      "void *", "void *", "void *", "void *", "void *"),				\
	  (tstream, , , accept__established, place, place, place, place, place))		\
	X(6, (tstream, , , state__change,							\
	      "void *", "void *", "void *", "void *", "void *", "int"),				\
	  (tstream, , , state__change, place, place, place, place, place, number))		\
	X(3, (tstream, , , debug__input, "void *", "void *", "char *"),				\
	  (tstream, , , debug__input, place, place, text))					\
	X(3, (tstream, , , debug__drop, "void *", "void *", "char *"),				\
	  (tstream, , , debug__drop, place, place, text))					\
	X(5, (tdatagram, , , receive, "void *", "void *", "void *", "void *", "void *"),	\
	  (tdatagram, , , receive, place, place, place, place, place))				\
	X(5, (tdatagram, , , send, "void *", "void *", "void *", "void *", "void *"),		\
	  (tdatagram, , , send, place, place, place, place, place))				\
	X(2, (tlink, card, input, entry, "void *", "int"),					\
	  (tlink, card, input, entry, place, number))						\
	X(3, (tlink, card, input, drop, "void *", "int", "int"),				\
	  (tlink, card, input, drop, place, number, number))					\
	X(1, (tlink, card, input, return, "int"), (tlink, card, input, return, number))		\
	X(2, (tlink, card, output, entry, "void *", "int"),					\
	  (tlink, card, output, entry, place, number))						\
	X(3, (tlink, card, output, drop, "void *", "int", "int"),				\
	  (tlink, card, output, drop, place, number, number))					\
	X(1, (tlink, card, output, return, "int"), (tlink, card, output, return, number))	\
	X(2, (tlink, card, control, entry, "void *", "int"),					\
	  (tlink, card, control, entry, place, number))						\
	X(3, (tlink, card, control, drop, "void *", "int", "int"),				\
	  (tlink, card, control, drop, place, number, number))					\
	X(1, (tlink, card, control, return, "int"), (tlink, card, control, return, number))	\
	X(1, (tlock, , adaptive, acquire, "void *"), (tlock, , adaptive, acquire, place))	\
	X(1, (tlock, , adaptive, release, "void *"), (tlock, , adaptive, release, place))	\
	X(5, (tlock, , adaptive, block,								\
	      "void *", "unsigned long", "unsigned long", "int", "int"),			\
	  (tlock, , adaptive, block, place, (unsigned long)number, (unsigned long)number, number, number))\
	X(1, (tlock, , spin, acquire, "void *"), (tlock, , spin, acquire, place))		\
	X(1, (tlock, , spin, release, "void *"), (tlock, , spin, release, place))		\
	X(5, (tlock, , spin, block,								\
	      "void *", "unsigned long", "unsigned long", "int", "int"),			\
	  (tlock, , spin, block, place, (unsigned long)number, (unsigned long)number, number, number))\
	X(1, (tlock, , rw, acquire, "void *"), (tlock, , rw, acquire, place))			\
	X(1, (tlock, , rw, release, "void *"), (tlock, , rw, release, place))			\
	X(5, (tlock, , rw, block, "void *", "unsigned long", "unsigned long", "int", "int"),	\
	  (tlock, , rw, block, place, (unsigned long)number, (unsigned long)number, number, number))\
	X(1, (tlock, , sx, acquire, "void *"), (tlock, , sx, acquire, place))			\
	X(1, (tlock, , sx, release, "void *"), (tlock, , sx, release, place))			\
	X(5, (tlock, , sx, block, "void *", "unsigned long", "unsigned long", "int", "int"),	\
	  (tlock, , sx, block, place, (unsigned long)number, (unsigned long)number, number, number))\
	X(3, (tmemory, , small, allocate, "char *", "unsigned long", "int"),			\
	  (tmemory, , small, allocate, text, (unsigned long)number, number))			\
	X(2, (tmemory, , small, free, "char *", "unsigned long"),				\
	  (tmemory, , small, free, text, (unsigned long)number))				\
	X(3, (tmemory, , large, allocate, "char *", "unsigned long", "int"),			\
	  (tmemory, , large, allocate, text, (unsigned long)number, number))			\
	X(2, (tmemory, , large, free, "char *", "unsigned long"),				\
	  (tmemory, , large, free, text, (unsigned long)number))				\
	X(3, (tmemory, , zone, allocate, "char *", "unsigned long", "int"),			\
	  (tmemory, , zone, allocate, text, (unsigned long)number, number))			\
	X(2, (tmemory, , zone, free, "char *", "unsigned long"),				\
	  (tmemory, , zone, free, text, (unsigned long)number))

#define UNPACKED(words...)	words
#define DEFINE_N(n, name...)	DEFINE_EXPANDED(n, name)
#define DEFINE_EXPANDED(n, name...) SDT_PROBE_DEFINE##n(name);
#define DEFINE(n, name, site)	DEFINE_N(n, UNPACKED name)
#define PASS_N(n, name...)	PASS_EXPANDED(n, name)
#define PASS_EXPANDED(n, name...) SDT_PROBE##n(name);
#define PASS(n, name, site)	PASS_N(n, UNPACKED site)

FORMS(DEFINE)

/* A provider whose name is a macro, as in sources that are compiled for several ABIs. */
#define ABI			tabi32
#define ABI_DEFINE1(mod, func, name, type)	SDT_PROBE_DEFINE1(ABI, mod, func, name, type)
#define ABI_PROBE1(mod, func, name, value)	SDT_PROBE1(ABI, mod, func, name, value)
SDT_PROVIDER_DEFINE(ABI);
ABI_DEFINE1(fork, abi_fork, return, "int");
/*
 * The hits of this probe are not recorded: the event find_hit has the fields of the probe
 * tpath:cache:find:hit, whose arguments have other types.
 */
SDT_PROBE_DEFINE1(tpath, other, find, hit, "long");
SDT_PROBE_DEFINE(tproc, , , untyped);
SDT_PROBE_DEFINE5(tproc, kernel, , partly, "int", "int", "char *", "int", "int");
SDT_PROBE_DEFINE2_XLATE(tproc, kernel, , translated, "void *", "shown_t *", "int", "int32_t");
SDT_PROBE_ARGTYPE(tproc, , , untyped, 0, "void *", NULL);

static noinline int execute_form_sites(void *place, const char *text, int number)
{
	FORMS(PASS)
	ABI_PROBE1(fork, abi_fork, return, number);
	SDT_PROBE1(tpath, other, find, hit, number);
	SDT_PROBE3(tproc, , , untyped, place, text, number);
	SDT_PROBE_FLAVOUR(breakpoint, tproc, kernel, , partly, number, number + 1);
	SDT_PROBE(tproc, kernel, , translated, place, number + 7, 0, 0, 0);
	DTRACE_PROBE(own__none);
	DTRACE_PROBE1(own__one, int, number);
	DTRACE_PROBE2(own__two, void *, place, int, number);
	return number;
}

static void execute_forms(unsigned int number)
{
	execute_form_sites(THIS_MODULE, "text", number);
}

DEFINE_PASS(execute_forms, "write N to execute each site N times");

static int __init test_sdt_forms_init(void)
{
	return 0;
}

static void __exit test_sdt_forms_exit(void)
{
}

module_init(test_sdt_forms_init);
module_exit(test_sdt_forms_exit);

MODULE_DESCRIPTION("SDT probes in all forms of sdt(9)");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
