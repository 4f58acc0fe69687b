/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands written by root, one line each: through the module parameter "control", which kernel
 * lockdown does not block, or through files in debugfs.
 *
 *	PATCHER_CONTROL(control, run_line, "PATTERN count | PATTERN -count");
 *
 *	init:	patcher_control_open(&control);
 *	exit:	patcher_control_close(&control);
 *
 * The parameter's file exists before the module's init is called and after its exit has
 * returned.  A line that is written before patcher_control_open() or after
 * patcher_control_close() is refused with -ENODEV.
 *
 *	function			may sleep  irq  nmi
 *	all				yes	   no	no
 */
#ifndef KMARKERS_CONTROL_H
#define KMARKERS_CONTROL_H

#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/types.h>

/* Maximum length of a line in bytes. */
#define PATCHER_CONTROL_LINE	1024

/**
 * struct patcher_control - receiver of the command lines that are written to a module's files
 * @module: name of the module, for the log
 * @usage: the accepted lines, for the log and for readers of the file
 * @lock: held while a line is run
 * @run: function that runs a line, which it may modify; returns 0 or an error
 * @open: true while lines are accepted; private
 */
struct patcher_control {
	const char *module;
	const char *usage;
	struct mutex lock;
	int (*run)(char *line);
	bool open;
};

int patcher_control_set(const char *value, const struct kernel_param *param);

/**
 * PATCHER_CONTROL() - define a module parameter named "control"
 * @name: name of the variable to define
 * @run_line: function that runs a line
 * @lines: the accepted lines, a string literal
 *
 * A line for which the function returns -EINVAL is logged together with the accepted lines.
 *
 * The macro defines the parameter's operations in the module itself.  The kernel reads these
 * operations even after the module's references to other modules were dropped, when
 * kmarkers_patcher may already be unloaded.
 */
#define PATCHER_CONTROL(name, run_line, lines)				\
static struct patcher_control name = {					\
	.module = KBUILD_MODNAME, .usage = lines,			\
	.lock = __MUTEX_INITIALIZER(name.lock), .run = run_line,	\
};									\
static const struct kernel_param_ops name##_ops = {			\
	.set = patcher_control_set,					\
};									\
module_param_cb(control, &name##_ops, &name, 0200)

ssize_t patcher_control_write(struct patcher_control *control, const char __user *buf,
			      size_t count);
void patcher_control_open(struct patcher_control *control);
void patcher_control_close(struct patcher_control *control);

#endif /* KMARKERS_CONTROL_H */
