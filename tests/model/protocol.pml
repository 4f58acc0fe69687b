/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of the protocol of patcher/protocol.c, for the exhaustive model checker spin.
 *
 * Each variant of the model is this file with some -D switches: tests/model/variants.py lists them,
 * and Documentation/model.md describes them.
 *
 * Contexts nest on each CPU.  Level 0 executes other code (on CPU 0: the writer).  Level 1 executes
 * a site: it is a task or, on CPU 0, an interrupt between two steps of the writer.  Level 2 is an
 * NMI that executes a site.  A context can make a step only while no other context is nested in it.
 */

#define KERNEL		1	/* a real CPU: handlers run with interrupts off */
#define EMULATOR	2	/* the same kernel, on an emulator that translates code */
#define USER		3	/* a real CPU: handlers are signal handlers, rounds are membarrier(2) */

#ifndef GROUND
#define GROUND		KERNEL
#endif
#ifndef CPUS
#define CPUS		2	/* CPUs that execute sites; CPU 0 is the writer's own */
#endif
#ifndef BATCHES
#define BATCHES		2	/* batch k replaces version k - 1 by version k */
#endif
#ifndef SITES
#define SITES		1	/* number of sites; batch 1 replaces all, later batches site 0 */
#endif
#ifndef PARTS
#define PARTS		2	/* separately fetched parts of an instruction; part 0 is its first byte */
#endif

/* Numbers of rounds that a variant leaves out or does wrong; 0 for no round. */
#ifndef NO_ROUND
#define NO_ROUND	0	/* the round that is left out */
#endif
#ifndef NO_ANSWER
#define NO_ANSWER	0	/* the round that does not wait until all CPUs have synchronised */
#endif

/* The value of a part is the number of the version that it belongs to, or INT3. */
#define INT3		(BATCHES + 1)
#ifdef RETURN
#define VERSION(batch)	((batch) & 1)	/* old, new, old */
#else
#define VERSION(batch)	(batch)
#endif

/*
 * With RUN, an even version is a run of instructions, each of which is a part.  An odd version is a
 * jump over the site.  The handler always emulates the jump.
 */
#ifdef RUN
#define IS_RUN(version)	((version) % 2 == 0)
#define EMULATED(batch)	((batch) % 2 -> (batch) : (batch) - 1)
#elif defined(EMULATE_OLD)
#define IS_RUN(version)	false
#define EMULATED(batch)	VERSION((batch) - 1)
#else
#define IS_RUN(version)	false
#define EMULATED(batch)	VERSION(batch)
#endif

#define PART(site, part)	((site) * PARTS + (part))
#define VIEW(cpu, site, part)	((cpu) * SITES * PARTS + PART(site, part))
#define BIT(value)		(1 << (value))
#define LAST(site)		((site) -> 1 : BATCHES)	/* the last batch with this site */
#define MIN(a, b)		((a) < (b) -> (a) : (b))

byte text[SITES * PARTS];		/* contents of memory */
/*
 * On a real CPU, the set of values that a fetch may return: all values of this part since the CPU
 * last synchronised.  On an emulator, the value in the translation, or 0 without a translation.
 */
byte seen[CPUS * SITES * PARTS];

/* State of the patcher's current batch and of the caller's array of pokes. */
byte number;				/* number of batches that have been published */
byte pokes, refs;			/* batch whose array is published; its reference count */
byte array;				/* batch whose array exists, or 0 if no array exists */
bool listed = true, table = true;	/* the table of sites is listed; the table is not freed */

/* CPUs. */
byte running[CPUS];			/* level of the context that runs */
byte state[CPUS];			/* state of this context: */
#define BETWEEN		0		/* at an instruction boundary, interrupts on */
#define HANDLER		1		/* in the breakpoint handler */
#define FETCHING	2		/* between two fetches for one instruction */
bool asked[CPUS];			/* a synchronisation interrupt is pending */
#if GROUND == USER
byte reading[CPUS];			/* number of handlers inside rcu_read_lock() */
#endif
#ifdef RUN
byte inside[CPUS];			/* number of contexts between two instructions of a run */
#endif

/* Variables that only the checked properties use. */
/* The last batch that has begun, and the last batch that each new execution must see. */
byte begun, settled;
byte rounds;				/* number of rounds of the current batch */
bool torn, wrong, unclaimed, freed;	/* violations of the properties */
#ifdef FOREIGN
bool planted;			/* an int3 of a debugger is at site 0, after the last batch */
#else
#define planted			false
#endif

