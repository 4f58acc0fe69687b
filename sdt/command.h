/* SPDX-License-Identifier: GPL-2.0-only */
/* Parser of the commands written to the file sdt/control. */
#ifndef SDT_COMMAND_H
#define SDT_COMMAND_H

int sdt_run_command(char *line);

#endif /* SDT_COMMAND_H */
