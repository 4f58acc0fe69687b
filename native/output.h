/* SPDX-License-Identifier: GPL-2.0-only */
/* The directory that a run is written to.  Errors are printed on stderr. */
#ifndef NATIVE_OUTPUT_H
#define NATIVE_OUTPUT_H

#include <stdio.h>

/* Make the directory, unless it exists.  Return 0, or -EIO if that fails or it contains a run. */
int native_output_open(const char *dir);

/* Create a file in the directory.  Return NULL if that fails. */
FILE *native_output_create(const char *dir, const char *name, const char *suffix);

/* Check that everything was written.  Return 0, or -EIO if any write so far has failed. */
int native_output_check(FILE *file, const char *name);

/* Check that everything was written, and close the file.  Return 0, or -EIO with the file removed. */
int native_output_close(FILE *file, const char *dir, const char *name, const char *suffix);

#endif /* NATIVE_OUTPUT_H */
