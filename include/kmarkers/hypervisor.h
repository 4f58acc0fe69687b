/* SPDX-License-Identifier: GPL-2.0-only */
/* Detect whether this machine is hardware, a hypervisor's guest or an emulator. */
#ifndef KMARKERS_HYPERVISOR_H
#define KMARKERS_HYPERVISOR_H

#ifdef __KERNEL__
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>
#else
#include <cpuid.h>
#include <stdbool.h>
#include <string.h>
#endif

/* Size of a hypervisor's name: twelve letters and a NUL.  On real hardware the name is empty. */
#define KMARKERS_HYPERVISOR_BYTES	13

static inline bool kmarkers_has_hypervisor(void)
{
#ifdef __KERNEL__
	return boot_cpu_has(X86_FEATURE_HYPERVISOR);
#else
	unsigned int words[4];

	return __get_cpuid(1, &words[0], &words[1], &words[2], &words[3]) && words[2] >> 31;
#endif
}

static inline void kmarkers_read_hypervisor_name(char name[KMARKERS_HYPERVISOR_BYTES])
{
	unsigned int words[4];

	name[0] = '\0';
	if (!kmarkers_has_hypervisor())
		return;
#ifdef __KERNEL__
	cpuid(0x40000000, &words[0], &words[1], &words[2], &words[3]);
#else
	__cpuid(0x40000000, words[0], words[1], words[2], words[3]);
#endif
	memcpy(name, &words[1], KMARKERS_HYPERVISOR_BYTES - 1);
	name[KMARKERS_HYPERVISOR_BYTES - 1] = '\0';
}

/* Return true if QEMU emulates the CPU in software, so that CPU cycles are not counted. */
static inline bool kmarkers_is_emulated(void)
{
	char name[KMARKERS_HYPERVISOR_BYTES];

	kmarkers_read_hypervisor_name(name);
	return !strcmp(name, "TCGTCGTCGTCG");
}

#endif /* KMARKERS_HYPERVISOR_H */
