/* SPDX-License-Identifier: GPL-2.0-only */
/* The debugfs files of SDT probes, and the module parameter "control", which runs commands. */
#ifndef SDT_FILES_H
#define SDT_FILES_H

void sdt_files_init(void);
void sdt_files_exit(void);

#endif /* SDT_FILES_H */
