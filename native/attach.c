// SPDX-License-Identifier: GPL-2.0-only
/*
 * "kmlive attach PID": attach empty BPF programs to the code that the benchmarks peer-bpf-* run.
 * Attaching needs no BPF library, only system calls.  A program that cannot be attached is
 * reported, and its benchmark is skipped.  A background process keeps the programs attached until
 * process PID ends or the background process gets a signal; its process id is printed.  If
 * pidfd_open(PID) fails, nothing is attached; if the process id cannot be printed, nothing stays
 * attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"
#include "number.h"

#define TYPES		"/sys/kernel/btf/vmlinux"
#define PMU		"/sys/bus/event_source/devices/kprobe/type"
#define MOST_TYPES	(64 << 20)

static int call_bpf_syscall(int command, union bpf_attr *attr)
{
	int result = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return result < 0 ? -errno : result;
}

/*
 * Load a BPF program that returns 0.  Return its file descriptor or an error.  @btf_id is the BTF
 * id of the function to which the program will be attached; 0 if the program type needs no
 * function.
 */
static int load_empty_program(int type, int attach_type, unsigned int btf_id)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (unsigned long)code,
		.insn_cnt = sizeof(code) / sizeof(*code),
		.license = (unsigned long)"GPL",
	};

	attr.expected_attach_type = attach_type;
	attr.attach_btf_id = btf_id;
	return call_bpf_syscall(BPF_PROG_LOAD, &attr);
}

/*
 * Attach the program @program_fd to the raw tracepoint @tracepoint or, if @tracepoint is NULL, to
 * the function whose BTF id was passed to load_empty_program().
 */
static int attach_program(int program_fd, const char *tracepoint)
{
	union bpf_attr attr = { .raw_tracepoint.name = (unsigned long)tracepoint };

	if (program_fd < 0)
		return program_fd;
	attr.raw_tracepoint.prog_fd = program_fd;
	return call_bpf_syscall(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

static int attach_program_to_tracepoint(void)
{
	return attach_program(load_empty_program(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0),
			      "kmarkers_bench_bpf");
}

/* Return the number of bytes that follow a struct btf_type. */
static unsigned long count_bytes_after_btf_type(const struct btf_type *type)
{
	unsigned long members = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17:	/* BTF_KIND_DECL_TAG */
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return 8 * members;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case 19:	/* BTF_KIND_ENUM64 */
		return 12 * members;
	default:
		return 0;
	}
}

/* Return the BTF id of a function, or an error. */
static int find_function_btf_id(const char *types, const char *name)
{
	const struct btf_header *head = (const void *)types;
	const char *strings = types + head->hdr_len + head->str_off;
	const char *at = types + head->hdr_len + head->type_off, *end = at + head->type_len;
	int number;

	for (number = 1; at < end; number++) {
		const struct btf_type *type = (const void *)at;

		if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC &&
		    !strcmp(strings + type->name_off, name))
			return number;
		at += sizeof(*type) + count_bytes_after_btf_type(type);
	}
	return -ENOENT;
}

static int read_kernel_btf(char *types)
{
	int file = open(TYPES, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	if (file < 0)
		return -errno;
	while ((got = read(file, types + length, MOST_TYPES - length)) > 0)
		length += got;
	close(file);
	if (got < 0)
		return -errno;
	return length > sizeof(struct btf_header) && length < MOST_TYPES ? 0 : -EINVAL;
}

static int attach_program_to_fentry(void)
{
	char *types = malloc(MOST_TYPES);
	int function = types ? read_kernel_btf(types) : -ENOMEM;

	if (!function)
		function = find_function_btf_id(types, "int_sqrt");
	free(types);
	if (function < 0)
		return function;
	return attach_program(load_empty_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, function),
			      NULL);
}

static int read_pmu_type_from_sysfs(const char *path)
{
	FILE *file = fopen(path, "r");
	int type = -ENOENT;

	if (file && fscanf(file, "%d", &type) != 1)
		type = -EINVAL;
	if (file)
		fclose(file);
	return type;
}

static int attach_program_to_kprobe(void)
{
	struct perf_event_attr attr = {
		.type = read_pmu_type_from_sysfs(PMU),
		.size = sizeof(attr),
		.kprobe_func = (unsigned long)"kmarkers_bench_bpf_kprobe",
	};
	int program, event;

	if ((int)attr.type < 0)
		return attr.type;
	program = load_empty_program(BPF_PROG_TYPE_KPROBE, 0, 0);
	if (program < 0)
		return program;
	event = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return event;
}

static const struct {
	const char *name;
	int (*attach)(void);
} peers[] = {
	{ "peer-bpf-raw-tracepoint", attach_program_to_tracepoint },
	{ "peer-bpf-fentry", attach_program_to_fentry },
	{ "peer-bpf-kprobe", attach_program_to_kprobe },
};

static void attach_all_programs(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(peers) / sizeof(*peers); i++) {
		int err = peers[i].attach();

		if (err < 0)
			fprintf(stderr, "kmlive: SKIP %s: %s\n", peers[i].name, strerror(-err));
	}
	fflush(stderr);
}

/* Keep the programs attached until the process that @pidfd refers to ends. */
static void keep_programs_attached_until_exit(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	/*
	 * Close the output, because a shell that reads the printed process id waits for the end of
	 * the output.
	 */
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
}

int native_attach_bpf_programs(const char *pid)
{
	pid_t child;
	u64 number;
	int pidfd;

	if (!native_parse_number("PID", pid, 1, INT_MAX, &number))
		return 2;
	pidfd = syscall(SYS_pidfd_open, (pid_t)number, 0);
	if (pidfd < 0) {
		fprintf(stderr, "kmlive: attach: cannot watch process %s: %s\n", pid,
			strerror(errno));
		return 1;
	}
	attach_all_programs();
	child = fork();
	if (child < 0) {
		perror("kmlive: attach: cannot fork a background process");
		return 1;
	}
	if (!child) {
		keep_programs_attached_until_exit(pidfd);
		return 0;
	}
	/* A closed pipe or a limit of the file size is an error of the output, too. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (printf("%d\n", child) < 0 || fflush(stdout)) {
		perror("kmlive: attach: cannot print the process id of the background process");
		/* Nobody else could end it before process PID ends. */
		kill(child, SIGKILL);
		return 1;
	}
	return 0;
}
