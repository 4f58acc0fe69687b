/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A peer: a probe mechanism of another tracer, which is compared with markers.  Each peer is a
 * shared object, peer-NAME.so, which is built if its package is installed.  The text of kmbench is
 * moved, but the text of a peer stays mapped from its file, where the other tracer expects it.
 */
#ifndef NATIVE_PEERS_PEER_H
#define NATIVE_PEERS_PEER_H

#include <kmarkers/bench.h>

/**
 * struct bench_peer - the variants of a peer; the shared object defines bench_peer
 * @off: variant with a probe that is never enabled
 * @on: variant with a second probe, which @switch_on enables
 * @switch_on: enables the probe of @on; returns NULL, or the reason for a failure
 * @switch_off: disables the probe of @on; NULL if @switch_on must not be called
 */
struct bench_peer {
	struct bench_variant off;
	struct bench_variant on;
	const char *(*switch_on)(void);
	void (*switch_off)(void);
};

extern const struct bench_peer bench_peer;

#endif /* NATIVE_PEERS_PEER_H */
