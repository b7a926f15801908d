"""A machine for dicts in a file, together with how far it has come in its stream; and back, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from dsekl import kernels, persistence
from dsekl.kernels import VectorKernel
from dsekl.persistence import Location, ModelFileError, building, decoded, encoded
from dsekl.runs.fields import checked
from dsekl.solvers.state import Count, Positive, Range

from .dicts import MOST_CLASSES, DictMachine
from .large_state import learner_from, state_of
from .maintenance import WAYS
from .slots import MOST_SLOTS, Slots
from .stream_settings import MOST_COLS, Settings, stream_losses

KIND = "stream"
MOST_POINTS = 10_000_000

FIELDS: dict[str, Any] = {
    "kernel": str, "loss": str, "gamma": Positive | Literal["auto", "scale"], "C": Positive | Literal["auto"],
    "budget": Annotated[int, Range(1, most=MOST_POINTS)], "maintenance": str,
    "half_life": Annotated[float, Range(1.0)] | Literal["auto"] | None,
    "n_cols": Annotated[int, Range(0, most=MOST_COLS)], "classes": bool,
}  # fmt: skip
"""The settings that a file keeps; kernel and loss go by name."""


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Return the settings that names and numbers stand for; ValueError names what cannot be."""
    kernel = kernels.resolve(values["kernel"])
    if not isinstance(kernel, VectorKernel):
        raise ValueError(f"kernel={values['kernel']!r} compares no rows of numbers")
    if values["maintenance"] not in WAYS:
        raise ValueError(f"maintenance={values['maintenance']!r} is not known; choose one of {', '.join(WAYS)}")
    loss, beyond_two = stream_losses(values["loss"], "classification" if values["classes"] else "regression")
    return Settings(**{**values, "kernel": kernel, "loss": loss, "beyond_two": beyond_two})


def write(path: Location, machine: DictMachine, settings: Mapping[str, Any], progress: Mapping[str, Any]) -> None:
    """Write a machine; ``settings`` are those that ``settings_of`` takes, ``progress`` is JSON."""
    arrays: dict[str, Any] = {}
    learner = machine.learner
    header = {
        "kind": KIND,
        **persistence.about("DictMachine"),
        "parameters": encoded(settings, "parameters", arrays, {}),
        "seed": machine.seed,
        "slots": [[name, category] for name, category in machine.slots.places],
        "codes": list(machine.codes),
        "outputs": 0 if learner is None else learner.n_outputs,
        "basis": None if learner is None else encoded(state_of(learner), "basis", arrays, {}),
        "progress": persistence.plain(dict(progress), "progress"),
    }
    persistence.write(path, header, arrays)


def read(path: Location) -> tuple[DictMachine, dict[str, Any], dict[str, Any]]:
    """Return the machine in a file, its settings, and its progress."""
    header, arrays = persistence.read(path)
    if header.get("kind") != KIND:
        raise ModelFileError(path, f"it is a {header.get('kind')}, not written by 'dsekl stream'")
    with building(path):
        given = decoded(header["parameters"], arrays, {})
        if set(given) != set(FIELDS):
            raise ValueError(f"its settings are {sorted(given)}, not {sorted(FIELDS)}")
        values = {name: checked(hint, given[name], {}, name) for name, hint in FIELDS.items()}
        machine = DictMachine(settings_of(values), checked(Count, header["seed"], {}, "seed"), _slots(header["slots"]))
        codes = checked(list[str], header["codes"], {}, "codes")
        if len(set(codes)) < len(codes) or len(codes) > MOST_CLASSES or bool(codes) > values["classes"]:
            raise ValueError("its classes repeat, are too many, or are those of a regressor")
        machine.codes = {label: code for code, label in enumerate(codes)}
        outputs = checked(Count, header["outputs"], {}, "outputs")
        if header["basis"] is not None:
            if values["classes"] and not codes:
                raise ValueError("it has learned from labels, and names no class")
            if outputs != (len(codes) if len(codes) > 2 else 1):
                raise ValueError(f"{outputs} outputs do not fit {len(codes)} classes")
            basis = decoded(header["basis"], arrays, {})
            machine.learner = learner_from(machine.settings, len(machine.slots), outputs, basis)
        progress = checked(Mapping[str, Any], header["progress"], {}, "progress")
        return replace(machine), values, dict(progress)


def _slots(saved: Any) -> Slots:
    slots = Slots()
    pairs = checked(list[list[str | None]], saved, {}, "slots")
    for pair in pairs:
        if len(pair) != 2 or pair[0] is None:
            raise ValueError("its columns are no names with categories")
        slots.append((pair[0], pair[1]))
    if len(slots.places) < len(pairs) or len(pairs) > MOST_SLOTS:
        raise ValueError("its columns repeat, or are too many")
    return slots
