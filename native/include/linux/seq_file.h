/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_SEQ_FILE_H
#define NATIVE_SEQ_FILE_H
#include <stdbool.h>
#include <stdio.h>

struct seq_file {
	FILE *file;
};

#define seq_printf(m, fmt, args...)	fprintf((m)->file, fmt, ## args)
#define seq_puts(m, text)		fputs(text, (m)->file)
#define seq_has_overflowed(m)		((void)(m), false)
#endif
