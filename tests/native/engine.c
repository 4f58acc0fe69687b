// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the patcher's batches in states that the public interface cannot cause in user space:
 * tables of core text, and bytes that were changed without the patcher.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>

#include <kmarkers/patcher.h>

#include "../../base/lock.h"
#include "../../patcher/register.h"
#include "../../patcher/sites.h"
#include "../../patcher/text.h"
#include "engine.h"
#include "protocol_stand.h"

extern u8 engine_site[];

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, 0x00, 0x00, 0x00, 0x00 };
static const u8 call[INSN] = { 0xe8, 0x00, 0x00, 0x00, 0x00 };

static __used noinline void contain_site(void)
{
	asm volatile("engine_site:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
}

static const char owner[] = "engine";
static struct patcher_site record;
static struct patcher_table table;
static struct patcher_poke poke;
static bool registered, can_wait, shadow_stack;

static void init_table(u16 flags)
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

static int replace_engine_insn(const u8 *old, const u8 *new)
{
	memset(&poke, 0, sizeof(poke));
	poke.addr = engine_site;
	poke.len = INSN;
	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_apply(owner, &poke, 1);
}

static void unregister_engine_table(void)
{
	protocol_after_round = NULL;
	can_wait = shadow_stack = false;
	if (registered)
		patcher_unregister(&table);
	registered = false;
}

static int register_core_table(void)
{
	int err;

	patcher_lock();
	err = patcher_register_core_table(&table);
	patcher_unlock();
	return err;
}

/* Replace patcher_text_can_wait_for_tasks(), with the option --wrap of the linker. */
bool __wrap_patcher_text_can_wait_for_tasks(void);

bool __wrap_patcher_text_can_wait_for_tasks(void)
{
	return can_wait;
}

static unsigned int waits;

/* Replace patcher_text_wait_for_tasks(), with the option --wrap of the linker. */
void __wrap_patcher_text_wait_for_tasks(void);

void __wrap_patcher_text_wait_for_tasks(void)
{
	waits++;
}

/*
 * Check that a run, a site of several instructions, is refused in core text, because tasks may be
 * preempted inside the run.
 */
static const char *engine_refuses_runs_in_core_text(void)
{
	init_table(PATCHER_SITE_RUN);
	EXPECT(patcher_register(&table) == -EPERM);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(registered);
	patcher_unregister(&table);
	registered = !register_core_table();
	EXPECT(!registered);
	EXPECT(register_core_table() == -EPERM);
	return NULL;
}

/*
 * Check that a site cannot be both a run (a site of several instructions) and a prefix: no single
 * byte of a run may be replaced.
 */
static const char *engine_refuses_runs_that_are_prefixes(void)
{
	init_table(PATCHER_SITE_RUN | PATCHER_SITE_PREFIX);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(!registered);
	EXPECT(patcher_register(&table) == -EINVAL);
	return NULL;
}

/* Check that changes of core text are refused in user space: only the kernel has core text. */
static const char *engine_refuses_changes_of_core_text(void)
{
	init_table(0);
	registered = !register_core_table();
	EXPECT(registered);
	EXPECT(replace_engine_insn(nop, jump) == -EPERM);
	EXPECT(!memcmp(engine_site, nop, INSN));
	return NULL;
}

static void pause_for_ms(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	nanosleep(&pause, NULL);
}

static bool inside, found;

/*
 * Act as a slow breakpoint handler, which looks up the site while the table of the site is being
 * unregistered.
 */
static void *look_up_site_during_removal(void *unused)
{
	rcu_read_lock();
	WRITE_ONCE(inside, true);
	pause_for_ms(50);
	found = patcher_sites_find((unsigned long)engine_site, NULL);
	rcu_read_unlock();
	return NULL;
}

/* Check that a slow handler still finds a site of core text that is being unregistered. */
static const char *engine_keeps_core_tables_for_handlers(void)
{
	pthread_t late;

	init_table(0);
	EXPECT(!register_core_table());
	inside = found = false;
	EXPECT(!pthread_create(&late, NULL, look_up_site_during_removal, NULL));
	while (!READ_ONCE(inside))
		pause_for_ms(1);
	patcher_unregister(&table);
	pthread_join(late, NULL);
	EXPECT(found);
	EXPECT(!patcher_sites_find((unsigned long)engine_site, NULL));
	return NULL;
}

static bool done;

/* Act as a slow breakpoint handler, which looked up the site before the site was unregistered. */
static void *look_up_site_before_removal(void *unused)
{
	rcu_read_lock();
	found = patcher_sites_find((unsigned long)engine_site, NULL);
	WRITE_ONCE(inside, true);
	pause_for_ms(50);
	WRITE_ONCE(done, true);
	rcu_read_unlock();
	return NULL;
}

/* Check that patcher_unregister() waits for a handler that has looked up a site. */
static const char *engine_unregistering_waits_for_handlers(void)
{
	pthread_t holder;
	bool waited;

	init_table(0);
	EXPECT(!patcher_register(&table));
	inside = found = done = false;
	EXPECT(!pthread_create(&holder, NULL, look_up_site_before_removal, NULL));
	while (!READ_ONCE(inside))
		pause_for_ms(1);
	patcher_unregister(&table);
	waited = READ_ONCE(done);
	pthread_join(holder, NULL);
	EXPECT(found && waited);
	return NULL;
}

/*
 * Check which instructions may replace a run, a site of several instructions: a jump among these
 * instructions must lead to the end of the run, and must not be conditional.
 */
static const char *engine_accepts_jumps_only_to_ends_of_runs(void)
{
	static const u8 two[INSN] = { 0xb0, 0x01, 0x66, 0x90, 0x90 };
	static const u8 out[INSN] = { 0xeb, 0x02, 0x90, 0x90, 0x90 };
	static const u8 over[INSN] = { 0xeb, 0x03, 0x90, 0x90, 0x90 };
	/* A je, a mov and a cmp, each with the operand of the jump to the end of the run. */
	static const u8 others[][INSN] = {
		{ 0x74, 0x03, 0x90, 0x90, 0x90 }, { 0xb0, 0x03, 0x90, 0x90, 0x90 },
		{ 0x3c, 0x03, 0x90, 0x90, 0x90 },
	};
	unsigned int i, accepted = 0;
	int errs[5];

	init_table(PATCHER_SITE_RUN);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(registered);
	errs[0] = replace_engine_insn(nop, two);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (replace_engine_insn(two, others[i]) == -EINVAL)
			continue;
		accepted++;
		replace_engine_insn(others[i], two);
	}
	errs[1] = replace_engine_insn(two, out);
	errs[2] = replace_engine_insn(two, over);
	errs[3] = replace_engine_insn(over, out);
	errs[4] = replace_engine_insn(errs[3] ? over : out, nop);
	EXPECT(!errs[0] && errs[1] == -EINVAL && !errs[2] && !errs[3] && !errs[4]);
	EXPECT(!accepted);
	return NULL;
}

