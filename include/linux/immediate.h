/* SPDX-License-Identifier: GPL-2.0-only */
/* The historical name of <kmarkers/immediate.h>. */
#include <kmarkers/immediate.h>
