/* SPDX-License-Identifier: GPL-2.0-only */
/* Check the compiler's target, dialect and options: if one is unsuitable, print a single error. */
#ifndef KMARKERS_DIALECT_H
#define KMARKERS_DIALECT_H

#ifndef __KERNEL__
#ifdef __cplusplus
#error "the headers of kmarkers are C, not C++: include them only in C files"
#elif !defined(__x86_64__) || !defined(__LP64__)
#error "programs with kmarkers must be compiled for x86-64, with pointers of 64 bits"
#elif defined(__STRICT_ANSI__) && !defined(SDT_NOTES_ONLY)
#error "kmarkers needs a GNU dialect, such as -std=gnu11; with SDT_NOTES_ONLY, C99 or later is enough"
#elif !defined(__OPTIMIZE__) && !defined(SDT_NOTES_ONLY)
#error "kmarkers needs optimisation, -Og or more: without it, addresses in sites are not constants"
#endif
#endif

/*
 * Disable clang's -Wpedantic warnings about extensions in the macros of kmarkers.  In clang,
 * #pragma GCC system_header disables only warnings about the macros of the header that contains the
 * pragma; in gcc, it also disables warnings about the macros of all headers that this header
 * includes.
 */
#if defined(__clang__) && !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#pragma clang diagnostic ignored "-Wc11-extensions"
#pragma clang diagnostic ignored "-Wc23-extensions"
#pragma clang diagnostic ignored "-Wlanguage-extension-token"
#pragma clang diagnostic ignored "-Wgnu-statement-expression"
#endif

#endif /* KMARKERS_DIALECT_H */
