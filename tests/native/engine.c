// SPDX-License-Identifier: GPL-2.0-only
/*
 * The batch engine in states that its public interface cannot cause in a program:
 * tables of core text, and bytes that were changed without the patcher.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>

#include <kmarkers/patcher.h>

#include "../../base/lock.h"
#include "../../patcher/register.h"
#include "../../patcher/sites.h"
#include "../../patcher/text.h"
#include "engine.h"

#define INSN	5

extern u8 engine_site[];

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, 0x00, 0x00, 0x00, 0x00 };
static const u8 call[INSN] = { 0xe8, 0x00, 0x00, 0x00, 0x00 };

static __used noinline void site(void)
{
	asm volatile("engine_site:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
}

static const char owner[] = "engine";
static struct patcher_site record;
static struct patcher_table table;
static struct patcher_poke poke;
static bool registered, can_wait, shadow_stack;

static void prepare(u16 flags)
{
	memset(&record, 0, sizeof(record));
	record.addr = (long)engine_site - (long)&record.addr;
	record.len = INSN;
	record.flags = flags;
	memset(&table, 0, sizeof(table));
	table.sites = &record;
	table.nr = 1;
	table.owner = owner;
}

static int change(const u8 *old, const u8 *new)
{
	memset(&poke, 0, sizeof(poke));
	poke.addr = engine_site;
	poke.len = INSN;
	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_apply(owner, &poke, 1);
}

static void forget(void)
{
	can_wait = shadow_stack = false;
	if (registered)
		patcher_unregister(&table);
	registered = false;
}

static int register_core(void)
{
	int err;

	patcher_lock();
	err = patcher_register_core(&table);
	patcher_unlock();
	return err;
}

/* The linker replaces patcher_text_can_wait() by this function. */
bool __wrap_patcher_text_can_wait(void);

bool __wrap_patcher_text_can_wait(void)
{
	return can_wait;
}

/* A run in core text is refused: no record says whether a task is inside it. */
static const char *no_runs_in_core_text(void)
{
	prepare(PATCHER_SITE_RUN);
	EXPECT(patcher_register(&table) == -EPERM);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(registered);
	patcher_unregister(&table);
	registered = !register_core();
	EXPECT(!registered);
	EXPECT(register_core() == -EPERM);
	return NULL;
}

/* A site that is a run and a prefix is refused: a run has no byte to exchange alone. */
static const char *no_run_is_a_prefix(void)
{
	prepare(PATCHER_SITE_RUN | PATCHER_SITE_PREFIX);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(!registered);
	EXPECT(patcher_register(&table) == -EINVAL);
	return NULL;
}

/* In a program, changes of core text are refused: core text exists in the kernel only. */
static const char *no_core_text(void)
{
	prepare(0);
	registered = !register_core();
	EXPECT(registered);
	EXPECT(change(nop, jump) == -EPERM);
	EXPECT(!memcmp(engine_site, nop, INSN));
	return NULL;
}

static void pause_for_ms(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	nanosleep(&pause, NULL);
}

static bool inside, found;

/* A slow handler, which looks for the site after the table was removed. */
static void *look(void *unused)
{
	rcu_read_lock();
	WRITE_ONCE(inside, true);
	pause_for_ms(50);
	found = patcher_sites_find((unsigned long)engine_site, NULL);
	rcu_read_unlock();
	return NULL;
}

static const char *core_tables_are_drained(void)
{
	pthread_t late;

	prepare(0);
	EXPECT(!register_core());
	inside = found = false;
	EXPECT(!pthread_create(&late, NULL, look, NULL));
	while (!READ_ONCE(inside))
		pause_for_ms(1);
	patcher_unregister(&table);
	pthread_join(late, NULL);
	EXPECT(found);
	EXPECT(!patcher_sites_find((unsigned long)engine_site, NULL));
	return NULL;
}

static bool done;

/* A slow handler, which has found the site before the table is removed. */
static void *keep(void *unused)
{
	rcu_read_lock();
	found = patcher_sites_find((unsigned long)engine_site, NULL);
	WRITE_ONCE(inside, true);
	pause_for_ms(50);
	WRITE_ONCE(done, true);
	rcu_read_unlock();
	return NULL;
}

