# SPDX-License-Identifier: GPL-2.0-only
"""Reads JSON files and checks the types of their fields."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from kmtools.base.errors import FailedError, explain_error

# The name of each JSON type in error messages, by Python type.
TYPE_NAMES = {
    str: "a string", int: "a whole number", float: "a number", bool: "true or false",
    dict: "an object", list: "an array", None: "null",
}  # fmt: skip


def read_json(path: Path, shape: Any = Any) -> Any:
    """Return the value in a JSON file. If the file cannot be read, or if the value differs from
    `shape` (see require_json_shape), raise FailedError with the file and the wrong field."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FailedError(explain_error(error)) from error
    except ValueError as error:
        raise FailedError(f"{path}: {error}") from error
    require_json_shape(value, shape, f"{path}: ")
    return value


def has_json_type(value: object, kind: object) -> bool:
    """Return True if a value has the type `kind`; if `kind` is a string, return True if the value
    equals this string. True, NaN and infinity are not numbers; an integer is accepted as a
    float."""
    if kind is Any or kind is None:
        return kind is Any or value is None
    if isinstance(kind, str) or isinstance(value, bool):
        return value == kind or kind is type(value)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, int | float if kind is float else kind)  # type: ignore[arg-type]


def require_json_shape(value: Any, shape: Any, where: str) -> None:
    """Check a value against a shape; raise FailedError if the value does not match. A shape is one
    of four things: a type; a tuple of types or strings, of which one must match; a list with the
    shape of every item; a dictionary with the shape of each field. In a dictionary, a name that
    ends in ? is the name of a field that may be absent, and * stands for every field. The value may
    have further fields. `where` is the start of the error message: the file and the field that
    holds the value."""
    kind = type(shape) if isinstance(shape, dict | list) else shape
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not any(has_json_type(value, one) for one in kinds):
        words = " or ".join(TYPE_NAMES.get(one, repr(one)) for one in kinds)
        name = "" if where.endswith(": ") else " "
        raise FailedError(f"{where}{name}is {json.dumps(value)[:40]}, not {words}")
    if isinstance(shape, dict):
        every = dict.fromkeys(value, shape["*"]) if "*" in shape else shape
        for field, inner in every.items():
            name = field if field in value else field.removesuffix("?")
            dot = "" if where.endswith(": ") else "."
            if name in value:
                require_json_shape(value[name], inner, f"{where}{dot}{name}")
            elif name == field:
                raise FailedError(f"{where}{dot}{name} is missing")
    elif isinstance(shape, list):
        for number, item in enumerate(value):
            require_json_shape(item, shape[0], f"{where}[{number}]")
