// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peer: tracepoints of LTTng-UST.  The events of an enabled tracepoint are written to a ring buffer
 * in memory that overwrites the oldest events (a snapshot session), so that no disk is used.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"

#include "peer.h"

/* LTTNG_ROOT: where scripts/setup unpacked LTTng; empty if its packages are installed. */
#define LTTNG_LIBDIR	LTTNG_ROOT "/usr/lib/x86_64-linux-gnu"

#define PATIENCE_MS	10000
#define RETRY_MS	100

extern char **environ;

BENCH_OPS(off, lttng_ust_tracepoint(kmarkers, bench_off, 1, NULL))
BENCH_OPS(on, lttng_ust_tracepoint(kmarkers, bench_on, 1, NULL))

static pid_t daemon_pid;

/*
 * Start a program in its own process group, so that Ctrl-C ends only kmbench, which then stops in
 * an orderly way.  Return its process id, or 0 on failure.
 */
static pid_t start_program(char *const words[])
{
	posix_spawnattr_t attributes;
	pid_t pid;

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	if (posix_spawnp(&pid, words[0], NULL, &attributes, words, environ))
		pid = 0;
	posix_spawnattr_destroy(&attributes);
	return pid;
}

/* Wait for the end of a program.  Return true if its exit code is 0. */
static bool wait_for_program(pid_t pid)
{
	int status = 1;

	while (pid && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !status;
}

/* Run a shell command.  system() would make this process ignore Ctrl-C. */
static bool run_shell_command(char *line)
{
	char *const words[] = { "sh", "-c", line, NULL };

	return wait_for_program(start_program(words));
}

/* Start lttng-sessiond.  One daemon serves all processes; a second daemon exits at once. */
static void start_lttng_daemon(void)
{
	char *const words[] = { "lttng-sessiond", "--no-kernel", "--quiet", NULL };

	daemon_pid = start_program(words);
}

static void stop_lttng_daemon(void)
{
	if (!daemon_pid)
		return;
	kill(daemon_pid, SIGTERM);
	wait_for_program(daemon_pid);
	daemon_pid = 0;
}

/*
 * Run the command lttng with arguments.  The %d in @format is replaced by the process id, which is
 * a part of the session name.
 */
static bool run_lttng_command(const char *format)
{
	char command[128], line[256];

	snprintf(command, sizeof(command), format, getpid());
	snprintf(line, sizeof(line), "lttng --no-sessiond %s >/dev/null 2>&1", command);
	return run_shell_command(line);
}

static bool create_snapshot_session(void)
{
	return run_lttng_command("create --snapshot kmbench-%d");
}

/* Set the search paths of LTTng to LTTNG_ROOT if scripts/setup has unpacked LTTng there. */
static void set_lttng_search_paths(void)
{
	static const struct {
		const char *name, *value;
	} settings[] = {
		{ "PATH", LTTNG_ROOT "/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
		{ "LD_LIBRARY_PATH", LTTNG_LIBDIR },
		{ "LTTNG_CONSUMERD64_BIN", LTTNG_LIBDIR "/lttng/libexec/lttng-consumerd" },
		{ "LTTNG_CONSUMERD64_LIBDIR", LTTNG_LIBDIR },
		{ "LTTNG_SESSION_CONFIG_XSD_PATH", LTTNG_ROOT "/usr/share/xml/lttng/" },
	};
	unsigned int i;

	for (i = 0; *LTTNG_ROOT && i < sizeof(settings) / sizeof(*settings); i++)
		setenv(settings[i].name, settings[i].value, 1);
}

/*
 * Return true if the tracepoint bench_on is enabled.  A thread of LTTng in this process enables the
 * tracepoint.
 */
static bool is_measured_probe_enabled(void)
{
	return lttng_ust_tracepoint_enabled(kmarkers, bench_on);
}

static bool wait_for_condition(bool (*condition)(void))
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	int waited;

	for (waited = 0; waited < PATIENCE_MS; waited += RETRY_MS) {
		if (condition())
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void disable_measured_probe(void)
{
	run_lttng_command("destroy kmbench-%d");
	stop_lttng_daemon();
}

static const char *enable_measured_probe(void)
{
	set_lttng_search_paths();
	if (!run_shell_command("command -v lttng lttng-sessiond >/dev/null"))
		return "the command lttng or lttng-sessiond is missing: run apt-get install lttng-tools";
	start_lttng_daemon();
	if (!wait_for_condition(create_snapshot_session)) {
		stop_lttng_daemon();
		return "lttng-sessiond does not answer";
	}
	if (run_lttng_command("enable-event -u -s kmbench-%d kmarkers:bench_on") &&
	    run_lttng_command("start kmbench-%d") && wait_for_condition(is_measured_probe_enabled))
		return NULL;
	disable_measured_probe();
	return "lttng cannot enable the event kmarkers:bench_on";
}

const struct bench_peer bench_peer = {
	.off = BENCH_ROW("peer-lttng-ust-off", off),
	.on = BENCH_ROW("peer-lttng-ust-on", on),
	.switch_on = enable_measured_probe,
	.switch_off = disable_measured_probe,
};
