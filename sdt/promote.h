/* SPDX-License-Identifier: GPL-2.0-only */
/* Sites that are armed by a breakpoint, promoted to jumps. */
#ifndef SDT_PROMOTE_H
#define SDT_PROMOTE_H

int sdt_promote_hot(unsigned int most);

#endif /* SDT_PROMOTE_H */
