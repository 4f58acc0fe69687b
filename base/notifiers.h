/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of the two module notifiers of a module, which run before and after others. */
#ifndef BASE_NOTIFIERS_H
#define BASE_NOTIFIERS_H

#include <linux/module.h>
#include <linux/notifier.h>

/* Register both notifiers, or none and return an error. */
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
