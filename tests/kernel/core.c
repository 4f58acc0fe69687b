// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes of the kernel's core text.  The commands are written to kmarkers_test_core/command in
 * debugfs:
 *
 *	redirect FUNCTION CALLEE	make the call of CALLEE in FUNCTION return 4242
 *	redirect-too FUNCTION CALLEE	redirect the call for a second client, then restore
 *					the call
 *	restore				undo redirect
 *	detour FUNCTION			make FUNCTION return 4343
 *	undetour			undo detour
 *	far FUNCTION CALLEE		redirect the call to an address that no call can reach
 *	left FUNCTION CALLEE		unregister the site of a redirected call, which must fail
 *	claims FUNCTION CALLEE		redirect and restore repeatedly, while another
 *					thread tries to register a site inside the call
 *	detour-race FUNCTION		two threads redirect FUNCTION at the same time
 *	forget-race FUNCTION OFFSET	two threads unregister one site at the same time
 *	race FUNCTION CALLEE		redirect and restore repeatedly, while another
 *					thread takes and releases text_mutex
 *	nothing				make requests that each have a missing or wrong field,
 *					or name a tracepoint; all must fail
 *	records				look for records of a kind that no module has
 *	site FUNCTION OFFSET LEN	register a site and unregister it
 *	bytes ADDRESS LEN		answer: the bytes in memory
 *	scan ADDRESS LEN VALUE MASK	answer: offsets of the bytes b with (b & MASK) == VALUE
 *	symbol ADDRESS			answer: symbol+offset/size of ADDRESS
 *	relative ADDRESS		answer: symbol+offset/size of the address that the
 *					32-bit offset at ADDRESS refers to
 *	mappings ADDRESS		answer: the number of page table entries that map
 *					the page of ADDRESS writable, and the number of all
 *					entries that are writable and executable
 *
 * The write returns the error of the command.  The answer is read from
 * kmarkers_test_core/answer.  A replacement function runs for delay_ms milliseconds.  left_inside
 * is the number of tasks that were inside a replacement function when restore or undetour returned.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <kmarkers/patcher.h>
#include <kmarkers/redirect.h>

#include "core_test.h"

#define RACES		5
#define CALL_LEN	5
#define MAX_COMMAND	256
#define MAX_WORDS	5

static DEFINE_MUTEX(lock);
static struct patcher_redirect redirect;
static struct patcher_detour detour;
static bool redirected;
static char function[KSYM_NAME_LEN], callee[KSYM_NAME_LEN];
static char detour_function[KSYM_NAME_LEN];
static u32 calls, delay_ms, left_inside;
static atomic_t inside;
static struct dentry *dir;

static __always_inline void count_call_and_delay(void)
{
	atomic_inc(&inside);
	WRITE_ONCE(calls, calls + 1);
	mdelay(READ_ONCE(delay_ms));
	atomic_dec(&inside);
}

static noinline long return_4242(void)
{
	count_call_and_delay();
	return 4242;
}

static noinline long return_4343(void)
{
	count_call_and_delay();
	return 4343;
}

static int redirect_call_to_replacement(char **words)
{
	int err;

	strscpy(function, words[1], sizeof(function));
	strscpy(callee, words[2], sizeof(callee));
	redirect.function = function;
	redirect.callee = callee;
	redirect.replacement = return_4242;
	redirect.module = THIS_MODULE;
	err = patcher_redirect_call(&redirect);
	redirected |= !err;
	return err;
}

static int restore_redirected_call(char **words)
{
	int err;

	err = patcher_restore_call(&redirect);
	left_inside = atomic_read(&inside);
	redirected &= !!err;
	return err;
}

/*
 * Redirect a call for a second client.  If the call is redirected already, this must fail, and must
 * not redirect the next call of the same callee in the function instead.
 */
static int redirect_call_for_second_client(char **words)
{
	struct patcher_redirect other = {
		.function = words[1], .callee = words[2], .replacement = return_4242,
		.module = THIS_MODULE,
	};
	int err = patcher_redirect_call(&other);

	return err ?: patcher_restore_call(&other);
}

static int redirect_whole_function(char **words)
{
	strscpy(detour_function, words[1], sizeof(detour_function));
	detour.function = detour_function;
	detour.replacement = return_4343;
	detour.module = THIS_MODULE;
	return patcher_redirect_function(&detour);
}

static int restore_whole_function(char **words)
{
	int err;

	err = patcher_restore_function(&detour);
	left_inside = atomic_read(&inside);
	return err;
}

/*
 * Redirect the call to an address on the stack, which is not text, and is more than 2 GB away from
 * the call.
 */
static int redirect_call_out_of_reach(char **words)
{
	struct patcher_redirect far = {
		.function = words[1], .callee = words[2], .replacement = words,
		.module = THIS_MODULE,
	};
	int err = patcher_redirect_call(&far);

	if (!err)
		patcher_restore_call(&far);
	return err;
}

