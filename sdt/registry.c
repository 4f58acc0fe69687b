// SPDX-License-Identifier: GPL-2.0-only
/* The registry: tables of the sites in all modules. */
#include <linux/list.h>
#include <linux/mutex.h>

#include "registry.h"

struct sdt_registry sdt_registry = {
	.lock = __MUTEX_INITIALIZER(sdt_registry.lock),
	.tables = LIST_HEAD_INIT(sdt_registry.tables),
};

const char *const sdt_owner = "sdt";
