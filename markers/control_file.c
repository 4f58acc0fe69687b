// SPDX-License-Identifier: GPL-2.0-only
/*
 * The debugfs file markers/control and the module parameter "control", which both take commands
 * that enable or disable many markers at a time, or attach markers to functions.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>

#include <kmarkers/control.h>

#include "command.h"
#include "control_file.h"
#include "controls.h"
#include "functions.h"
#include "rules.h"

static struct dentry *control_file;

static int run_control_request(const struct control_request *request)
{
	if (request->verb == CONTROL_ATTACH)
		return marker_function_attach(request->object, request->name);
	if (request->verb == CONTROL_DETACH)
		return marker_function_detach(request->object);
	return marker_controls_run_for_pattern(request->object, request->command);
}

static int run_marker_command(char *line)
{
	struct control_request request;
	int err = marker_command_parse_line(line, &request);

	return err ?: run_control_request(&request);
}

PATCHER_CONTROL(control, run_marker_command,
		"PATTERN trace | PATTERN -trace | PATTERN count | PATTERN -count | PATTERN none | attach FUNCTION [NAME] | detach NAME");
MODULE_PARM_DESC(control, "takes the commands of the debugfs file markers/control, also under kernel lockdown");

static ssize_t marker_control_write(struct file *file, const char __user *buf, size_t count,
				    loff_t *ppos)
{
	return patcher_control_write(&control, buf, count);
}

/*
 * Show the usage, then all rules (patterns with commands), including rules that match no marker
 * yet.
 */
static int marker_control_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "# %s\n", control.usage);
	return marker_controls_show(m);
}
DEFINE_SHOW_STORE_ATTRIBUTE(marker_control);

void marker_control_file_init(struct dentry *dir)
{
	control_file = debugfs_create_file("control", 0600, dir, NULL, &marker_control_fops);
	patcher_control_open(&control);
}

/* Remove the file and disable the parameter.  On return no command runs or can be started. */
void marker_control_file_exit(void)
{
	patcher_control_close(&control);
	debugfs_remove(control_file);
	marker_rules_free();
}
