# SPDX-License-Identifier: GPL-2.0-only
"""Tests of what all commands share: texts and tables for a terminal, messages of errors, JSON
files, files of the checkout, and the encoding of the output."""

from __future__ import annotations

import argparse
import errno
import fcntl
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kmtools.base import files, jsonfile, paths, processes, screen, streams, text
from kmtools.base.errors import (
    FailedError,
    UnableError,
    explain_error,
    parse_positive_int,
    require_root,
)


@pytest.mark.parametrize(
    ("max_length", "expected"),
    [
        (12, "abcdefghijkl"),
        (11, "abcdef…ijkl"),
        (10, "abcdef…jkl"),
        (9, "abcde…jkl"),
        (5, "ab…kl"),
    ],
)
def test_shorten_middle_keeps_start_and_end_of_a_text(max_length: int, expected: str) -> None:
    assert text.shorten_middle("abcdefghijkl", max_length) == expected
    assert len(expected) == max_length


@pytest.mark.parametrize(
    ("count", "unsigned", "signed"),
    [
        *((0, "0", "+0"), (2.5, "2.5", "+2.5"), (3.0, "3", "+3"), (-0.125, "-0.125", "-0.125")),
        *((123456.7, "123457", "+123457"), (-1e6, "-1000000", "-1000000")),
        *((1e6, "1000000", "+1000000"), (12345678.4, "12345678", "+12345678")),
    ],
)
def test_counts_above_a_million_have_all_digits(count: float, unsigned: str, signed: str) -> None:
    assert text.format_count(count) == unsigned
    assert text.format_count(count, signed=True) == signed


def test_table_is_aligned_and_has_no_trailing_blanks() -> None:
    rows = [["name", "n", "word"], ["a", "10", "b"], ["long name", "5", ""]]
    assert text.align_table(rows, (1,)) == [
        "name        n  word",
        "a          10  b",
        "long name   5",
    ]
    assert text.align_table(rows)[1] == "a          10  b"
    assert text.align_table(rows)[2] == "long name  5"
    with pytest.raises(ValueError, match="zip"):
        text.align_table([["a", "b"], ["c"]])


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (17, ["name   aa  bbb  c", "x       1    2  3"]),
        (16, ["name   aa  bbb", "x       1    2", "", "name   c", "x      3"]),
        (14, ["name   aa  bbb", "x       1    2", "", "name   c", "x      3"]),
        (13, ["name   aa", "x       1", "", "name   bbb  c", "x        2  3"]),
        (1, ["name   aa", "x       1", "", "name   bbb", "x        2", "", "name   c", "x      3"]),
    ],
)
def test_columns_that_do_not_fit_are_moved_to_a_table_below(width: int, lines: list[str]) -> None:
    """Each table begins with the first column, and has at least one other column, even if that
    column is too wide."""
    assert (
        text.split_wide_table(["name ", "aa", "bbb", "c"], [["x", "1", "2", "3"]], width) == lines
    )


def test_wrapped_line_is_indented_and_keeps_hyphenated_words() -> None:
    assert text.wrap_line("one two-three four", 11) == ["one", "  two-three", "  four"]
    assert text.wrap_line("one two-three four", 13) == ["one two-three", "  four"]
    assert text.wrap_line("one two three", 9, " ", "---") == [" one two", " ---three"]


def test_unprintable_characters_are_escaped() -> None:
    assert text.escape_unprintable_chars("a b é\x1b[m\n\x7f\u202e") == (
        "a b é\\x1b[m\\n\\x7f\\u202e"
    )


def test_only_hyphens_before_numbers_become_minus_signs() -> None:
    pairs = {
        "-1 to -0.5": "−1 to −0.5",
        "(-?)": "(−?)",
        "nop-1-4": "nop-1-4",
        "--5": "--5",
        "a - b": "a - b",
        "-x": "-x",
    }
    assert {given: text.use_minus_signs(given) for given in pairs} == pairs


