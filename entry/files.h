/* SPDX-License-Identifier: GPL-2.0-only */
/* The debugfs files in entry/, and the module parameter "control". */
#ifndef ENTRY_FILES_H
#define ENTRY_FILES_H

void entry_files_init(void);
void entry_files_exit(void);

#endif /* ENTRY_FILES_H */
