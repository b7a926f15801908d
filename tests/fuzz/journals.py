"""Damaged and forged journals of a search: it goes on to finite errors, or the journal is refused by name."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
from pathlib import Path

import numpy as np

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.tuning import JournalFileError, tune
from dsekl.tuning.journal import checksum

from .damage import damaged, forged_json, odd_value

NAME = "journals"
COUNT = 300

_rng = np.random.default_rng(0)
X = _rng.standard_normal((40, 2))
y = {"classes": (X[:, 0] > 0).astype(int), "numbers": X[:, 0]}
SEARCHES = {
    "classes": DSEKLClassifier(gamma=1.0, C=1.0, max_epochs=2),
    "numbers": DSEKLRegressor(gamma=1.0, max_epochs=2),
}


def prepare(folder: Path) -> None:
    """Search once, with a journal."""
    for kind, estimator in SEARCHES.items():
        tune([estimator], X, y[kind], journal=folder / f"{kind}.json", n_jobs=1)


def trial(folder: Path, seed: int) -> str:
    """Forge a journal and go on from it."""
    draw = random.Random(seed)
    kind = draw.choice(list(SEARCHES))
    path = folder / f"forged-{os.getpid()}.json"
    try:
        _forge(folder / f"{kind}.json", path, draw)
        try:
            found = tune([SEARCHES[kind]], X, y[kind], journal=path, n_jobs=1)
        except JournalFileError as error:
            if str(path) not in str(error) or "\n" in str(error):
                raise AssertionError(f"an error of several lines, or without the file: {error}") from error
            return "refused"
        if not math.isfinite(found.best.error) or not np.isfinite(np.asarray(found.estimator.predict(X))).all():
            raise AssertionError("a search that ends in numbers that are not finite")
        return "right"
    finally:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def _forge(genuine: Path, path: Path, draw: random.Random) -> None:
    match draw.randrange(8):
        case 0:
            draw.choice(
                [path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to(path), lambda: path.write_bytes(b"")]
            )()
        case 1 | 2:
            path.write_bytes(damaged(genuine.read_bytes(), draw))
        case 3:
            path.write_text(json.dumps(forged_json(json.loads(genuine.read_text()), draw)))
        case 4:
            path.write_bytes(
                draw.choice([b"[" * 10**6, b'{"a":' * 10**5, b"[]," * 10**7, b"\0" * 99, b"1e999", b"NaN", b"9" * 9999])
            )
        case _:
            kept = json.loads(genuine.read_text())
            del kept["sha256"]
            name = draw.choice(list(kept["found"]))
            match draw.randrange(3):
                case 0:
                    kept["found"][name] = odd_value(draw)
                case 1:
                    del kept["found"][name]
                case _:
                    kept["found"] = forged_json(kept["found"], draw)
            path.write_text(json.dumps({**kept, "sha256": checksum(kept)}))
