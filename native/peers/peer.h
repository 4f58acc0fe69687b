/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A peer: another way to mark a place in a program, measured beside markers.
 * Each is a shared object, peer-NAME.so, built where its package is installed:
 * its text stays in its file, where its own tracer finds it.
 */
#ifndef NATIVE_PEERS_PEER_H
#define NATIVE_PEERS_PEER_H

#include "../../bench_modules/bench.h"

/**
 * struct bench_peer - what the shared object defines under the name bench_peer
 * @off: a probe that nobody listens to
 * @on: one of another name, that somebody does
 * @switch_on: lets somebody listen to @on; returns NULL, or why that cannot be
 * @switch_off: undoes it
 */
struct bench_peer {
	struct bench_variant off;
	struct bench_variant on;
	const char *(*switch_on)(void);
	void (*switch_off)(void);
};

extern const struct bench_peer bench_peer;

#endif /* NATIVE_PEERS_PEER_H */
