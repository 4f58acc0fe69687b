/* SPDX-License-Identifier: GPL-2.0-only */
/* The directory that a run is written to.  What fails is said on stderr. */
#ifndef NATIVE_OUTPUT_H
#define NATIVE_OUTPUT_H

#include <stdio.h>

/* Make it, unless it is there and holds no run; 0 or -EIO. */
int native_output_open(const char *dir);

/* A file in it; NULL if it cannot be made. */
FILE *native_output_create(const char *dir, const char *name, const char *suffix);

/* Was everything written?  0 or -EIO, also for what failed long ago. */
int native_output_check(FILE *file, const char *name);

/* The same, and close it. */
int native_output_close(FILE *file, const char *name);

#endif /* NATIVE_OUTPUT_H */
