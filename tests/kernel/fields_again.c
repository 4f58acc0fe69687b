// SPDX-License-Identifier: GPL-2.0-only
/*
 * A second module with the markers of fields.c, except that the marker fd_differs has another
 * format in this module.
 */
#define FIELDS_AGAIN
#include "fields.c"
