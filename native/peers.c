// SPDX-License-Identifier: GPL-2.0-only
/*
 * The benchmark empty-loop-peers: the costs of a marker, and of a probe of each other user-space
 * tracer (peer), in an empty loop, while disabled and while enabled.  Each peer is a
 * shared object, which is built with kmbench if its package is installed.  Missing peers are
 * reported on stderr.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/user.h>

#include "../bench_modules/ops.h"
#include "observer.h"
#include "peers.h"
#include "peers/peer.h"

BENCH_OPS(none, (void)0)
BENCH_OPS(none_clone, (void)0)
BENCH_OPS(marker_off, trace_mark(bench_peers_off, "%d %p", 1, NULL))
BENCH_OPS(marker_on, trace_mark(bench_peers_on, "%d %p", 1, NULL))

/*
 * Two alternatives to probes need no library: a test of a flag, and a call through a function
 * pointer.
 */
static BENCH_EXTERNAL void empty_called_function(int number, const void *pointer)
{
	asm volatile("" : : "r" (number), "r" (pointer) : "memory");
}

static void (*call)(int number, const void *pointer) = empty_called_function;
static bool flag_off, flag_on = true;

#define FLAGGED(flag)							\
do {									\
	if (unlikely(__atomic_load_n(&(flag), __ATOMIC_RELAXED)))	\
		empty_called_function(1, NULL);				\
} while (0)

BENCH_OPS(flag_is_off, FLAGGED(flag_off))
BENCH_OPS(flag_is_on, FLAGGED(flag_on))
BENCH_OPS(pointer, __atomic_load_n(&call, __ATOMIC_RELAXED)(1, NULL))

static const struct bench_variant own[] = {
	BENCH_ROW("none", none),
	BENCH_ROW("none-clone", none_clone),
	BENCH_ROW("marker-jump-off", marker_off),
	BENCH_ROW("marker-jump-on", marker_on),
	BENCH_ROW("atomic-load-off", flag_is_off),
	BENCH_ROW("atomic-load-on", flag_is_on),
	BENCH_ROW("function-pointer-off", pointer),
};

static struct {
	const char *name, *package;
	const struct bench_peer *peer;
	const char *why;	/* reason why the peer or its enabled variant is missing, or NULL */
	bool on;
} peers[] = {
	{ "peer-lttng-ust", "liblttng-ust-dev" },
	{ "peer-sdt", "systemtap-sdt-dev" },
	{ "peer-uprobe-optimised", "linux-libc-dev" },
};

#define MAX_ROWS	(ARRAY_SIZE(own) + 2 * ARRAY_SIZE(peers))

static struct bench_variant rows[MAX_ROWS];

static void read_probe_arguments(void *probe_private, void *call_private, const char *fmt,
				 va_list *args)
{
	(void)va_arg(*args, int);
	(void)va_arg(*args, void *);
}

/*
 * Load the shared object of a peer from the directory of kmbench.  Return NULL and set @why if
 * that fails.
 */
static const struct bench_peer *load_tracer_object(const char *name, const char *package,
						   const char **why)
{
	char path[PATH_MAX + 32], *slash;
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
	const struct bench_peer *peer;
	void *object;

	*why = "the directory of kmbench cannot be found";
	if (length < 0)
		return NULL;
	path[length] = 0;
	slash = strrchr(path, '/');
	snprintf(slash + 1, 32, "%s.so", name);
	if (access(path, R_OK)) {
		fprintf(stderr,
			"kmbench: SKIP %s: not built: install %s with scripts/setup, then run make native\n",
			name, package);
		*why = "its package is missing";
		return NULL;
	}
	*why = "its libraries cannot be loaded";
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		fprintf(stderr, "kmbench: SKIP %s: %s\n", name, dlerror());
		return NULL;
	}
	*why = "it was built for another version of kmbench";
	peer = dlsym(object, "bench_peer");
	if (!peer || peer->off.nr_layouts != BENCH_LAYOUTS || peer->on.nr_layouts != BENCH_LAYOUTS) {
		fprintf(stderr, "kmbench: SKIP %s: %s: run make native\n", name, *why);
		return NULL;
	}
	*why = NULL;
	return peer;
}

