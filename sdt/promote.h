/* SPDX-License-Identifier: GPL-2.0-only */
/* Promotion of sites: replacement of the breakpoint that arms a site by a jump. */
#ifndef SDT_PROMOTE_H
#define SDT_PROMOTE_H

int sdt_promote_hot_sites(unsigned int limit);

#endif /* SDT_PROMOTE_H */
