// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of replacing an instruction's DS prefix by LOCK while a thread is held at the instruction,
 * and of replacing LOCK by DS while a single CPU is online.
 *
 * The instruction adds to memory that cannot be accessed, so it raises a signal.  The thread is
 * held in the signal handler, and then returns to the instruction, as a preempted task does.
 *
 * The thread returns to the DS prefix, or to the LOCK that has replaced it.  A nop in place of DS
 * would not work: the thread would return behind the nop, and add without LOCK.
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
 * struct standing - state of the thread that is held at an instruction
 * @memory: address of the number to which the thread adds, in a page of its own
 * @ip: address of the instruction to which the thread returns
 * @held: true when the thread is in the signal handler
 * @released: true when the thread may leave the signal handler
 */
static struct standing {
	u32 *memory;
	unsigned long ip;
	bool held, released;
} standing;

static noinline u32 add_at_first_site(u32 *memory)
{
	u32 one = 1;

	asm volatile("prefixes_first:	.byte 0x3e\n"
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*memory) : : "cc", "memory");
	return one;
}

static noinline u32 add_at_second_site(u32 *memory)
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

static void hold_thread_in_handler(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	standing.ip = interrupted->uc_mcontext.gregs[REG_RIP];
	/* Pairs with the acquire in change_while_thread_is_held(). */
	smp_store_release(&standing.held, true);
	/* Pairs with the release in change_while_thread_is_held(). */
	while (!smp_load_acquire(&standing.released))
		cpu_relax();
}

static void *call_add_function(void *function)
{
	u32 (*call)(u32 *memory) = function;

	return (void *)(unsigned long)call(standing.memory);
}

static int leave_prefixes_unchanged(void)
{
	return 0;
}

static void fill_site_record(struct patcher_site *site, u8 *addr)
{
	site->addr = (long)addr - (long)&site->addr;
	site->len = 1;
	site->flags = PATCHER_SITE_PREFIX;
}

static void register_prefix_sites(void)
{
	fill_site_record(&sites[0], prefixes_first);
	fill_site_record(&sites[1], prefixes_second);
	registered = !patcher_register(&table);
}

static void fill_prefix_poke(struct patcher_poke *poke, u8 *addr, u8 prefix)
{
	poke->addr = addr;
	poke->len = 1;
	poke->old[0] = *addr;
	poke->new[0] = prefix;
}

/* Store a prefix at each of the two sites, in one batch. */
static int store_prefixes(u8 first, u8 second)
{
	struct patcher_poke pokes[2] = { };

	fill_prefix_poke(&pokes[0], prefixes_first, first);
	fill_prefix_poke(&pokes[1], prefixes_second, second);
	return patcher_store_prefixes(owner, pokes, 2);
}

static int store_lock_prefixes(void)
{
	return store_prefixes(LOCK, LOCK);
}

static bool one_cpu;

/* Replace patcher_is_one_cpu_online(), with the option --wrap of the linker. */
bool __wrap_patcher_is_one_cpu_online(void);

bool __wrap_patcher_is_one_cpu_online(void)
{
	return one_cpu;
}

/* Call @change while a thread is held in @function.  Return the result of @function. */
static long change_while_thread_is_held(u32 (*function)(u32 *memory), int (*change)(void))
{
	struct sigaction action = {
		.sa_sigaction = hold_thread_in_handler, .sa_flags = SA_SIGINFO,
	}, before;
	pthread_t thread;
	void *result;
	int err;

	standing.held = false;
	standing.released = false;
	sigaction(SIGSEGV, &action, &before);
	mprotect(standing.memory, PAGE, PROT_NONE);
	if (pthread_create(&thread, NULL, call_add_function, (void *)function))
		return -ENOMEM;
	/* Pairs with the release in hold_thread_in_handler(). */
	while (!smp_load_acquire(&standing.held))
		cpu_relax();
	err = change();
	mprotect(standing.memory, PAGE, PROT_READ | PROT_WRITE);
	/* Pairs with the acquire in hold_thread_in_handler(). */
	smp_store_release(&standing.released, true);
	pthread_join(thread, &result);
	sigaction(SIGSEGV, &before, NULL);
	return err ?: (long)result;
}

static void unregister_prefix_sites(void)
{
	if (registered)
		patcher_unregister(&table);
	registered = false;
	one_cpu = false;
	if (standing.memory)
		munmap(standing.memory, PAGE);
	standing.memory = NULL;
}

static const char *prefixes_are_executed_by_a_held_thread(void)
{
	struct patcher_stats before, after;

	standing.memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	EXPECT(standing.memory != MAP_FAILED);
	register_prefix_sites();
	EXPECT(registered);
	*standing.memory = 5;
	/* The prefixes are LOCK already in a second run of this case. */
	EXPECT(*prefixes_first == DS || *prefixes_first == LOCK);
	patcher_read_stats(&before);
	EXPECT(change_while_thread_is_held(add_at_first_site, store_lock_prefixes) == 5);
	patcher_read_stats(&after);
	EXPECT(after.rounds == before.rounds + 1);
	EXPECT(standing.ip == (unsigned long)prefixes_first);
	EXPECT(*prefixes_first == LOCK && *prefixes_second == LOCK);
	EXPECT(*standing.memory == 6 && add_at_second_site(standing.memory) == 6);
	/*
	 * The thread that is held at the xadd instruction returns to the address behind the nop.
	 * If LOCK replaced the nop meanwhile, the thread would not execute LOCK.
	 */
	EXPECT(change_while_thread_is_held(add_behind_nop, leave_prefixes_unchanged) == 7);
	EXPECT(standing.ip == (unsigned long)prefixes_nop + 1);
	return NULL;
}

static bool are_prefixes(u8 first, u8 second)
{
	return READ_ONCE(*prefixes_first) == first && READ_ONCE(*prefixes_second) == second;
}

/* Check that DS may replace LOCK, at any site of a batch, only while a single CPU is online. */
static const char *prefixes_lose_lock_only_on_one_cpu(void)
{
	register_prefix_sites();
	EXPECT(registered);
	EXPECT(!store_lock_prefixes());
	EXPECT(store_prefixes(DS, LOCK) == -EBUSY && store_prefixes(LOCK, DS) == -EBUSY);
	EXPECT(are_prefixes(LOCK, LOCK));
	one_cpu = true;
	EXPECT(!store_prefixes(DS, LOCK) && are_prefixes(DS, LOCK));
	EXPECT(!store_prefixes(LOCK, DS) && are_prefixes(LOCK, DS));
	one_cpu = false;
	EXPECT(!store_lock_prefixes() && are_prefixes(LOCK, LOCK));
	return NULL;
}

const struct test_case prefixes_cases[] = {
	{ "prefixes_are_executed_by_a_held_thread", prefixes_are_executed_by_a_held_thread,
	  unregister_prefix_sites },
	{ "prefixes_lose_lock_only_on_one_cpu", prefixes_lose_lock_only_on_one_cpu,
	  unregister_prefix_sites },
};

const unsigned int prefixes_nr_cases = ARRAY_SIZE(prefixes_cases);
