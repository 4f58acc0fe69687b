/* SPDX-License-Identifier: GPL-2.0-only */
/* Move the program's own text into shared memory.  patcher/text.h declares the other functions. */
#ifndef NATIVE_TEXT_H
#define NATIVE_TEXT_H

/* Move the text into shared memory of this process.  Return 0 or an error. */
int native_move_text_to_shared_memory(void);

/* Handlers of fork(), which give the child its own copy of the text. */
void native_text_copy_for_fork(void);
void native_text_drop_fork_copy(void);
void native_text_map_fork_copy(void);

#endif /* NATIVE_TEXT_H */
