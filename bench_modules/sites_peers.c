// SPDX-License-Identifier: GPL-2.0-only
/*
 * Methods by which the kernel switches code: static keys, and stores under stop_machine(), which
 * need no breakpoints.  A module cannot safely write code under stop_machine(), because NMIs still
 * occur on the other CPUs.  So under stop_machine(), the benchmark compares the old bytes of each
 * site with bytes in a buffer, and stores the new bytes in the buffer.
 */
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/stop_machine.h>
#include <linux/stringify.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>
#include <kmarkers/version.h>

#include "sites.h"
#include "sites_peers.h"

/*
 * The keys in shared_keys[] have 1, 10, 100, 1000 and 10000 sites.  Each key in own_keys[] has one
 * site.  own_keys[] begins with 1 key, which is used to switch 1 site.  10 keys follow, which are
 * used to switch 10 sites; then 100, 1000 and 10000 keys.  So each key is used for only one number
 * of sites.
 */
#define OWN_KEYS	11111

static struct static_key shared_keys[5] __used;
static struct static_key own_keys[OWN_KEYS] __used;

/* A site of the static key @key, as arch_static_branch() emits it. */
#define KEY_SITE(key)							\
	"1:	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"			\
	".pushsection __jump_table, \"aw\"\n"				\
	"	.balign 8\n"						\
	"	.long 1b - ., sites_keys_end - .\n"			\
	"	.quad " key " - .\n"					\
	".popsection\n"

#define SHARED_SITES(nr, index)						\
	".rept " #nr "\n"						\
	KEY_SITE("shared_keys + " #index " * %c0")			\
	".endr\n"

/* The code of the static keys' sites.  This function is never called. */
static noinline __used notrace void contain_static_key_sites(void)
{
	asm volatile("sites_shared_keys:\n"
		     SHARED_SITES(1, 0)
		     SHARED_SITES(10, 1)
		     SHARED_SITES(100, 2)
		     SHARED_SITES(1000, 3)
		     SHARED_SITES(10000, 4)
		     ".if . - sites_shared_keys - 5 * " __stringify(OWN_KEYS) "\n"
		     ".error \"shared_keys[] has another number of sites than own_keys[]\"\n"
		     ".endif\n"
		     ".set sites_key, 0\n"
		     ".rept " __stringify(OWN_KEYS) "\n"
		     KEY_SITE("own_keys + sites_key")
		     ".set sites_key, sites_key + %c0\n"
		     ".endr\n"
		     "sites_keys_end:"
		     : : "i" (sizeof(struct static_key)));
}

static void switch_static_key(struct static_key *key, bool on)
{
	if (on)
		static_key_enable(key);
	else
		static_key_disable(key);
}

static int switch_shared_key(u32 nr, bool on)
{
	u32 sites = 1;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shared_keys); i++, sites *= 10) {
		if (sites != nr)
			continue;
		switch_static_key(&shared_keys[i], on);
		return 0;
	}
	return -EINVAL;
}

static int switch_one_key_per_site(u32 nr, bool on)
{
	u32 first = (nr - 1) / 9;	/* index in own_keys[]: 0, 1, 11, 111 or 1111 */
	u32 i;

	if (nr > SITES_KEYS)
		return -EINVAL;
	for (i = first; i < first + nr; i++)
		switch_static_key(&own_keys[i], on);
	return 0;
}

static int compare_and_store_batch(void *data)
{
	const struct sites_stores *stores = data;
	struct patcher_poke *pokes = stores->pokes;
	u32 i;

	for (i = 0; i < stores->nr; i++)
		if (memcmp(pokes[i].alias, pokes[i].old, pokes[i].len))
			return -EILSEQ;
	store_batch_without_sync(stores);
	return 0;
}

int bench_store_under_stop_machine(struct sites_stores *stores)
{
	return stop_machine(compare_and_store_batch, stores, NULL);
}

int bench_store_batch_to_mapping(struct sites_stores *stores)
{
	return -EINVAL;
}

int bench_switch_sites_without_patcher(enum sites_method method, u32 nr, bool on)
{
	switch (method) {
	case SITES_KEY_ONE:
		return switch_shared_key(nr, on);
	case SITES_KEYS_MANY:
		return switch_one_key_per_site(nr, on);
	default:
		return -EINVAL;
	}
}

void bench_switch_off_static_keys(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shared_keys); i++)
		static_key_disable(&shared_keys[i]);
	for (i = 0; i < OWN_KEYS; i++)
		static_key_disable(&own_keys[i]);
}

MODULE_DESCRIPTION("Patch sites for benchmarks that switch many sites");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
