// SPDX-License-Identifier: GPL-2.0-only
/* Functions with SDT notes, compiled with -O1: see Kbuild. */
#define LEVEL	o1
#include "../common/notes_hits.h"