#define AWAKE(cpu)	(running[cpu] == level)
#define WRITER		(running[0] == 0)

/* True if the CPU can handle a synchronisation interrupt. */
#if GROUND == USER || defined(INTERRUPTS_ON)
#define OPEN(cpu)	(state[cpu] != FETCHING)
#else
#define OPEN(cpu)	(state[cpu] == BETWEEN && running[cpu] < 2)
#endif

/* True if the CPU is in a quiescent state: interrupts are on; in user space, no handler runs. */
#if GROUND == USER
#define QUIET(cpu)	(reading[cpu] == 0)
#else
#define QUIET(cpu)	(state[cpu] == BETWEEN && running[cpu] < 2)
#endif

/*
 * True if an execution may have executed version @v.  Allowed are the versions of all batches from
 * @since, the last batch that had settled when the execution began, to the last batch that has
 * begun.
 */
#ifdef RETURN
#define LEGAL(v)	(v == VERSION(MIN(since, LAST(site))) || \
			 MIN(since, LAST(site)) < MIN(begun, LAST(site)))
#else
#define LEGAL(v)	(v >= MIN(since, LAST(site)) && v <= MIN(begun, LAST(site)))
#endif

/* Check the executed version, at the end of each execution. */
inline executed(v)
{
	wrong = !LEGAL(v);
	assert(!wrong)
}

/* ---- fetch and store ---- */

#if GROUND == EMULATOR
/* Store a value: the emulator first drops translations of the site, and then writes memory. */
inline store(site_, part_, value)
{
	atomic {
		WRITER ->
		n = 0;
		do
		:: n < CPUS * PARTS ->
			seen[VIEW(n / PARTS, site_, n % PARTS)] = 0;
			n++
		:: else -> break
		od;
		n = 0
	}
	atomic {
		WRITER ->
		text[PART(site_, part_)] = value;
		printf("writer: site %d part %d := %d\n", site_, part_, value)
	}
}

inline synchronise(cpu)
{
	skip
}
#else
inline store(site_, part_, value)
{
	atomic {
		WRITER ->
		text[PART(site_, part_)] = value;
		n = 0;
		do
		:: n < CPUS ->
			seen[VIEW(n, site_, part_)] = seen[VIEW(n, site_, part_)] | BIT(value);
			n++
		:: else -> break
		od;
		n = 0;
		printf("writer: site %d part %d := %d\n", site_, part_, value)
	}
}

inline synchronise(cpu)
{
	m = 0;
	do
	:: m < SITES * PARTS ->
		seen[cpu * SITES * PARTS + m] = BIT(text[m]);
		m++
	:: else -> break
	od;
	m = 0
}
#endif

/*
 * MAY_TRAP: true if the CPU may execute a breakpoint.  PENDING: true if the handler would find the
 * site in the current batch.
 */
#if GROUND == EMULATOR
#define MAY_TRAP	(seen[VIEW(me, site, 0)] == BIT(INT3) || \
			 (seen[VIEW(me, site, 0)] == 0 && text[PART(site, 0)] == INT3))
#else
#define MAY_TRAP	(seen[VIEW(me, site, 0)] & BIT(INT3))
#endif
/* True if the breakpoint is a debugger's, so that the handler will not claim it. */
#ifdef ALWAYS_RETRY
#define LEFT_TO_OTHERS	false
#else
#define LEFT_TO_OTHERS	planted
#endif
#ifdef NO_EMULATION
#define PENDING		false
#else
#define PENDING		(refs > 0 && pokes <= LAST(site))
#endif

/* Fetch a part: any of the values that this CPU may have fetched ahead. */
inline fetch(part_, value)
{
	if
	:: seen[VIEW(me, site, part_)] & BIT(0) -> value = 0
	:: seen[VIEW(me, site, part_)] & BIT(1) -> value = 1
	:: seen[VIEW(me, site, part_)] & BIT(2) -> value = 2
	:: seen[VIEW(me, site, part_)] & BIT(3) -> value = 3
	:: seen[VIEW(me, site, part_)] & BIT(4) -> value = 4
	fi;
	printf("cpu %d level %d: fetches site %d part %d: %d\n", me, level, site, part_, value)
}

/* ---- CPUs ---- */

inline enter_handler()
{
	state[me] = HANDLER;
	first = 0;
	printf("cpu %d level %d: traps\n", me, level)
}

