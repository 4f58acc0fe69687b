// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol step by step.  The linker puts this file between the batch
 * engine and what it stands on (ld --wrap): after each round the bytes are
 * looked at and executed, and a breakpoint handler can be held for a while.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <linux/kernel.h>
#include <linux/ptrace.h>

#include <linux/timekeeping.h>

#include <kmarkers/patcher.h>

#include "../../patcher/insn.h"
#include "protocol.h"

#define INSN	5
#define SITES	3
#define INT3	0xcc

extern u8 protocol_site_first[], protocol_site_second[], protocol_site_leaf[];

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, 0x05, 0x00, 0x00, 0x00 };

/* 3 with nops; a jump skips the mov that follows it. */
static noinline int run_sites(void)
{
	int first = 0, second = 0;

	asm volatile("protocol_site_first:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     "movl $1, %%eax\n"
		     "protocol_site_second:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     "movl $2, %%edx"
		     : "+a" (first), "+d" (second));
	return first | second;
}

/*
 * A leaf function keeps its locals in the 128 bytes below the stack pointer.
 * This one fills them, passes its site, and counts those that changed.
 */
unsigned int protocol_leaf(void);
asm(".pushsection .text\n"
	"protocol_leaf:\n"
	"	movq $-128, %rax\n"
	"1:	movq %rax, (%rsp,%rax)\n"
	"	addq $8, %rax\n"
	"	jnz 1b\n"
	"protocol_site_leaf:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	movq $-128, %rdx\n"
	"2:	cmpq %rdx, (%rsp,%rdx)\n"
	"	je 3f\n"
	"	incl %eax\n"
	"3:	addq $8, %rdx\n"
	"	jnz 2b\n"
	"	ret\n"
	".popsection\n");

static const char owner[] = "protocol";
static struct patcher_site records[SITES];
static struct patcher_table table = { .sites = records, .nr = SITES, .owner = owner };
static struct patcher_poke pokes[SITES];
static bool registered;

static void point_record(struct patcher_site *record, const u8 *addr)
{
	memset(record, 0, sizeof(*record));
	record->addr = (long)addr - (long)&record->addr;
	record->len = INSN;
}

static int start(void)
{
	int err;

	point_record(&records[0], protocol_site_first);
	point_record(&records[1], protocol_site_second);
	point_record(&records[2], protocol_site_leaf);
	err = patcher_register(&table);
	registered = !err;
	return err;
}

static int change(const u8 *old, const u8 *new)
{
	u8 *const addr[SITES] = {
		protocol_site_first, protocol_site_second, protocol_site_leaf,
	};
	unsigned int i;

	memset(pokes, 0, sizeof(pokes));
	for (i = 0; i < SITES; i++) {
		pokes[i].addr = addr[i];
		pokes[i].len = INSN;
		memcpy(pokes[i].old, old, INSN);
		memcpy(pokes[i].new, new, INSN);
	}
	return patcher_apply(owner, pokes, SITES);
}

/* Called after each round of a batch of this file. */
static void (*after_round)(void);

void __real_patcher_text_sync(void);
void __wrap_patcher_text_sync(void);

void __wrap_patcher_text_sync(void)
{
	__real_patcher_text_sync();
	if (after_round)
		after_round();
}

/* Called by a thread that is in the breakpoint handler. */
static void (*in_handler)(void);

void __real_patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr,
				 struct pt_regs *regs);
void __wrap_patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr,
				 struct pt_regs *regs);

void __wrap_patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr,
				 struct pt_regs *regs)
{
	if (in_handler)
		in_handler();
	__real_patcher_insn_emulate(insn, addr, regs);
}

/* Called once, by a breakpoint handler that has found nothing pending. */
static void (*in_lookup)(void);

const struct patcher_site *__real_patcher_sites_find(unsigned long addr,
					     const struct patcher_table **found);
const struct patcher_site *__wrap_patcher_sites_find(unsigned long addr,
					     const struct patcher_table **found);

const struct patcher_site *__wrap_patcher_sites_find(unsigned long addr,
					     const struct patcher_table **found)
{
	/* Several handlers come here at the same time. */
	void (*call)(void) = __atomic_exchange_n(&in_lookup, NULL, __ATOMIC_ACQ_REL);

	if (call)
		call();
	return __real_patcher_sites_find(addr, found);
}

static void forget(void)
{
	after_round = NULL;
	in_handler = NULL;
	__atomic_store_n(&in_lookup, NULL, __ATOMIC_RELEASE);
	if (!registered)
		return;
	change(jump, nop);
	patcher_unregister(&table);
	registered = false;
}

static unsigned int round_number;
static bool amiss;

