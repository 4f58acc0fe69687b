/* SPDX-License-Identifier: GPL-2.0-only */
/* The version that modinfo(8) shows for every module of ours. */
#ifndef KMARKERS_VERSION_H
#define KMARKERS_VERSION_H

#define KMARKERS_VERSION	"1.0~dev"

#endif /* KMARKERS_VERSION_H */
