/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_RCULIST_H
#define NATIVE_RCULIST_H
#include <linux/list.h>
#include <linux/rcupdate.h>
#define list_add_rcu(node, head)	list_add(node, head)
#define list_del_rcu(node)		list_del(node)
#endif
