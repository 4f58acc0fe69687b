/* SPDX-License-Identifier: GPL-2.0-only */
/* Files in debugfs, and the module parameter "control". */
#ifndef SDT_FILES_H
#define SDT_FILES_H

void sdt_files_init(void);
void sdt_files_exit(void);

#endif /* SDT_FILES_H */
