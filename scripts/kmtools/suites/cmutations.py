# SPDX-License-Identifier: GPL-2.0-only
"""Makes mutants of C sources in the kernel's coding style.

Each function find_..._edits() takes the code of a function without comments, strings and
preprocessor lines, and yields edits. The offsets of an edit count from the beginning of the code. A
mutant may be impossible to compile, or may have no effect, so the caller compiles each mutant and
compares the objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# Parts of a source in which nothing is changed: comments, strings, characters, preprocessor lines.
SILENT = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
# A function body: from an opening brace to a closing brace, both in the first column.
BODY = re.compile(r"^\{\n.*?^\}", re.S | re.M)
# The beginning of a statement that find_statement_edits() does not delete: a declaration, a keyword
# such as return, or a call that prints a message or makes a check.
KEPT = re.compile(
    r"(?:(?:return|if|else|for|while|do|switch|case|default|static|const|struct|union|enum|unsigned|"
    r"signed|void|char|short|int|long|bool|size_t|asm)\b|[us](?:8|16|32|64)\b|"
    r"MODULE_|EXPORT_SYMBOL|BUILD_BUG|static_assert|WARN|pr_\w+\(|(?!goto\b)\w+[ \t]+\**\w+\s*"
    r"(?:[;=,\[]|$))"
)
RETURN = re.compile(r"return\b|goto\b|break\b|continue\b")
# A label, or the head of a compound statement.
HEAD = re.compile(
    r"(?:else\b|do\b|(?:case\b[^;:?]+|\w+):|(if|while|for|switch|\w*for_each\w*) ?\()"
)
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPARISON = re.compile(r"(?<= )(==|!=|<=|>=|<|>)(?=\s)")
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])")
OPERATOR = re.compile(r"(?<=[ ])(&&|\|\||\+|-)(?=\s)")
# Match the text before or after an operand of && and || (END_OF_BOOL), or of + and - (END_OF_SUM).
END_OF_BOOL = re.compile(r"&&|\|\||[,;?:{}]|(?<![=!<>])=(?!=)|\breturn\b")
END_OF_SUM = re.compile(r"&&|\|\||[,;?:{}=<>|^]|\breturn\b|(?<=[ ])[-+&](?=\s)")


@dataclass(frozen=True)
class Edit:
    """A change of a source: the characters from `start` to `end` are replaced by `new`. `what` is
    the name of the operator."""

    what: str
    start: int
    end: int
    new: str


def blank_comments_and_strings(text: str) -> str:
    """Return a source with blanks in place of comments, preprocessor lines, and the insides of
    strings. All offsets and line numbers stay the same."""

    def blank_part(found: re.Match[str]) -> str:
        part = found[0]
        inner = re.sub(r"[^\n]", " ", part)
        return f"{part[0]}{inner[1:-1]}{part[0]}" if part[0] in "\"'" else inner

    return SILENT.sub(blank_part, text)


def find_closing_bracket(code: str, opening: int) -> int:
    """Return the offset of the bracket that closes the bracket at the offset `opening`; -1 if
    no bracket does."""
    depth = 0
    for place in range(opening, len(code)):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if not depth:
            return place
    return -1


def skip_blanks(code: str, place: int) -> int:
    """Return the offset of the first non-blank character at or after the offset `place`."""
    while place < len(code) and code[place].isspace():
        place += 1
    return place


def find_if_and_while_conditions(code: str) -> Iterator[tuple[str, int, int]]:
    """Yield (keyword, start, end) for each condition of if and while. The offsets `start` and `end`
    exclude the parentheses."""
    for found in re.finditer(r"\b(if|while) \(", code):
        end = find_closing_bracket(code, found.end() - 1)
        if end > 0:
            yield found[1], found.end(), end


def find_negation_edits(code: str) -> Iterator[Edit]:
    """Yield edits that negate a condition."""
    for _, start, end in find_if_and_while_conditions(code):
        yield Edit("negate condition", start, end, f"!({code[start:end]})")


def find_error_path_edits(code: str) -> Iterator[Edit]:
    """Yield edits that make an if ignore a true condition, if the body ends with return, goto,
    break or continue. The condition is still evaluated."""
    for keyword, start, end in find_if_and_while_conditions(code):
        body = skip_blanks(code, end + 1)
        if code[body : body + 1] == "{":
            last = code[body + 1 : max(find_closing_bracket(code, body), body)].rstrip()
            body = max(last.rfind(sign, 0, -1) for sign in ";{}") + body + 2
            body = skip_blanks(code, body)
        if keyword == "if" and RETURN.match(code, body):
            yield Edit("drop error path", start, end, f"({code[start:end]}) && 0")


def find_statement_edits(code: str) -> Iterator[Edit]:
    """Yield edits that delete an expression statement, or a goto, break or continue without an if.
    An empty block replaces the statement, because a compiler may warn about an empty statement."""
    start = depth = 0
    for place, char in enumerate(code):
        depth += (char in "([") - (char in ")]")
        if char in "{}" or (char == ";" and not depth):
            if char == ";":
                first, conditional = skip_statement_heads(code, start)
                statement = code[first:place]
                jumps = RETURN.match(statement) is not None
                if statement.strip() and not ((jumps and conditional) or KEPT.match(statement)):
                    yield Edit("delete statement", first, place + 1, "{ }")
            start = place + 1


def skip_statement_heads(code: str, place: int) -> tuple[int, bool]:
    """Return the offset of the first statement after labels, else, and heads such as `if (...)` and
    `for (...)`; and True if one of these heads is an if."""
    conditional = False
    while True:
        place = skip_blanks(code, place)
        found = HEAD.match(code, place)
        if found is None:
            return place, conditional
        conditional = conditional or found[1] == "if"
        place = find_closing_bracket(code, found.end() - 1) + 1 if found[1] else found.end()
        if not place:
            return len(code), conditional


def find_comparison_edits(code: str) -> Iterator[Edit]:
    """Yield edits that replace a comparison operator, for example < by <=, or == by !=."""
    for found in COMPARISON.finditer(code):
        yield Edit("swap comparison", *found.span(), COMPARED[found[1]])


def find_number_edits(code: str) -> Iterator[Edit]:
    """Yield edits that add one to a constant, or subtract one."""
    for found in NUMBER.finditer(code):
        value = int(found[1], 0 if found[1].startswith("0x") else 10)
        for step in (1, -1):
            if value + step >= 0:
                new = hex(value + step) if found[1].startswith("0x") else str(value + step)
                yield Edit("change constant", *found.span(1), new)


def find_operand_edits(code: str) -> Iterator[Edit]:
    """Yield edits that replace an operation (&&, ||, + or -) by one of its operands."""
    for found in OPERATOR.finditer(code):
        ends = END_OF_BOOL if found[1] in ("&&", "||") else END_OF_SUM
        left = find_operand_start(code, found.start(), ends)
        right = find_operand_end(code, found.end(), ends)
        if code[left : found.start()].strip() and code[found.end() : right].strip():
            yield Edit("drop left operand", left, skip_blanks(code, found.end()), "")
            yield Edit("drop right operand", len(code[: found.start()].rstrip()), right, "")


def find_operand_end(code: str, place: int, ends: re.Pattern[str]) -> int:
    """Return the end of the operand that begins at the offset `place`; `ends` matches the text that
    may follow an operand."""
    while place < len(code) and code[place] not in ")]}":
        if code.startswith("->", place):
            place += 2
        elif ends.match(code, place):
            break
        else:
            closing = find_closing_bracket(code, place) if code[place] in "([" else place
            place = closing + 1 if closing >= 0 else len(code)
    return len(code[:place].rstrip())


def find_operand_start(code: str, place: int, ends: re.Pattern[str]) -> int:
    """Return the start of the operand that ends before the offset `place`; `ends` matches the text
    that may precede an operand."""
    depth, start = 0, place
    while place > 0:
        place -= 1
        depth += (code[place] in ")]") - (code[place] in "([")
        if depth < 0:
            break
        found = None if depth else ends.match(code, place)
        if found and not code.startswith("->", place - (code[place] == ">")):
            # The operand begins after the last character of the operator (of &&, the second &).
            place = found.end() - 1
            break
        start = place
    return skip_blanks(code, max(place + 1 if depth < 0 or found else start, 0))


FINDERS: tuple[Callable[[str], Iterator[Edit]], ...] = (
    *(find_statement_edits, find_negation_edits, find_comparison_edits, find_number_edits),
    *(find_error_path_edits, find_operand_edits),
)


def list_c_source_edits(text: str) -> list[Edit]:
    """Return all edits of a C source, ordered by offset."""
    code = blank_comments_and_strings(text)
    found = [
        Edit(edit.what, edit.start + body.start(), edit.end + body.start(), edit.new)
        for body in BODY.finditer(code)
        for find in FINDERS
        for edit in find(body[0])
        if not is_in_message_arguments(code, edit.start + body.start())
    ]
    return sorted(found, key=lambda edit: (edit.start, edit.end, edit.what, edit.new))


def is_in_message_arguments(code: str, place: int) -> bool:
    """Return True if the offset `place` is in the arguments of a function that prints a message."""
    statement = code[max(code.rfind(sign, 0, place) for sign in ";{}") + 1 : place]
    return re.search(r"\b(pr_\w+|WARN\w*|MODULE_\w+|trace_printk)\(", statement) is not None


def apply_edit(text: str, edit: Edit) -> str:
    """Return a source with an edit applied."""
    new = edit.new
    # If the edit contains a condition with blanked strings, insert the condition of the source.
    for pattern in ("!({})", "({}) && 0"):
        if new and new == pattern.format(blank_comments_and_strings(text)[edit.start : edit.end]):
            new = pattern.format(text[edit.start : edit.end])
    return text[: edit.start] + new + text[edit.end :]
