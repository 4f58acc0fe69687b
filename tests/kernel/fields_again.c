// SPDX-License-Identifier: GPL-2.0-only
/* A second module with the markers of fields.c, except that its fd_differs has another format. */
#define FIELDS_AGAIN
#include "fields.c"
