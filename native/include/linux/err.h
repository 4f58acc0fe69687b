/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_ERR_H
#define NATIVE_ERR_H
#define ERR_PTR(error)	((void *)(long)(error))
#define PTR_ERR(ptr)	((long)(ptr))
#define IS_ERR(ptr)	((unsigned long)(ptr) >= -4095UL)
#endif