@pytest.mark.parametrize("char", [*"\0\b\v\f\x0e\x1f\x7f\ud800\uffff"])
def test_characters_that_xml_forbids_become_question_marks(char: str) -> None:
    assert text.replace_chars_forbidden_in_html(f"a{char}b") == "a?b"


def test_characters_that_xml_allows_are_kept() -> None:
    allowed = "\t\n\r ~\x80é\ud7ff\ue000\ufffd\U0001f600"
    assert text.replace_chars_forbidden_in_html(allowed) == allowed


def test_output_to_a_pipe_has_100_columns_without_columns_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "__stdout__", io.StringIO())
    assert text.get_terminal_width() == 100
    monkeypatch.setenv("COLUMNS", "77")
    assert text.get_terminal_width() == 77


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (UnableError("no bread"), "no bread"),
        (OSError(errno.EACCES, "Denied", "/a"), "/a: Denied"),
        (OSError(errno.EXDEV, "Cross-device", "/a", None, "/b"), "/b: Cross-device"),
        (OSError(errno.EIO, "I/O error"), "I/O error"),
        (OSError("odd"), "odd"),
        (
            OSError(errno.ENOSPC, "Full", "/a"),
            "/a: Full; free disk space and run the command again",
        ),
        (OSError(errno.EDQUOT, "Quota"), "Quota; free disk space and run the command again"),
        (
            subprocess.CalledProcessError(3, ["tar", Path("x"), "7"], "", " bad \n"),
            "exit code 3 of tar x 7: bad",
        ),
        (subprocess.CalledProcessError(-9, "tar x | y"), "exit code -9 of tar x | y: "),
    ],
)
def test_error_message_names_the_file_and_the_remedy(error: Exception, expected: str) -> None:
    assert explain_error(error) == expected


@pytest.mark.parametrize(("argument", "number"), [("1", 1), ("007", 7), ("100", 100)])
def test_positive_whole_number_is_parsed(argument: str, number: int) -> None:
    assert parse_positive_int(argument) == number


