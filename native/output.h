/* SPDX-License-Identifier: GPL-2.0-only */
/* Files in the output directory of a run.  All functions print errors on stderr. */
#ifndef NATIVE_OUTPUT_H
#define NATIVE_OUTPUT_H

#include <stdio.h>

struct bench_group;
struct bench_result;

/* The name with which messages begin.  Each program defines it. */
extern const char *const native_program_name;

/*
 * Create the directory of a run, unless it exists.  Return 0, or -EIO if the directory cannot be
 * created or contains the files of another run.
 */
int native_create_output_dir(const char *dir);

/* Create a file in the directory of a run.  Return NULL on failure. */
FILE *native_create_output_file(const char *dir, const char *name, const char *suffix);

/* Flush a file.  Return 0, or -EIO if any write to it has failed. */
int native_flush_output(FILE *file, const char *name);

/* Flush and close a file.  Return 0; or remove the file and return -EIO if any write has failed. */
int native_close_output_file(FILE *file, const char *dir, const char *name, const char *suffix);

/* Write the samples of a group to the file <group>.csv.  Return 0; or, without the file, -EIO. */
int native_write_samples(const char *dir, const struct bench_group *group,
			 const struct bench_result *result);

/* Rename a file in the directory of a run, and replace a file of that name.  Return 0 or -EIO. */
int native_rename_output_file(const char *dir, const char *from, const char *to);

#endif /* NATIVE_OUTPUT_H */
