// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/seq_file.h>

#include "../bench_modules/output.h"
#include "output.h"

static char *format_output_path(const char *dir, const char *name, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s/%s%s", dir, name, suffix) < 0 ? NULL : path;
}

/*
 * Return true if the directory contains the file "env" of another run.  The files of that run could
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
		fprintf(stderr, "%s: cannot write to directory %s: %s\n", native_program_name, dir,
			why);
	return why ? -EIO : 0;
}

FILE *native_create_output_file(const char *dir, const char *name, const char *suffix)
{
	char *path = format_output_path(dir, name, suffix);
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		fprintf(stderr, "%s: cannot create %s: %s\n", native_program_name, path ?: name,
			strerror(errno));
	free(path);
	return file;
}

int native_rename_output_file(const char *dir, const char *from, const char *to)
{
	char *old = format_output_path(dir, from, ""), *new = format_output_path(dir, to, "");
	int err = old && new ? rename(old, new) : -1;

	if (err)
		fprintf(stderr, "%s: cannot create %s: %s\n", native_program_name, new ?: to,
			strerror(errno));
	free(old);
	free(new);
	return err ? -EIO : 0;
}

static int report_unwritten_file(const char *name)
{
	fprintf(stderr, "%s: %s: not written: %s\n", native_program_name, name,
		strerror(errno ?: EIO));
	return -EIO;
}

int native_flush_output(FILE *file, const char *name)
{
	errno = 0;
	return !fflush(file) && !ferror(file) ? 0 : report_unwritten_file(name);
}

int native_close_output_file(FILE *file, const char *dir, const char *name, const char *suffix)
{
	int err = native_flush_output(file, name);
	char *path;

	/* Some file systems, such as NFS, report a full disk only when the file is closed. */
	if (fclose(file) && !err)
		err = report_unwritten_file(name);
	/* Remove a truncated file, which could be mistaken for a complete one. */
	path = err ? format_output_path(dir, name, suffix) : NULL;
	if (path)
		unlink(path);
	free(path);
	return err;
}

int native_write_samples(const char *dir, const struct bench_group *group,
			 const struct bench_result *result)
{
	struct seq_file m = { .file = native_create_output_file(dir, group->name, ".csv") };

	if (!m.file)
		return -EIO;
	bench_show_samples(&m, group, result);
	return native_close_output_file(m.file, dir, group->name, ".csv");
}
