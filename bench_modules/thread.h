/* SPDX-License-Identifier: GPL-2.0-only */
/* The measuring thread, its configuration and its results. */
#ifndef BENCH_MODULES_THREAD_H
#define BENCH_MODULES_THREAD_H

#include <linux/mutex.h>
#include <linux/types.h>

#include <kmarkers/bench.h>
#include "groups.h"

struct task_struct;

enum bench_state {
	BENCH_IDLE,
	BENCH_RUNNING,
	BENCH_DONE,
	BENCH_STOPPED,
	BENCH_FAILED,
};

struct bench_session {
	struct mutex lock;		/* protects the fields that the thread does not write */
	struct bench_config config;
	struct bench_result results[BENCH_MAX_GROUPS];
	struct task_struct *thread;	/* counted reference to the thread, which may have exited */
	u64 groups;			/* bit mask of the groups of the current or last run */
	u64 runs;			/* number of runs that have started */
	unsigned int current_group;	/* the thread writes current_group, err and state */
	int err;
	enum bench_state state;
};

extern struct bench_session bench_session;

int bench_run_command(char *text);
void bench_clear_group_slot(unsigned int number);
bool bench_is_running(void);
void bench_thread_exit(void);

#endif /* BENCH_MODULES_THREAD_H */
