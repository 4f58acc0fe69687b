// SPDX-License-Identifier: GPL-2.0-only
/*
 * peers-dormant, peers-enabled and peer-kprobe-optimised: the cost, in an empty loop, of the
 * kernel's mechanisms for code that can be disabled (static keys, static calls, tracepoints) and
 * for callbacks at the entry of a function (kprobes, ftrace).
 *
 * When enabled, each mechanism calls an empty function or an empty callback.  The variant "call"
 * only calls a function with the same code as the empty function, so it measures the cost of the
 * call alone.
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/static_call.h>

#include <kmarkers/marker.h>

#include "ops.h"
#ifdef CONFIG_EVENT_TRACING
#include "trace.h"
#endif

/*
 * Define an empty function.  An optimised kprobe can replace the nop of five bytes by a jump.  The
 * comment in the assembly differs between these functions, so the compiler does not merge them.
 * The functions are __noclone, because calls of a clone that the compiler made would not hit the
 * kprobe.
 */
#define CALLED(id, ...)							\
static noinline __noclone __maybe_unused __VA_ARGS__ void called_##id(int number, void *pointer) \
{									\
	asm volatile(".byte 0x0f, 0x1f, 0x44, 0, 0	# " #id		\
		     : : "r" (number), "r" (pointer) : "memory");	\
}

CALLED(plain, notrace)
CALLED(int3, notrace)
CALLED(kprobe_ftrace)
CALLED(ftrace)

static bool flag_off;
static DEFINE_STATIC_KEY_FALSE(key_off);
static DEFINE_STATIC_KEY_FALSE(key_on);
DEFINE_STATIC_CALL_NULL(bench_call_off, called_plain);
DEFINE_STATIC_CALL_NULL(bench_call_on, called_plain);

#define FLAG()								\
do {									\
	if (unlikely(READ_ONCE(flag_off)))				\
		called_plain(1, NULL);					\
} while (0)

#define KEY(key)							\
do {									\
	if (static_branch_unlikely(&(key)))				\
		called_plain(1, NULL);					\
} while (0)

BENCH_OPS(off_none, (void)0)
BENCH_OPS(off_clone, (void)0)
BENCH_OPS(off_marker, trace_mark(bench_peers, "%d %p", 1, NULL))
BENCH_OPS(off_flag, FLAG())
BENCH_OPS(off_key, KEY(key_off))
BENCH_OPS(off_call, static_call_cond(bench_call_off)(1, NULL))
#ifdef CONFIG_EVENT_TRACING
BENCH_OPS(off_tracepoint, trace_kmarkers_bench_off(1, NULL))
#endif

static const struct bench_variant idle_variants[] = {
	BENCH_ROW("none", off_none),
	BENCH_ROW("none-clone", off_clone),
	BENCH_ROW("marker-jump", off_marker),
	BENCH_ROW("flag", off_flag),
	BENCH_ROW("static-key", off_key),
	BENCH_ROW("static-call", off_call),
#ifdef CONFIG_EVENT_TRACING
	BENCH_ROW("tracepoint", off_tracepoint),
#endif
};

const struct bench_group bench_peers_dormant = {
	.name = "peers-dormant",
	.variants = idle_variants,
	.nr_variants = ARRAY_SIZE(idle_variants),
};

BENCH_OPS(on_none, (void)0)
BENCH_OPS(on_clone, (void)0)
BENCH_OPS(on_plain, called_plain(1, NULL))
BENCH_OPS(on_key, KEY(key_on))
BENCH_OPS(on_call, static_call_cond(bench_call_on)(1, NULL))
#ifdef CONFIG_KPROBES
BENCH_OPS(on_int3, called_int3(1, NULL))
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
BENCH_OPS(on_kprobe_ftrace, called_kprobe_ftrace(1, NULL))
#endif
#ifdef CONFIG_DYNAMIC_FTRACE
BENCH_OPS(on_ftrace, called_ftrace(1, NULL))
#endif

static const struct bench_variant armed_variants[] = {
	BENCH_ROW("none", on_none),
	BENCH_ROW("none-clone", on_clone),
	BENCH_ROW("call", on_plain),
	BENCH_ROW("static-key", on_key),
	BENCH_ROW("static-call", on_call),
#ifdef CONFIG_KPROBES
	BENCH_ROW("kprobe-int3", on_int3),
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
	BENCH_ROW("kprobe-ftrace", on_kprobe_ftrace),
#endif
#ifdef CONFIG_DYNAMIC_FTRACE
	BENCH_ROW("ftrace-hook", on_ftrace),
#endif
};

#ifdef CONFIG_KPROBES
static int empty_pre_handler(struct kprobe *kprobe, struct pt_regs *regs)
{
	return 0;
}

/*
 * An empty post handler: if a kprobe has a post handler, the kernel does not optimise the kprobe to
 * a jump.
 */