inline stop_reading()
{
#if GROUND == USER
	reading[me]--
#else
	skip
#endif
}

/* Execute a translation, which has both parts of an instruction. */
inline execute_translation()
{
	if
	:: first == INT3 ->
		tail = 0;
		enter_handler();
		goto trap
	:: else ->
		torn = (tail != first);
		assert(!torn);
		tail = 0;
		state[me] = BETWEEN;
		printf("cpu %d level %d: executes version %d\n", me, level, first);
		executed(first);
		goto past
	fi
}

proctype context(byte me; byte level)
{
	byte site, first, since, found, known;
	byte below, interrupted;	/* level and state of the interrupted context */
#if GROUND == EMULATOR
	byte tail;
#else
	byte other, part;
#endif

end:	atomic {
		running[me] < level && state[me] != FETCHING ->
		below = running[me];
		interrupted = state[me];
		running[me] = level;
		state[me] = BETWEEN;
#if SITES == 2
		if
		:: site = 0
		:: site = 1
		fi
#endif
		printf("cpu %d level %d: reaches site %d\n", me, level, site)
	}

again:
#if GROUND == EMULATOR
	atomic {
		AWAKE(me) ->
		since = settled;
		if
		:: seen[VIEW(me, site, 0)] ->
			fetch(0, first);
			fetch(1, tail);
			execute_translation()
		:: else ->
			/*
			 * Read the parts in separate steps, and publish the translation of the
			 * parts later.
			 */
			first = text[PART(site, 0)];
			state[me] = FETCHING;
			printf("cpu %d level %d: translates site %d part 0: %d\n", me, level,
			       site, first)
		fi
	}
	atomic {
		AWAKE(me) ->
		tail = text[PART(site, 1)];
		printf("cpu %d level %d: translates site %d part 1: %d\n", me, level, site, tail)
	}
	atomic {
		AWAKE(me) ->
		seen[VIEW(me, site, 0)] = BIT(first);
		seen[VIEW(me, site, 1)] = BIT(tail);
		execute_translation()
	}
#else
	atomic {
		AWAKE(me) ->
		since = settled;
		fetch(0, first);
		if
		:: first == INT3 ->
			enter_handler();
			goto trap
#ifdef RUN
		:: first != INT3 && IS_RUN(first) -> inside[me]++
#endif
		:: else -> state[me] = FETCHING
		fi
	}
	part = 1;
	do
	:: atomic {
		AWAKE(me) && part < PARTS ->
		fetch(part, other);
		torn = (other != first);
		assert(!torn);
		other = 0;
		part++
	   }
	:: atomic {
		AWAKE(me) && part == PARTS ->
		part = 0;
#ifdef RUN
		if
		:: IS_RUN(first) -> inside[me]--
		:: else -> skip
		fi;
#endif
		state[me] = BETWEEN;
		printf("cpu %d level %d: executes version %d\n", me, level, first);
		executed(first);
		goto past
	   }
	od;
#endif

	/* patcher_handle_int3() */
trap:
#if GROUND == USER
	/* rcu_read_lock() in native/trap.c */
	atomic { AWAKE(me) -> reading[me]++ };
#endif
	/* Read the number of the last batch or, in the variant BYTE_FIRST, the byte in memory. */
	atomic {
		AWAKE(me) ->
#ifdef BYTE_FIRST
		known = text[PART(site, 0)]
#else
		known = number
#endif
	}
	/* get_current_batch() */
	atomic {
		AWAKE(me) ->
		if
		:: refs == 0 -> goto stale
		:: else ->
#ifndef NO_COUNT
			refs++
#endif
			printf("cpu %d level %d: gets a batch\n", me, level)
		fi
	}
	/* find_poke_at(), patcher_insn_emulate() */
	atomic {
		AWAKE(me) ->
		found = pokes;
		printf("cpu %d level %d: looks into the array of batch %d\n", me, level, found)
	}
	atomic {
		AWAKE(me) ->
		freed = (found != array);
		assert(!freed);
#ifndef NO_EMULATION
		if
		:: found <= LAST(site) ->
			found = EMULATED(found);
			printf("cpu %d level %d: emulates version %d\n", me, level, found);
			executed(found);
			found = 1
		:: else -> found = 0
		fi
#else
		found = 0
#endif
	}
	/* put_current_batch() */
	atomic {
		AWAKE(me) ->
#ifndef NO_COUNT
		if
		:: refs > 0 -> refs--
		:: else -> skip
		fi;
#endif
		if
		:: found ->
			found = 0;
			known = 0;
			stop_reading();
			goto past
		:: else -> skip
		fi
	}
	/* patcher_sites_find(): a breakpoint of the patcher that no handler claims is fatal */
stale:	atomic {
		AWAKE(me) ->
		printf("cpu %d level %d: finds no batch in progress with this site\n", me, level);
#ifdef NO_RETRY
		unclaimed = !planted;
#else
		unclaimed = !listed;
#endif
		assert(!unclaimed)
	}
	atomic {
		AWAKE(me) ->
		freed = !table;
		assert(!freed)
	}
	/* is_foreign_int3(): read the byte in memory */
	atomic {
		AWAKE(me) ->
		found = text[PART(site, 0)];
		printf("cpu %d level %d: reads byte %d\n", me, level, found)
	}
	/* is_foreign_int3(): read the number of the last batch again */
	atomic {
		AWAKE(me) ->
#if defined(ALWAYS_RETRY)
		found = false;
#elif defined(RETRY_BY_BYTE)
		found = (found == INT3);
#elif defined(BYTE_FIRST)
		found = (known == INT3);
#else
		found = (found == INT3 && known == number);
#endif
		known = 0;
		stop_reading();
		if
		:: found ->
			unclaimed = !planted;
			assert(!unclaimed);
			found = 0;
			printf("cpu %d level %d: leaves the int3 to other handlers\n", me, level);
			goto past
		:: else ->
			state[me] = BETWEEN;
			printf("cpu %d level %d: returns to the site\n", me, level)
		fi
	}
#ifdef LIVE
	/*
	 * Retry only when the next attempt must succeed.  A context that waits for ever then stays
	 * here, and spin reports an invalid end state.
	 */
	atomic {
		AWAKE(me) && (PENDING || LEFT_TO_OTHERS || !MAY_TRAP) ->
		goto again
	}
#else
	goto again;
#endif

past:	atomic {
		AWAKE(me) ->
		running[me] = below;
		state[me] = interrupted;
		below = 0;
		interrupted = 0;
		first = 0;
		since = 0;
		site = 0;
		printf("cpu %d level %d: is past the site\n", me, level);
#ifndef LIVE	/* with LIVE each context runs once, so that an endless wait is an end state */
		goto end
#endif
	}
}

