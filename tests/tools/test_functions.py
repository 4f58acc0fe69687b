# SPDX-License-Identifier: GPL-2.0-only
"""Tests of attaching markers to functions (markers/functions.c), compiled into a program in which
ftrace, the tables of markers and debugfs are replaced by functions that fail as a test demands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT

FAKES = r"""
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFINE_MUTEX(name) int name
#define mutex_lock(lock) ((void)(lock))
#define mutex_unlock(lock) ((void)(lock))
#define kzalloc(size, gfp) calloc(1, size)
#define kfree(object) free(object)
#define pr_info(...) printf(__VA_ARGS__)
#define strscpy(to, from, size) snprintf(to, size, "%s", from)
#define THIS_MODULE NULL
#define KSYM_NAME_LEN 128
#define MARKER_FUNCTION_NAME 128

struct list_head { struct list_head *next, *prev; };
#define LIST_HEAD(name) struct list_head name = { &name, &name }
#define list_add_tail(node, head) ((node)->prev = (head)->prev, (node)->next = (head), \
    (head)->prev->next = (node), (head)->prev = (node))
#define list_del(node) ((node)->prev->next = (node)->next, (node)->next->prev = (node)->prev)
#define list_for_each_entry(entry, head, member) \
    for (entry = (void *)(head)->next; (void *)entry != (head); \
         entry = (void *)entry->member.next)
#define list_for_each_entry_safe(entry, after, head, member) \
    for (entry = (void *)(head)->next; after = (void *)entry->member.next, \
         (void *)entry != (head); entry = after)

struct module { char name[64]; };
struct function_marker {
    struct list_head node;
    int record;
    char name[MARKER_FUNCTION_NAME], function[KSYM_NAME_LEN], module[64];
    struct module *owner;
};
struct kmarkers_span { const void *first, *end; unsigned long bytes; };

/* owner is the module of the function to which a marker is attached; NULL for the kernel. */
static struct module unloaded = { "kernel" }, *owner;

/*
 * unloading is 1 while the module is being unloaded, and references counts references to the
 * module. The other variables are results of the replaced functions below.
 */
static int unloading, prepare, add_table, add_directories, unregister, references;

static bool try_module_get(void *module) { references += !unloading; return !unloading; }
static void module_put(void *module) { references--; }
static bool marker_exists(const char *name, void *module) { return false; }
static bool patcher_is_identifier(const char *name) { return true; }
static int marker_ftrace_prepare(struct function_marker *f, const char *symbol)
{
    strcpy(f->module, "kernel");
    f->owner = owner;
    return prepare;
}
static int marker_tables_register_module(void *module, struct kmarkers_span *span)
{ return add_table; }
static void marker_tables_unregister_records(int *record) { }
static int marker_files_add_directories(void *module) { return add_directories; }
static void marker_files_remove_directories(void) { }
static void marker_events_add_function(struct function_marker *f) { }
static int marker_events_remove_function(struct function_marker *f) { return 0; }
static void marker_controls_enable_new_events(void *module) { }

static int marker_ftrace_free(struct function_marker *function)
{
    if (!unregister)
        free(function);
    return unregister;
}
"""
MAIN = r"""
/*
 * Attach a marker and detach it again; print the results and the references. The arguments are the
 * results of four replaced functions; 1 if the module is being unloaded; and, if a module named
 * "kernel" is unloaded before the marker is detached, 1 if the function is in this module, else 0.
 */
int main(int argc, char **argv)
{
    int err;

    prepare = atoi(argv[1]);
    add_table = atoi(argv[2]);
    add_directories = atoi(argv[3]);
    unregister = atoi(argv[4]);
    unloading = atoi(argv[5]);
    owner = argc > 6 && atoi(argv[6]) ? &unloaded : NULL;
    err = marker_function_attach("schedule", "mark");
    printf("attach %d references %d\n", err, references);
    if (argc > 6)
        marker_functions_detach_from_module(&unloaded);
    if (!err) {
        err = marker_function_detach("mark");
        printf("detach %d references %d\n", err, references);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile markers/functions.c with the replaced functions into a program; return its path."""
    folder = tmp_path_factory.mktemp("functions")
    text = (ROOT / "markers/functions.c").read_text(encoding="utf-8")
    source = FAKES + re.sub(r"^#include .*$", "", text, flags=re.M) + MAIN
    (folder / "functions.c").write_text(source)
    flags = ["-std=gnu11", "-Wall", "-Wno-unused", "-Werror"]
    program = folder / "functions"
    subprocess.run(["gcc", *flags, "-o", program, folder / "functions.c"], check=True)
    return program


def run_program_with_numbers(program: Path, *numbers: int) -> list[str]:
    """Run the program with numbers as arguments; return the lines that it prints."""
    words = [str(program), *map(str, numbers)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


ENOMEM, EPERM, ENODEV = -12, -1, -19


@pytest.mark.parametrize(
    ("prepare", "add_table", "add_directories", "unregister", "expected"),
    [
        (0, 0, 0, 0, "attach 0 references 1, detach 0 references 0"),
        (0, 0, 0, ENODEV, "attach 0 references 1, detach -19 references 1"),
        (EPERM, 0, 0, 0, "attach -1 references 0"),
        (0, ENOMEM, 0, 0, "attach -12 references 0"),
        (0, ENODEV, 0, ENODEV, "attach -19 references 1"),
        (0, 0, ENOMEM, 0, "attach -12 references 0"),
        (0, 0, ENOMEM, ENODEV, "attach -12 references 1"),
    ],
)
def test_module_stays_loaded_if_ftrace_cannot_unregister_a_marker(
    program: Path,
    prepare: int,
    add_table: int,
    add_directories: int,
    unregister: int,
    expected: str,
) -> None:
    """A reference keeps kmarkers_markers loaded while a marker is attached to a function. The
    reference is kept if ftrace cannot unregister the marker, also after a failed attachment."""
    words = (prepare, add_table, add_directories, unregister, 0)
    assert run_program_with_numbers(program, *words) == expected.split(", ")


def test_no_marker_is_attached_while_the_module_is_being_unloaded(program: Path) -> None:
    assert run_program_with_numbers(program, 0, 0, 0, 0, 1) == ["attach -19 references 0"]


@pytest.mark.parametrize(("in_module", "detach"), [(0, 0), (1, -2)])
def test_module_named_kernel_detaches_only_markers_from_its_own_functions(
    program: Path, in_module: int, detach: int
) -> None:
    """If the unloaded module has detached the marker, the command "detach" returns -ENOENT."""
    said = run_program_with_numbers(program, 0, 0, 0, 0, 0, in_module)
    assert said[0] == "attach 0 references 1"
    assert said[-1] == f"detach {detach} references 0"
