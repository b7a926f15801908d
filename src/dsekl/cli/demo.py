"""``dsekl demo``: the XOR problem, from csv to model file to predictions, drawn in the terminal."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from dsekl.data.recipe import Options
from dsekl.data.training_data import load_training

from . import options as o
from .console import Voice
from .fit import estimator_for
from .models import read_model
from .scores import classification_scores, score_tables

ROWS, NOISE = 400, 0.35
WIDTH, HEIGHT, SPAN = 64, 26, 2.2
COLOURS = {"blue": ("on blue", "on dark_blue"), "orange": ("on orange3", "on orange4")}
"""For each class, the background where the model is sure and where it is not."""


def demo(seed: o.Seed = 0, as_json: o.Json = False, quiet: o.Quiet = False) -> None:
    """Learn the XOR problem and draw what was learned: needs no file and no network.

    Letters are training rows, b for blue and o for orange; the model keeps those in capitals. Colours (dots for orange
    where there are none) are what it predicts, darker where it is not sure.
    """
    voice = Voice(as_json, quiet)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (Path(folder) / name for name in ("train.csv", "test.csv", "xor.dsekl"))
        for path in (train, test):
            path.write_text(_xor_rows(rng))
        started = time.perf_counter()
        recipe, X, y = load_training(train, Options(target="colour", seed=seed))
        fitted = estimator_for(recipe, None, dict(gamma=1.0, C=1.0, random_state=seed, verbose=voice.verbose)).fit(X, y)
        fitted.save(model, table=recipe.to_dict())
        estimator, recipe = read_model(model)
        _, X_new, y_new = load_training(test, Options(target="colour"))
    codes = np.searchsorted(estimator.classes_, y_new)
    scores = classification_scores(estimator.classes_.tolist(), codes, estimator.decision_function(X_new), None)
    figures = {**scores, "terms": len(estimator.dual_coef_), "seconds": round(time.perf_counter() - started, 3)}
    title = f"{ROWS} new rows, a model of {figures['terms']} training rows, {figures['seconds']:.1f} s"
    voice.result(figures, _drawing(estimator, X, y), *score_tables(title, scores))


def _xor_rows(rng: np.random.Generator) -> str:
    """Return csv: four clouds of points, those at opposite corners of one colour."""
    corners = rng.choice([-1.0, 1.0], (ROWS, 2))
    points = corners + NOISE * rng.standard_normal((ROWS, 2))
    colours = np.where(corners.prod(axis=1) > 0, "blue", "orange")
    lines = [f"{x:.4f},{y:.4f},{colour}" for (x, y), colour in zip(points.tolist(), colours.tolist(), strict=True)]
    return "\n".join(["x,y,colour", *lines]) + "\n"


def _drawing(estimator: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Text:
    """Return the decision surface as coloured cells with the training rows on it."""
    across, down = np.linspace(-SPAN, SPAN, WIDTH), np.linspace(SPAN, -SPAN, HEIGHT)
    surface = estimator.decision_function(np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2))
    cells = np.where(surface.reshape(HEIGHT, WIDTH) > 0, ".", " ")
    places = np.rint((X - [-SPAN, SPAN]) / [2 * SPAN, -2 * SPAN] * [WIDTH - 1, HEIGHT - 1]).astype(int)
    places = places.clip(0, [WIDTH - 1, HEIGHT - 1])
    kept = np.isin(np.arange(len(X)), estimator.support_)
    for i in np.argsort(kept, kind="stable"):
        letter = str(y[i])[0]
        cells[places[i, 1], places[i, 0]] = letter.upper() if kept[i] else letter
    drawing = Text()
    for line, values in zip(cells, surface.reshape(HEIGHT, WIDTH), strict=True):
        for cell, value in zip(line, values, strict=True):
            sure, unsure = COLOURS["orange" if value > 0 else "blue"]
            drawing.append(cell, style=f"white {sure if abs(value) >= 1 else unsure}")
        drawing.append("\n")
    return drawing
