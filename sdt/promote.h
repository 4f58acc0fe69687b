/* SPDX-License-Identifier: GPL-2.0-only */
/* Promotion of sites that are armed by a breakpoint to jumps. */
#ifndef SDT_PROMOTE_H
#define SDT_PROMOTE_H

int sdt_promote_hot(unsigned int most);

#endif /* SDT_PROMOTE_H */
