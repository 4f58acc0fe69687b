// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads for races of kmarkers_test_core: two threads that make the same request for core text at
 * the same time, a thread that tries to register an overlapping site, and a thread that holds
 * text_mutex.
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

#define ATTEMPTS	20

static struct {
	struct task_struct *thread;
	struct patcher_core_site site;
	unsigned int attempts;
	int err;
} registrar;

static int register_site_repeatedly(void *unused)
{
	while (!kthread_should_stop()) {
		int err = patcher_core_register(&registrar.site);

		if (err != -EINVAL)
			registrar.err = err ?: patcher_core_unregister(&registrar.site) ?: -EPROTO;
		WRITE_ONCE(registrar.attempts, registrar.attempts + 1);
		cond_resched();
	}
	return 0;
}

int start_registering_site(const char *function, unsigned long offset)
{
	static const char owner[] = "registrar";

	memset(&registrar, 0, sizeof(registrar));
	registrar.site.function = function;
	registrar.site.offset = offset;
	registrar.site.len = 4;
	registrar.site.owner = owner;
	registrar.thread = kthread_run(register_site_repeatedly, NULL, "registrar");
	return PTR_ERR_OR_ZERO(registrar.thread);
}

bool needs_more_registrations(void)
{
	return READ_ONCE(registrar.attempts) < ATTEMPTS;
}

int stop_registering_site(void)
{
	kthread_stop(registrar.thread);
	return registrar.err;
}

/**
 * struct racer - one of two threads that call the same function at the same time
 * @request: function that the thread calls
 * @arg: argument of @request
 * @go: completion that starts both threads
 * @done: completed when this thread has called @request
 * @err: result of @request
 */
struct racer {
	int (*request)(void *arg);
	void *arg;
	struct completion *go;
	struct completion done;
	int err;
};

static int call_as_racer(void *data)
{
	struct racer *racer = data;

	wait_for_completion(racer->go);
	racer->err = racer->request(racer->arg);
	complete(&racer->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static int start_and_join_racers(struct racer *racers, unsigned int nr, struct completion *go)
{
	struct task_struct *threads[2];
	unsigned int i, started = 0;

	while (started < nr) {
		init_completion(&racers[started].done);
		threads[started] = kthread_run(call_as_racer, &racers[started], "racer%u", started);
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

/*
 * Call @request with @arg in two threads at the same time.  Return 0 if one of the two calls
 * returned 0 and the other call returned @expected_err.
 */
static int call_in_two_threads(int (*request)(void *arg), void *arg, int expected_err)
{
	DECLARE_COMPLETION_ONSTACK(go);
	struct racer racers[2] = {
		{ .request = request, .arg = arg, .go = &go, .err = -EPROTO },
		{ .request = request, .arg = arg, .go = &go, .err = -EPROTO },
	};
	int err = start_and_join_racers(racers, ARRAY_SIZE(racers), &go);

	if (err)
		return err;
	return racers[0].err + racers[1].err == expected_err && racers[0].err * racers[1].err == 0 ?
		0 : -EPROTO;
}

static int redirect_function(void *detour)
{
	return patcher_redirect_function(detour);
}

int redirect_function_in_two_threads(struct patcher_detour *detour)
{
	int err = call_in_two_threads(redirect_function, detour, -EBUSY);

	/* One of the threads has redirected the function: restore it. */
	return patcher_restore_function(detour) ?: err;
}

static int unregister_site(void *site)
{
	return patcher_core_unregister(site);
}

int unregister_site_in_two_threads(struct patcher_core_site *site)
{
	return patcher_core_register(site) ?: call_in_two_threads(unregister_site, site, -EINVAL);
}

/**
 * struct holder - a thread that holds the kernel's text_mutex most of the time
 * @thread: the thread
 * @mutex: text_mutex
 * @text: first of five bytes of text that must not change while the mutex is held
 * @changes: number of times that the bytes at @text changed while the mutex was held
 * @turns: number of times that the thread held the mutex
 */
static struct holder {
	struct task_struct *thread;
	struct mutex *mutex;
	const u8 *text;
	unsigned int changes, turns;
} holder;

static int hold_text_mutex_repeatedly(void *unused)
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

/*
 * Return the address of a data symbol, or 0.  register_kprobe() refuses a kprobe on data, but
 * stores the address of the symbol in the struct kprobe.
 */
static unsigned long find_data_symbol(const char *symbol)
{
	struct kprobe probe = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };

	return register_kprobe(&probe) ? (unsigned long)probe.addr : 0;
}

int start_holding_text_mutex(const u8 *text)
{
	memset(&holder, 0, sizeof(holder));
	holder.mutex = (struct mutex *)find_data_symbol("text_mutex");
	holder.text = text;
	holder.thread = kthread_run(hold_text_mutex_repeatedly, NULL, "text_mutex");
	return PTR_ERR_OR_ZERO(holder.thread);
}

int stop_holding_text_mutex(void)
{
	kthread_stop(holder.thread);
	return holder.turns && !holder.changes ? 0 : -EPROTO;
}