/*
 * Check that the patcher waits until no task is preempted inside a run, if the run holds several
 * instructions when it is replaced.
 */
static const char *engine_waits_for_tasks_inside_runs(void)
{
	static const u8 two[INSN] = { 0xb0, 0x01, 0x66, 0x90, 0x90 };
	unsigned int nr[3];
	int errs[3];

	init_table(PATCHER_SITE_RUN);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(registered);
	waits = 0;
	errs[0] = replace_engine_insn(nop, two);
	nr[0] = waits;
	errs[1] = replace_engine_insn(two, jump);
	nr[1] = waits;
	errs[2] = replace_engine_insn(errs[1] ? two : jump, nop);
	nr[2] = waits;
	EXPECT(!errs[0] && !errs[1] && !errs[2]);
	EXPECT(nr[0] == 0 && nr[1] == 1 && nr[2] == 1);
	return NULL;
}

static unsigned int continued;

/*
 * Do what happens to a thread that executes the int3 of the site.  Count the calls after which the
 * thread would continue behind the site.
 */
static void execute_int3_of_site(void)
{
	struct pt_regs regs = { .ip = (unsigned long)engine_site + 1 };

	continued += patcher_handle_int3(&regs) && regs.ip == (unsigned long)engine_site + INSN;
}

/*
 * Check that a thread that executes the int3 of a run, a site of several instructions, continues
 * behind the run.  Check this for a run that is replaced by several instructions, and for a run
 * that is replaced by one instruction.
 */
