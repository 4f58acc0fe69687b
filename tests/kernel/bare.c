// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that registers a marker probe, but has no markers or immediate values, and so no tables
 * of kmarkers.  Loading the module must succeed.
 */
#include <linux/module.h>

int marker_probe_register(const char *name, const char *format,
			  void (*probe)(void *private, void *call_private, const char *fmt,
					va_list *args), void *probe_private);
int marker_probe_unregister(const char *name,
			    void (*probe)(void *private, void *call_private, const char *fmt,
					  va_list *args), void *probe_private);
void marker_synchronize_unregister(void);

static void empty_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
}

static int __init bare_init(void)
{
	return marker_probe_register("bare", NULL, empty_probe, NULL);
}

static void __exit bare_exit(void)
{
	marker_probe_unregister("bare", empty_probe, NULL);
	marker_synchronize_unregister();
}

module_init(bare_init);
module_exit(bare_exit);

MODULE_DESCRIPTION("A marker probe in a module without markers");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
