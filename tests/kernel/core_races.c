// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two threads that request changes of core text at the same time, and a thread that
 * holds text_mutex during changes.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include <kmarkers/redirect.h>

#include "core_test.h"

#define ASK_TIMES	20

static struct {
	struct task_struct *thread;
	struct patcher_core_site site;
	unsigned int asked;
	int err;
} asker;

static int ask_again_and_again(void *unused)
{
	while (!kthread_should_stop()) {
		int err = patcher_core_register(&asker.site);

		if (err != -EINVAL)
			asker.err = err ?: patcher_core_unregister(&asker.site) ?: -EPROTO;
		WRITE_ONCE(asker.asked, asker.asked + 1);
		cond_resched();
	}
	return 0;
}

int start_asking(const char *function, unsigned long offset)
{
	static const char owner[] = "asker";

	memset(&asker, 0, sizeof(asker));
	asker.site.function = function;
	asker.site.offset = offset;
	asker.site.len = 4;
	asker.site.owner = owner;
	asker.thread = kthread_run(ask_again_and_again, NULL, "asker");
	return PTR_ERR_OR_ZERO(asker.thread);
}

bool more_to_ask(void)
{
	return READ_ONCE(asker.asked) < ASK_TIMES;
}

int stop_asking(void)
{
	kthread_stop(asker.thread);
	return asker.err;
}

/**
 * struct racer - one of two threads that make the same request
 * @want: the function to call
 * @with: its argument
 * @go: completed when both may begin
 * @done: completed when this thread is done
 * @err: the result of @want
 */
struct racer {
	int (*want)(void *with);
	void *with;
	struct completion *go;
	struct completion done;
	int err;
};

static int race(void *data)
{
	struct racer *racer = data;

	wait_for_completion(racer->go);
	racer->err = racer->want(racer->with);
	complete(&racer->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static int run_racers(struct racer *racers, unsigned int nr, struct completion *go)
{
	struct task_struct *threads[2];
	unsigned int i, started = 0;

	while (started < nr) {
		init_completion(&racers[started].done);
		threads[started] = kthread_run(race, &racers[started], "racer%u", started);
		if (IS_ERR(threads[started]))
			break;
		started++;
	}
	complete_all(go);
	for (i = 0; i < started; i++) {
		wait_for_completion(&racers[i].done);
		kthread_stop(threads[i]);
	}
	return started == nr ? 0 : -ENOMEM;
}

/* Return 0 if @want returned 0 in one of the threads and @refusal in the other. */
static int race_of_two(int (*want)(void *with), void *with, int refusal)
{
	DECLARE_COMPLETION_ONSTACK(go);
	struct racer racers[2] = {
		{ .want = want, .with = with, .go = &go, .err = -EPROTO },
		{ .want = want, .with = with, .go = &go, .err = -EPROTO },
	};
	int err = run_racers(racers, ARRAY_SIZE(racers), &go);

	if (err)
		return err;
	return racers[0].err + racers[1].err == refusal && racers[0].err * racers[1].err == 0 ?
		0 : -EPROTO;
}

static int redirect_function(void *detour)
{
	return patcher_redirect_function(detour);
}

int race_for(struct patcher_detour *detour)
{
	int err = race_of_two(redirect_function, detour, -EBUSY);

	return patcher_restore_function(detour) ?: err;
}

static int unregister(void *site)
{
	return patcher_core_unregister(site);
}

int race_to_forget(struct patcher_core_site *site)
{
	return patcher_core_register(site) ?: race_of_two(unregister, site, -EINVAL);
}

/**
 * struct holder - a thread that holds the kernel's text_mutex most of the time
 * @thread: the thread
 * @mutex: text_mutex
 * @text: bytes that must not change while the mutex is held
 * @changes: number of times they changed
 * @turns: number of times the mutex was held
 */
static struct holder {
	struct task_struct *thread;
	struct mutex *mutex;
	const u8 *text;
	unsigned int changes, turns;
} holder;

static int hold(void *unused)
{
	u8 before[5];

	while (!kthread_should_stop()) {
		mutex_lock(holder.mutex);
		memcpy(before, holder.text, sizeof(before));
		usleep_range(2000, 3000);
		holder.changes += !!memcmp(before, holder.text, sizeof(before));
		holder.turns++;
		mutex_unlock(holder.mutex);
		usleep_range(100, 200);
	}
	return 0;
}

/* Return a symbol's address.  register_kprobe() refuses data but stores its address. */
static unsigned long find_data(const char *symbol)
{
	struct kprobe probe = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };

	return register_kprobe(&probe) ? (unsigned long)probe.addr : 0;
}

int start_holding(const u8 *text)
{
	memset(&holder, 0, sizeof(holder));
	holder.mutex = (struct mutex *)find_data("text_mutex");
	holder.text = text;
	holder.thread = kthread_run(hold, NULL, "text_mutex");
	return PTR_ERR_OR_ZERO(holder.thread);
}

int stop_holding(void)
{
	kthread_stop(holder.thread);
	return holder.turns && !holder.changes ? 0 : -EPROTO;
}