static const char *engine_threads_continue_behind_runs(void)
{
	static const u8 two[INSN] = { 0xb0, 0x01, 0x66, 0x90, 0x90 };
	int errs[2];

	init_table(PATCHER_SITE_RUN);
	can_wait = true;
	registered = !patcher_register(&table);
	EXPECT(registered);
	continued = 0;
	protocol_after_round = execute_int3_of_site;
	errs[0] = replace_engine_insn(nop, two);
	errs[1] = replace_engine_insn(two, nop);
	protocol_after_round = NULL;
	EXPECT(!errs[0] && !errs[1]);
	EXPECT(continued == 6);
	return NULL;
}

/* Write one byte of the site without the patcher's checks. */
static int write_site_byte(unsigned int offset, u8 byte)
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

/* Replace native_has_shadow_stack(), with the option --wrap of the linker. */
bool __wrap_native_has_shadow_stack(void);

bool __wrap_native_has_shadow_stack(void)
{
	return shadow_stack;
}

/*
 * With shadow stacks, check that a batch is refused if an old or a new instruction is a call, and
 * that all other batches are accepted.
 */
static const char *engine_refuses_calls_with_shadow_stack(void)
{
	struct sigaction other = { .sa_handler = SIG_DFL }, ours;
	int err;

	init_table(0);
	registered = !patcher_register(&table);
	EXPECT(registered);
	shadow_stack = true;
	EXPECT(replace_engine_insn(nop, call) == -EOPNOTSUPP);
	EXPECT(!memcmp(engine_site, nop, INSN));
	/* An error that all batches have is not replaced by the error of calls. */
	EXPECT(!sigaction(SIGTRAP, &other, &ours));
	err = replace_engine_insn(nop, call);
	EXPECT(!sigaction(SIGTRAP, &ours, NULL) && err == -ENOLINK);
	EXPECT(!replace_engine_insn(nop, jump) && !replace_engine_insn(jump, nop));
	shadow_stack = false;
	EXPECT(!replace_engine_insn(nop, call));
	shadow_stack = true;
	EXPECT(replace_engine_insn(call, nop) == -EOPNOTSUPP);
	EXPECT(!memcmp(engine_site, call, INSN));
	shadow_stack = false;
	EXPECT(!replace_engine_insn(call, nop));
	return NULL;
}

static const char *engine_refuses_sites_with_changed_bytes(void)
{
	struct patcher_stats before, after;
	unsigned int i;
	u8 now[INSN];

	init_table(0);
	registered = !patcher_register(&table);
	EXPECT(registered);
	for (i = 0; i < INSN; i++) {
		EXPECT(!write_site_byte(i, nop[i] ^ 0x10));
		memcpy(now, engine_site, INSN);
		patcher_read_stats(&before);
		EXPECT(replace_engine_insn(nop, jump) == -EILSEQ);
		patcher_read_stats(&after);
		EXPECT(after.rounds == before.rounds && after.refused == before.refused + 1);
		EXPECT(!memcmp(engine_site, now, INSN));
		EXPECT(!write_site_byte(i, nop[i]));
	}
	EXPECT(!replace_engine_insn(nop, jump));
	EXPECT(!replace_engine_insn(jump, nop));
	return NULL;
}

/* Find the mapping of the program's text.  Return false on error. */
static bool find_text_mapping(unsigned long *start, unsigned long *end)
{
	unsigned long site = (unsigned long)engine_site;
	FILE *maps = fopen("/proc/self/maps", "r");
	bool inside = false;
	char line[512];

	while (maps && !inside && fgets(line, sizeof(line), maps))
		inside = sscanf(line, "%lx-%lx ", start, end) == 2 && *start <= site && site < *end;
	if (maps)
		fclose(maps);
	return inside;
}

