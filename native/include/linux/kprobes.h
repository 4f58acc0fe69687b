/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_KPROBES_H
#define NATIVE_KPROBES_H
#define NOKPROBE_SYMBOL(symbol)
#endif
