// SPDX-License-Identifier: GPL-2.0-only
/*
 * The benchmarks macro-ping and macro-hackbench measure the time of operations over the loopback
 * interface: an echo request and its reply, as in a flood of pings; and a message of 100 bytes from
 * one socket to another, as in hackbench.  These operations are the most frequent operations in the
 * benchmarks of 2006 and 2008.  Each packet executes the netfilter hook of
 * bench_modules/live_packets.c.  The benchmarks compare the variants of this hook.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "live.h"
#include "../bench_modules/nops.h"

#define LIVE_NAME	"packets-live"
#define HITS		"/sys/kernel/debug/kmarkers/bench/hits"
/* The windows of a variant must end before the next clock tick: see select_hook_variant(). */
#define LOOPS		{ 2, 4, 8 }
#define CHECKS		64	/* number of operations in which hook executions are counted */
#define SECOND_NS	1000000000ULL
/* ICMP_FILTER is copied from <linux/icmp.h>, which conflicts with the headers of libc. */
#define ICMP_FILTER	1

/* The socket that sends a packet, and the socket that receives the answer. */
static int from = -1, to = -1;

static struct {
	struct icmphdr head;
	u8 data[56];
} request = { .head = { .type = ICMP_ECHO } };

static u8 message[100];

/*
 * Send a packet and receive the answer.  Exit on failure, because the results would not be valid.
 */
static void send_and_receive_packet(const void *packet, size_t size)
{
	u8 answer[256];

	if (send(from, packet, size, 0) == size && recv(to, answer, sizeof(answer), 0) > 0)
		return;
	perror("kmlive: cannot send a packet or receive the reply");
	exit(1);
}

BENCH_OPS(ping, send_and_receive_packet(&request, sizeof(request)))
BENCH_OPS(hackbench, send_and_receive_packet(message, sizeof(message)))

/* All variants measure the same function of this program; they differ in the hook in the kernel. */
static const struct bench_variant ping_variants[] = {
	BENCH_ROW("absent", ping),
	BENCH_ROW("absent-clone", ping),
	BENCH_ROW("marker-generic", ping),
	BENCH_ROW("marker-immediate", ping),
	BENCH_ROW("marker-jump", ping),
	BENCH_ROW("marker-1-probe", ping),
	BENCH_ROW("original", ping),
};

#define HACKBENCH_NOP(id, label, code, clobber)	BENCH_ROW(label, hackbench),

static const struct bench_variant hackbench_variants[] = {
	BENCH_ROW("absent", hackbench),
	BENCH_ROW("absent-clone", hackbench),
	NOPS(HACKBENCH_NOP)
	BENCH_ROW("original", hackbench),
};

static u64 read_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/*
 * Select a variant, and wait for a tick of the coarse clock, so that no tick occurs in the windows
 * of the variant.  The first packet after a tick takes longer, because the kernel adds a random
 * number to the IP ID when jiffies have changed.  So send the first packet here, untimed.
 */
static int select_hook_variant(const struct bench_group *group, unsigned int variant)
{
	int err = native_select_live_variant(LIVE_NAME, group->variants[variant].name);
	u64 tick = read_clock_ns(CLOCK_MONOTONIC_COARSE);

	if (err)
		return err;
	while (read_clock_ns(CLOCK_MONOTONIC_COARSE) == tick)
		;
	group->variants[variant].op[0](1);
	return 0;
}

static int select_ping_variant(unsigned int variant)
{
	return select_hook_variant(&native_macro_ping, variant);
}

static int select_hackbench_variant(unsigned int variant)
{
	return select_hook_variant(&native_macro_hackbench, variant);
}

/* Return how often the hook of a variant has run. */
static u64 read_hook_hits(const char *name)
{
	unsigned long long now, hits = 0;
	FILE *file = fopen(HITS, "r");
	char variant[32];

	while (file && fscanf(file, LIVE_NAME " %31s %llu ", variant, &now) == 2)
		if (!strcmp(variant, name))
			hits = now;
	if (file)
		fclose(file);
	return hits;
}

/*
 * Write the number of hook executions per operation of each variant to the file env.  Fail if the
 * hook runs in the variant "original", or if it runs less than once per operation in any other
 * variant.  The hook may run more often, because it also counts the packets of other programs.
 */
