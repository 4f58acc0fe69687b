/* SPDX-License-Identifier: GPL-2.0-only */
/* What the program does with its own text besides patcher/text.h. */
#ifndef NATIVE_TEXT_H
#define NATIVE_TEXT_H

/* Move the text into shared memory of this process; 0 or an error. */
int native_text_start(void);

/* A child gets its own copy: what fork() does for that, and what comes after it. */
void native_text_before_fork(void);
void native_text_after_fork_parent(void);
void native_text_after_fork_child(void);

#endif /* NATIVE_TEXT_H */
