/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of records.  The build collects the records of a module, and kmarkers finds them when
 * the module is loaded.
 *
 * Every translation unit that includes a header of kmarkers contributes one *chunk* for each kind
 * of table.  A chunk consists of records, which macros anywhere in the code place in an ELF
 * section, and of a head.  The head is in a section of its own, and holds the address and the size
 * of the records.  Assembler subsections bound the records, and the linker places the records of
 * all units side by side, as one table.  This needs neither a linker script nor object files that
 * are linked first and last to mark the ends of the table.
 *
 * The head refers to a symbol of the kmarkers module that uses the records.  So a module with
 * records can be loaded only after this kmarkers module, and holds a reference to it.
 *
 * In a kernel module the heads are found as module parameters.  Each head has an entry in the
 * section __param, which strip(1) keeps; the argument of the entry is the address of the head.
 * Such a parameter has no file in sysfs, and cannot be set.  In user space the linker's __start_
 * and __stop_ symbols bound the section of heads.
 *
 * The section names begin with .discard, so that objtool skips these sections.  Otherwise objtool
 * would regard the code that a record points at as a target of indirect branches.  No dot follows
 * .discard in the names, because the linker script of modules drops sections named .discard.*.
 */
#ifndef KMARKERS_TABLE_H
#define KMARKERS_TABLE_H

#include <linux/errno.h>
#include <linux/stringify.h>
#include <linux/types.h>

#include <kmarkers/table_version.h>

/**
 * struct kmarkers_chunk - head of the records that one translation unit contributes
 * @needs: address of a symbol of the kmarkers module that uses the records
 * @bytes: size of all records of the translation unit in bytes
 * @record: size of one record in bytes
 * @version: KMARKERS_TABLE_VERSION of the header that was compiled
 * @first: address of the first record, relative to this field
 * @unused: 0
 */
struct kmarkers_chunk {
	u64 needs;
	u32 bytes;
	u16 record;
	u16 version;
	s32 first;
	u32 unused;
};

/**
 * struct kmarkers_span - the records of all translation units of a module or program
 * @first: the first record
 * @end: end of the last record
 * @bytes: size of all records in bytes
 * @chunks: number of chunks, each of which holds the records of one translation unit
 */
struct kmarkers_span {
	void *first;
	void *end;
	unsigned long bytes;
	unsigned int chunks;
};

static inline void *kmarkers_get_first_record(const struct kmarkers_chunk *chunk)
{
	return (void *)((unsigned long)&chunk->first + chunk->first);
}

/**
 * kmarkers_join_chunk() - add the records of one translation unit to a span
 * @span: the span; all zero before the first call
 * @chunk: the head of these records
 * @record_bytes: expected size of a record
 *
 * Return: 0, or -EINVAL if the head has another table version or record size, or if the total
 * size of the records is not a multiple of @record_bytes.
 */
static inline int kmarkers_join_chunk(struct kmarkers_span *span,
				      const struct kmarkers_chunk *chunk,
				      unsigned int record_bytes)
{
	void *first = kmarkers_get_first_record(chunk), *end = (u8 *)first + chunk->bytes;

	if (chunk->version != KMARKERS_TABLE_VERSION || chunk->record != record_bytes ||
	    chunk->bytes % record_bytes)
		return -EINVAL;
	span->chunks++;
	if (!chunk->bytes)
		return 0;
	if (!span->bytes || first < span->first)
		span->first = first;
	if (!span->bytes || end > span->end)
		span->end = end;
	span->bytes += chunk->bytes;
	return 0;
}

/* Return the number of records in a span, or -EINVAL if the records are not contiguous. */
static inline int kmarkers_count_records(const struct kmarkers_span *span,
					 unsigned int record_bytes)
{
	if ((unsigned long)span->end - (unsigned long)span->first != span->bytes)
		return -EINVAL;
	return span->bytes / record_bytes;
}

