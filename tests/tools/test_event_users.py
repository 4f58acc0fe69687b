# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the users of trace events (events/users.c), compiled into a program in which the trace
core and the event source are replaced by functions that fail as a test demands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT

FAKES = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/types.h>

#define THIS_MODULE ((void *)1)
#define current ((struct task_struct *)1)
#define atomic_read(number) (*(number))
#define synchronize_rcu_expedited()
#define list_del_init(node) (list_del(node), INIT_LIST_HEAD(node))
#define EVENT_FILE_FL_SOFT_DISABLED 1

struct event_user;
struct task_struct;
struct trace_event_call { int unused; };
struct trace_event_class { int unused; };
struct tracepoint { int unused; };
struct trace_event_file { unsigned long flags; int sm_ref; };
enum trace_reg {
    TRACE_REG_REGISTER, TRACE_REG_UNREGISTER, TRACE_REG_PERF_REGISTER, TRACE_REG_PERF_UNREGISTER,
};

/* references counts references to this module, checks the calls that queue the periodic check. */
static int references, checks;

static bool try_module_get(void *module) { references += !!module; return true; }
static void module_put(void *module) { references -= !!module; }
static void kmarkers_event_queue_check_work(void) { checks++; }
static void kmarkers_event_choose_register_writer(struct event_user *user) { }
"""
MAIN = r"""
/* answer is the result of connect(), and attempts counts its calls. */
static int answer, attempts;

static int connect(const struct kmarkers_event_offer *event, void *user)
{
    attempts++;
    return answer;
}

static int disconnect(const struct kmarkers_event_offer *event, void *user) { return 0; }

static struct kmarkers_event_source source = { .connect = connect, .disconnect = disconnect };

static void report(const char *what, int number)
{
    printf("%s %d: attempts %d checks %d references %d\n", what, number, attempts, checks,
           references);
}

/*
 * Enable an event for a trigger, retry twice and disable the event. The arguments are 1 if the
 * event is in the trace core, 1 if it is being removed, and the results of connect(), at first and
 * later.
 */
int main(int argc, char **argv)
{
    struct kmarkers_event *event = calloc(1, sizeof(*event) + 8);
    struct trace_event_file file = { .sm_ref = 1 };

    INIT_LIST_HEAD(&event->list);
    INIT_LIST_HEAD(&event->users);
    event->system = event->format = event->name;
    event->source = &source;
    event->added = atoi(argv[1]);
    event->is_removed = atoi(argv[2]);
    answer = atoi(argv[3]);
    report("enable", kmarkers_event_reg(&event->call, TRACE_REG_REGISTER, &file));
    answer = atoi(argv[4]);
    kmarkers_event_connect_users(event, false);
    report("check", 0);
    kmarkers_event_connect_users(event, true);
    report("retry", 0);
    kmarkers_event_reg(&event->call, TRACE_REG_UNREGISTER, &file);
    report("disable", list_empty(&event->users));
    free(event);
    return 0;
}
"""
ENOENT, ENOMEM, EPERM = -2, -12, -1


def read_without_includes(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"^#include .*$", "", text, flags=re.M)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile events/users.c with the replaced functions into a program; return its path."""
    folder = tmp_path_factory.mktemp("users")
    files = ("include/kmarkers/event.h", "events/call.h", "events/users.h", "events/users.c")
    source = FAKES + "".join(read_without_includes(path) for path in files) + MAIN
    (folder / "users.c").write_text(source)
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DNATIVE_BUILD", '-DKBUILD_MODNAME="test"', "-Wall"]
    paths = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
    program = folder / "users"
    words = ["-Wno-unused", "-Werror", *paths, "-o", str(program), str(folder / "users.c")]
    subprocess.run(["gcc", *flags, *words], check=True)
    return program


def run_program_with_numbers(program: Path, *numbers: int) -> tuple[list[str], str]:
    """Run the program with numbers as arguments; return the lines that it prints, and its log."""
    words = [str(program), *map(str, numbers)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("is_removed", [0, 1])
def test_event_that_left_the_trace_core_gets_no_user(program: Path, is_removed: int) -> None:
    """A task may write a trigger to a file that it opened before the event was removed."""
    lines, _ = run_program_with_numbers(program, 0, is_removed, 0, 0)
    assert lines[0] == f"enable {ENOENT}: attempts 0 checks 0 references 0"
    assert lines[-1] == "disable 1: attempts 0 checks 0 references 0"


def test_trigger_on_an_event_that_waits_for_its_removal_is_not_connected(program: Path) -> None:
    lines, log = run_program_with_numbers(program, 1, 1, 0, 0)
    assert lines[0] == "enable 0: attempts 0 checks 0 references 1"
    assert lines[-1] == "disable 1: attempts 0 checks 0 references 0"
    assert not log


def test_refused_trigger_is_connected_by_a_retry_only(program: Path) -> None:
    """The refusal is logged once, and the periodic check is not queued again."""
    lines, log = run_program_with_numbers(program, 1, 0, EPERM, 0)
    assert lines == [
        "enable 0: attempts 1 checks 0 references 1",
        "check 0: attempts 1 checks 0 references 1",
        "retry 0: attempts 2 checks 0 references 1",
        "disable 1: attempts 2 checks 0 references 0",
    ]
    assert log.count("retried when a module is loaded or the other format is gone") == 1


def test_repeated_refusal_is_logged_once(program: Path) -> None:
    lines, log = run_program_with_numbers(program, 1, 0, EPERM, EPERM)
    assert lines[2] == "retry 0: attempts 2 checks 0 references 1"
    assert log.count("cannot record hits") == 1


def test_trigger_without_memory_is_connected_by_the_periodic_check(program: Path) -> None:
    lines, log = run_program_with_numbers(program, 1, 0, ENOMEM, 0)
    assert lines[:2] == [
        "enable 0: attempts 1 checks 1 references 1",
        "check 0: attempts 2 checks 1 references 1",
    ]
    assert log.count("retried every second") == 1
