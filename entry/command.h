/* SPDX-License-Identifier: GPL-2.0-only */
/* What root may write to control. */
#ifndef ENTRY_COMMAND_H
#define ENTRY_COMMAND_H

int entry_command_run(char *line);

#endif /* ENTRY_COMMAND_H */