/*
 * Redirect and restore a call repeatedly, while another thread takes and releases text_mutex.
 * Return -EPROTO if a byte of the call changed while that thread held the mutex.
 */
static int redirect_during_text_mutex_use(char **words)
{
	int err, held, restored, i;

	err = redirect_call_to_replacement(words);
	if (err)
		return err;
	err = start_holding_text_mutex(redirect.core.addr);
	if (err)
		return restore_redirected_call(words) ?: err;
	for (i = 0; i < RACES && !err; i++)
		err = restore_redirected_call(words) ?: redirect_call_to_replacement(words);
	held = stop_holding_text_mutex();
	restored = redirected ? restore_redirected_call(words) : 0;
	return err ?: held ?: restored;
}

/* Unregister the site of a redirected call.  Return 0 if that fails with -EILSEQ. */
static int unregister_changed_site(char **words)
{
	int err, refusal, restored;

	err = redirect_call_to_replacement(words);
	if (err)
		return err;
	refusal = patcher_core_unregister(&redirect.core);
	restored = restore_redirected_call(words);
	if (restored || refusal != -EILSEQ)
		return restored ?: -EPROTO;
	/* Unregistering a site that is not registered must fail. */
	return patcher_core_unregister(&redirect.core) == -EINVAL ? 0 : -EPROTO;
}

/* Redirect and restore a call repeatedly, while a thread tries to register an overlapping site. */
static int redirect_during_registrations(char **words)
{
	int err, registering;

	err = redirect_call_to_replacement(words);
	if (err)
		return err;
	/*
	 * The patcher registers disabled kprobes on the bytes of a site to check the site.  The
	 * kernel refuses a kprobe inside the call, so the patcher must refuse this site.
	 */
	err = start_registering_site(function, redirect.core.offset + 1);
	if (err)
		return restore_redirected_call(words) ?: err;
	while (!err && needs_more_registrations())
		err = restore_redirected_call(words) ?: redirect_call_to_replacement(words);
	registering = stop_registering_site();
	if (redirected)
		err = restore_redirected_call(words) ?: err;
	return err ?: registering;
}

static int repeat_detour_race(char **words)
{
	unsigned int i;
	int err = 0;

	strscpy(detour_function, words[1], sizeof(detour_function));
	detour.function = detour_function;
	detour.replacement = return_4343;
	detour.module = THIS_MODULE;
	for (i = 0; i < RACES && !err; i++)
		err = redirect_function_in_two_threads(&detour);
	return err;
}

static int repeat_unregister_race(char **words)
{
	static const char owner[] = "racers";
	struct patcher_core_site core = { .function = words[1], .len = CALL_LEN, .owner = owner };
	int err, i;

	err = kstrtoul(words[2], 0, &core.offset);
	for (i = 0; i < RACES && !err; i++)
		err = unregister_site_in_two_threads(&core);
	return err;
}

/*
 * Try to register a site in the function of a tracepoint that may be hit before the patcher's
 * breakpoint handler.  Return true if the name is refused, or if this kernel has no such function.
 * No instruction begins at offset 1, so -EINVAL would mean that the name was not refused.
 */
static bool is_site_in_tracepoint_refused(const char *name)
{
	struct patcher_core_site core = { .function = name, .offset = 1, .len = 5, .owner = name };
	int err = patcher_core_register(&core);

	return err == -EPERM || err == -ENOENT;
}

/*
 * Make requests that each have a missing or wrong field.  Return 0 if each request returned
 * -EINVAL, and if sites in tracepoints of RCU and of notifier chains are refused.
 */
static int check_refused_requests(char **words)
{
	static const char name[] = "getpid";
	static struct patcher_redirect calls_to[] = {
		{ .callee = name, .replacement = return_4242, .module = THIS_MODULE },
		{ .function = name, .replacement = return_4242, .module = THIS_MODULE },
		{ .function = name, .callee = name, .module = THIS_MODULE },
		/* The replacement is in this module, but .module is not set. */
		{ .function = name, .callee = name, .replacement = return_4242 },
		{ .function = name, .callee = name, .replacement = core_answer, .module = THIS_MODULE },
	};
	static struct patcher_detour detours[] = {
		{ .replacement = return_4343, .module = THIS_MODULE },
		{ .function = name, .module = THIS_MODULE },
		{ .function = name, .replacement = return_4343 },
		{ .function = name, .replacement = core_answer, .module = THIS_MODULE },
	};
	static struct patcher_core_site sites[] = {
		{ .len = 5, .owner = name }, { .function = name, .owner = name },
		{ .function = name, .len = 5 },
		{ .function = name, .len = PATCHER_INSN_MAX + 1, .owner = name },
	};
	/*
	 * A kernel has one of the first two tracepoints if CONFIG_RCU_TRACE is set, and the third
	 * tracepoint since 6.5.
	 */
	static const char *const tracepoints[] = {
		"__traceiter_rcu_watching", "__traceiter_rcu_dyntick", "__traceiter_notifier_run",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls_to); i++)
		if (patcher_redirect_call(&calls_to[i]) != -EINVAL)
			return -EPROTO;
	for (i = 0; i < ARRAY_SIZE(detours); i++)
		if (patcher_redirect_function(&detours[i]) != -EINVAL)
			return -EPROTO;
	for (i = 0; i < ARRAY_SIZE(sites); i++)
		if (patcher_core_register(&sites[i]) != -EINVAL)
			return -EPROTO;
	for (i = 0; i < ARRAY_SIZE(tracepoints); i++)
		if (!is_site_in_tracepoint_refused(tracepoints[i]))
			return -EPROTO;
	return 0;
}

