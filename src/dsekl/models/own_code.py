"""A user's own function or object as a short text: its code, and the values that the code refers to.

Looked at are the bytecode with its constants and defaults, the values that it takes from around it (closures, and
globals by name), and of an object its attributes and the methods of its class. Functions that it calls are followed
within the same module, and count by name beyond. Not looked at is what changes as a function works, which would make it
another one to itself: dicts, sets, private attributes, and attributes of other objects.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from numba.core.registry import CPUDispatcher

from dsekl.rows import digest
from dsekl.rows.digest import is_plain

LETTERS = 16
"""Of a digest: enough to tell functions apart that nobody has made to be mixed up."""


def code_text(thing: object) -> str:
    """Return what tells a function's or an object's code apart; another version of Python compiles to other code."""
    found = hashlib.sha256()
    for piece in _of_given(thing):
        found.update(piece.encode("utf-8", "surrogatepass") + b"\0")
    return f" code {found.hexdigest()[:LETTERS]} of Python {sys.version_info.major}.{sys.version_info.minor}"


def _of_given(thing: Any) -> Iterator[str]:
    """Return texts that say what somebody has given: a function in any form, or an object with settings."""
    if isinstance(thing, CPUDispatcher | FunctionType):
        yield from _of_value(thing, _function(thing).__module__, ())
    elif isinstance(thing, MethodType):
        yield from _of_given(thing.__func__)
        yield from _of_given(thing.__self__)
    elif isinstance(thing, partial):
        yield from _of_given(thing.func)
        for part in (*thing.args, *(part for pair in sorted(thing.keywords.items()) for part in pair)):
            yield from _of_given(part)
    elif is_plain(thing) or (settings := _settings(thing)) is None:
        yield from _of_value(thing, "", ())
    else:
        kind = type(thing)
        for part in (vars(base) for base in kind.__mro__ if base.__module__ == kind.__module__):
            for name in sorted(part):
                if callable(part[name]) or not name.startswith("__"):  # Python itself adds others
                    yield from _of_value(part[name], kind.__module__, ())
        for name, value in sorted(settings.items()):
            if not name.startswith("_"):
                yield name
                yield from _of_given(value) if callable(value) else _of_value(value, kind.__module__, ())


def _of_value(thing: Any, module: str, above: tuple[int, ...]) -> Iterator[str]:
    """Return texts that say what a value is, to a function in ``module``.

    ``above`` are the functions that led to it, one of which it may be.
    """
    yield f"{type(thing).__module__}.{type(thing).__qualname__}"
    if isinstance(thing, CPUDispatcher | FunctionType):
        function = _function(thing)
        yield function.__qualname__
        if function.__module__ == module and id(function) not in above:
            for part in _parts(function):
                yield from _of_value(part, module, (*above, id(function)))
    elif isinstance(thing, CodeType):
        yield digest([thing.co_code, thing.co_names, thing.co_varnames, thing.co_freevars])
        for part in thing.co_consts:
            yield from _of_value(part, module, above)
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from _of_value(part, module, above)
    elif is_plain(thing) and not isinstance(thing, dict | set):
        yield digest([thing])
    else:
        yield _name(thing)


def _settings(thing: object) -> dict[str, Any] | None:
    """Return the attributes of an object; None where it can have none of its own."""
    try:
        return vars(thing)
    except TypeError:
        return None


def _name(thing: Any) -> str:
    try:
        return str(thing.__qualname__)
    except AttributeError:
        return ""


def _function(thing: Any) -> Any:
    return thing.py_func if isinstance(thing, CPUDispatcher) else thing


def _parts(function: Any) -> list[Any]:
    """Return what makes a function: code, defaults, and the values of the names that it does not define."""
    code, around = function.__code__, function.__globals__
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    named = [around[name] for name in _names(code) if name in around]
    return [code, function.__defaults__, sorted((function.__kwdefaults__ or {}).items()), *cells, *named]


def _names(code: CodeType) -> list[str]:
    """Return the names that code looks up, in functions within it as well."""
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return sorted({*code.co_names, *inner})


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
