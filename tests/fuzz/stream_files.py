"""Forged files of ``dsekl stream``: gone on from on the same stream, on another one, and shown."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from dsekl.cli import main

from .forging import forged, genuine
from .models import SIDES, THREE, X

NAME = "stream files"
COUNT = 2_000

OPTIONS: dict[str, list[Any]] = {
    "sides": ["--budget", 8],
    "three": ["--budget", 8, "--C", 1, "--half-life", "never", "--loss", "logistic"],
    "numbers": ["--budget", 8, "--task", "regression", "--kernel", "laplacian", "--half-life", 20],
    "large": ["--budget", 5000, "--maintenance", "absorb"],
    "one class": ["--budget", 8],
    "broken": ["--budget", 8, "--skip-broken"],
}


def prepare(folder: Path) -> None:
    """Write streams, and the files of machines that have seen the first half of them."""
    targets = {"sides": SIDES, "three": THREE, "numbers": X[:, 1], "large": SIDES, "one class": SIDES, "broken": SIDES}
    for name, options in OPTIONS.items():
        y = targets[name].tolist() if name == "numbers" else np.array(["no", "yes", "perhaps"])[targets[name]].tolist()
        if name == "one class":
            y[:20] = ["no"] * 20
        lines = [f"{a:.3f},{'uvw'[k % 3]},{label}" for k, (a, label) in enumerate(zip(X[:, 0], y, strict=True))]
        if name == "broken":
            lines[3:3] = ["1,2,3,4,5"]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
        (folder / "half.csv").write_text("\n".join(["a,b,y", *lines[:20]]) + "\n")
        code, words = on_command_line(
            ["stream", folder / "half.csv", "-t", "y", "-m", folder / f"{name}.dsekl", *options]
        )
        assert code == 0, words
        assert used(folder, name, folder / f"{name}.dsekl") == "right", name


def on_command_line(arguments: list[Any]) -> tuple[int, str]:
    """Run a command in this process; return its exit code, and what it said of errors."""
    words, text = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(words):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as left:
            return int(left.code or 0), words.getvalue()
    if "--json" in arguments:
        json.loads(text.getvalue(), parse_constant=_refuse)
    return 0, words.getvalue()


def _refuse(constant: str) -> None:
    raise ValueError(f"the result has {constant}")


def trial(folder: Path, seed: int) -> str:
    rng = random.Random(seed)
    name = rng.choice(list(genuine(folder)))
    path = folder / "forged"
    try:
        path.write_bytes(forged(*genuine(folder)[name], rng, others=genuine(folder)))
    except RecursionError:
        return "refused"  # forged deeper than can be written
    return used(folder, name, path)


def used(folder: Path, name: str, path: Path) -> str:
    """Show a file, learn on from it, and then go on with its own stream; return how that ended."""
    data, out = folder / f"{name}.csv", folder / "out"
    skips = ["--skip-broken"] if name == "broken" else []
    copy = path.with_name("resumed")
    copy.write_bytes(path.read_bytes())
    codes = []
    for named, command in (
        (path, ["info", path, "--json"]),
        (path, ["stream", data, "-t", "y", "--from", path, "-m", out, "--force", "--json", *skips]),
        (copy, ["stream", data, "-t", "y", "-m", copy, "--resume", "--json", *skips]),
    ):
        code, words = on_command_line(command)
        assert code in (0, 2), (code, words)
        assert code == 0 or str(named) in words.replace("\n", ""), words
        codes.append(code)
    return "refused" if 2 in codes else "right"