/*
 * Return 0 if no records are found and the span is empty afterwards, whatever it contained before.
 */
static int find_records_of_unknown_kind(char **words)
{
	struct kmarkers_span span;
	int err;

	memset(&span, 0xff, sizeof(span));
	err = patcher_find_records(THIS_MODULE, "no_kind", NULL, sizeof(struct patcher_site), &span);
	if (!err && (span.first || span.end || span.bytes || span.chunks))
		err = -EPROTO;
	return err;
}

static int register_and_unregister_site(char **words)
{
	static const char owner[] = "test_core";
	struct patcher_core_site core = { .function = words[1], .owner = owner };
	unsigned long len;
	int err;

	err = kstrtoul(words[2], 0, &core.offset) ?: kstrtoul(words[3], 0, &len);
	if (err)
		return err;
	core.len = len;
	err = patcher_core_register(&core);
	return err ?: patcher_core_unregister(&core);
}

static const struct command {
	const char *name;
	int words;
	int (*run)(char **words);
} commands[] = {
	{ "redirect", 3, redirect_call_to_replacement },
	{ "redirect-too", 3, redirect_call_for_second_client },
	{ "restore", 1, restore_redirected_call },
	{ "detour", 2, redirect_whole_function },
	{ "undetour", 1, restore_whole_function },
	{ "far", 3, redirect_call_out_of_reach },
	{ "race", 3, redirect_during_text_mutex_use },
	{ "left", 3, unregister_changed_site },
	{ "claims", 3, redirect_during_registrations },
	{ "detour-race", 2, repeat_detour_race },
	{ "forget-race", 3, repeat_unregister_race },
	{ "nothing", 1, check_refused_requests },
	{ "records", 1, find_records_of_unknown_kind },
	{ "site", 4, register_and_unregister_site },
	{ "bytes", 3, core_show_bytes },
	{ "scan", 5, core_find_bytes },
	{ "symbol", 2, core_show_symbol },
	{ "relative", 2, core_show_relative_symbol },
	{ "mappings", 2, core_count_mappings },
};

static int execute_core_command(char *text)
{
	char *words[MAX_WORDS + 1] = { NULL }, *word;
	int nr = 0;
	unsigned int i;

	while ((word = strsep(&text, " \n")))
		if (*word && nr <= MAX_WORDS)
			words[nr++] = word;
	for (i = 0; nr && i < ARRAY_SIZE(commands); i++)
		if (!strcmp(words[0], commands[i].name) && nr == commands[i].words)
			return commands[i].run(words);
	return -EINVAL;
}

static ssize_t command_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	char *text;
	int err;

	if (!count || count > MAX_COMMAND)
		return -EINVAL;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&lock);
	err = execute_core_command(text);
	mutex_unlock(&lock);
	kfree(text);
	return err ?: count;
}

static const struct file_operations command_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = command_write,
	.llseek = noop_llseek,
};

static int answer_show(struct seq_file *m, void *unused)
{
	mutex_lock(&lock);
	seq_puts(m, core_answer);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(answer);

static int __init core_test_init(void)
{
	dir = debugfs_create_dir("kmarkers_test_core", NULL);
	debugfs_create_file("command", 0200, dir, NULL, &command_fops);
	debugfs_create_file("answer", 0400, dir, NULL, &answer_fops);
	debugfs_create_u32("calls", 0400, dir, &calls);
	debugfs_create_u32("delay_ms", 0600, dir, &delay_ms);
	debugfs_create_u32("left_inside", 0400, dir, &left_inside);
	return 0;
}

static void __exit core_test_exit(void)
{
	debugfs_remove_recursive(dir);
}

module_init(core_test_init);
module_exit(core_test_exit);

MODULE_DESCRIPTION("Tests of changes in core text");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
