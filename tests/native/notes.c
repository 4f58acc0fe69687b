// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that traces its own SDT sites, which are ELF notes as in <sys/sdt.h>.  Tests in
 * tests/tools compile this program.  The program stores a breakpoint at each site, fetches the
 * arguments of the first hit as the note describes them, and prints the name of the probe and the
 * arguments.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/sdt.h>

struct note {
	unsigned char *site;
	const char *name;
	const char *arguments;
	unsigned char old;
};

static struct note notes[64];
static unsigned int nr_notes;

static const struct {
	const char *names[4];
	int index;
} registers[] = {
	{ { "rax", "eax", "ax", "al" }, REG_RAX }, { { "rbx", "ebx", "bx", "bl" }, REG_RBX },
	{ { "rcx", "ecx", "cx", "cl" }, REG_RCX }, { { "rdx", "edx", "dx", "dl" }, REG_RDX },
	{ { "rsi", "esi", "si", "sil" }, REG_RSI }, { { "rdi", "edi", "di", "dil" }, REG_RDI },
	{ { "rbp", "ebp", "bp", "bpl" }, REG_RBP }, { { "rsp", "esp", "sp", "spl" }, REG_RSP },
	{ { "r8", "r8d", "r8w", "r8b" }, REG_R8 }, { { "r9", "r9d", "r9w", "r9b" }, REG_R9 },
	{ { "r10", "r10d", "r10w", "r10b" }, REG_R10 }, { { "r11", "r11d", "r11w", "r11b" }, REG_R11 },
	{ { "r12", "r12d", "r12w", "r12b" }, REG_R12 }, { { "r13", "r13d", "r13w", "r13b" }, REG_R13 },
	{ { "r14", "r14d", "r14w", "r14b" }, REG_R14 }, { { "r15", "r15d", "r15w", "r15b" }, REG_R15 },
};

/* Return the value of the register whose %name is at *@at.  Move *@at behind the name. */
static long read_register(const char **at, const greg_t *gregs)
{
	char name[8] = "";
	unsigned int i, j;

	if (sscanf(*at, "%%%7[a-z0-9]", name) == 1)
		*at += 1 + strlen(name);
	for (i = 0; i < ARRAY_SIZE(registers); i++)
		for (j = 0; j < 4; j++)
			if (!strcmp(name, registers[i].names[j]))
				return gregs[registers[i].index];
	printf("unknown register %s\n", name);
	exit(1);
}

/* Return the value of an operand: $number, %register, or displacement(%base,%index,scale). */
static long read_operand(const char **at, const greg_t *gregs)
{
	long value, scale = 1, index = 0;
	char *end;

	if (**at == '%')
		return read_register(at, gregs);
	value = strtol(*at + (**at == '$'), &end, 0);
	if (**at == '$' || *end != '(') {
		*at = end;
		return value;
	}
	*at = end + 1;
	if (**at == '%')
		value += read_register(at, gregs);
	if (**at == ',') {
		++*at;
		index = read_register(at, gregs);
		if (**at == ',')
			scale = strtol(*at + 1, (char **)at, 10);
	}
	++*at;
	memcpy(&value, (void *)(value + index * scale), sizeof(value));
	return value;
}

/* Return the low @size bytes of @value, or sign-extend -@size bytes if @size is negative. */
static long truncate_value(long value, long size)
{
	unsigned int unused = 64 - 8 * labs(size);

	value = (long)((unsigned long)value << unused);
	return size < 0 ? value >> unused : (long)((unsigned long)value >> unused);
}

static void print_hit(const struct note *note, const greg_t *gregs)
{
	const char *at = note->arguments;
	char *end;

	printf("%s", note->name);
	while (*at) {
		long size = strtol(at, &end, 10);

		at = end + 1;
		printf(" %ld", truncate_value(read_operand(&at, gregs), size));
		at += *at == ' ';
	}
	printf("\n");
}

static void print_first_hit(int sig, siginfo_t *info, void *context)
{
	greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
	unsigned int i;

	gregs[REG_RIP]--;
	for (i = 0; i < nr_notes; i++) {
		if ((unsigned long)notes[i].site != gregs[REG_RIP])
			continue;
		print_hit(&notes[i], gregs);
		/* Remove the breakpoint of each SDT note at this address. */
		*notes[i].site = notes[i].old;
	}
}

