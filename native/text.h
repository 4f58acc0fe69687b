/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of kmarkers_start() that make the program's text patchable. */
#ifndef NATIVE_TEXT_H
#define NATIVE_TEXT_H

#include <stdbool.h>

/* Move the text into shared memory of this process. */
int text_start(void);
void text_before_fork(void);
void text_after_fork_parent(void);
void text_after_fork_child(void);
/* Every other thread executes a serialising instruction; 0, or -1 if that is not allowed. */
int native_sync_threads(void);
/* Handle SIGTRAP. */
int trap_start(void);
/* Is it still handled by us? */
bool trap_is_ours(void);
/* Keep fork() and batches apart, and give a child its own text. */
int fork_start(void);

/* Says on stderr what this machine lacks; returns @err. */
int start_failed(const char *what, int err);

#endif /* NATIVE_TEXT_H */
