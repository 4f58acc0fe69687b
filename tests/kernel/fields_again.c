// SPDX-License-Identifier: GPL-2.0-only
/* The same markers once more, in a module of its own; one of them with another format. */
#define FIELDS_AGAIN
#include "fields.c"
