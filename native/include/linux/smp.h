/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_SMP_H
#define NATIVE_SMP_H
#include <sched.h>
#define raw_smp_processor_id()	((unsigned int)sched_getcpu())
#endif
