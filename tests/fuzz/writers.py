"""Four processes that save and load one file at once; in some trials one of them is killed."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import numpy as np

import dsekl
from dsekl import DSEKLClassifier, OnlineDSEKLClassifier

from .models import PLAIN, SIDES, X

NAME = "concurrent writers"
COUNT = 250

PROCESSES = 4


def prepare(folder: Path) -> None:
    """Save models that differ in size and content; the last is an online one."""
    last = OnlineDSEKLClassifier(budget=15, random_state=0).fit(X, SIDES)
    last.save(folder / f"{PROCESSES - 1}.dsekl")
    for k in range(PROCESSES - 1):
        DSEKLClassifier(**{**PLAIN, "C": 10.0**k}).fit(X[: 20 + 5 * k], SIDES[: 20 + 5 * k]).save(folder / f"{k}.dsekl")


def trial(folder: Path, seed: int) -> str:
    """Let each process save one model, and load whichever it then finds."""
    rng = random.Random(seed)
    path = folder / "shared.dsekl"
    originals = [dsekl.load(folder / f"{k}.dsekl") for k in range(PROCESSES)]
    known = [model.dual_coef_ for model in originals]
    start = time.monotonic() + 0.01
    children = []
    for k in range(PROCESSES):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                time.sleep(max(0.0, start - time.monotonic()))
                originals[k].save(path)
                found = dsekl.load(path).dual_coef_
                status = int(not any(np.array_equal(found, coef) for coef in known))
            finally:
                os._exit(status)
        children.append(child)
    killed = rng.choice([None, None, 0])
    if killed is not None:
        time.sleep(0.01 + rng.uniform(0.0, 0.02))
        os.kill(children[killed], signal.SIGKILL)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert all(status == 0 for k, status in enumerate(statuses) if k != killed), statuses
    found = dsekl.load(path)
    assert any(np.array_equal(found.dual_coef_, coef) for coef in known)
    found.save(path)
    assert not list(folder.glob(".*.part")), "an abandoned draft is left"
    return "right"
