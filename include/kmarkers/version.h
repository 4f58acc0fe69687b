/* SPDX-License-Identifier: GPL-2.0-only */
/* Version of all kmarkers modules, which modinfo(8) shows. */
#ifndef KMARKERS_VERSION_H
#define KMARKERS_VERSION_H

#define KMARKERS_VERSION	"1.0~dev"

#endif /* KMARKERS_VERSION_H */
