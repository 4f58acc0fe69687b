/* SPDX-License-Identifier: GPL-2.0-only */
/* What modinfo(8) says of every module of ours. */
#ifndef KMARKERS_VERSION_H
#define KMARKERS_VERSION_H

#define KMARKERS_VERSION	"1.0"

#endif /* KMARKERS_VERSION_H */