static const char *unregistering_waits(void)
{
	pthread_t holder;
	bool waited;

	prepare(0);
	EXPECT(!patcher_register(&table));
	inside = found = done = false;
	EXPECT(!pthread_create(&holder, NULL, keep, NULL));
	while (!READ_ONCE(inside))
		pause_for_ms(1);
	patcher_unregister(&table);
	waited = READ_ONCE(done);
	pthread_join(holder, NULL);
	EXPECT(found && waited);
	return NULL;
}

/* A run may be replaced by one that jumps, if the jump leads to the end of the run. */
static const char *runs_jump_behind_themselves(void)
{
	static const u8 two[INSN] = { 0xb0, 0x01, 0x66, 0x90, 0x90 };
	static const u8 out[INSN] = { 0xeb, 0x02, 0x90, 0x90, 0x90 };
	static const u8 over[INSN] = { 0xeb, 0x03, 0x90, 0x90, 0x90 };
	int errs[5];

	prepare(PATCHER_SITE_RUN);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(registered);
	errs[0] = change(nop, two);
	errs[1] = change(two, out);
	errs[2] = change(two, over);
	errs[3] = change(over, out);
	errs[4] = change(errs[3] ? over : out, nop);
	EXPECT(!errs[0] && errs[1] == -EINVAL && !errs[2] && !errs[3] && !errs[4]);
	return NULL;
}

/* Write one byte of the site without the patcher's checks. */
static int write_byte(unsigned int offset, u8 byte)
{
	struct patcher_text_alias alias;
	int err;

	poke.addr = engine_site;
	poke.len = INSN;
	err = patcher_text_map(&alias, &poke, 1);
	if (err)
		return err;
	WRITE_ONCE(poke.alias[offset], byte);
	patcher_text_unmap(&alias);
	return 0;
}

/* The linker replaces native_has_shadow_stack() by this function. */
bool __wrap_native_has_shadow_stack(void);

bool __wrap_native_has_shadow_stack(void)
{
	return shadow_stack;
}

/* Where threads have shadow stacks no batch with a call is applied, and any other is. */
static const char *no_call_with_shadow_stack(void)
{
	prepare(0);
	registered = !patcher_register(&table);
	EXPECT(registered);
	shadow_stack = true;
	EXPECT(change(nop, call) == -EOPNOTSUPP);
	EXPECT(!memcmp(engine_site, nop, INSN));
	EXPECT(!change(nop, jump) && !change(jump, nop));
	shadow_stack = false;
	EXPECT(!change(nop, call));
	shadow_stack = true;
	EXPECT(change(call, nop) == -EOPNOTSUPP);
	EXPECT(!memcmp(engine_site, call, INSN));
	shadow_stack = false;
	EXPECT(!change(call, nop));
	return NULL;
}

static const char *notices_changed_bytes(void)
{
	struct patcher_stats before, after;
	unsigned int i;
	u8 now[INSN];

	prepare(0);
	registered = !patcher_register(&table);
	EXPECT(registered);
	for (i = 0; i < INSN; i++) {
		EXPECT(!write_byte(i, nop[i] ^ 0x10));
		memcpy(now, engine_site, INSN);
		patcher_read_stats(&before);
		EXPECT(change(nop, jump) == -EILSEQ);
		patcher_read_stats(&after);
		EXPECT(after.rounds == before.rounds && after.refused == before.refused + 1);
		EXPECT(!memcmp(engine_site, now, INSN));
		EXPECT(!write_byte(i, nop[i]));
	}
	EXPECT(!change(nop, jump));
	EXPECT(!change(jump, nop));
	return NULL;
}

const struct test_case engine_cases[] = {
	{ "engine_no_runs_in_core_text", no_runs_in_core_text, forget },
	{ "engine_no_run_is_a_prefix", no_run_is_a_prefix, forget },
	{ "engine_no_core_text", no_core_text, forget },
	{ "engine_drains_core_tables", core_tables_are_drained, forget },
	{ "engine_unregistering_waits", unregistering_waits, forget },
	{ "engine_runs_jump_behind_themselves", runs_jump_behind_themselves, forget },
	{ "engine_no_call_with_shadow_stack", no_call_with_shadow_stack, forget },
	{ "engine_notices_changed_bytes", notices_changed_bytes, forget },
};

const unsigned int engine_nr_cases = ARRAY_SIZE(engine_cases);
