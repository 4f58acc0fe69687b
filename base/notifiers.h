/* SPDX-License-Identifier: GPL-2.0-only */
/* Register two module notifiers: one that runs before and one that runs after other notifiers. */
#ifndef BASE_NOTIFIERS_H
#define BASE_NOTIFIERS_H

#include <linux/module.h>
#include <linux/notifier.h>

/* Register both notifiers.  Return 0; or an error, after which neither is registered. */
static inline int kmarkers_register_notifiers(struct notifier_block *early,
					      struct notifier_block *late)
{
	int err = register_module_notifier(early);

	if (err)
		return err;
	err = register_module_notifier(late);
	if (err)
		unregister_module_notifier(early);
	return err;
}

static inline void kmarkers_unregister_notifiers(struct notifier_block *early,
						 struct notifier_block *late)
{
	unregister_module_notifier(late);
	unregister_module_notifier(early);
}

#endif /* BASE_NOTIFIERS_H */
