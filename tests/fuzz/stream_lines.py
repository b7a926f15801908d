"""Damaged streams of csv and JSON lines, from files, compressed files and standard input: learned from, or refused.

With ``--skip-broken`` what is wrong with one line must not end the stream, unless there is no telling lines apart.
"""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path
from typing import Any

from .damage import damaged, forged_json, odd_number, odd_text
from .data_files import COMPRESS
from .models import SIDES, X
from .stream_files import on_command_line

NAME = "stream lines"
COUNT = 5_000


def rows() -> list[dict[str, Any]]:
    return [
        {"a": round(float(a), 3), "b": "uvw"[k % 3], "id": 9007199254740993 + k, "y": "yes" if side else "no"}
        for k, (a, side) in enumerate(zip(X[:, 0], SIDES, strict=True))
    ]


def prepare(folder: Path) -> None:
    """Nothing: a stream is made in each trial."""


def content(draw: random.Random) -> bytes:
    """Return a stream in which some values, or some bytes, are odd."""
    found = rows()
    as_json = draw.random() < 0.5
    for _ in range(draw.choice([0, 1, 1, 5])):
        row = draw.choice(found)
        row[draw.choice(list(row) or ["a"])] = draw.choice([odd_number, odd_text])(draw)
    if draw.random() < 0.05:
        draw.choice(found)[draw.choice(["a", "y", "\ud800"])] = "\udfff"  # no character
    if as_json:
        lines = [json.dumps(forged_json(row, draw) if draw.random() < 0.05 else row) for row in found]
        if draw.random() < 0.05:  # a name twice
            place = draw.randrange(len(lines))
            lines[place] = lines[place][:-1] + ', "y": "no", "y": "yes"}'
    else:
        lines = [",".join(found[0]), *(",".join(str(value) for value in row.values()) for row in found)]
    text = draw.choice(["\n", "\n", "\r\n"]).join(lines).encode("utf-8", "surrogatepass")
    for _ in range(draw.choice([0, 1, 1, 2])):
        text = damaged(text, draw)
    return text


def trial(folder: Path, seed: int) -> str:
    draw = random.Random(seed)
    text, path, keeps = content(draw), folder / "rows", sys.stdin
    options = ["-t", "y", "--budget", 5, "--json", "-m", folder / "m", "--force", "-o", folder / "out.csv"]
    if draw.random() < 0.5:
        options += ["--task", draw.choice(["classification", "regression"])]
    if draw.random() < 0.5:
        options += ["--skip-broken"]
    place: Any = path
    if draw.random() < 0.3:
        place = "-"
        sys.stdin = io.TextIOWrapper(io.BytesIO(text))
    else:
        if draw.random() < 0.3:
            text = draw.choice(COMPRESS)(text)
            text = damaged(text, draw) if draw.random() < 0.5 else text
        path.write_bytes(text)
    try:
        code, words = on_command_line(["stream", place, *options])
    finally:
        sys.stdin = keeps
    assert code in (0, 2), (code, words)
    told = words.replace("\n", "")
    assert code == 0 or str(place) in told or "--task" in told, words
    return "refused" if code else "right"
