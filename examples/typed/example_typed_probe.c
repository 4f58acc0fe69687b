// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with a probe for the typed marker of example_typed. The compiler rejects a probe whose
 * parameters are not the parameters of the marker.
 */
#include <linux/module.h>

#include "example_typed.h"

static unsigned long bytes;
module_param(bytes, ulong, 0444);
MODULE_PARM_DESC(bytes, "sum of the sizes of all requests, in bytes");

static void probe(void *private, u64 sector, u32 request_bytes)
{
	/* Only one work item hits this marker, so the addition need not be atomic. */
	WRITE_ONCE(bytes, bytes + request_bytes);
}

static int __init example_typed_probe_init(void)
{
	return marker_register_example_request(probe, NULL);
}

static void __exit example_typed_probe_exit(void)
{
	marker_unregister_example_request(probe, NULL);
	marker_synchronize_unregister();
}

module_init(example_typed_probe_init);
module_exit(example_typed_probe_exit);

MODULE_DESCRIPTION("Example: a probe for a typed marker");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