/* Check that sites may be anywhere in the program's text, up to its last byte, and nowhere else. */
static const char *engine_accepts_sites_only_in_the_text(void)
{
	unsigned long start, end;

	EXPECT(find_text_mapping(&start, &end));
	EXPECT(patcher_is_module_text(NULL, start, 1) && patcher_is_module_text(NULL, start, INSN));
	EXPECT(!patcher_is_module_text(NULL, start - 1, 1));
	EXPECT(!patcher_is_module_text(NULL, start - 1, INSN));
	EXPECT(patcher_is_module_text(NULL, end - 1, 1));
	EXPECT(patcher_is_module_text(NULL, end - INSN, INSN));
	EXPECT(!patcher_is_module_text(NULL, end - INSN + 1, INSN));
	EXPECT(!patcher_is_module_text(NULL, end, 1) && !patcher_is_module_text(NULL, 0, 1));
	EXPECT(patcher_is_module_text(NULL, start, end - start));
	EXPECT(!patcher_is_module_text(NULL, start, end - start + 1));
	EXPECT(!patcher_is_module_text(NULL, end - 1, ~0U));
	return NULL;
}

/* A row of sites of several lengths, and the instructions that replace them. */
static const struct {
	u8 len, off[7], on[7];
} row[] = {
	{ 7, { 0x0f, 0x1f, 0x80, 0, 0, 0, 0 }, { 0x41, 0x81, 0xf9, 1, 2, 3, 4 } },
	{ 2, { 0x66, 0x90 }, { 0xeb, 0x00 } },
	{ 5, { 0x0f, 0x1f, 0x44, 0, 0 }, { 0xe9, 0, 0, 0, 0 } },
	{ 5, { 0x0f, 0x1f, 0x44, 0, 0 }, { 0xe9, 1, 0, 0, 0 } },
	{ 5, { 0x0f, 0x1f, 0x44, 0, 0 }, { 0x3d, 1, 2, 3, 4 } },
	{ 3, { 0x0f, 0x1f, 0x00 }, { 0x66, 0x66, 0x90 } },
};

#define ROW	ARRAY_SIZE(row)

extern u8 engine_row[];

static __used noinline void contain_row(void)
{
	asm volatile("engine_row:\n\t"
		     ".byte 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x66, 0x90\n\t"
		     ".fill 3, 5, 0x00441f0f\n\t"
		     ".byte 0x0f, 0x1f, 0x00");
}

static struct patcher_site row_records[ROW];

static u8 *compute_row_addr(unsigned int site)
{
	u8 *addr = engine_row;

	while (site)
		addr += row[--site].len;
	return addr;
}

static int register_row(void)
{
	unsigned int i;

	init_table(0);
	for (i = 0; i < ROW; i++)
		row_records[i] = (struct patcher_site) {
			.addr = (long)compute_row_addr(i) - (long)&row_records[i].addr,
			.len = row[i].len,
		};
	table.sites = row_records;
	table.nr = ROW;
	return patcher_register(&table);
}

/*
 * Store at @to the pokes that switch the sites in the bit mask @mask.  Return the number of pokes.
 */
static unsigned int fill_row_pokes(struct patcher_poke *to, unsigned int mask, bool backwards,
				   bool on)
{
	unsigned int i, site, nr = 0;

	for (i = 0; i < ROW; i++) {
		site = backwards ? ROW - 1 - i : i;
		if (!(mask & 1 << site))
			continue;
		to[nr] = (struct patcher_poke) { .addr = compute_row_addr(site) };
		to[nr].len = row[site].len;
		memcpy(to[nr].old, on ? row[site].off : row[site].on, row[site].len);
		memcpy(to[nr++].new, on ? row[site].on : row[site].off, row[site].len);
	}
	return nr;
}

/* Return true if the sites in the bit mask @mask are on, and all other sites are off. */
static bool are_only_sites_on(unsigned int mask)
{
	unsigned int i;

	for (i = 0; i < ROW; i++)
		if (memcmp(compute_row_addr(i), mask & 1 << i ? row[i].on : row[i].off, row[i].len))
			return false;
	return true;
}

