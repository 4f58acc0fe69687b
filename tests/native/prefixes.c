// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread is held at an addition to memory while the prefix of the instruction is exchanged: the
 * memory cannot be accessed, so that a signal is delivered before the instruction, and its handler
 * returns to it.  A preempted task returns to the instruction in the same way.
 *
 * With a DS prefix the thread returns to the prefix, which may be LOCK by then.  With a nop in
 * place of the prefix it returns to the instruction after the nop, and adds without the LOCK
 * prefix that all other threads use already.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/processor.h>

#include <kmarkers/patcher.h>

#include "prefixes.h"

#define LOCK	0xf0
#define DS	0x3e
#define PAGE	4096

extern u8 prefixes_first[], prefixes_second[], prefixes_nop[];

static const char owner[] = "test_prefixes";
static struct patcher_site sites[2];
static struct patcher_table table = { .sites = sites, .nr = ARRAY_SIZE(sites), .owner = owner };
static bool registered;

/**
 * struct standing - the thread, and the place where it is held
 * @memory: the number to which it adds, on a page of its own
 * @ip: the instruction to which it returns
 * @held: the thread is held there
 * @released: the thread may continue
 */
static struct standing {
	u32 *memory;
	unsigned long ip;
	bool held, released;
} standing;

static noinline u32 add(u32 *memory)
{
	u32 one = 1;

	asm volatile("prefixes_first:	.byte 0x3e\n"
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*memory) : : "cc", "memory");
	return one;
}

static noinline u32 add_second(u32 *memory)
{
	u32 one = 1;

	asm volatile("prefixes_second:	.byte 0x3e\n"
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*memory) : : "cc", "memory");
	return one;
}

static noinline u32 add_behind_nop(u32 *memory)
{
	u32 one = 1;

	asm volatile("prefixes_nop:	.byte 0x90\n"
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*memory) : : "cc", "memory");
	return one;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	standing.ip = interrupted->uc_mcontext.gregs[REG_RIP];
	/* Pairs with the acquire in meanwhile(). */
	smp_store_release(&standing.held, true);
	/* Pairs with the release in meanwhile(). */
	while (!smp_load_acquire(&standing.released))
		cpu_relax();
}

static void *run_add(void *function)
{
	u32 (*call)(u32 *memory) = function;

	return (void *)(unsigned long)call(standing.memory);
}

static int no_change(void)
{
	return 0;
}

static void set_site(struct patcher_site *site, u8 *addr)
{
	site->addr = (long)addr - (long)&site->addr;
	site->len = 1;
	site->flags = PATCHER_SITE_PREFIX;
}

static void set_poke(struct patcher_poke *poke, u8 *addr)
{
	poke->addr = addr;
	poke->len = 1;
	poke->old[0] = *addr;
	poke->new[0] = LOCK;
}

/* Store LOCK at both prefixes, in one batch. */
static int store_locks(void)
{
	struct patcher_poke pokes[2] = { };

	set_poke(&pokes[0], prefixes_first);
	set_poke(&pokes[1], prefixes_second);
	return patcher_store_prefixes(owner, pokes, 2);
}

/* Make a change while a thread is held in a function.  Return the result of the function. */
static long meanwhile(u32 (*function)(u32 *memory), int (*change)(void))
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, before;
	pthread_t thread;
	void *result;
	int err;

	standing.held = false;
	standing.released = false;
	sigaction(SIGSEGV, &action, &before);
	mprotect(standing.memory, PAGE, PROT_NONE);
	if (pthread_create(&thread, NULL, run_add, (void *)function))
		return -ENOMEM;
	/* Pairs with the release in on_fault(). */
	while (!smp_load_acquire(&standing.held))
		cpu_relax();
	err = change();
	mprotect(standing.memory, PAGE, PROT_READ | PROT_WRITE);
	/* Pairs with the acquire in on_fault(). */
	smp_store_release(&standing.released, true);
	pthread_join(thread, &result);
	sigaction(SIGSEGV, &before, NULL);
	return err ?: (long)result;
}

static void forget(void)
{
	if (registered)
		patcher_unregister(&table);
	registered = false;
	if (standing.memory)
		munmap(standing.memory, PAGE);
	standing.memory = NULL;
}

static const char *held_at_a_prefix(void)
{
	struct patcher_stats before, after;

	standing.memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	EXPECT(standing.memory != MAP_FAILED);
	set_site(&sites[0], prefixes_first);
	set_site(&sites[1], prefixes_second);
	EXPECT(!patcher_register(&table));
	registered = true;
	*standing.memory = 5;
	/* If the case runs a second time, the prefixes are LOCK already. */
	EXPECT(*prefixes_first == DS || *prefixes_first == LOCK);
	patcher_read_stats(&before);
	EXPECT(meanwhile(add, store_locks) == 5);
	patcher_read_stats(&after);
	EXPECT(after.rounds == before.rounds + 1);
	EXPECT(standing.ip == (unsigned long)prefixes_first);
	EXPECT(*prefixes_first == LOCK && *prefixes_second == LOCK);
	EXPECT(*standing.memory == 6 && add_second(standing.memory) == 6);
	/* A nop cannot replace DS: a LOCK stored in its place comes too late for the thread. */
	EXPECT(meanwhile(add_behind_nop, no_change) == 7);
	EXPECT(standing.ip == (unsigned long)prefixes_nop + 1);
	return NULL;
}

const struct test_case prefixes_cases[] = {
	{ "prefixes_held_at_a_prefix", held_at_a_prefix, forget },
};

const unsigned int prefixes_nr_cases = ARRAY_SIZE(prefixes_cases);
