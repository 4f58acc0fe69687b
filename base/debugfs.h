/* SPDX-License-Identifier: GPL-2.0-only */
/* Create and remove the directory kmarkers/ in debugfs. */
#ifndef BASE_DEBUGFS_H
#define BASE_DEBUGFS_H

#include <linux/init.h>

void __init kmarkers_debugfs_init(void);
void kmarkers_debugfs_exit(void);

#endif /* BASE_DEBUGFS_H */