/* First byte and tail of both sites after each round; any execution is a jump. */
static void check_round(void)
{
	const u8 first[] = { INT3, INT3, jump[0] };
	const u8 *const tail[] = { nop, jump, jump };
	unsigned int i = round_number++;

	if (i >= ARRAY_SIZE(first))
		return;
	if (protocol_site_first[0] != first[i] || protocol_site_second[0] != first[i] ||
	    memcmp(protocol_site_first + 1, tail[i] + 1, INSN - 1) ||
	    memcmp(protocol_site_second + 1, tail[i] + 1, INSN - 1))
		amiss = true;
	/* Bytes that are not as they should be are not executed either. */
	if (!amiss && run_sites() != 0)
		amiss = true;
}

static const char *steps(void)
{
	struct patcher_stats before, after;

	EXPECT(!start());
	round_number = 0;
	amiss = false;
	patcher_read_stats(&before);
	after_round = check_round;
	EXPECT(!change(nop, jump));
	after_round = NULL;
	patcher_read_stats(&after);
	EXPECT(round_number == 3);
	EXPECT(!amiss);
	/* Two executions with a breakpoint at both sites. */
	EXPECT(after.hits - before.hits == 4);
	EXPECT(run_sites() == 0);
	return NULL;
}

static bool inside, returned;

static void stay_inside(unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	WRITE_ONCE(inside, true);
	for (i = 0; i < ms && !READ_ONCE(returned); i++)
		nanosleep(&pause, NULL);
	WRITE_ONCE(inside, false);
}

/* A tenth of a second, or less if the batch returns: it must not. */
static void linger(void)
{
	stay_inside(100);
}

static bool entered(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	for (i = 0; i < 5000 && !READ_ONCE(inside); i++)
		nanosleep(&pause, NULL);
	return READ_ONCE(inside);
}

static void *run_once(void *unused)
{
	run_sites();
	return NULL;
}

static pthread_t visitor;

/* After the first round another thread meets a breakpoint. */
static void let_visitor_in(void)
{
	if (round_number++)
		return;
	if (pthread_create(&visitor, NULL, run_once, NULL) || !entered())
		amiss = true;
}

static const char *waits_for_handlers(void)
{
	bool left;

	EXPECT(!start());
	round_number = 0;
	amiss = returned = false;
	after_round = let_visitor_in;
	in_handler = linger;
	EXPECT(!change(nop, jump));
	left = !READ_ONCE(inside);
	WRITE_ONCE(returned, true);
	pthread_join(visitor, NULL);
	EXPECT(!amiss);
	EXPECT(left);
	return NULL;
}

static void check_leaf(void)
{
	amiss |= protocol_leaf() != 0;
}

/* The first two rounds leave a breakpoint in its way. */
static const char *keeps_red_zone(void)
{
	struct patcher_stats before, after;

	EXPECT(!start());
	amiss = false;
	patcher_read_stats(&before);
	after_round = check_leaf;
	EXPECT(!change(nop, jump));
	after_round = NULL;
	patcher_read_stats(&after);
	EXPECT(!amiss);
	EXPECT(after.hits - before.hits == 2);
	return NULL;
}

static char signal_stack[1 << 16];

/* As documented: on the stack for signals, with all signals blocked but SIGTRAP. */
static void check_handler(void)
{
	const char *here = __builtin_frame_address(0);
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	amiss |= here < signal_stack || here >= signal_stack + sizeof(signal_stack) ||
		 !sigismember(&blocked, SIGUSR1) || !sigismember(&blocked, SIGALRM) ||
		 sigismember(&blocked, SIGTRAP);
}

static const char *handles_apart(void)
{
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) }, old;
	struct patcher_stats before, after;
	int err;

#ifdef __SANITIZE_THREAD__
	return "SKIP ThreadSanitizer runs handlers with masks of its own";
#endif
	EXPECT(!start());
	EXPECT(!sigaltstack(&stack, &old));
	amiss = false;
	patcher_read_stats(&before);
	after_round = check_leaf;
	in_handler = check_handler;
	err = change(nop, jump);
	after_round = NULL;
	sigaltstack(&old, NULL);
	patcher_read_stats(&after);
	EXPECT(!err);
	EXPECT(after.hits - before.hits == 2);
	EXPECT(!amiss);
	return NULL;
}

static const char *retries_stale_breakpoints(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	struct patcher_stats before, after;

	EXPECT(!start());
	patcher_read_stats(&before);
	EXPECT(patcher_handle_int3(&regs));
	EXPECT(regs.ip == (unsigned long)protocol_site_first);
	patcher_read_stats(&after);
	EXPECT(after.stale == before.stale + 1 && after.hits == before.hits);
	regs.ip = (unsigned long)protocol_site_first + 2;
	EXPECT(!patcher_handle_int3(&regs));
	return NULL;
}

