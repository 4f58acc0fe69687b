/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replacement of instructions while CPUs execute them, by means of a breakpoint.
 *
 * OVERVIEW
 *
 * A *site* is one instruction that may be replaced by another instruction of the same length, even
 * while CPUs are executing the site.  Sites in the text of modules are recorded at build time in an
 * ELF section (struct patcher_site, 12 bytes).  These sites are registered with the patcher when
 * the module is loaded, before the module's init function runs.  Sites in core text, the text of
 * the kernel itself, are registered one by one, see <kmarkers/redirect.h>.
 *
 * A *batch* is any number of replacements.  A batch is first checked as a whole.  Then it is either
 * refused as a whole, with nothing changed, or applied as a whole with exactly three rounds of CPU
 * synchronisation, whatever its number of sites:
 *
 *	1. the first byte of every site becomes int3;	all CPUs synchronise
 *	2. every other byte is written;			all CPUs synchronise
 *	3. the first byte of every site is written;	all CPUs synchronise
 *
 * If a CPU executes one of these int3s, the breakpoint handler emulates the new instruction.
 *
 * A breakpoint may also be permanent: patcher_store_traps() sets the breakpoint with a store of one
 * byte and one round of synchronisation.  Each execution of a permanent breakpoint calls the trap
 * function of the table.
 *
 * A site may also be a *run* of several instructions (PATCHER_SITE_RUN), if the run is in module
 * text and no jump leads into the run.  The code that records the run must guarantee this.  Between
 * the first and the second step, the patcher waits for tasks that were preempted inside a run, with
 * a tasks-RCU grace period.
 *
 * EXAMPLE
 *
 *	static const char owner[] = "example";
 *	struct patcher_poke poke = { .addr = addr, .len = 5 };
 *
 *	memcpy(poke.old, addr, 5);
 *	memcpy(poke.new, jump, 5);
 *	err = patcher_apply(owner, &poke, 1);
 *
 * CONTEXT
 *
 *	function			may sleep  irq  nmi
 *	patcher_apply() and variants	yes	   no	no
 *	patcher_register()		yes	   no	no
 *	patcher_unregister()		yes	   no	no
 *	patcher_unregister_nowait()	yes	   no	no
 *	patcher_handle_int3()		no	   yes	yes
 *
 * GUARANTEES
 *
 * While patcher_apply() runs, each execution of a site behaves wholly as the
 * old or wholly as the new instruction.  After it returned 0, every CPU
 * executes the new instruction.  After an error, no byte has changed.
 *
 * ERRORS, the same everywhere
 *
 *	-EINVAL	invalid request: a wrong length, an overlap, a new instruction that
 *		cannot be emulated, an address inside an instruction
 *	-ENOENT	no site, function or call of that name or address
 *	-EPERM	text that may not be changed at all, or not by this caller
 *	-EBUSY	in use by other code, for instance by a kprobe on the instruction
 *		or up to 4 bytes before it; try later
 *	-EILSEQ	the bytes in memory are not the expected bytes
 *	-ENOMEM	not enough memory
 *
 * LOCKS
 *
 * The order of locks is: the patcher's own mutex, the kernel's kprobe_mutex,
 * cpus_read_lock(), and for core text the kernel's text_mutex.  So no function that
 * calls patcher_apply(), such as imv_set() and the registration of probes, may be
 * called while one of these locks is held, or from a CPU hotplug callback.  A call under
 * cpus_read_lock() would take kprobe_mutex in the wrong order; lockdep reports the first such
 * call.
 *
 * Sources: Intel SDM vol. 3A, 9.1.3 "Handling Self- and Cross-Modifying Code";
 * Linux text_poke_bp(), commit fd4363fff3d9 (2013), and its batched form,
 * commit c0213b0ac03c (2019); the immediate values patch series, 2008.
 */
#ifndef KMARKERS_PATCHER_H
#define KMARKERS_PATCHER_H

#if !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#endif

#include <kmarkers/dialect.h>
#include <linux/list.h>
#include <linux/types.h>
#include <kmarkers/table.h>

struct module;
struct patcher_site;
struct pt_regs;

/*
 * Maximum length of a site in bytes: the instruction mov $imm64,%reg has 10 bytes, or 11 with a
 * prefix 66.
 */
#define PATCHER_INSN_MAX	11

/**
 * struct patcher_site - one instruction that may be replaced
 * @addr: address of the instruction's first byte, relative to this field
 * @key: address of an object of the owner, such as a variable, relative to this field
 * @len: length of the instruction in bytes
 * @size: size of the operand in bytes; only the owner uses it
 * @flags: PATCHER_SITE_*
 *
 * The assembler writes these records, of 12 bytes, into the module's own data.
 */
struct patcher_site {
	s32 addr;
	s32 key;
	u8 len;
	u8 size;
	u16 flags;
};

/* The site is a run of several instructions; no jump leads to the second or a later instruction. */
#define PATCHER_SITE_RUN	0x1
/*
 * The site is a prefix of one byte, LOCK or DS, for patcher_store_prefixes().  DS may be stored
 * only while a single CPU is online, and the caller must store LOCK before another CPU comes
 * online.
 */
#define PATCHER_SITE_PREFIX	0x2
/* @addr is an absolute address, to be sign-extended: the site is in core text. */
#define PATCHER_SITE_ABSOLUTE	0x4

static inline unsigned long patcher_site_addr(const struct patcher_site *site)
{
	if (site->flags & PATCHER_SITE_ABSOLUTE)
		return (long)site->addr;
	return (unsigned long)&site->addr + site->addr;
}

static inline unsigned long patcher_site_key(const struct patcher_site *site)
{
	return (unsigned long)&site->key + site->key;
}