static void empty_post_handler(struct kprobe *kprobe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe kprobes[2];
static bool is_registered[ARRAY_SIZE(kprobes)];

static int register_bench_kprobe(unsigned int nr, void *function, kprobe_post_handler_t post)
{
	int err;

	kprobes[nr] = (struct kprobe) {
		.addr = function, .pre_handler = empty_pre_handler, .post_handler = post,
	};
	err = register_kprobe(&kprobes[nr]);
	is_registered[nr] = !err;
	return err;
}

static void unregister_bench_kprobe(unsigned int nr)
{
	if (is_registered[nr])
		unregister_kprobe(&kprobes[nr]);
	is_registered[nr] = false;
}
#else
#define register_bench_kprobe(nr, function, post)	((void)(function), 0)
#define unregister_bench_kprobe(nr)			((void)0)
#define empty_post_handler		NULL
#endif

#ifdef CONFIG_DYNAMIC_FTRACE
static void empty_ftrace_hook(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			      struct compat_ftrace_regs *regs)
{
}

static struct ftrace_ops hook_ops;
static bool hook_is_on;

static int add_ftrace_hook(void)
{
	int err;

	hook_ops = (struct ftrace_ops) { .func = empty_ftrace_hook };
	err = ftrace_set_filter_ip(&hook_ops, (unsigned long)called_ftrace, 0, 0);
	if (err)
		return err;
	err = register_ftrace_function(&hook_ops);
	if (err)
		compat_ftrace_free_filter(&hook_ops);
	hook_is_on = !err;
	return err;
}

static void remove_ftrace_hook(void)
{
	if (!hook_is_on)
		return;
	unregister_ftrace_function(&hook_ops);
	compat_ftrace_free_filter(&hook_ops);
	hook_is_on = false;
}
#else
static int add_ftrace_hook(void)
{
	return 0;
}

static void remove_ftrace_hook(void)
{
}
#endif

static void teardown_compared_mechanisms(void)
{
	remove_ftrace_hook();
	unregister_bench_kprobe(0);
	unregister_bench_kprobe(1);
	static_branch_disable(&key_on);
	/* The cast is for Linux 5.10, which checks the type of NULL at compile time. */
	static_call_update(bench_call_on, (typeof(&called_plain))NULL);
}

static int setup_compared_mechanisms(void)
{
	int err;

	static_branch_enable(&key_on);
	static_call_update(bench_call_on, called_plain);
	err = register_bench_kprobe(0, called_int3, empty_post_handler);
	if (!err && IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		err = register_bench_kprobe(1, called_kprobe_ftrace, NULL);
	if (!err)
		err = add_ftrace_hook();
	if (err)
		teardown_compared_mechanisms();
	return err;
}

const struct bench_group bench_peers_enabled = {
	.name = "peers-enabled",
	.variants = armed_variants,
	.nr_variants = ARRAY_SIZE(armed_variants),
	.setup = setup_compared_mechanisms,
	.teardown = teardown_compared_mechanisms,
};

#ifdef CONFIG_OPTPROBES
CALLED(optimised, notrace)

#define JUMP		0xe9
#define WAIT_MS		3000
#define STEP_MS		20

BENCH_OPS(optimised_none, called_plain(1, NULL))
BENCH_OPS(optimised_clone, called_plain(1, NULL))
BENCH_OPS(optimised_on, called_optimised(1, NULL))

static const struct bench_variant optimised_variants[] = {
	BENCH_ROW("call", optimised_none),
	BENCH_ROW("call-clone", optimised_clone),
	BENCH_ROW("kprobe-optimised", optimised_on),
};

static void teardown_optimised_kprobe(void)
{
	unregister_bench_kprobe(0);
}

/*
 * Register a kprobe, and wait until the kernel has optimised it, that is, has replaced its
 * breakpoint by a jump.  Return -ENODEV if that does not happen within WAIT_MS milliseconds.
 */
static int setup_optimised_kprobe(void)
{
	int err = register_bench_kprobe(0, called_optimised, NULL);
	unsigned int waited;

	if (err)
		return err;
	for (waited = 0; waited < WAIT_MS; waited += STEP_MS) {
		if (READ_ONCE(*(u8 *)kprobes[0].addr) == JUMP)
			return 0;
		msleep(STEP_MS);
	}
	teardown_optimised_kprobe();
	return -ENODEV;
}

const struct bench_group bench_peer_kprobe_optimised = {
	.name = "peer-kprobe-optimised",
	.variants = optimised_variants,
	.nr_variants = ARRAY_SIZE(optimised_variants),
	.setup = setup_optimised_kprobe,
	.teardown = teardown_optimised_kprobe,
	.lacks = "this kernel does not optimise kprobes to jumps",
};
#endif
