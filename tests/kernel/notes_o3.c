// SPDX-License-Identifier: GPL-2.0-only
/* Functions with SDT notes, compiled with -O3: see Kbuild. */
#define LEVEL	o3
#include "../common/notes_hits.h"
