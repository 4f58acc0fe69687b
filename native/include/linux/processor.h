/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PROCESSOR_H
#define NATIVE_PROCESSOR_H
#define cpu_relax()	__builtin_ia32_pause()
#endif