/**
 * struct patcher_compact_site - a site of a table whose sites have equal length and flags
 * @addr: address of the instruction's first byte, relative to this field
 * @data: private to the owner; moves with the record when records are sorted
 */
struct patcher_compact_site {
	s32 addr;
	u32 data;
};

static inline unsigned long patcher_compact_addr(const struct patcher_compact_site *site)
{
	return (unsigned long)&site->addr + site->addr;
}

/**
 * struct patcher_table - the sites of a module, or some of them
 * @sites: the records; sorted by address while registered
 * @compact: the records of a table whose sites have equal length and flags; else NULL
 * @alike: length and flags of each site in @compact
 * @nr: number of sites
 * @module: the module whose text contains the sites; NULL in user space and for core text
 * @owner: name of the only owner that may change the sites; compared by address
 * @trap: trap function, called when a CPU has executed an int3 at a site and the int3 does not
 *	belong to a batch.  Returns false if the int3 is not a permanent breakpoint.  Otherwise
 *	handles the hit, sets @regs to where execution continues, and returns true.  Runs in the
 *	context of the breakpoint, which may be an NMI.  NULL if the table has no permanent
 *	breakpoints
 * @core: private: true if the sites are in core text; set only by the functions of
 *	<kmarkers/redirect.h>, false for all other callers
 * @node: link in the patcher's list; private
 * @start: lowest address of a site; private
 * @end: one past the last byte of the highest site; private
 */
struct patcher_table {
	struct patcher_site *sites;
	struct patcher_compact_site *compact;
	struct patcher_site alike;
	unsigned int nr;
	struct module *module;
	const char *owner;
	bool (*trap)(const struct patcher_table *table, const struct patcher_site *site,
		     struct pt_regs *regs);
	bool core;
	struct list_head node;
	unsigned long start;
	unsigned long end;
};

/**
 * struct patcher_poke - one replacement in a batch
 * @addr: first byte of a registered site
 * @alias: private to the patcher
 * @old: the expected bytes
 * @new: the bytes to write: one instruction that the patcher can emulate
 * @len: length of the site in bytes
 * @flags: private to the patcher
 */
struct patcher_poke {
	u8 *addr;
	u8 *alias;
	u8 old[PATCHER_INSN_MAX];
	u8 new[PATCHER_INSN_MAX];
	u8 len;
	u8 flags;
};

/*
 * Number of buckets in the histogram of batches by duration.  Bucket b counts batches of at
 * least 2^(b-1) and less than 2^b microseconds; the last bucket counts all longer batches.
 */
#define PATCHER_BUCKETS		24

/* Return the bucket of a batch that took @ns nanoseconds. */
static inline unsigned int patcher_get_duration_bucket(u64 ns)
{
	unsigned int bucket = 0;

	while (bucket < PATCHER_BUCKETS - 1 && ns >= 1000ULL << bucket)
		bucket++;
	return bucket;
}

/**
 * struct patcher_stats - counters since kmarkers_patcher was loaded
 * @batches: number of batches applied
 * @sites: number of replacements in these batches
 * @rounds: number of rounds of CPU synchronisation
 * @hits: number of breakpoints for which the new instruction was emulated
 * @stale: number of breakpoints whose int3 was replaced before the handler ran, so that the CPU
 *	had to execute the site once more
 * @refused: number of batches and tables refused
 * @waits: number of RCU grace periods waited for to unregister tables
 * @longest_round_ns: longest duration of one round of CPU synchronisation
 * @longest_trap_ns: longest time that the int3s of a batch, or of a chunk of a batch, were in
 *	memory
 * @longest_wait_ns: longest time from taking patcher_lock() until all locks of a batch were
 *	held, including the checks of the batch
 * @check_ns: total time of checking batches
 * @map_ns: total time of mapping and unmapping text
 * @apply_ns: total time of writing and synchronising
 * @durations: histogram of batches by duration
 */
struct patcher_stats {
	unsigned long batches;
	unsigned long sites;
	unsigned long rounds;
	unsigned long hits;
	unsigned long stale;
	unsigned long refused;
	unsigned long waits;
	unsigned long longest_round_ns;
	unsigned long longest_trap_ns;
	unsigned long longest_wait_ns;
	unsigned long check_ns;
	unsigned long map_ns;
	unsigned long apply_ns;
	unsigned long durations[PATCHER_BUCKETS];
};

int patcher_register(struct patcher_table *table);
void patcher_unregister(struct patcher_table *table);
void patcher_unregister_nowait(struct patcher_table *table);
int patcher_apply_at_load(const struct patcher_table *table, struct patcher_poke *pokes,
			  unsigned int nr);
int patcher_apply(const char *owner, struct patcher_poke *pokes, unsigned int nr);
int patcher_apply_chunked(const char *owner, struct patcher_poke *pokes, unsigned int nr,
			  unsigned int chunk);
int patcher_store_traps(const char *owner, struct patcher_poke *pokes, unsigned int nr);
typedef int patcher_apply_function(const char *owner, struct patcher_poke *pokes, unsigned int nr);
int patcher_apply_most(patcher_apply_function *apply, const char *owner, struct patcher_poke *pokes,
		       unsigned int nr, bool *stuck);
int patcher_store_prefixes(const char *owner, struct patcher_poke *pokes, unsigned int nr);
void patcher_find_probed_pokes(const struct patcher_poke *pokes, unsigned int nr, bool *probed);
bool patcher_handle_int3(struct pt_regs *regs);
void patcher_read_stats(struct patcher_stats *stats);
int patcher_find_records(struct module *module, const char *kind, const void *symbol,
			 unsigned int record_bytes, struct kmarkers_span *span);
int patcher_refuse_lost_tables(struct module *module, const void *symbol);
int patcher_check_version(struct module *module, const char *version);

#endif /* KMARKERS_PATCHER_H */