/* serialise_cpu() in patcher/text.c, called by an interrupt. */
proctype interrupt(byte me)
{
	byte m;

end:	atomic {
		asked[me] && OPEN(me) ->
		synchronise(me);
		asked[me] = false;
		printf("cpu %d: synchronises\n", me);
		goto end	/* handle the next interrupt */
	}
}

/* ---- the writer ---- */

/* patcher_text_sync() */
inline round(number)
{
	if
	:: number == NO_ROUND -> skip
	:: else ->
		atomic {
			WRITER ->
			printf("writer: round %d\n", number);
			rounds++;
#ifndef NOT_SELF
			synchronise(0);
#endif
			n = 1;
			do
			:: n < CPUS ->
				asked[n] = true;
				n++
			:: else -> break
			od;
			n = 0
		}
		atomic {
			WRITER && (number == NO_ANSWER ||
				   (!asked[1]
#if CPUS > 2
				    && !asked[2]
#endif
				   )) ->
			printf("writer: end of round %d\n", number)
		}
	fi
}

#define IN_BATCH(site_)		((site_) < SITES && ((site_) == 0 || batch == 1))

inline write_int3()
{
	store(0, 0, INT3);
	if
	:: IN_BATCH(1) -> store(SITES - 1, 0, INT3)
	:: else -> skip
	fi
}

inline write_tails()
{
	store(0, 1, VERSION(batch));
#if PARTS > 2
	store(0, 2, VERSION(batch));
#endif
	if
	:: IN_BATCH(1) ->
		store(SITES - 1, 1, VERSION(batch));
#if PARTS > 2
		store(SITES - 1, 2, VERSION(batch))
#endif
	:: else -> skip
	fi
}

inline write_first()
{
	store(0, 0, VERSION(batch));
	if
	:: IN_BATCH(1) -> store(SITES - 1, 0, VERSION(batch))
	:: else -> skip
	fi
}

