/* SPDX-License-Identifier: GPL-2.0-only */
/* The debugfs file sdt/notes: how to probe each SDT note with kprobe_events, perf and bpftrace. */
#ifndef SDT_DEFINITIONS_H
#define SDT_DEFINITIONS_H

#include <linux/fs.h>

extern const struct file_operations sdt_notes_fops;

#endif /* SDT_DEFINITIONS_H */