static void *change_once(void *unused)
{
	amiss |= change(nop, jump) != 0;
	return NULL;
}

/* The batch stays where its breakpoints are in memory. */
static void stay_in_first_round(void)
{
	if (!round_number++)
		stay_inside(5000);
}

static void begin_batch(void)
{
	if (pthread_create(&visitor, NULL, change_once, NULL) || !entered())
		amiss = true;
}

/* An int3 in memory, and nothing was pending: but there is a batch that has begun since. */
static const char *retries_breakpoints_of_new_batches(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	u8 byte;
	bool ours;

	EXPECT(!start());
	round_number = 0;
	amiss = returned = false;
	after_round = stay_in_first_round;
	__atomic_store_n(&in_lookup, begin_batch, __ATOMIC_RELEASE);
	ours = patcher_handle_int3(&regs);
	byte = protocol_site_first[0];
	WRITE_ONCE(returned, true);
	pthread_join(visitor, NULL);
	EXPECT(!amiss);
	EXPECT(byte == INT3);
	EXPECT(ours && regs.ip == (unsigned long)protocol_site_first);
	return NULL;
}

struct mapping {
	unsigned long start, end, device, inode;
	bool write, execute;
};

static bool read_mapping(FILE *maps, struct mapping *mapping)
{
	unsigned int major, minor;
	char line[512], rights[5];

	if (!fgets(line, sizeof(line), maps) ||
	    sscanf(line, "%lx-%lx %4s %*x %x:%x %lu", &mapping->start, &mapping->end, rights,
		   &major, &minor, &mapping->inode) != 6)
		return false;
	mapping->device = (unsigned long)major << 32 | minor;
	mapping->write = rights[1] == 'w';
	mapping->execute = rights[2] == 'x';
	return true;
}

/* Mappings of the text that can be written, and of anything that can be written and executed. */
static int bad_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long site = (unsigned long)protocol_site_first;
	struct mapping text = { 0 }, mapping;
	int bad = 0;

	if (!maps)
		return -1;
	while (!text.inode && read_mapping(maps, &mapping))
		if (mapping.start <= site && site < mapping.end)
			text = mapping;
	rewind(maps);
	while (read_mapping(maps, &mapping))
		bad += mapping.write && (mapping.execute || (mapping.inode == text.inode &&
							     mapping.device == text.device));
	fclose(maps);
	return text.inode ? bad : -1;
}

static const char *leaves_no_alias(void)
{
	EXPECT(!start());
	EXPECT(bad_mappings() == 0);
	EXPECT(!change(nop, jump));
	EXPECT(bad_mappings() == 0);
	EXPECT(change(nop, jump) == -EILSEQ);
	EXPECT(bad_mappings() == 0);
	return NULL;
}

static void pause_3_ms(void)
{
	const struct timespec pause = { .tv_nsec = 3000000 };

	nanosleep(&pause, NULL);
}

/* A batch of 9 ms at least, and of no more than it took, is in a bucket for that. */
static const char *counts_durations(void)
{
	struct patcher_stats before, after;
	unsigned int bucket = 0;
	u64 begin;

	EXPECT(!start());
	patcher_read_stats(&before);
	after_round = pause_3_ms;
	begin = ktime_get_ns();
	EXPECT(!change(nop, jump));
	begin = ktime_get_ns() - begin;
	after_round = NULL;
	patcher_read_stats(&after);
	while (bucket < PATCHER_BUCKETS && after.durations[bucket] == before.durations[bucket])
		bucket++;
	EXPECT(bucket >= patcher_bucket(9000000));
	EXPECT(bucket <= patcher_bucket(begin));
	EXPECT(after.apply_ns - before.apply_ns >= 9000000);
	EXPECT(after.longest_round_ns >= 3000000);
	return NULL;
}

const struct test_case protocol_cases[] = {
	{ "protocol_counts_durations", counts_durations, forget },
	{ "protocol_steps", steps, forget },
	{ "protocol_waits_for_handlers", waits_for_handlers, forget },
	{ "protocol_keeps_red_zone", keeps_red_zone, forget },
	{ "protocol_handles_apart", handles_apart, forget },
	{ "protocol_retries_stale_breakpoints", retries_stale_breakpoints, forget },
	{ "protocol_retries_new_breakpoints", retries_breakpoints_of_new_batches, forget },
	{ "protocol_leaves_no_alias", leaves_no_alias, forget },
};

const unsigned int protocol_nr_cases = ARRAY_SIZE(protocol_cases);
