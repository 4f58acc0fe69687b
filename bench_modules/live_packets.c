// SPDX-License-Identifier: GPL-2.0-only
/*
 * Netfilter hooks on the IPv4 packets that this machine sends and receives.  Every hook counts the
 * packets and accepts them all.  In addition, the hook of a variant contains a dormant marker, a
 * marker with a probe, or a nop.  The hooks of the variants "absent" and "absent-clone" contain
 * nothing else.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/marker.h>

#include "live.h"
#include "nops.h"

#define PACKET(flavour, name)						\
	trace_mark_flavour(flavour, name, NULL, "length %u", skb->len)

#define NOP_VARIANT(id, label, code, clobber)				\
	X(id, label, asm volatile(code : : : clobber))
/* VARIANTS expands X(id, name, site) for each variant except "original", which has no hook. */
#define VARIANTS							\
	X(absent, "absent", (void)0)					\
	X(absent_clone, "absent-clone", (void)0)			\
	X(generic, "marker-generic", PACKET(generic, bench_packet))	\
	X(immediate, "marker-immediate", PACKET(immediate, bench_packet))	\
	X(jump, "marker-jump", PACKET(jump, bench_packet))		\
	X(probed, "marker-1-probe", PACKET(jump, bench_packet_probed))	\
	NOPS(NOP_VARIANT)

static const char *const packet_variants[] = {
	"original",
#define X(id, label, site)	label,
	VARIANTS
#undef X
};

#ifdef CONFIG_NETFILTER
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>

enum {
	VARIANT_original,
#define X(id, label, site)	VARIANT_##id,
	VARIANTS
#undef X
	NR_VARIANTS
};

static DEFINE_PER_CPU(unsigned long [NR_VARIANTS], packets);

#define X(id, label, site)						\
static unsigned int hook_##id(void *unused, struct sk_buff *skb,	\
			      const struct nf_hook_state *state)	\
{									\
	site;								\
	this_cpu_inc(packets[VARIANT_##id]);				\
	return NF_ACCEPT;						\
}
VARIANTS
#undef X

static nf_hookfn *const hooks[] = {
	NULL,
#define X(id, label, site)	hook_##id,
	VARIANTS
#undef X
};

static struct nf_hook_ops paths[] = {
	{ .pf = NFPROTO_IPV4, .hooknum = NF_INET_LOCAL_OUT, .priority = NF_IP_PRI_LAST },
	{ .pf = NFPROTO_IPV4, .hooknum = NF_INET_LOCAL_IN, .priority = NF_IP_PRI_LAST },
};

static void empty_packet_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
}

static int connect_packet_probe(unsigned int variant)
{
	if (variant != VARIANT_probed)
		return 0;
	return marker_probe_register("bench_packet_probed", NULL, empty_packet_probe, NULL);
}

static void disconnect_packet_probe(unsigned int variant)
{
	if (variant != VARIANT_probed)
		return;
	marker_probe_unregister("bench_packet_probed", empty_packet_probe, NULL);
	marker_synchronize_unregister();
}

static int install_packet_hooks(unsigned int variant)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(paths); i++)
		paths[i].hook = hooks[variant];
	err = connect_packet_probe(variant);
	if (err)
		return err;
	err = nf_register_net_hooks(&init_net, paths, ARRAY_SIZE(paths));
	if (err)
		disconnect_packet_probe(variant);
	return err;
}

static int remove_packet_hooks(unsigned int variant)
{
	nf_unregister_net_hooks(&init_net, paths, ARRAY_SIZE(paths));
	disconnect_packet_probe(variant);
	return 0;
}

static u64 count_hook_executions(unsigned int variant)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(packets, cpu)[variant];
	return sum;
}
#else
static int install_packet_hooks(unsigned int variant)
{
	return -ENODEV;
}

static int remove_packet_hooks(unsigned int variant)
{
	return 0;
}

#define count_hook_executions NULL
#endif

struct bench_live bench_live_packets = {
	.name = "packets-live",
	.variants = packet_variants,
	.nr_variants = ARRAY_SIZE(packet_variants),
	.begin = install_packet_hooks,
	.end = remove_packet_hooks,
	.hits = count_hook_executions,
};
