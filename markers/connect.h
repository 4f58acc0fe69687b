/* SPDX-License-Identifier: GPL-2.0-only */
/* Connecting probes to names. */
#ifndef MARKERS_CONNECT_H
#define MARKERS_CONNECT_H

#include <kmarkers/marker.h>

struct marker_entry;
struct probe_array;

/**
 * struct marker_link - a probe and the name to connect it to, or to disconnect it from
 * @name: name of the markers, as in marker_probe_register()
 * @func: the probe
 * @private: its private data
 * @format: the format that the probe expects, or NULL for any
 * @entry: the entry of @name; this and the fields below are private to connect.c
 * @array: new array of probes to publish, if the name had no probes
 * @joined: true if the probe was added to a name that had probes
 * @err: 0, or the error of this link; set by marker_disconnect_many()
 * @switches: true if the probe is the first of its name or was the last: the sites of the name must
 *	then be switched
 */
struct marker_link {
	const char *name;
	marker_probe_func *func;
	void *private;
	const char *format;
	struct marker_entry *entry;
	struct probe_array *array;
	bool joined;
	int err;
	bool switches;
};

int marker_connect(struct marker_entry *entry, const char *format, marker_probe_func *func,
		   void *private);
int marker_disconnect(struct marker_entry *entry, marker_probe_func *func, void *private);
int marker_connect_many(struct marker_link *links, unsigned int nr);
void marker_disconnect_many(struct marker_link *links, unsigned int nr);

#endif /* MARKERS_CONNECT_H */
