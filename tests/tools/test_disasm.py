# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the machine code for immediate values, from every installed compiler."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "-std=gnu11",
    "-O2",
    "-D_GNU_SOURCE",
    "-fno-pie",
    "-fno-strict-aliasing",
    "-fcf-protection=none",
]

SOURCE = """
#include <linux/kernel.h>
#include <kmarkers/marker.h>

DEFINE_IMV(u8, one);
DEFINE_IMV(u16, two);
DEFINE_IMV(int, four);
DEFINE_IMV(u64, eight);
DEFINE_IMV(bool, branch);

u8 read_one(void) { return imv_read(one); }
u16 read_two(void) { return imv_read(two); }
int read_four(void) { return imv_read(four); }
u64 read_eight(void) { return imv_read(eight); }
int read_branch(void) { return imv_branch(branch) ? 11 : 22; }
void read_marker(int x) { trace_mark(test_disasm, "%d", x + 1); }
int compare_bytes(u8 x) { return imv_above(x, one) ? 11 : 22; }
int compare_two(int x) { return imv_below(x, two) ? 11 : 22; }
int compare_four(int x) { return imv_at_least(x, four) ? 11 : 22; }
"""

# The beginning of a source that compares an immediate value with a number of another type.
COMPARE = """
#include <kmarkers/immediate.h>
DEFINE_IMV(unsigned int, four);
DEFINE_IMV(u16, two);
DEFINE_IMV(unsigned long, eight);
"""

INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(?P<bytes>(?:[0-9a-f]{2} )+)\s*\t?(?P<text>.*)$")


@pytest.fixture(params=["gcc", "clang"], scope="module")
def disassembled_functions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[tuple[str, str]]]:
    """Compile and disassemble SOURCE; return each function's instructions as pairs of bytes and
    text."""
    compiler = request.param
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: apt-get install {compiler}")
    where = tmp_path_factory.mktemp(compiler)
    source, built = where / "reads.c", where / "reads.o"
    source.write_text(SOURCE)
    include = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
    subprocess.run([compiler, *FLAGS, *include, "-c", "-o", built, source], check=True)
    text = subprocess.run(
        ["objdump", "-d", "--insn-width=12", built], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] = []
    for line in text.splitlines():
        if name := re.match(r"^[0-9a-f]+ <(\w+)>:$", line):
            current = found.setdefault(name[1], [])
        elif instruction := INSTRUCTION.match(line):
            current.append((instruction["bytes"].strip(), instruction["text"]))
    return found


