/* SPDX-License-Identifier: GPL-2.0-only */
/* In users' programs, this header includes the system's <linux/module.h>. */
#ifndef NATIVE_BUILD
#include_next <linux/module.h>
#elif !defined(NATIVE_MODULE_H)
#define NATIVE_MODULE_H
#include <linux/export.h>
#define module_name(module)	"program"
#define within_module(addr, module)	false
#endif