/*
 * Let the threads and programs that a peer starts use all CPUs of kmbench.  Otherwise they would
 * inherit the CPU of the thread that starts them, on which kmbench measures.
 */
static void allow_thread_on_all_cpus(cpu_set_t *previous)
{
	sched_getaffinity(0, sizeof(*previous), previous);
	sched_setaffinity(0, sizeof(*previous), native_get_allowed_cpus());
}

void native_load_other_tracers(void)
{
	unsigned int i, nr = ARRAY_SIZE(own);
	cpu_set_t measured;

	memcpy(rows, own, sizeof(own));
	allow_thread_on_all_cpus(&measured);
	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		if (!peers[i].peer)
			peers[i].peer = load_tracer_object(peers[i].name, peers[i].package,
							   &peers[i].why);
		if (!peers[i].peer)
			continue;
		rows[nr++] = peers[i].peer->off;
		rows[nr++] = peers[i].peer->on;
	}
	sched_setaffinity(0, sizeof(measured), &measured);
	bench_empty_loop_peers.nr_variants = nr;
}

/* Count the distinct code addresses among the layouts of a variant. */
static unsigned int count_distinct_layouts(const struct bench_variant *variant)
{
	unsigned int i, nr = 1;

	for (i = 1; i < variant->nr_layouts; i++)
		nr += variant->op[i] != variant->op[i - 1];
	return nr;
}

void native_show_other_tracers_env(FILE *file)
{
	unsigned int i, nr;

	for (i = 0; i < bench_empty_loop_peers.nr_variants; i++) {
		nr = count_distinct_layouts(&rows[i]);
		if (nr < rows[i].nr_layouts)
			fprintf(file, "layouts:%s:%s=%u\n", bench_empty_loop_peers.name,
				rows[i].name, nr);
	}
	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		if (!peers[i].why)
			continue;
		fprintf(file, "lacks:%s:%s-on=%s\n", bench_empty_loop_peers.name, peers[i].name,
			peers[i].why);
		if (!peers[i].peer)
			fprintf(file, "lacks:%s:%s-off=%s\n", bench_empty_loop_peers.name,
				peers[i].name, peers[i].why);
	}
}

/*
 * Enable the probe of each loaded peer.  Add the peer's variants to rows[]; add the variant with
 * the enabled probe only if enabling succeeded.
 */
static int enable_tracers_and_add_variants(void)
{
	unsigned int i, nr = ARRAY_SIZE(own);
	cpu_set_t measured;
	const char *why;

	allow_thread_on_all_cpus(&measured);
	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		if (!peers[i].peer)
			continue;
		rows[nr++] = peers[i].peer->off;
		why = "its probe cannot be disabled again";
		if (peers[i].peer->switch_off)
			why = peers[i].peer->switch_on();
		peers[i].on = !why;
		peers[i].why = why;
		if (why)
			fprintf(stderr, "kmbench: SKIP %s: %s\n", peers[i].peer->on.name, why);
		else
			rows[nr++] = peers[i].peer->on;
	}
	sched_setaffinity(0, sizeof(measured), &measured);
	bench_empty_loop_peers.nr_variants = nr;
	return marker_probe_register("bench_peers_on", "%d %p", read_probe_arguments, NULL);
}

static void disable_tracer_probes(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		if (peers[i].on)
			peers[i].peer->switch_off();
		peers[i].on = false;
	}
	marker_probe_unregister("bench_peers_on", read_probe_arguments, NULL);
}

struct bench_group bench_empty_loop_peers = {
	.name = "empty-loop-peers",
	.variants = rows,
	.nr_variants = MAX_ROWS,
	.setup = enable_tracers_and_add_variants,
	.teardown = disable_tracer_probes,
};
