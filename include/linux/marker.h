/* SPDX-License-Identifier: GPL-2.0-only */
/* The historical name of <kmarkers/marker.h>. */
#include <kmarkers/marker.h>
