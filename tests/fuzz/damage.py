"""Bytes changed at random, and odd values where a file has ordinary ones."""

from __future__ import annotations

import random
from typing import Any


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Return bytes with one damage: some changed, cut out, doubled, moved, or the end missing."""
    if not content:
        return bytes(draw.randrange(256) for _ in range(draw.randrange(9)))
    start = draw.randrange(len(content))
    # Beginning and end are where formats keep their structure.
    if draw.random() < 0.3:
        start = min(start, draw.randrange(200))
    elif draw.random() < 0.3:
        start = max(start, len(content) - 1 - draw.randrange(400)) % len(content)
    stop = min(len(content), start + draw.choice([1, 1, 1, 2, 4, 8, 100]))
    match draw.randrange(8):
        case 0:
            return content[:start]
        case 1:
            return content[:start] + content[stop:]
        case 2:
            return content[:stop] + content[start:]
        case 3:
            piece = bytes(draw.randrange(256) for _ in range(stop - start))
            return content[:start] + piece + content[stop:]
        case 4:
            return content[:start] + bytes([content[start] ^ (1 << draw.randrange(8))]) + content[start + 1 :]
        case 5:
            return (
                content[:start]
                + draw.choice([b"\0", b"\xff", b'"', b",", b"\n", b"9", b"-"]) * (stop - start)
                + content[stop:]
            )
        case 6:
            return content[stop:] + content[:stop]
    return content + content[start:]


def odd_number(draw: random.Random) -> str:
    """Return a text that is a number, or nearly one."""
    return draw.choice(
        ["1e308", "-1e308", "1e400", "inf", "nan", "1e39", "1e160", "9007199254740993", "18446744073709551616", "007",
         "-0", "+5", ".5", "5.", "1_000", "0x10", "1e-320", "9" * 400, "٣", "1e", "--1", "1,5", ""]
    )  # fmt: skip


def odd_text(draw: random.Random) -> str:
    """Return a text that a table has seldom."""
    return draw.choice(
        ["a", "b", "NA", "?", "", " ", "\x1b[31m", "[/red]", ":100:", "é", "\u2028", "\x00", "y" * 3000, "x\ny", '"',
         "#", "1:2", "\U0001f600", "{target}"]
    )  # fmt: skip


def odd_value(draw: random.Random) -> Any:
    """Return a value of JSON that stands where another was."""
    deep: Any = []
    for _ in range(draw.choice([3, 500])):
        deep = [deep]
    return draw.choice(
        [None, True, False, 0, 1, -1, 2, 10**9, 2**63, 10**400, 0.0, -0.5, 1e300, 1e-300, "", "x", "number", "text",
         "sparse", "y", [], {}, [[]], {"x": 1}, ["a", "a"], [1, "a"], [0.5], ["u"] * 3, deep]
    )  # fmt: skip


def forged_json(value: Any, draw: random.Random) -> Any:
    """Return JSON with one part of it replaced, left out, doubled or renamed."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        name = draw.choice(list(value))
        changed = dict(value)
        match draw.randrange(6):
            case 0:
                del changed[name]
            case 1:
                changed[name + draw.choice(["", "_", " "])] = odd_value(draw)
            case 2:
                changed[name] = changed[draw.choice(list(value))]
            case _:
                changed[name] = forged_json(value[name], draw)
        return changed
    if isinstance(value, list) and value and draw.random() < 0.9:
        place = draw.randrange(len(value))
        match draw.randrange(5):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return [*value, value[place]]
            case 2:
                return value[::-1]
            case _:
                return [*value[:place], forged_json(value[place], draw), *value[place + 1 :]]
    if isinstance(value, int | float) and draw.random() < 0.3:
        return value * draw.choice([-1, 2, 10**6]) + draw.choice([0, 1])
    return odd_value(draw)
