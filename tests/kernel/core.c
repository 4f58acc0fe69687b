// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core text, by commands written to debugfs kmarkers_test_core/command:
 *
 *	redirect FUNCTION CALLEE	the call returns 4242 from now on
 *	restore
 *	detour FUNCTION			the function returns 4343 from now on
 *	undetour
 *	site FUNCTION OFFSET LEN	may this be a site? (and forget it again)
 *
 * The write returns the error, so that a shell can see it.
 */
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <kmarkers/redirect.h>

#define MAX_COMMAND	256
#define MAX_WORDS	4

static DEFINE_MUTEX(lock);
static struct patcher_redirect redirect;
static struct patcher_detour detour;
static bool redirected, detoured;
static char function[KSYM_NAME_LEN], callee[KSYM_NAME_LEN];
static char detour_function[KSYM_NAME_LEN];
static u32 calls;
static struct dentry *dir;

static noinline long replacement(void)
{
	WRITE_ONCE(calls, calls + 1);
	return 4242;
}

static noinline long detour_replacement(void)
{
	WRITE_ONCE(calls, calls + 1);
	return 4343;
}

static int do_redirect(char **words)
{
	int err;

	if (redirected)
		return -EBUSY;
	strscpy(function, words[1], sizeof(function));
	strscpy(callee, words[2], sizeof(callee));
	redirect.function = function;
	redirect.callee = callee;
	redirect.replacement = replacement;
	redirect.module = THIS_MODULE;
	err = patcher_redirect_call(&redirect);
	redirected = !err;
	return err;
}

static int do_restore(char **words)
{
	int err;

	if (!redirected)
		return -EINVAL;
	err = patcher_restore_call(&redirect);
	redirected = !!err;
	return err;
}

static int do_detour(char **words)
{
	int err;

	if (detoured)
		return -EBUSY;
	strscpy(detour_function, words[1], sizeof(detour_function));
	detour.function = detour_function;
	detour.replacement = detour_replacement;
	detour.module = THIS_MODULE;
	err = patcher_redirect_function(&detour);
	detoured = !err;
	return err;
}

static int do_undetour(char **words)
{
	int err;

	if (!detoured)
		return -EINVAL;
	err = patcher_restore_function(&detour);
	detoured = !!err;
	return err;
}

static int do_site(char **words)
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
	if (!err)
		patcher_core_unregister(&core);
	return err;
}

static const struct command {
	const char *name;
	int words;
	int (*run)(char **words);
} commands[] = {
	{ "redirect", 3, do_redirect },
	{ "restore", 1, do_restore },
	{ "detour", 2, do_detour },
	{ "undetour", 1, do_undetour },
	{ "site", 4, do_site },
};

static int run_command(char *text)
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
	err = run_command(text);
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

static int __init core_test_init(void)
{
	dir = debugfs_create_dir("kmarkers_test_core", NULL);
	debugfs_create_file("command", 0200, dir, NULL, &command_fops);
	debugfs_create_u32("calls", 0400, dir, &calls);
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