static int verify_hook_executions(const struct bench_group *group)
{
	unsigned int i;

	for (i = 0; i < group->nr_variants; i++) {
		const struct bench_variant *variant = &group->variants[i];
		bool original = !strcmp(variant->name, "original");
		int err = group->select(i);
		u64 before = read_hook_hits(variant->name), start = read_clock_ns(CLOCK_MONOTONIC);
		u64 hits, ns;

		if (err)
			return err;
		variant->op[0](CHECKS);
		ns = read_clock_ns(CLOCK_MONOTONIC) - start;
		hits = read_hook_hits(variant->name) - before;
		if (original ? hits : hits < CHECKS) {
			fprintf(stderr, "kmlive: %s, variant %s: the hook ran %llu times in %u operations\n",
				group->name, variant->name, (unsigned long long)hits, CHECKS);
			return -ENODATA;
		}
		fprintf(native_live_env, "hits:%s:%s=%llu in an operation, %llu in a second\n",
			group->name, variant->name, (unsigned long long)hits / CHECKS,
			(unsigned long long)(hits * SECOND_NS / (ns ?: 1)));
	}
	return 0;
}

/* Open a socket that is bound to the loopback address, with a receive timeout of a second. */
static int open_loopback_socket(int type, int protocol)
{
	struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct timeval second = { .tv_sec = 1 };
	int fd = socket(AF_INET, type, protocol);

	if (fd < 0)
		return fd;
	if (!bind(fd, (struct sockaddr *)&here, sizeof(here)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)))
		return fd;
	close(fd);
	return -1;
}

/* Connect socket @sender to the address of socket @receiver.  Return 0 or -1. */
static int connect_sockets(int sender, int receiver)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	return getsockname(receiver, (struct sockaddr *)&address, &size) ?:
	       connect(sender, (struct sockaddr *)&address, size);
}

/* Internet checksum, RFC 1071. */
static u16 compute_checksum(const void *data, size_t size)
{
	const u16 *words = data;
	u32 sum = 0;
	size_t i;

	for (i = 0; i < size / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void close_macro_sockets(void)
{
	if (to >= 0 && to != from)
		close(to);
	if (from >= 0)
		close(from);
	from = to = -1;
	native_select_live_variant(LIVE_NAME, "original");
}

/*
 * If @sockets_open is true, check that the hook of each variant runs.  On failure, close all
 * sockets.  Return 0; an error of the check; or, if @sockets_open is false, the error in errno.
 */
static int finish_macro_setup(const struct bench_group *group, bool sockets_open)
{
	int err = sockets_open ? verify_hook_executions(group) :
		  errno == EAFNOSUPPORT ? -ENODEV : -errno;

	if (err)
		close_macro_sockets();
	return err;
}

static int open_ping_socket(void)
{
	u32 but_replies = ~(1U << ICMP_ECHOREPLY);

	request.head.checksum = 0;
	request.head.checksum = compute_checksum(&request, sizeof(request));
	from = to = open_loopback_socket(SOCK_RAW, IPPROTO_ICMP);
	return finish_macro_setup(&native_macro_ping, from >= 0 && !connect_sockets(from, to) &&
				  !setsockopt(from, SOL_RAW, ICMP_FILTER, &but_replies,
					      sizeof(but_replies)));
}

static int open_hackbench_sockets(void)
{
	from = open_loopback_socket(SOCK_DGRAM, 0);
	to = open_loopback_socket(SOCK_DGRAM, 0);
	return finish_macro_setup(&native_macro_hackbench,
				  from >= 0 && to >= 0 && !connect_sockets(from, to));
}

const struct bench_group native_macro_ping = {
	.name = "macro-ping",
	.variants = ping_variants,
	.nr_variants = ARRAY_SIZE(ping_variants),
	.loops = LOOPS,
	.lacks = "the kernel has no IPv4 or no netfilter",
	.setup = open_ping_socket,
	.teardown = close_macro_sockets,
	.select = select_ping_variant,
};

const struct bench_group native_macro_hackbench = {
	.name = "macro-hackbench",
	.variants = hackbench_variants,
	.nr_variants = ARRAY_SIZE(hackbench_variants),
	.loops = LOOPS,
	.lacks = "the kernel has no IPv4 or no netfilter",
	.setup = open_hackbench_sockets,
	.teardown = close_macro_sockets,
	.select = select_hackbench_variant,
};
