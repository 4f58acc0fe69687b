// SPDX-License-Identifier: GPL-2.0-only
/*
 * The most frequent operations of the benchmarks of 2006 and 2008, with this machine as peer: an
 * echo request and its reply, as in a flood of pings; and a message of a hundred bytes from
 * one socket to another, as in hackbench.  Each packet meets the hook of
 * bench_modules/live_packets.c, whose variants are switched.
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

#define PLACE		"packets-live"
#define HITS		"/sys/kernel/debug/kmarkers/bench/hits"
/* Numbers of passes, so small that all windows of a variant end before the next clock tick. */
#define LOOPS		{ 2, 4, 8 }
#define PROOF		64
#define SECOND_NS	1000000000ULL
/* From <linux/icmp.h>, which conflicts with the headers of libc. */
#define ICMP_FILTER	1

/* Socket that sends a packet, socket that receives the answer, and the packets. */
static int from = -1, to = -1;

static struct {
	struct icmphdr head;
	u8 data[56];
} request = { .head = { .type = ICMP_ECHO } };

static u8 message[100];

/* A failed exchange invalidates the whole measurement. */
static void exchange(const void *packet, size_t size)
{
	u8 answer[256];

	if (send(from, packet, size, 0) == size && recv(to, answer, sizeof(answer), 0) > 0)
		return;
	perror("kmlive: a packet did not come back");
	exit(1);
}

BENCH_OPS(ping, exchange(&request, sizeof(request)))
BENCH_OPS(hackbench, exchange(message, sizeof(message)))

/* All variants time the same code of this program; the kernel's code differs. */
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

static u64 now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/*
 * Select a variant, and begin when the clock has just ticked, so that no tick falls into its
 * windows.  The first exchange after a tick takes longer, since the kernel chooses an identifier
 * by the time.
 */
static int select_variant(const struct bench_group *group, unsigned int variant)
{
	int err = native_live_select(PLACE, group->variants[variant].name);
	u64 tick = now_ns(CLOCK_MONOTONIC_COARSE);

	if (err)
		return err;
	while (now_ns(CLOCK_MONOTONIC_COARSE) == tick)
		;
	group->variants[variant].op[0](1);
	return 0;
}

static int select_ping(unsigned int variant)
{
	return select_variant(&native_macro_ping, variant);
}

static int select_hackbench(unsigned int variant)
{
	return select_variant(&native_macro_hackbench, variant);
}

/* Return how often the hook of a variant has run so far. */
static u64 read_hits(const char *name)
{
	unsigned long long now, hits = 0;
	FILE *file = fopen(HITS, "r");
	char variant[32];

	while (file && fscanf(file, PLACE " %31s %llu ", variant, &now) == 2)
		if (!strcmp(variant, name))
			hits = now;
	if (file)
		fclose(file);
	return hits;
}

/*
 * Print how often each variant's code runs, and refuse to measure a variant whose code does not run
 * in each operation.  Packets of other programs count, too.
 */
static int prove(const struct bench_group *group)
{
	unsigned int i;

	for (i = 0; i < group->nr_variants; i++) {
		const struct bench_variant *variant = &group->variants[i];
		bool original = !strcmp(variant->name, "original");
		int err = group->select(i);
		u64 before = read_hits(variant->name), start = now_ns(CLOCK_MONOTONIC), hits, ns;

		if (err)
			return err;
		variant->op[0](PROOF);
		ns = now_ns(CLOCK_MONOTONIC) - start;
		hits = read_hits(variant->name) - before;
		if (original ? hits : hits < PROOF) {
			fprintf(stderr, "kmlive: %s/%s: %llu hits in %u operations\n", group->name,
				variant->name, (unsigned long long)hits, PROOF);
			return -ENODATA;
		}
		fprintf(native_live_env, "hits:%s:%s=%llu in an operation, %llu in a second\n",
			group->name, variant->name, (unsigned long long)hits / PROOF,
			(unsigned long long)(hits * SECOND_NS / (ns ?: 1)));
	}
	return 0;
}

/* Open a socket of this machine's address, with a receive time-out. */
static int open_socket(int type, int protocol)
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

/* Connect a socket to the address of another one. */
static int link_to(int sender, int receiver)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	return getsockname(receiver, (struct sockaddr *)&address, &size) ?:
	       connect(sender, (struct sockaddr *)&address, size);
}

/* Internet checksum, RFC 1071. */
static u16 checksum(const void *data, size_t size)
{
	const u16 *words = data;
	u32 sum = 0;
	size_t i;

	for (i = 0; i < size / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void teardown(void)
{
	if (to >= 0 && to != from)
		close(to);
	if (from >= 0)
		close(from);
	from = to = -1;
	native_live_select(PLACE, "original");
}

static int set_up(const struct bench_group *group, bool open)
{
	int err = open ? prove(group) : errno == EAFNOSUPPORT ? -ENODEV : -errno;

	if (err)
		teardown();
	return err;
}

static int setup_ping(void)
{
	u32 but_replies = ~(1U << ICMP_ECHOREPLY);

	request.head.checksum = 0;
	request.head.checksum = checksum(&request, sizeof(request));
	from = to = open_socket(SOCK_RAW, IPPROTO_ICMP);
	return set_up(&native_macro_ping, from >= 0 && !link_to(from, to) &&
		      !setsockopt(from, SOL_RAW, ICMP_FILTER, &but_replies, sizeof(but_replies)));
}

static int setup_hackbench(void)
{
	from = open_socket(SOCK_DGRAM, 0);
	to = open_socket(SOCK_DGRAM, 0);
	return set_up(&native_macro_hackbench, from >= 0 && to >= 0 && !link_to(from, to));
}

const struct bench_group native_macro_ping = {
	.name = "macro-ping",
	.variants = ping_variants,
	.nr_variants = ARRAY_SIZE(ping_variants),
	.loops = LOOPS,
	.lacks = "it has no IPv4, or no netfilter",
	.setup = setup_ping,
	.teardown = teardown,
	.select = select_ping,
};

const struct bench_group native_macro_hackbench = {
	.name = "macro-hackbench",
	.variants = hackbench_variants,
	.nr_variants = ARRAY_SIZE(hackbench_variants),
	.loops = LOOPS,
	.lacks = "it has no IPv4, or no netfilter",
	.setup = setup_hackbench,
	.teardown = teardown,
	.select = select_hackbench,
};
