/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions with notes, which are SDT sites without an instruction of their own.  The arguments of
 * the notes are in registers, on the stack or elsewhere, as the compiler chooses.  Each file that
 * includes this header is compiled with different options, and defines LEVEL, the prefix of the
 * functions' names.
 */
#include <linux/compiler.h>
#include <linux/stringify.h>
#include <linux/types.h>

#include <kmarkers/sdt.h>

#include "notes.h"

SDT_PROVIDER_DECLARE(tnotes);
SDT_PROBE_DECLARE(tnotes, , , none);
SDT_PROBE_DECLARE(tnotes, , , registers);
SDT_PROBE_DECLARE(tnotes, , , sizes);
SDT_PROBE_DECLARE(tnotes, , , constants);
SDT_PROBE_DECLARE(tnotes, , , stack);
SDT_PROBE_DECLARE(tnotes, , , indexed);
SDT_PROBE_DECLARE(tnotes, , , global);
SDT_PROBE_DECLARE(tnotes, , , bits);
SDT_PROBE_DECLARE(tnotes, , , many);
SDT_PROBE_DECLARE(tnotes, , , nested);
SDT_PROBE_DECLARE(tnotes, , , loop);

#define JOIN_2(level, name)	level##_##name
#define JOIN(level, name)	JOIN_2(level, name)
#define NAMED(name)		JOIN(LEVEL, name)

#define NOTE(args...)		SDT_PROBE_FLAVOUR(note, tnotes, , , args)

/* Hide the value of a variable from the compiler, so that the value is not a constant. */
#define UNKNOWN(value)		asm volatile("" : "+r" (value))

static noinline void NAMED(registers)(long a, long b, long c, long d, long e, long f)
{
	long product;

	UNKNOWN(a);
	UNKNOWN(b);
	product = a * b;
	UNKNOWN(product);
	NOTE(none);
	NOTE(registers, a, b, c, d, e, f, product);
	WRITE_ONCE(notes_sink, a + b + c + d + e + f + product);
}

static noinline void NAMED(sizes)(s8 a, u8 b, s16 c, u16 d, s32 e, u32 f, bool g)
{
	UNKNOWN(a);
	UNKNOWN(b);
	UNKNOWN(c);
	UNKNOWN(d);
	UNKNOWN(e);
	UNKNOWN(f);
	NOTE(sizes, a, b, c, d, e, f, g);
	WRITE_ONCE(notes_sink, a + b + c + d + e + f + g);
}

static noinline void NAMED(constants)(void)
{
	NOTE(constants, -7, 0x123456789aL, 5U);
	WRITE_ONCE(notes_sink, 1);
}

static noinline void NAMED(stack)(long seed)
{
	struct notes_frame frame;
	int number;

	fill_notes_frame(&frame, seed);
	number = frame.few[1];
	NOTE(stack, frame.many[2], frame.few[3], frame.text[1], number);
	NOTE(indexed, frame.many[seed], frame.few[seed]);
	fill_notes_frame(&frame, READ_ONCE(notes_sink) + number);
}

static noinline void NAMED(global)(void)
{
	NOTE(global, notes_global);
	WRITE_ONCE(notes_sink, notes_global);
}

static noinline void NAMED(bits)(void)
{
	NOTE(bits, notes_bits.a, notes_bits.b, notes_bits.c, notes_bits.d);
	WRITE_ONCE(notes_sink, notes_global);
}

/* Pass 16 values to notes: more values than there are free registers. */
static noinline void NAMED(many)(long seed)
{
	long a = seed, b = seed + 1, c = seed + 2, d = seed + 3, e = seed + 4, f = seed + 5;
	long g = seed + 6, h = seed + 7, i = seed + 8, j = seed + 9, k = seed + 10;
	long l = seed + 11, m = seed + 12, n = seed + 13, o = seed + 14, p = seed + 15;

	UNKNOWN(a);
	UNKNOWN(b);
	UNKNOWN(c);
	UNKNOWN(d);
	UNKNOWN(e);
	UNKNOWN(f);
	UNKNOWN(g);
	UNKNOWN(h);
	UNKNOWN(i);
	UNKNOWN(j);
	UNKNOWN(k);
	UNKNOWN(l);
	UNKNOWN(m);
	UNKNOWN(n);
	UNKNOWN(o);
	UNKNOWN(p);
	NOTE(many, a, b, c, d, e, f, g);
	WRITE_ONCE(notes_sink, 0);
	NOTE(many, h, i, j, k, l, m, n);
	WRITE_ONCE(notes_sink, 1);
	NOTE(many, o, p, a, b, c, d, e);
	WRITE_ONCE(notes_sink, a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m ^ n ^ o ^ p);
}

static __always_inline void NAMED(inlined)(int depth)
{
	NOTE(nested, depth, depth + 1);
	WRITE_ONCE(notes_sink, depth);
}

static noinline void NAMED(copies)(int depth)
{
	UNKNOWN(depth);
	NAMED(inlined)(depth);
	NAMED(inlined)(depth + 10);
}

static noinline void NAMED(loop)(int times)
{
	int i;

	UNKNOWN(times);
	for (i = 0; i < times; i++) {
		NOTE(loop, i);
		WRITE_ONCE(notes_sink, i);
	}
}

void NAMED(notes)(void);
void NAMED(notes)(void)
{
	NAMED(registers)(-1, 2, 3, 4, 5, 1L << 40);
	NAMED(sizes)(-1, 255, -2, 65535, -3, 4000000000U, true);
	NAMED(constants)();
	NAMED(stack)(2);
	NAMED(global)();
	NAMED(bits)();
	NAMED(many)(-4);
	NAMED(copies)(1);
	NAMED(loop)(3);
}
