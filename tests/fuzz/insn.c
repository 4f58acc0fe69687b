// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target: the instruction decoder with any bytes, and the emulator compared with the CPU. */
#include "../../patcher/insn.h"
#include "../native/oracle.h"
#include "fuzz.h"

static struct input input;

/*
 * Decode the first 0, 1, 2 bytes of @code, and so on.  The decoder must refuse these bytes, or
 * decode the same instruction as from the whole code.  The bytes are copied to memory of exactly
 * their size, so that AddressSanitizer reports a read behind the last byte.
 */
static void check_decoding_of_cut_code(const u8 *code)
{
	struct patcher_insn whole, cut;
	unsigned int max;
	bool known = !patcher_insn_decode(code, ORACLE_MAX, &whole);

	for (max = 0; max <= ORACLE_MAX; max++) {
		u8 *copy = malloc(max);
		int err;

		memcpy(copy, code, max);
		err = patcher_insn_decode(copy, max, &cut);
		MUST(err ? !known || max < whole.len
			 : known && max >= whole.len && !memcmp(&cut, &whole, sizeof(cut)));
		free(copy);
	}
}

static bool take_case_from_input(struct oracle_case *test)
{
	unsigned int i;

	if (!input.left)
		return false;
	memset(test, 0, sizeof(*test));
	for (i = 0; i < ORACLE_MAX; i++)
		test->code[i] = take_number(&input, 1);
	test->offset = take_number(&input, 2) % ORACLE_OFFSETS;
	test->regs.flags = take_number(&input, 2);
	test->regs.sp = take_number(&input, 8);
	test->regs.ax = take_number(&input, 8);
	test->regs.bx = test->regs.r12 = test->regs.r13 = ~test->regs.ax;
	test->regs.cx = test->regs.dx = test->regs.si = test->regs.di = test->regs.ax << 1;
	test->regs.bp = test->regs.r8 = test->regs.r9 = test->regs.r10 = test->regs.ax >> 1;
	check_decoding_of_cut_code(test->code);
	return true;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct oracle_result result;

	input = (struct input){ data, size };
	MUST(!oracle_run_cases(take_case_from_input, &result));
	if (result.different)
		oracle_print_result(&result);
	MUST(!result.different);
	return 0;
}