static const char *switch_row(struct patcher_poke *pokes, unsigned int mask, bool backwards)
{
	unsigned int nr = fill_row_pokes(pokes, mask, backwards, true);

	EXPECT(!patcher_apply(owner, pokes, nr) && are_only_sites_on(mask));
	fill_row_pokes(pokes, mask, backwards, false);
	EXPECT(!patcher_apply(owner, pokes, nr) && are_only_sites_on(0));
	/* A batch with two pokes of one site is refused. */
	fill_row_pokes(pokes, mask, backwards, true);
	pokes[0] = pokes[nr - 1];
	EXPECT(nr == 1 || (patcher_apply(owner, pokes, nr) == -EINVAL && are_only_sites_on(0)));
	return NULL;
}

/*
 * Check all batches of a row of sites, in both orders of the pokes, while the memory directly
 * before or directly behind the pokes cannot be read.
 */
static const char *engine_reads_only_the_given_pokes(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	u8 *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	const char *failed = NULL;
	unsigned int set, turn;

	EXPECT(memory != MAP_FAILED);
	EXPECT(!mprotect(memory, page, PROT_NONE) && !mprotect(memory + 2 * page, page, PROT_NONE));
	registered = !register_row();
	EXPECT(registered);
	for (set = 1; set < 1 << ROW; set++) {
		size_t bytes = __builtin_popcount(set) * sizeof(struct patcher_poke);

		for (turn = 0; turn < 4 && !failed; turn++)
			failed = switch_row((void *)(memory + page + (turn & 1 ? page - bytes : 0)),
					    set, turn & 2);
	}
	munmap(memory, 3 * page);
	return failed;
}

/* Sites in an area that has no code; the first site is never in a table. */
#define SITES	4

static u8 area[64];
static struct patcher_site sites[1 + SITES];
static struct patcher_compact_site compact_sites[1 + SITES];

/**
 * struct area_table - a table of sites in the area, each of INSN bytes
 * @at: offsets of the sites in the area; those from index @nr on are not in the table
 * @nr: number of sites
 * @err: result of adding the table
 */
struct area_table {
	int at[SITES];
	unsigned int nr;
	int err;
};

/*
 * Add a table of sites in the area, and delete the table.  The record in front of the table's
 * records describes a site at the end of the area; the records behind them describe the sites that
 * are not in the table.  Return true if the result of adding the table is the expected one.
 */
static bool has_table_result(const struct area_table *wanted, bool compact)
{
	unsigned int i;
	int err;

	memset(&table, 0, sizeof(table));
	table.sites = compact ? NULL : sites + 1;
	table.compact = compact ? compact_sites + 1 : NULL;
	table.alike.len = INSN;
	table.nr = wanted->nr;
	for (i = 0; i <= SITES; i++) {
		u8 *addr = area + (i ? wanted->at[i - 1] : sizeof(area) - INSN);

		sites[i] = (struct patcher_site) { .addr = (long)addr - (long)&sites[i].addr };
		sites[i].len = INSN;
		compact_sites[i].addr = (long)addr - (long)&compact_sites[i].addr;
	}
	patcher_lock();
	err = patcher_sites_add_table(&table);
	if (!err)
		patcher_sites_del_table(&table);
	patcher_unlock();
	return err == wanted->err;
}

/* Check that a table is sorted, and is refused if any two of its sites overlap. */
static const char *engine_sorts_tables_and_refuses_overlaps(void)
{
	static const struct area_table tables[] = {
		{ { 0 }, 0, -EINVAL },
		{ { 7 }, 1, 0 },
		{ { 0, 5 }, 2, 0 },
		{ { 5, 0 }, 2, 0 },
		{ { 0, 4 }, 2, -EINVAL },
		{ { 4, 0 }, 2, -EINVAL },
		{ { 3, 3 }, 2, -EINVAL },
		{ { 0, 5, 10, 15 }, 4, 0 },
		{ { 15, 5, 10, 0 }, 4, 0 },
		{ { 0, 4, 10, 15 }, 4, -EINVAL },
		{ { 0, 5, 9, 15 }, 4, -EINVAL },
		{ { 0, 5, 10, 14 }, 4, -EINVAL },
		{ { 15, 9, 5, 0 }, 4, -EINVAL },
		{ { 20, 0, 40, 1 }, 4, -EINVAL },
	};
	unsigned int i, j, compact;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		for (compact = 0; compact < 2; compact++) {
			EXPECT(has_table_result(&tables[i], compact));
			for (j = 1; j < tables[i].nr; j++)
				EXPECT(patcher_get_site_addr(&table, j - 1) <=
				       patcher_get_site_addr(&table, j));
		}
	}
	return NULL;
}