inline publish()
{
#ifdef NUMBER_EARLY
	atomic { WRITER -> number++ };
#endif
#ifdef COUNT_FIRST
	atomic { WRITER -> refs = 1 };
	atomic { WRITER -> pokes = batch };
#else
	atomic { WRITER -> pokes = batch };
	atomic { WRITER -> refs = 1 };
#endif
#if !defined(NUMBER_EARLY) && !defined(NUMBER_LATE)
	atomic { WRITER -> number++ };
#endif
	printf("writer: batch %d is published\n", batch)
}

inline withdraw()
{
	atomic {
		WRITER ->
		refs--;
		printf("writer: batch %d is withdrawn\n", batch)
	}
}

/* patcher_text_wait_for_tasks() */
#ifdef RUN
inline wait_tasks()
{
	if
	:: IS_RUN(batch - 1) ->
		WRITER && !inside[1]
#if CPUS > 2
		&& !inside[2]
#endif
	:: else -> skip
	fi
}
#endif

/* synchronize_rcu(): wait until each CPU has been outside of all handlers once. */
inline grace_period()
{
	WRITER && QUIET(1);
#if CPUS > 2
	WRITER && QUIET(2);
#endif
	skip
}

/* apply_poke_chunk() */
proctype writer()
{
	byte batch = 1;
	byte n, m;

	do
	:: batch > BATCHES -> break
	:: else ->
		atomic {
			WRITER ->
			array = batch;
			begun = batch;
			rounds = 0
		}
#if !defined(PUBLISH_LATE) && !defined(NO_PUBLISH)
		publish();
#endif

#if defined(TAIL_FIRST)
		write_tails();
		round(2);
		write_int3();
#ifdef PUBLISH_LATE
		publish();
#endif
		round(1);
#else
#ifndef NO_INT3
		write_int3();
#endif
#ifdef NUMBER_LATE
		atomic { WRITER -> number++ };
#endif
#ifdef PUBLISH_LATE
		publish();
#endif
		round(1);
#if defined(RUN) && !defined(NO_TASKS)
		wait_tasks();
#endif
#ifdef AT_ONCE
		atomic { WRITER -> settled = batch };
#endif
#ifndef FIRST_BEFORE_TAIL
#ifndef NO_TAILS
		write_tails();
#endif
		round(2);
#endif
#endif

#ifdef WITHDRAW_EARLY
		withdraw();
#endif
#ifndef NO_FIRST
		write_first();
#endif
#ifdef REWRITE_EARLY
		write_first();
#endif
		round(3);
#ifdef FIRST_BEFORE_TAIL
		write_tails();
		round(2);
#endif

#ifdef WITHDRAW_BEFORE_REWRITE
		withdraw();
#endif
#if GROUND == EMULATOR && !defined(NO_REWRITE) && !defined(REWRITE_EARLY) && !defined(NO_FIRST)
		write_first();
#endif
#if !defined(WITHDRAW_EARLY) && !defined(WITHDRAW_BEFORE_REWRITE) && !defined(NO_WITHDRAW) && !defined(NO_PUBLISH)
		withdraw();
#endif
		atomic {
#ifdef NO_WAIT
			WRITER ->
#else
			WRITER && refs == 0 ->
#endif
			assert(rounds == 3 || NO_ROUND);
			rounds = 0;
			array = 0;
			settled = batch;
			batch++;
			printf("writer: batch %d returns, its array is freed\n", batch - 1)
		}
	od;

	/*
	 * A debugger stores an int3.  The debugger's handler, which is not modelled, continues
	 * behind the site.
	 */
#ifdef FOREIGN
	atomic { WRITER -> planted = true };
	store(0, 0, INT3);
#endif

	/* patcher_unregister(), while CPUs still execute the client's code */
#ifdef UNREGISTER
#ifdef DRAIN_FIRST
	grace_period();
#endif
	atomic {
		WRITER ->
		listed = false;
		printf("writer: the table leaves the list\n")
	}
#ifndef NO_GRACE
	grace_period();
#endif
	atomic {
		WRITER ->
		table = false;
		printf("writer: the table is freed\n")
	}
#endif
	skip
}

init {
	byte n, m;

	atomic {
#if GROUND != EMULATOR
		do
		:: n < CPUS ->
			synchronise(n);
			n++
		:: else -> break
		od;
		n = 0;
#endif
		run writer();
		run context(0, 1);
		run context(1, 1);
		run interrupt(1);
#ifndef NO_NMI
		run context(0, 2);
		run context(1, 2);
#endif
#if CPUS > 2
		run context(2, 1);
		run interrupt(2);
#ifndef NO_NMI
		run context(2, 2);
#endif
#endif
	}
}
