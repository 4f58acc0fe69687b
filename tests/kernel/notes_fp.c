// SPDX-License-Identifier: GPL-2.0-only
/* Functions with SDT notes, compiled with frame pointers: see Kbuild. */
#define LEVEL	fp
#include "../common/notes_hits.h"