@pytest.mark.parametrize("argument", ["", "0", "00", "-1", "+1", "1.5", "1e3", "٣", "x"])
def test_text_that_is_no_positive_whole_number_is_refused(argument: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number above 0"):
        parse_positive_int(argument)


def test_require_root_raises_for_users_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    require_root("unpacking")
    monkeypatch.setattr("os.geteuid", lambda: 1)
    with pytest.raises(
        UnableError, match=r"^unpacking needs root, for .*; run the command with sudo$"
    ):
        require_root("unpacking")


@pytest.mark.parametrize(
    ("value", "shape", "expected"),
    [
        *((1, int, ""), (1, float, ""), (1.5, float, ""), (True, bool, ""), (None, None, "")),
        *((None, Any, ""), ("a", str, ""), ("a", "a", ""), ("a", ("b", "a"), "")),
        *((None, (int, None), ""), ([], [int], ""), ([1, 2], [int], ""), ({}, {"a?": int}, "")),
        *(({"a": 1, "b": "x"}, {"a": int}, ""), ({"a": 1}, {"*": int}, ""), ({}, {"*": int}, "")),
        (1.0, int, "is 1.0, not a whole number"),
        (True, int, "is true, not a whole number"),
        (False, float, "is false, not a number"),
        (1, bool, "is 1, not true or false"),
        (float("nan"), float, "is NaN, not a number"),
        (float("inf"), float, "is Infinity, not a number"),
        ("b", "a", "is \"b\", not 'a'"),
        ("c", ("a", None), "is \"c\", not 'a' or null"),
        (None, str, "is null, not a string"),
        ("x" * 60, int, f'is "{"x" * 39}, not a whole number'),
        ({}, [int], "is {}, not an array"),
        ([], {"a": int}, "is [], not an object"),
        ({}, {"a": int}, "a is missing"),
        ({"a": "x"}, {"a": int}, 'a is "x", not a whole number'),
        ({"a": "x"}, {"a?": int}, 'a is "x", not a whole number'),
        ({"k": 1, "m": "x"}, {"*": int}, 'm is "x", not a whole number'),
        ({"a": {"b": [1, "x"]}}, {"a": {"b": [int]}}, 'a.b[1] is "x", not a whole number'),
        ({"a": {}}, {"a": {"b": int}}, "a.b is missing"),
        ([{"a": None}], [{"a": int}], "[0].a is null, not a whole number"),
    ],
)
def test_json_value_of_a_wrong_type_is_reported_with_its_field(
    value: object, shape: Any, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    if expected:
        with pytest.raises(FailedError) as raised:
            jsonfile.read_json(path, shape)
        assert str(raised.value) == f"{path}: {expected}"
    else:
        assert jsonfile.read_json(path, shape) == value


def test_unreadable_json_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=f"^{tmp_path}/none: No such file or directory$"):
        jsonfile.read_json(tmp_path / "none")
    for content in (b"{", b"\xff"):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(FailedError, match=f"^{tmp_path}/bad: "):
            jsonfile.read_json(tmp_path / "bad")


def test_failed_atomic_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        files.write_file_atomically(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    for content in ("é", b"\xff"):
        files.write_file_atomically(tmp_path / "file", content)
        wanted = content.encode() if isinstance(content, str) else content
        assert (tmp_path / "file").read_bytes() == wanted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_atomic_write_replaces_the_target_of_a_link(tmp_path: Path) -> None:
    """The target of the link is replaced, and the link stays a link."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    for content in ("one", "two"):
        files.write_file_atomically(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "file").read_text() == content


def test_atomic_write_keeps_a_named_pipe(tmp_path: Path) -> None:
    """A pipe or a device, which is not a regular file, is written to and not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_file_atomically(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]


def test_sync_and_rename_keeps_all_files_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "new" / "sub").mkdir(parents=True)
    (tmp_path / "new" / "sub" / "file").write_text("text")
    files.sync_and_rename_directory(tmp_path / "new", tmp_path / "final")
    assert (tmp_path / "final" / "sub" / "file").read_text() == "text"
    assert not (tmp_path / "new").exists()


def test_lock_is_released_at_the_end_of_its_with_block(tmp_path: Path) -> None:
    path = tmp_path / "build" / "lock"
    refused = pytest.raises(UnableError, match=r"^busy$")
    for _ in range(2):
        with files.hold_lock(path, ""), refused, files.hold_lock(path, "busy"):
            pass
    refused = pytest.raises(UnableError, match=rf"^{path} cannot be written to: .*File exists$")
    with refused, files.hold_lock(path / "lock", "busy"):
        pass


def test_shared_lock_is_held_by_several_processes(tmp_path: Path) -> None:
    """A process that waits for a shared lock says so."""
    path, said = tmp_path / "lock", list[str]()
    with files.hold_lock(path, "", shared=True), files.hold_lock(path, "", shared=True):
        path.chmod(0o444)
        with pytest.raises(UnableError, match=r"^busy$"), files.hold_lock(path, "busy"):
            pass

    def release_other_lock(text: str) -> None:
        said.append(text)
        other.close()

    other = path.open()
    fcntl.flock(other, fcntl.LOCK_EX)
    with files.hold_lock(path, "busy", release_other_lock, shared=True):
        assert said == ["busy"]


def test_generated_files_are_not_listed_as_sources(tmp_path: Path) -> None:
    """Build directories, cache directories and dangling links at every depth are left out."""
    kept = ["a.c", "a.mod.h", "dir/b.py", "dir/sub/c", "dir/buildx/d.sh", ".hidden"]
    left_out = ["a.o", "a.ko", "a.mod", "x.mod.c", ".a.o.cmd", "lib.a", "modules.order"]
    left_out += ["Module.symvers", "b.pyc", "build/a.c", "dir/__pycache__/a.py", ".git/config"]
    left_out += ["dir/results/a.csv", ".venv/a.py", "dir/.mypy_cache/a", ".tmp_versions/a"]
    left_out += [".ruff_cache/a", ".pytest_cache/a"]
    for name in kept + left_out:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("nothing")
    assert sorted(map(str, paths.list_sources(tmp_path))) == sorted(kept)


def test_kmarkers_cache_sets_the_cache_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KMARKERS_CACHE", "/a/../b")
    assert paths.get_cache_dir() == Path("/b")
    for value in ("", None):
        monkeypatch.delenv("KMARKERS_CACHE")
        if value is not None:
            monkeypatch.setenv("KMARKERS_CACHE", value)
        assert paths.get_cache_dir() == (paths.ROOT / "build" / "lab").resolve()
        monkeypatch.setenv("KMARKERS_CACHE", "x")


def test_installed_tools_use_the_nearest_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools in a checkout use that checkout, whatever the working directory."""
    inner = tmp_path / "outer" / "inner" / "docs"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert paths.find_checkout() == paths.OWN
    monkeypatch.setattr(paths, "INSTALLED", True)
    assert paths.find_checkout() == inner
    for folder in (tmp_path / "outer", inner.parent, inner):
        (folder / "kernels.txt").touch()
        assert paths.find_checkout() == folder


@pytest.mark.parametrize("packaged", [False, True])
def test_error_outside_a_checkout_says_how_to_get_a_checkout(
    packaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "OWN", tmp_path / "share" / "kmarkers")
    readme = tmp_path / "share" / "doc" / "kmarkers" / "README.Debian"
    if packaged:
        readme.parent.mkdir(parents=True)
        readme.touch()
    with pytest.raises(UnableError) as raised:
        paths.require_checkout()
    told = str(raised.value)
    assert told.startswith(f"{tmp_path} is not a checkout of kmarkers: clone kmarkers, and run")
    assert told.endswith(
        f"in the clone; {readme} names the repository" if packaged else "in the clone"
    )
    (tmp_path / "kernels.txt").touch()
    paths.require_checkout()


def test_version_is_read_from_the_installed_file_or_the_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "OWN", tmp_path)
    header = tmp_path / "include" / "kmarkers" / "version.h"
    header.parent.mkdir(parents=True)
    header.write_text('#define KMARKERS_VERSION_CODE 7\n#define KMARKERS_VERSION "1.2.3"\n')
    assert paths.read_version() == "1.2.3"
    header.write_text("")
    assert paths.read_version() == ""
    (tmp_path / "VERSION").write_text("4.5\n")
    assert paths.read_version() == "4.5"


def test_captured_program_runs_with_its_environment_and_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER", "c")
    monkeypatch.setenv("LC_ALL", "de_DE.ISO-8859-1")
    words = ["sh", "-c", 'echo "$A $OTHER $LC_ALL $(pwd)"; printf "é\\351" >&2; exit 3']
    done = processes.capture_output(words, tmp_path, {"A": "b"})
    assert done.stdout == f"b c C {tmp_path}\n"
    assert (done.returncode, done.stderr) == (3, "é\ufffd")


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("ascii", "-1 - 2 +-3 ~ \\xe9 \\u20ac"),
        ("latin-1", "-1 - 2 ±3 ~ é \\u20ac"),
        ("utf-8", "−1 – 2 ±3 … é €"),
    ],
)
def test_characters_that_the_encoding_lacks_are_replaced(encoding: str, expected: str) -> None:
    given = "−1 – 2 ±3 … é €"
    assert given.encode(encoding, streams.PLAIN) == expected.encode(encoding)


def test_decoding_invalid_bytes_still_raises_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", streams.PLAIN)


class FakeStream(io.StringIO):
    """A stream that is a terminal if `terminal` is true."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("term", "no_colour", "overwrites", "alternates", "colours"),
    [
        ("xterm", "", True, True, True),
        ("xterm", "1", True, True, False),
        ("linux", "", True, False, True),
        ("vt100", "", True, False, True),
        ("vt220", "", True, False, True),
        ("dumb", "", False, False, False),
        ("unknown", "", False, False, True),
        ("", "", False, False, True),
        (None, "", False, False, True),
    ],
)
def test_term_variable_decides_which_terminal_features_are_used(
    term: str | None,
    no_colour: str,
    overwrites: bool,
    alternates: bool,
    colours: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    tests = (screen.can_overwrite_text, screen.has_alternate_screen, screen.uses_colour)
    assert [test(FakeStream(True)) for test in tests] == [overwrites, alternates, colours]
    assert not any(test(FakeStream(False)) for test in tests)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (4, 2, ["\033[1mabcd\033[0m", "xy"]),
        (3, 1, ["\033[1mabc\033[0m"]),
        (80, 9, ["\033[1mabcdef\033[0m", "xy", "\033[2mz\033[0m"]),
        (0, 0, ["\033[1mabcdef\033[0m", "xy", "\033[2mz\033[0m"]),
        (None, None, ["\033[1mabcdef\033[0m", "xy", "\033[2mz\033[0m"]),
    ],
)
def test_lines_of_a_screen_are_cut_to_the_terminal_size(
    columns: int | None, rows: int | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal that does not report its size has 80 columns and 24 rows."""

    def report_terminal_size(_: int) -> os.terminal_size:
        if columns is None or rows is None:
            raise OSError
        return os.terminal_size((columns, rows))

    asked, written = [], []

    def return_screen_lines(width: int, height: int) -> list[tuple[str, str]]:
        asked.append((width, height))
        return [("abcdef", "1"), ("xy", ""), ("z", "2")]

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("os.get_terminal_size", report_terminal_size)
    stream = FakeStream(True)
    monkeypatch.setattr(stream, "fileno", lambda: 7)
    monkeypatch.setattr("os.write", lambda number, data: written.append((number, data.decode())))
    screen.Screen(stream, return_screen_lines).draw_lines()
    assert asked == [(columns or 80, rows or 24)]
    lines = "\r\n".join(f"\033[K{line}" for line in expected)
    assert written == [(7, f"\033[H{lines}\033[J")]
    monkeypatch.setenv("NO_COLOR", "1")
    screen.Screen(stream, return_screen_lines).draw_lines()
    assert "abc" in written[1][1] and "m" not in written[1][1].replace("\033[", "")


@pytest.mark.parametrize(
    ("pager", "less", "words", "options"),
    [
        ("more -s", "", ["more", "-s"], ""),
        ("", None, ["less"], "FRX"),
        (None, None, ["less"], "FRX"),
        (None, "S", ["less"], "S"),
        ("absent", None, None, ""),
        (" ", None, None, ""),
    ],
)
def test_text_is_shown_in_the_pager_that_the_user_chose(
    pager: str | None,
    less: str | None,
    words: list[str] | None,
    options: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls: list[tuple[object, ...]] = []

    def record_pager_call(words: object, input: bytes, check: bool, env: dict[str, str]) -> None:
        calls.append((words, input.decode(), env["LESS"], env["LESSCHARSET"]))

    for name, value in (("PAGER", pager), ("LESS", less), ("LESSCHARSET", None), ("TERM", "xterm")):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr("shutil.which", lambda name: None if name == "absent" else name)
    monkeypatch.setattr("subprocess.run", record_pager_call)
    screen.show_text_in_pager("é")
    assert (capsys.readouterr().out, calls) == ("é\n", [])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    screen.show_text_in_pager("é")
    assert calls == ([(words, "é\n", options, "utf-8")] if words else [])
    assert capsys.readouterr().out == ("" if words else "é\n")


def test_output_of_a_program_is_appended_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    words = ["sh", "-c", 'read -r x; echo "$A$x $(pwd)"; echo wrong >&2; exit 7']
    assert processes.run_program(words, log, {"A": "b"}) == 7
    assert log.read_text() == f"before\nb {paths.ROOT}\nwrong\n"


def test_program_is_killed_at_its_time_limit(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run_program(["sleep", "60"], tmp_path / "log", seconds=0.01)
    assert not processes._running
