/* SPDX-License-Identifier: GPL-2.0-only */
/* Connecting probes to the names of markers. */
#ifndef MARKERS_CONNECT_H
#define MARKERS_CONNECT_H

#include <kmarkers/marker.h>

struct marker_entry;
struct probe_array;

/**
 * struct marker_link - a probe, and the name of the markers that call it
 * @name: name of the markers, as in marker_probe_register()
 * @func: the probe
 * @private: private data of the probe
 * @format: the format that the probe expects, or NULL for any
 * @entry: registry entry of @name; this and the fields below are private to connect.c
 * @array: new array of probes to publish, if the name had no probes
 * @joined: true if the probe was added to a name that had probes
 * @err: 0, or the error of this link; set by marker_disconnect_probes()
 * @switches: true if the sites of the name must be switched, because the probe is the first probe
 *	of the name, or was the last probe
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

int marker_connect_probe(struct marker_entry *entry, const char *format, marker_probe_func *func,
			 void *private);
int marker_disconnect_probe(struct marker_entry *entry, marker_probe_func *func, void *private);
int marker_connect_probes(struct marker_link *links, unsigned int nr);
void marker_disconnect_probes(struct marker_link *links, unsigned int nr);

#endif /* MARKERS_CONNECT_H */
