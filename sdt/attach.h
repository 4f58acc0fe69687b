/* SPDX-License-Identifier: GPL-2.0-only */
/* Attach handlers to the sites that match a pattern, including sites of modules loaded later. */
#ifndef SDT_ATTACH_H
#define SDT_ATTACH_H

#include <linux/types.h>

#include <kmarkers/sdt.h>

struct module;
struct sdt_pattern;
struct sdt_table;
struct seq_file;

int sdt_attach_event_handler(const char *pattern, const char *event, const char *format,
			     sdt_handler *handler, void *private);
unsigned int sdt_count_matching_sites(const struct sdt_pattern *pattern, unsigned int max_sites);
int sdt_show_attachments(struct seq_file *m, bool (*is_counter)(sdt_handler *handler));
int sdt_attach_handlers_to_table(struct sdt_table *table);
void sdt_detach_handlers_from_table(struct sdt_table *table);
void sdt_detach_handlers_if(bool (*must_detach)(void *data, const char *pattern,
						unsigned long handler), void *data);

#endif /* SDT_ATTACH_H */
