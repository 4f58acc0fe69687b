/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compatibility with older and newer kernels; only headers in include/compat/ depend on the
 * kernel's version.  The build includes this header into every .c file of the modules.  Each
 * entry cites the commit and version that made it necessary.
 */
#ifndef KMARKERS_COMPAT_H
#define KMARKERS_COMPAT_H

/* Begin log lines with the module's name.  printk.h must be included after this definition. */
#define pr_fmt(fmt)	KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/version.h>

/*
 * 8587ca6f3415 ("mm: move kvmalloc-related functions to slab.h"), v5.16:
 * before v5.16, <linux/mm.h> declares kvmalloc() and the related functions.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0)
#include <linux/mm.h>
#endif

/*
 * Return true unless the preceding cond_synchronize_rcu(@state) timed out, which happens only in
 * user space: see native/include/linux/rcupdate.h.  This macro does not call
 * poll_state_synchronize_rcu(), which may return false after a full grace period since dd04140531b5
 * ("rcu: Make polled grace-period API account for expedited grace periods"), v6.0, because a normal
 * and an expedited grace period that overlap count as one.
 */
#define rcu_wait_succeeded(state)	((void)(state), true)

/*
 * 9cba82bba500 ("seq_file: add helper macro to define attribute for rw file"),
 * v6.7: older kernels have no macro for the operations of a file that can be read and written.
 */
#include <linux/seq_file.h>
#ifndef DEFINE_SHOW_STORE_ATTRIBUTE
#define DEFINE_SHOW_STORE_ATTRIBUTE(name)				\
static int name ## _open(struct inode *inode, struct file *file)	\
{									\
	return single_open(file, name ## _show, inode->i_private);	\
}									\
									\
static const struct file_operations name ## _fops = {			\
	.owner = THIS_MODULE,						\
	.open = name ## _open,						\
	.read = seq_read,						\
	.write = name ## _write,					\
	.llseek = seq_lseek,						\
	.release = single_release,					\
}
#endif

/*
 * 55cbcb6731bb ("x86/cpu: Do not include the CPUID API header in
 * asm/processor.h"), v7.2: cpuid() requires <asm/cpuid/api.h>, which exists since v6.15.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#include <asm/cpuid/api.h>
#endif

/*
 * Return true if an address is in the text of a module that is not init text.  ac3b43283923
 * ("module: replace module_layout with module_memory"), v6.4: core_layout.base and text_size became
 * mem[MOD_TEXT].
 */
static inline bool compat_is_in_module_text(struct module *mod, unsigned long addr)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return within_module_mem_type(addr, mod, MOD_TEXT);
#else
	return addr - (unsigned long)mod->core_layout.base < mod->core_layout.text_size;
#endif
}

/*
 * d19ad0775dcd ("ftrace: Have the callbacks receive a struct ftrace_regs instead
 * of pt_regs"), v5.11: before, callbacks got a struct pt_regs.  94d095ffa0e1 ("ftrace: abstract
 * DYNAMIC_FTRACE_WITH_ARGS accesses"), v6.2, added ftrace_regs_set_instruction_pointer().
 */
#include <linux/ftrace.h>
#include <linux/sched.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define compat_ftrace_regs	ftrace_regs
#else
#define compat_ftrace_regs	pt_regs
#endif

static __always_inline void compat_ftrace_set_ip(struct compat_ftrace_regs *regs, unsigned long ip)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	ftrace_regs_set_instruction_pointer(regs, ip);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	ftrace_get_regs(regs)->ip = ip;
#else
	regs->ip = ip;
#endif
}

/*
 * Free the memory of a filter.  Before @ops is used again, it must be filled with zeros: the
 * pointers to the freed memory stay in it.  8be9fbd5345d ("ftrace: Export ftrace_free_filter() to
 * modules"), v6.2: on older kernels, make the filter empty, because an empty filter holds no
 * memory.  Making it empty fails while memory is short, so repeat the call.
 */
static inline void compat_ftrace_free_filter(struct ftrace_ops *ops)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	ftrace_free_filter(ops);
#else
	while (ftrace_set_filter(ops, NULL, 0, 1) == -ENOMEM)
		schedule_timeout_uninterruptible(1);
#endif
}

/*
 * a25d036d939a ("ftrace: Reverse what the RECURSION flag means in the ftrace_ops"),
 * v5.11: FTRACE_OPS_FL_RECURSION enables the guard of a callback against recursion; before v5.11,
 * this flag disabled the guard.  94d095ffa0e1 ("ftrace: abstract DYNAMIC_FTRACE_WITH_ARGS
 * accesses"), v6.2: arguments can be read without FTRACE_OPS_FL_SAVE_REGS.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define COMPAT_FTRACE_FLAGS	FTRACE_OPS_FL_RECURSION
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define COMPAT_FTRACE_FLAGS	(FTRACE_OPS_FL_RECURSION | FTRACE_OPS_FL_SAVE_REGS)
#else
#define COMPAT_FTRACE_FLAGS	FTRACE_OPS_FL_SAVE_REGS
#endif

static __always_inline unsigned long compat_ftrace_get_argument(struct compat_ftrace_regs *regs,
								unsigned int nr)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return ftrace_regs_get_argument(regs, nr);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	return regs_get_kernel_argument(ftrace_get_regs(regs), nr);
#else
	return regs_get_kernel_argument(regs, nr);
#endif
}

/*
 * 908a1d775422 ("hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()"),
 * v6.13: hrtimer_setup() also sets the timer's function.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#include <linux/hrtimer.h>
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/*
 * Return the number of local APIC timer interrupts of this CPU since boot.  ("x86/irq: Make
 * irqstats array based"), v7.2: before, each counter was a separate member of irq_stat.
 */
#include <linux/hardirq.h>

static inline unsigned int compat_count_timer_irqs(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
	return this_cpu_read(irq_stat.counts[IRQ_COUNT_APIC_TIMER]);
#else
	return this_cpu_read(irq_stat.apic_timer_irqs);
#endif
}

/*
 * cead18552660 ("exit: Rename complete_and_exit to kthread_complete_and_exit"), v5.17: only
 * the function with the new name is exported.
 */
#include <linux/kthread.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 17, 0)
#define compat_complete_and_exit(done, code)	kthread_complete_and_exit(done, code)
#else
#define compat_complete_and_exit(done, code)	complete_and_exit(done, code)
#endif

/*
 * 2c92ca849fcc ("tracing/treewide: Remove second parameter of __assign_str()"),
 * v6.10: __string() stores the pointer to the source string, so that __assign_str() needs only the
 * field.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define compat_assign_str(field, source)	__assign_str(field)
#else
#define compat_assign_str(field, source)	__assign_str(field, source)
#endif

/*
 * cb16330d1274 ("fprobe: Pass return address to the handlers"), v6.5: on older kernels kmarkers
 * does not use fprobes, because handlers of fprobes do not get the return address.  762abbc0d09f
 * ("fprobe: Use ftrace_regs in fprobe entry handler"), v6.14: before, entry handlers got pt_regs.
 */
#if defined(CONFIG_FPROBE) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define COMPAT_FPROBE
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define compat_fprobe_regs	ftrace_regs
#else
#define compat_fprobe_regs	pt_regs
#endif

#endif /* KMARKERS_COMPAT_H */
