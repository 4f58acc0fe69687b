// SPDX-License-Identifier: GPL-2.0-only
/* Functions with SDT notes, compiled with -O2: see Kbuild. */
#define LEVEL	o2
#include "../common/notes_hits.h"
