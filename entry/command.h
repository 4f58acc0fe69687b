/* SPDX-License-Identifier: GPL-2.0-only */
/* Parser of the commands written to the file entry/control. */
#ifndef ENTRY_COMMAND_H
#define ENTRY_COMMAND_H

int entry_run_command(char *line);

#endif /* ENTRY_COMMAND_H */
