// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that does not unregister its marker probes before it is unloaded: one typed probe, one
 * with a va_list, and one with the prototype of 2006.
 */
#include <linux/module.h>

#include "../../examples/typed/example_typed.h"

static unsigned long typed, classic, of_2006;
module_param(typed, ulong, 0444);
module_param(classic, ulong, 0444);
module_param(of_2006, ulong, 0444);

static void leaver_typed_probe(void *private, u64 sector, u32 bytes)
{
	typed++;
}

static void leaver_va_list_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	classic++;
}

static void leaver_variadic_probe(const char *fmt, ...)
{
	of_2006++;
}

/*
 * If false, only the typed probe is registered, and the stub of the marker calls the typed probe
 * directly.
 */
static bool all = true;
module_param(all, bool, 0444);

static int __init leaver_init(void)
{
	int err = marker_register_example_request(leaver_typed_probe, NULL);

	if (err || !all)
		return err;
	err = marker_probe_register("example_request", NULL, leaver_va_list_probe, NULL);
	if (err)
		return err;
	return marker_set_probe("example_request", NULL, leaver_variadic_probe) == 1 ? 0 : -EINVAL;
}

static void __exit leaver_exit(void)
{
}

module_init(leaver_init);
module_exit(leaver_exit);

MODULE_DESCRIPTION("A test module that does not unregister its marker probes");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
