"""``dsekl demo``: the XOR problem from csv to predictions, drawn in the terminal."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from dsekl.data.recipe_learner import Options
from dsekl.data.training_data import load_training

from . import options as o
from .console import Output
from .models import FittedModel, fitted, new_estimator, read_model
from .reading import TrainingSet
from .scores import classification_scores, score_tables
from .summary import save_model

ROWS, NOISE = 400, 0.45
WIDTH, HEIGHT, SPAN = 64, 26, 2.2
COLOURS = {"blue": ("on blue", "on dark_blue"), "orange": ("on orange3", "on orange4")}
"""For each class, the background outside of the margin and within it."""

LEGEND = "b blue, o orange; B, O support vectors; dots and background: predicted class, darker within the margin"


def demo(seed: o.Seed = 0, as_json: o.Json = False, quiet: o.Quiet = False) -> None:
    """Fit the XOR problem and draw it.

    No file and no network is needed. Letters are training rows, b for blue and o for orange, in capitals if they are
    support vectors. The background is the predicted class (a dot is orange), darker within the margin.
    """
    output = Output(as_json, quiet)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        train, test, path = (Path(folder) / name for name in ("train.csv", "test.csv", "xor.dsekl"))
        for file in (train, test):
            file.write_text(_xor_rows(rng))
        started = time.perf_counter()
        training = TrainingSet(*load_training(train, Options(target="colour", seed=seed)), seconds=0.0)
        settings = dict(gamma=1.0, C=1.0, random_state=seed, verbose=output.verbose)
        estimator = new_estimator(training.recipe, None, settings)
        save_model(fitted(estimator, training), path, training.recipe, train)
        model, recipe = read_model(path, train)
        _, X_new, y_new = load_training(test, Options(target="colour"))
    scores = classification_scores(recipe.target.classes, y_new, model.decision_function(X_new), None)
    figures = {**scores, "terms": len(model.dual_coef_), "seconds": round(time.perf_counter() - started, 3)}
    title = f"{ROWS} test rows, {figures['terms']} support vectors, {figures['seconds']:.1f} s"
    labels = recipe.target.decoded(training.y)
    output.result(figures, _drawing(model, np.asarray(training.X), labels), LEGEND, *score_tables(title, scores))


def _xor_rows(rng: np.random.Generator) -> str:
    """Return csv: four Gaussian clusters, opposite corners of one colour."""
    corners = rng.choice([-1.0, 1.0], (ROWS, 2))
    points = corners + NOISE * rng.standard_normal((ROWS, 2))
    colours = np.where(corners.prod(axis=1) > 0, "blue", "orange")
    lines = [f"{x:.4f},{y:.4f},{colour}" for (x, y), colour in zip(points.tolist(), colours.tolist(), strict=True)]
    return "\n".join(["x,y,colour", *lines]) + "\n"


def _drawing(model: FittedModel, X: NDArray[np.float64], labels: NDArray[Any]) -> Text:
    """Return the decision function as coloured cells with the training rows on it."""
    across, down = np.linspace(-SPAN, SPAN, WIDTH), np.linspace(SPAN, -SPAN, HEIGHT)
    surface = model.decision_function(np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2))
    cells = np.where(surface.reshape(HEIGHT, WIDTH) > 0, ".", " ")
    places = np.rint((X - [-SPAN, SPAN]) / [2 * SPAN, -2 * SPAN] * [WIDTH - 1, HEIGHT - 1]).astype(int)
    places = places.clip(0, [WIDTH - 1, HEIGHT - 1])
    kept = np.isin(np.arange(len(X)), model.support_)
    for i in np.argsort(kept, kind="stable"):
        letter = str(labels[i])[0]
        cells[places[i, 1], places[i, 0]] = letter.upper() if kept[i] else letter
    drawing = Text()
    for line, values in zip(cells, surface.reshape(HEIGHT, WIDTH), strict=True):
        for cell, value in zip(line, values, strict=True):
            outside, within = COLOURS["orange" if value > 0 else "blue"]
            drawing.append(cell, style=f"white {outside if abs(value) >= 1 else within}")
        drawing.append("\n")
    return drawing
