"""What a fit reports after every epoch: the duality gap, and the error on rows that it has not seen."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier
from dsekl.experiments import plots


def draw() -> Figure:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    errors = []

    def watch(report: object) -> None:
        errors.append(float(np.mean(report.model().predict(X_test) != y_test)))  # type: ignore[attr-defined]

    solver = DSEKLClassifier(
        gamma=0.001, C=10, solver="dual", tol=1e-4, max_epochs=60, callbacks=[watch], random_state=0
    )
    history = solver.fit(X_train, y_train).history_
    epochs = [record["epoch"] for record in history]
    with plots.panels(1, 2, (7.6, 2.9)) as (figure, axes):
        left, right = axes[0]
        left.semilogy(epochs, [record["gap"] for record in history], "o-", color=plots.PALETTE["red"])
        left.set(xlabel="epoch", title="relative duality gap")
        right.plot(epochs, errors, "o-", color=plots.PALETTE["blue"])
        right.set(xlabel="epoch", title="test error", ylim=(0, None))
        right.yaxis.set_major_formatter(plots.in_per_cent)
    return figure
