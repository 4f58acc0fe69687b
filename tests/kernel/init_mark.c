// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with markers in init text, one of them in a function that the compiler inlines into init
 * text.  trace_mark() makes a patch site, so loading the module must fail.  _trace_mark() makes no
 * patch site.
 */
#include <linux/module.h>

#include <kmarkers/marker.h>

static __always_inline void set_up(int mode)
{
	trace_mark(test_inlined_into_init, "mode %d", mode);
}

static int __init init_mark_init(void)
{
	trace_mark(test_in_init, "nothing");
	_trace_mark(test_allowed_in_init, "nothing");
	set_up(3);
	return 0;
}
module_init(init_mark_init);

MODULE_DESCRIPTION("Must not load: init text has markers");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