/*
 * Check that a table is refused if any of its sites overlaps a site of another table, here the
 * sites at the offsets 0 and 20.
 */
static const char *engine_compares_all_sites_of_two_tables(void)
{
	static const struct area_table tables[] = {
		{ { 0 }, 1, -EBUSY },
		{ { 4 }, 1, -EBUSY },
		{ { 16 }, 1, -EBUSY },
		{ { 24 }, 1, -EBUSY },
		{ { 5, 15, 20 }, 3, -EBUSY },
		{ { 5, 10, 16 }, 3, -EBUSY },
		/* The site behind those in the table would overlap one of the other table. */
		{ { 25, 20 }, 1, 0 },
		{ { 10, 0 }, 1, 0 },
		{ { 5, 15, 20 }, 2, 0 },
		{ { 5, 10, 15, 0 }, 3, 0 },
	};
	static struct patcher_site own[2];
	static struct patcher_table other = { .sites = own, .nr = ARRAY_SIZE(own) };
	unsigned int i, wrong = 0;
	int err;

	for (i = 0; i < ARRAY_SIZE(own); i++) {
		own[i].addr = (long)(area + 20 * i) - (long)&own[i].addr;
		own[i].len = INSN;
	}
	patcher_lock();
	err = patcher_sites_add_table(&other);
	patcher_unlock();
	EXPECT(!err);
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		wrong += !has_table_result(&tables[i], false) || !has_table_result(&tables[i], true);
	patcher_lock();
	patcher_sites_del_table(&other);
	patcher_unlock();
	EXPECT(!wrong);
	return NULL;
}

const struct test_case engine_cases[] = {
	{ "engine_refuses_runs_in_core_text", engine_refuses_runs_in_core_text,
	  unregister_engine_table },
	{ "engine_refuses_runs_that_are_prefixes", engine_refuses_runs_that_are_prefixes,
	  unregister_engine_table },
	{ "engine_refuses_changes_of_core_text", engine_refuses_changes_of_core_text,
	  unregister_engine_table },
	{ "engine_keeps_core_tables_for_handlers", engine_keeps_core_tables_for_handlers,
	  unregister_engine_table },
	{ "engine_unregistering_waits_for_handlers", engine_unregistering_waits_for_handlers,
	  unregister_engine_table },
	{ "engine_accepts_jumps_only_to_ends_of_runs", engine_accepts_jumps_only_to_ends_of_runs,
	  unregister_engine_table },
	{ "engine_waits_for_tasks_inside_runs", engine_waits_for_tasks_inside_runs,
	  unregister_engine_table },
	{ "engine_threads_continue_behind_runs", engine_threads_continue_behind_runs,
	  unregister_engine_table },
	{ "engine_refuses_calls_with_shadow_stack", engine_refuses_calls_with_shadow_stack,
	  unregister_engine_table },
	{ "engine_accepts_sites_only_in_the_text", engine_accepts_sites_only_in_the_text, NULL },
	{ "engine_reads_only_the_given_pokes", engine_reads_only_the_given_pokes,
	  unregister_engine_table },
	{ "engine_sorts_tables_and_refuses_overlaps", engine_sorts_tables_and_refuses_overlaps,
	  NULL },
	{ "engine_compares_all_sites_of_two_tables", engine_compares_all_sites_of_two_tables,
	  NULL },
	{ "engine_refuses_sites_with_changed_bytes", engine_refuses_sites_with_changed_bytes,
	  unregister_engine_table },
};

const unsigned int engine_nr_cases = ARRAY_SIZE(engine_cases);
