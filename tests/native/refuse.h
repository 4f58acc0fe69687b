/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NATIVE_REFUSE_H
#define TESTS_NATIVE_REFUSE_H

/* Make system call @number of the calling thread fail with @error.  Return 0, or -1 on failure. */
int refuse_syscall(int number, int error);

/*
 * Make system call @number fail if its argument number @argument, counted from 0, has the bit
 * @flag.
 */
int refuse_syscall_with_flag(int number, int argument, int flag, int error);

#endif /* TESTS_NATIVE_REFUSE_H */
