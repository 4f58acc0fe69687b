# SPDX-License-Identifier: GPL-2.0-only
"""Reads from the text of a C file in kernel style what the file defines, uses and includes.

No preprocessor runs: both sides of an #ifdef count, and a macro uses the words of its text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

COMMENT_OR_STRING = re.compile(
    r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*", re.S
)
TOKEN = re.compile(
    r"^[ \t]*#(?:.*\\\n)*.*"  # a directive with the lines that continue it
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|[A-Za-z_]\w*|\.?\d[\w.]*|->|\.\.\.|\S",
    re.M,
)
WORD = re.compile(r"[A-Za-z_]\w*")
DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.S)
MACRO = re.compile(r"(\w+)(\([^)]*\))?(.*)", re.S)
INCLUDED = re.compile(r"([<\"])([^>\"]+)[>\"]")
# Macros that define an object. It is named by the first argument, or below by the last one.
DEFINING = re.compile(
    r"(DEFINE|DECLARE)_(MUTEX|SPINLOCK|STATIC_KEY\w*|DELAYED_WORK|WORK)|H?LIST_HEAD"
)
DEFINING_SECOND = re.compile(r"DEFINE_(PER_CPU|IMV)")
CLOSING = {"(": ")", "[": "]", "{": "}"}
ATTRIBUTES = {"__attribute__", "__aligned", "__section", "__printf", "__acquires", "__releases"}
SPECIFIERS = {"static", "const", "volatile", "extern", "inline", "noinline", "register"}


@dataclass
class Definition:
    """A function, an object or a macro, and the words of its text with the first line of each."""

    name: str
    kind: str  # function, object or macro
    path: Path
    line: int
    last: int
    static: bool
    words: dict[str, int] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The name as prose shows it."""
        return f"{self.name}()" if self.kind == "function" else self.name


@dataclass(frozen=True)
class Include:
    """An #include of a file."""

    name: str
    quoted: bool
    line: int


@dataclass
class CSource:
    """The content of a file, and its words that may name something, without prototypes."""

    path: Path
    definitions: list[Definition] = field(default_factory=list)
    includes: list[Include] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)


@dataclass
class _Token:
    text: str
    line: int
    column: int


@dataclass
class _Part:
    """A token, or a bracket with the tokens inside it."""

    text: str
    line: int
    last: int
    inner: list[_Token] = field(default_factory=list)

    @property
    def is_word(self) -> bool:
        return WORD.fullmatch(self.text) is not None


def _blank_comment(match: re.Match[str]) -> str:
    text = match.group()
    return text if text[0] in "\"'" else " " + "\n" * text.count("\n")


def _tokens(text: str) -> Iterator[_Token]:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for match in TOKEN.finditer(text):
        number = bisect_right(starts, match.start())
        yield _Token(match.group(), number, match.start() - starts[number - 1])


def _words(tokens: list[_Token]) -> dict[str, int]:
    """Return the words that may name something outside, without members of structures."""
    found: dict[str, int] = {}
    before = ""
    for token in tokens:
        if WORD.fullmatch(token.text) and before not in (".", "->"):
            found.setdefault(token.text, token.line)
        before = token.text
    return found


def _group(tokens: list[_Token], start: int) -> tuple[_Part, int]:
    """Return the bracket at start with the tokens inside it, and the index behind its end."""
    opened = [CLOSING[tokens[start].text]]
    end = start + 1
    while opened and end < len(tokens):
        text = tokens[end].text
        if text in CLOSING:
            opened.append(CLOSING[text])
        elif text == opened[-1]:
            opened.pop()
        end += 1
    last = tokens[end - 1].line
    return _Part(tokens[start].text, tokens[start].line, last, tokens[start + 1 : end - 1]), end


def _function_name(parts: list[_Part]) -> int:
    """Return the index of the name of the function whose body is the last part, or -1."""
    if parts[0].text == "typedef" or any(part.text == "=" for part in parts):
        return -1
    for index, part in enumerate(parts[:-1]):
        if part.is_word and parts[index + 1].text == "(" and part.text not in ATTRIBUTES:
            return index
    return -1


def _items(tokens: list[_Token]) -> Iterator[tuple[list[_Part], list[_Token]]]:
    """Yield the definitions and declarations of a file, as parts and as tokens."""
    parts: list[_Part] = []
    begin = index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in CLOSING:
            part, index = _group(tokens, index)
        else:
            part, index = _Part(token.text, token.line, token.line), index + 1
        parts.append(part)
        body = part.text == "{" and _function_name(parts) >= 0
        if part.text == ";" or body or _is_bare_macro(parts, tokens[index : index + 1]):
            yield parts, tokens[begin:index]
            parts, begin = [], index
    if parts:
        yield parts, tokens[begin:]


