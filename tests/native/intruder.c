// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two faults for tests of the patcher: a breakpoint that kmarkers has not stored, and a wrong page
 * in place of a page of text.  The linker replaces patcher_text_map() by __wrap_patcher_text_map(),
 * which maps the wrong page.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/compiler.h>

#include "../../patcher/text.h"
#include "../common/test.h"
#include "process.h"

#define INT3		0xcc
#define PAGE_BYTES	4096UL

int __real_patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes,
			    unsigned int nr);
int __wrap_patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes,
			    unsigned int nr);

static u8 *wrong_page;
static bool shown;

/*
 * Map the text and, if there is a wrong page, map that page over the text.  @pokes must be in one
 * page.
 */
int __wrap_patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes,
			    unsigned int nr)
{
	int err = __real_patcher_text_map(alias, pokes, nr);

	if (err || !wrong_page)
		return err;
	shown = mremap(wrong_page, 0, PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, alias->base) ==
		alias->base;
	return 0;
}

int test_map_wrong_page(const void *addr)
{
	if (wrong_page)
		munmap(wrong_page, PAGE_BYTES);
	wrong_page = NULL;
	shown = false;
	if (!addr)
		return 0;
	wrong_page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	if (wrong_page != MAP_FAILED)
		return 0;
	wrong_page = NULL;
	return -ENOMEM;
}

bool test_wrong_page_was_mapped(void)
{
	return shown;
}

bool test_wrong_page_is_unchanged(void)
{
	unsigned int i;

	for (i = 0; i < PAGE_BYTES; i++)
		if (wrong_page[i])
			return false;
	return true;
}

static struct patcher_poke planted;
static u8 planted_byte;
static unsigned long traps_before;

static int write_planted_byte(u8 byte)
{
	struct patcher_text_alias alias;
	int err = __real_patcher_text_map(&alias, &planted, 1);

	if (err)
		return err;
	WRITE_ONCE(*planted.alias, byte);
	patcher_text_unmap(&alias);
	patcher_text_sync();
	return 0;
}

int test_plant_breakpoint(u8 *addr)
{
	int err;

	planted.addr = addr;
	planted.len = 1;
	planted_byte = *addr;
	traps_before = get_foreign_trap_count();
	err = write_planted_byte(INT3);
	if (err)
		planted.addr = NULL;
	return err;
}

unsigned int test_remove_breakpoint(void)
{
	if (!planted.addr)
		return 0;
	write_planted_byte(planted_byte);
	planted.addr = NULL;
	return get_foreign_trap_count() - traps_before;
}
