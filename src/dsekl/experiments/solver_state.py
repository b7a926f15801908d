"""The state of Algorithm 2 in a file of plain arrays, from which its run goes on to the same model to the bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dsekl.atomic import replacing
from dsekl.solvers import State


def save_state(path: Path, state: State) -> None:
    """Keep the state between two epochs; the generator's state is text."""
    generator = np.frombuffer(json.dumps(state.rng.bit_generator.state).encode(), dtype=np.uint8)
    counts = np.array([state.epoch, state.step, state.evaluations], dtype=np.int64)
    memory = {f"memory_{name}": array for name, array in state.memory.items()}
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, coef=state.coef, counts=counts, generator=generator, **memory)


def load_state(path: Path) -> State:
    """Return the state that ``save_state`` kept."""
    with np.load(path, allow_pickle=False) as arrays:
        rng = np.random.default_rng()
        rng.bit_generator.state = json.loads(arrays["generator"].tobytes())
        epoch, step, evaluations = (int(count) for count in arrays["counts"])
        memory = {name.removeprefix("memory_"): arrays[name] for name in arrays if name.startswith("memory_")}
        return State(arrays["coef"], rng, epoch, step, evaluations, memory)