def select_instructions_until_ret(instructions: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the instructions up to the first ret: the instructions that run while the branch is
    off."""
    texts = [text for _, text in instructions]
    return instructions[: next(i for i, text in enumerate(texts) if text.startswith("ret")) + 1]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("read_one", "b8 00 00 00 00"),
        ("read_two", "b8 00 00 00 00"),
        ("read_four", "b8 00 00 00 00"),
        ("read_eight", "48 b8 00 00 00 00 00 00 00 00"),
    ],
)
def test_read_of_an_immediate_value_is_one_mov(
    disassembled_functions: dict[str, list[tuple[str, str]]], name: str, first: str
) -> None:
    """The first instruction is a mov of the value. Only conversions of the type and ret follow; no
    instruction reads memory."""
    instructions = select_instructions_until_ret(disassembled_functions[name])
    assert instructions[0][0] == first
    assert len(instructions) <= 3
    for _, text in instructions:
        assert "(" not in text, f"{name} accesses memory: {text}"


@pytest.mark.parametrize("name", ["read_branch", "read_marker"])
def test_branch_on_an_immediate_value_is_one_jne(
    disassembled_functions: dict[str, list[tuple[str, str]]], name: str
) -> None:
    """The compiled branch is a jne of seven bytes with a prefix; no instruction tests a register or
    reads memory."""
    instructions = select_instructions_until_ret(disassembled_functions[name])
    branches = [code for code, _ in instructions if code.startswith("3e 0f 85")]
    assert [len(code.split()) for code in branches] == [7]
    for _, text in instructions:
        assert not text.startswith(("test", "cmp")) and "(" not in text


@pytest.mark.parametrize(
    ("name", "first", "jump"),
    [
        ("compare_bytes", "40 80 ff 7f", "ja"),
        ("compare_two", "81 ff ff ff ff 7f", "jl"),
        ("compare_four", "81 ff ff ff ff 7f", "jge"),
    ],
)
def test_comparison_is_one_cmp_and_one_jump(
    disassembled_functions: dict[str, list[tuple[str, str]]], name: str, first: str, jump: str
) -> None:
    """The jump follows the cmp directly. The immediate operand, the last one or four bytes of the
    cmp, has the size of the register."""
    instructions = disassembled_functions[name]
    compared = [n for n, (code, _) in enumerate(instructions) if code == first]
    assert len(compared) == 1
    assert instructions[compared[0] + 1][1].split()[0] == jump
    texts = [text.split()[0] for _, text in instructions]
    assert sum(text.startswith(("cmp", "test", "set")) for text in texts) == 1
    assert sum(text.startswith("j") and text != "jmp" for text in texts) == 1


def compile_strictly(compiler: str, source: Path) -> subprocess.CompletedProcess[str]:
    """Compile a C file that includes headers of kmarkers, with warnings as errors."""
    include = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
    words = [compiler, *FLAGS, *include, "-Wall", "-Wextra", "-Werror", "-c"]
    return subprocess.run(
        [*words, "-o", source.with_suffix(".o"), source],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("compared", "error"),
    [
        ("imv_above(n, four)", ""),
        ("imv_above((unsigned int)number, four)", ""),
        ("imv_above(number, two)", ""),
        ("imv_equal((u8)number, two)", ""),
        ("imv_above(number, four)", "number of another type: cast"),
        ("imv_equal((long)number, four)", "number of another type: cast"),
        ("imv_below(1.5, two)", "number of another type: cast"),
        ("imv_below((long)number, eight)", "number of another type: cast"),
    ],
)
def test_comparison_needs_a_number_of_the_type_of_the_value(
    compiler: str, compared: str, error: str, tmp_path: Path
) -> None:
    """A comparison with a number of another type does not compile, also if IMV_PLAIN is
    defined."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: apt-get install {compiler}")
    source = tmp_path / "compare.c"
    body = f"int f(int number, unsigned int n) {{ return {compared} && number && n; }}\n"
    for begin in ("", "#define IMV_PLAIN\n"):
        source.write_text(begin + COMPARE + body)
        done = compile_strictly(compiler, source)
        assert (error in done.stderr) if error else not done.stderr
        assert bool(done.returncode) == bool(error)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("type_", "bounds", "fits"),
    [
        ("bool", "0, 1", True),
        ("u8", "0, 255", True),
        ("s8", "-128, 127", True),
        ("u32", "0, 0xffffffffU", True),
        ("u64", "0, 0x7fffffffffffffff", True),
        ("s64", "-0x7fffffffffffffff - 1, 0x7fffffffffffffff", True),
        ("int", "7, 7", True),
        ("bool", "0, 2", False),
        ("u8", "0, 256", False),
        ("u8", "-1, 5", False),
        ("s8", "-128, 128", False),
        ("int", "0, 0xffffffffU", False),
        ("u64", "0, 0xffffffffffffffff", False),
        ("int", "7, 6", False),
    ],
)
def test_bounds_of_a_settable_value_fit_its_type(
    compiler: str, type_: str, bounds: str, fits: bool, tmp_path: Path
) -> None:
    """A settable value whose bounds are too large for its type, or not in order, does not
    compile."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: apt-get install {compiler}")
    source = tmp_path / "settable.c"
    source.write_text(
        f"#include <kmarkers/immediate.h>\nDEFINE_IMV({type_}, v);\nIMV_SETTABLE(v, {bounds});\n"
    )
    done = compile_strictly(compiler, source)
    assert done.stderr.count("do not fit its type") == (0 if fits else 1), done.stderr
    assert bool(done.returncode) != fits


def test_table_record_of_a_site_has_twelve_bytes(tmp_path: Path) -> None:
    """The table of nine sites in an object file has twelve bytes for each site; the head of the
    table has 24 bytes."""
    source, built = tmp_path / "reads.c", tmp_path / "reads.o"
    source.write_text(SOURCE)
    include = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
    subprocess.run(["gcc", *FLAGS, *include, "-c", "-o", built, source], check=True)
    text = subprocess.run(
        ["objdump", "-h", built], check=True, capture_output=True, text=True
    ).stdout
    sections = [line.split() for line in text.splitlines() if " kmarkers_imv" in line]
    sizes = {name: int(size, 16) for _, name, size, *_ in sections}
    assert sizes == {"kmarkers_imv": 9 * 12, "kmarkers_imv_heads": 24}
