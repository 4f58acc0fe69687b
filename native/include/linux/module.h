/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_MODULE_H
#define NATIVE_MODULE_H
#include <linux/export.h>
#define module_name(module)	"program"
#define within_module(addr, module)	false
#endif