def _is_macro(parts: list[_Part]) -> bool:
    """Return whether this is a macro with arguments, and not a declaration."""
    return len(parts) > 1 and parts[0].is_word and parts[1].text == "("


def _is_bare_macro(parts: list[_Part], following: list[_Token]) -> bool:
    """Return whether this is only a macro with arguments, without a semicolon."""
    return (
        len(parts) == 2
        and _is_macro(parts)
        and parts[0].text.isupper()
        and (not following or (following[0].column == 0 and following[0].text not in "{;"))
    )


def _declarators(parts: list[_Part]) -> Iterator[list[_Part]]:
    """Yield the parts of each name that a declaration declares, without its value."""
    while parts and (parts[0].text in SPECIFIERS or parts[0].text.startswith("__")):
        parts = parts[1:]
    if parts and parts[0].text in ("struct", "union", "enum"):
        parts = parts[2:] if len(parts) > 1 and parts[1].is_word else parts[1:]
        if parts and parts[0].text == "{":
            parts = parts[1:]
    current: list[_Part] = []
    in_value = False
    for part in parts:
        if part.text in (",", ";"):
            yield current
            current, in_value = [], False
        elif part.text == "=":
            in_value = True
        elif not in_value:
            current.append(part)


def _objects(parts: list[_Part]) -> Iterator[_Part]:
    """Yield the names of the objects that a declaration defines."""
    if parts[0].text in ("typedef", "asm", "__asm__"):
        return
    if any(part.text == "extern" for part in parts) and all(part.text != "=" for part in parts):
        return
    for index, part in enumerate(parts[:-1]):
        group = parts[index + 1]
        second = DEFINING_SECOND.fullmatch(part.text)
        if group.text == "(" and (second or DEFINING.fullmatch(part.text)):
            words = [token for token in group.inner if WORD.fullmatch(token.text)]
            chosen = words[-1] if second else words[0]
            yield _Part(chosen.text, chosen.line, chosen.line)
            return
    for declarator in _declarators(parts):
        yield from _declared(declarator)


def _declared(declarator: list[_Part]) -> Iterator[_Part]:
    for index, part in enumerate(declarator):
        if part.text != "(" or (index and declarator[index - 1].text in ATTRIBUTES):
            continue
        # A pointer to functions has its name in the brackets. Anything else is a prototype.
        if part.inner and part.inner[0].text == "*":
            inner = [token for token in part.inner if WORD.fullmatch(token.text)]
            yield from (_Part(token.text, token.line, token.line) for token in inner[-1:])
        return
    names = [part for part in declarator if part.is_word and not part.text.startswith("__")]
    yield from names[-1:]


def _directive(source: CSource, token: _Token) -> None:
    found = DIRECTIVE.match(token.text)
    if not found:
        return
    word, rest = found.groups()
    if word == "include" and (named := INCLUDED.match(rest)):
        source.includes.append(Include(named[2], named[1] == '"', token.line))
    elif word == "define" and (macro := MACRO.match(rest)):
        name, arguments, body = macro.groups()
        words = dict.fromkeys(WORD.findall(re.sub(r'"(?:\\.|[^"\\])*"', '""', body)), token.line)
        for argument in WORD.findall(arguments or ""):
            words.pop(argument, None)
        last = token.line + token.text.count("\n")
        source.definitions.append(
            Definition(name, "macro", source.path, token.line, last, True, words)
        )


def parse(path: Path, text: str) -> CSource:
    """Read a C file or a header."""
    source = CSource(path)
    tokens = list(_tokens(COMMENT_OR_STRING.sub(_blank_comment, text)))
    code = []
    for token in tokens:
        if token.text.lstrip().startswith("#"):
            _directive(source, token)
        else:
            code.append(token)
    for parts, inside in _items(code):
        static = any(part.text == "static" for part in parts)
        words = _words(inside)
        place = _function_name(parts) if parts[-1].text == "{" else -1
        names = [parts[place]] if place >= 0 else list(_objects(parts))
        if names or _is_macro(parts):
            source.words = words | source.words
        for name in names:
            kind = "function" if place >= 0 else "object"
            own = {word: line for word, line in words.items() if word != name.text}
            first = parts[0].line if place >= 0 else name.line
            source.definitions.append(
                Definition(name.text, kind, path, first, parts[-1].last, static, own)
            )
    return source