/*
 * Keep the name of an object out of the module's symbol table.  This makes loading faster: when a
 * module is loaded, the kernel searches the whole symbol table once for each function of the
 * module.
 */
#define KMARKERS_UNNAMED(name)	asm(".L" name)

#ifdef __KERNEL__
#include <linux/moduleparam.h>

int patcher_table_param(const char *value, const struct kernel_param *param);

/*
 * Operations of the module parameters that hold the addresses of heads.  Each module with tables
 * has a copy of these operations, because the kernel may read them after kmarkers_patcher was
 * unloaded.
 */
static const struct kernel_param_ops kmarkers_table_ops KMARKERS_UNNAMED("kmarkers_table_ops")
	__maybe_unused = {
	.set = patcher_table_param,
};

#define KMARKERS_PARAM(kind)						\
extern const struct kmarkers_chunk kmarkers_chunk_##kind		\
	KMARKERS_UNNAMED(KMARKERS_SYMBOL(kind));			\
static const struct kernel_param kmarkers_param_##kind			\
	KMARKERS_UNNAMED("kmarkers_param_" #kind) __used		\
	__section("__param") __aligned(__alignof__(struct kernel_param)) = { \
	.name = KMARKERS_SYMBOL(kind),					\
	.ops = &kmarkers_table_ops,					\
	.level = -1,							\
	.arg = (void *)&kmarkers_chunk_##kind,				\
}

#define KMARKERS_SECTION(kind)	".discard_kmarkers_" #kind
#else
#define KMARKERS_PARAM(kind)						\
extern const struct kmarkers_chunk kmarkers_chunk_##kind		\
	KMARKERS_UNNAMED(KMARKERS_SYMBOL(kind))

#define KMARKERS_SECTION(kind)	"kmarkers_" #kind
#endif

/*
 * Some linkers drop a section that is referred to only by its __start_ and __stop_ symbols, unless
 * the section has the flag R.
 */
#if !defined(__KERNEL__) && defined(__has_attribute)
#if __has_attribute(__retain__)
#define __KMARKERS_HEADS_FLAGS	"awR"
#endif
#endif
#ifndef __KMARKERS_HEADS_FLAGS
#define __KMARKERS_HEADS_FLAGS	"aw"
#endif

#define KMARKERS_SYMBOL(kind)	"kmarkers_chunk_" #kind

/*
 * Define the chunk for the records of one kind.  Use this macro at file scope, once for each kind
 * in a translation unit.
 */
#define KMARKERS_CHUNK(kind, needs, record)				\
asm(".pushsection " KMARKERS_SECTION(kind) ", 0, \"aw\", @progbits\n"	\
	"	.balign 4\n"							\
	".Lkmarkers_begin_" #kind ":\n"				\
	".popsection\n"							\
	".pushsection " KMARKERS_SECTION(kind) ", 2, \"aw\", @progbits\n"	\
	".Lkmarkers_end_" #kind ":\n"					\
	".popsection\n"							\
	".pushsection " KMARKERS_SECTION(kind) "_heads, \"" __KMARKERS_HEADS_FLAGS "\", @progbits\n" \
	"	.balign 8\n"							\
	".L" KMARKERS_SYMBOL(kind) ":\n"					\
	"	.quad " #needs "\n"						\
	"	.long .Lkmarkers_end_" #kind " - .Lkmarkers_begin_" #kind "\n" \
	"	.short " #record ", " __stringify(KMARKERS_TABLE_VERSION) "\n"	\
	"	.long .Lkmarkers_begin_" #kind " - ., 0\n"		\
	".popsection\n");						\
KMARKERS_PARAM(kind)

/* Assembly that places one record in the section of its kind, for an asm statement. */
#define KMARKERS_RECORD(kind, text)					\
	".pushsection " KMARKERS_SECTION(kind) ", 1, \"aw\", @progbits\n" \
	"	.balign 4\n"						\
	text								\
	".popsection\n"

#endif /* KMARKERS_TABLE_H */
