/* SPDX-License-Identifier: GPL-2.0-only */
/* The version of the tables of <kmarkers/table.h>.  This header includes no other. */
#ifndef KMARKERS_TABLE_VERSION_H
#define KMARKERS_TABLE_VERSION_H

/*
 * Version of the tables, and of the structs that the records point to.
 * Differences of the earlier versions:
 * 1: heads were placed before their records, and found by a local symbol.
 * 2: struct marker_tp had no member node.
 * 3: struct marker_typed had no member raw.
 * 4: sites of SDT probes had no struct sdt_origin and no struct sdt_target.
 */
#define KMARKERS_TABLE_VERSION	5

#endif /* KMARKERS_TABLE_VERSION_H */
