/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A peer: another way to mark a place in a program, compared with markers.
 * Each peer is a shared object, peer-NAME.so, built if its package is installed.
 * Its text stays mapped from its file, where its own tracer expects it.
 */
#ifndef NATIVE_PEERS_PEER_H
#define NATIVE_PEERS_PEER_H

#include <kmarkers/bench.h>

/**
 * struct bench_peer - the variants of a peer; the shared object defines bench_peer
 * @off: a probe that no tracer listens to
 * @on: a probe of another name, that a tracer listens to
 * @switch_on: makes a tracer listen to @on; returns NULL, or the reason why it cannot
 * @switch_off: undoes @switch_on; a peer without it is not switched on
 */
struct bench_peer {
	struct bench_variant off;
	struct bench_variant on;
	const char *(*switch_on)(void);
	void (*switch_off)(void);
};

extern const struct bench_peer bench_peer;

#endif /* NATIVE_PEERS_PEER_H */
