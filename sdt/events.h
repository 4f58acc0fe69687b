/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events of SDT probes; in the kernel only. */
#ifndef SDT_EVENTS_H
#define SDT_EVENTS_H

#include <linux/errno.h>
#include <linux/types.h>

struct seq_file;

#ifdef __KERNEL__
int sdt_add_or_remove_events(const char *pattern, bool on);
int sdt_show_event_requests(struct seq_file *m);
void sdt_events_exit(void);
#else
static inline int sdt_add_or_remove_events(const char *pattern, bool on)
{
	return on ? -ENODEV : -ENOENT;
}
#endif

#endif /* SDT_EVENTS_H */