static void add_note_of_elf(const char *desc)
{
	unsigned long site;
	struct note *note = &notes[nr_notes++];

	memcpy(&site, desc, sizeof(site));
	note->site = (unsigned char *)site;
	note->name = desc + 24 + strlen(desc + 24) + 1;
	note->arguments = note->name + strlen(note->name) + 1;
}

static void read_elf_notes(const char *file)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *section = (const void *)(file + header->e_shoff);
	const char *names = file + section[header->e_shstrndx].sh_offset;
	unsigned int i;
	size_t at;

	for (i = 0; i < header->e_shnum; i++) {
		if (strcmp(names + section[i].sh_name, ".note.stapsdt"))
			continue;
		for (at = 0; at < section[i].sh_size;) {
			const Elf64_Nhdr *note = (const void *)(file + section[i].sh_offset + at);

			add_note_of_elf((const char *)(note + 1) + ((note->n_namesz + 3) & ~3));
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3) +
			      ((note->n_descsz + 3) & ~3);
		}
	}
}

static void make_site_writable(struct note *note)
{
	unsigned long page = (unsigned long)note->site & ~4095UL;

	mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	note->old = *note->site;
}

SDT_PROVIDER_DEFINE(notes);
SDT_PROBE_DEFINE0(notes, , , none);
SDT_PROBE_DEFINE7(notes, , , registers, "long", "long", "long", "long", "long", "long", "long");
SDT_PROBE_DEFINE7(notes, , , sizes, "char", "unsigned char", "short", "unsigned short", "int",
		  "unsigned int", "bool");
SDT_PROBE_DEFINE3(notes, , , constants, "int", "long", "unsigned long");
SDT_PROBE_DEFINE4(notes, , , stack, "int", "long", "short", "char");
SDT_PROBE_DEFINE2(notes, , , nested, "int", "int");

static volatile long sink;

static noinline void hit_with_register_args(long a, long b, long c, long d, long e, long f)
{
	SDT_PROBE_FLAVOUR(note, notes, , , none);
	SDT_PROBE_FLAVOUR(note, notes, , , registers, a, b, c, d, e, f, a * b);
	sink += a + b + c + d + e + f;
}

static noinline void hit_sizes(char a, unsigned char b, short c, unsigned short d, int e,
			       unsigned int f, bool g)
{
	SDT_PROBE_FLAVOUR(note, notes, , , sizes, a, b, c, d, e, f, g);
	sink += a + b + c + d + e + f + g;
}

static noinline void hit_with_constant_args(void)
{
	SDT_PROBE_FLAVOUR(note, notes, , , constants, -7, 0x123456789aL, 5UL);
	sink++;
}

struct on_stack {
	long many[4];
	short few[8];
	char text[8];
};

static noinline void fill_stack_frame(struct on_stack *frame, long seed)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		frame->many[i] = -100000000000L * (i + seed);
	for (i = 0; i < 8; i++)
		frame->few[i] = -(int)(i + seed);
	strcpy(frame->text, "text");
}

static noinline void hit_with_stack_args(long seed)
{
	struct on_stack frame;
	volatile int number = seed + 40;

	fill_stack_frame(&frame, seed);
	SDT_PROBE_FLAVOUR(note, notes, , , stack, number, frame.many[seed], frame.few[seed],
			  (unsigned char)frame.text[seed]);
	sink += frame.many[1] + frame.text[0];
}

static __always_inline void hit_nested(int depth)
{
	SDT_PROBE_FLAVOUR(note, notes, , , nested, depth, depth + 1);
}

static noinline void hit_inlined_copies(int depth)
{
	hit_nested(depth);
	sink++;
	hit_nested(depth + 10);
	sink++;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = print_first_hit, .sa_flags = SA_SIGINFO };
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat stat;
	unsigned int i;

	fstat(fd, &stat);
	read_elf_notes(mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0));
	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGTRAP, &action, NULL);
	for (i = 0; i < nr_notes; i++)
		make_site_writable(&notes[i]);
	/*
	 * Store the breakpoints only after the original byte was saved for every SDT note, because
	 * two notes may be at one address.
	 */
	for (i = 0; i < nr_notes; i++)
		*notes[i].site = 0xcc;
	hit_with_register_args(-1, 2, 3, 4, 5, 1L << 40);
	hit_sizes(-1, 255, -2, 65535, -3, 4000000000U, true);
	hit_with_constant_args();
	hit_with_stack_args(2);
	hit_inlined_copies(1);
	return 0;
}
