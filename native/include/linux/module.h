/* SPDX-License-Identifier: GPL-2.0-only */
/* Users' programs get the system's header of this name. */
#ifndef NATIVE_BUILD
#include_next <linux/module.h>
#elif !defined(NATIVE_MODULE_H)
#define NATIVE_MODULE_H
#include <linux/export.h>
#define module_name(module)	"program"
#define within_module(addr, module)	false
#endif
