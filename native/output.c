// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

static char *format_output_path(const char *dir, const char *name, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s/%s%s", dir, name, suffix) < 0 ? NULL : path;
}

/*
 * Return true if the directory contains the file env of another run.  The files of that run could
 * be mistaken for files of this run.
 */
static bool has_env_file(const char *dir)
{
	char *path = format_output_path(dir, "env", "");
	struct stat info;
	bool found = path && !stat(path, &info) && S_ISREG(info.st_mode);

	free(path);
	return found;
}

int native_create_output_dir(const char *dir)
{
	const char *why = NULL;

	if (mkdir(dir, 0777) && errno != EEXIST)
		why = strerror(errno);
	else if (has_env_file(dir))
		why = "the directory contains another run: choose another directory";
	if (why)
		fprintf(stderr, "kmbench: cannot write to directory %s: %s\n", dir, why);
	return why ? -EIO : 0;
}

FILE *native_create_output_file(const char *dir, const char *name, const char *suffix)
{
	char *path = format_output_path(dir, name, suffix);
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		fprintf(stderr, "kmbench: cannot create %s: %s\n", path ?: name, strerror(errno));
	free(path);
	return file;
}

int native_rename_output_file(const char *dir, const char *from, const char *to)
{
	char *old = format_output_path(dir, from, ""), *new = format_output_path(dir, to, "");
	int err = old && new ? rename(old, new) : -1;

	if (err)
		fprintf(stderr, "kmbench: cannot create %s: %s\n", new ?: to, strerror(errno));
	free(old);
	free(new);
	return err ? -EIO : 0;
}

int native_flush_output(FILE *file, const char *name)
{
	errno = 0;
	if (!fflush(file) && !ferror(file))
		return 0;
	fprintf(stderr, "kmbench: %s: not written: %s\n", name, strerror(errno ?: EIO));
	return -EIO;
}

int native_close_output_file(FILE *file, const char *dir, const char *name, const char *suffix)
{
	int err = native_flush_output(file, name);
	/* Remove a truncated file, which could be mistaken for a complete one. */
	char *path = err ? format_output_path(dir, name, suffix) : NULL;

	fclose(file);
	if (path)
		unlink(path);
	free(path);
	return err;
}
