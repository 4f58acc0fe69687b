// SPDX-License-Identifier: GPL-2.0-only
/* The registry: the tables of all modules with recorded functions (built with entry.mk). */
#include "registry.h"

struct entry_registry entry_registry = {
	.lock = __MUTEX_INITIALIZER(entry_registry.lock),
	.tables = LIST_HEAD_INIT(entry_registry.tables),
	.users = {
		LIST_HEAD_INIT(entry_registry.users[0]),
		LIST_HEAD_INIT(entry_registry.users[1]),
	},
};

const char entry_owner[] = "entry";
