"""The losses: of the margin y f for classes, of the residual y - f for numbers."""

import numpy as np
from matplotlib.figure import Figure

from dsekl import losses
from dsekl.experiments import plots

OF_CLASSES = {
    "hinge": ("red", "-"),
    "squared_hinge": ("orange", "--"),
    "logistic": ("blue", "-."),
    "squared": ("green", ":"),
}
OF_NUMBERS = {
    "squared": ("green", "-"),
    "huber": ("blue", "--"),
    "epsilon_insensitive": ("red", "-."),
    "quantile": ("orange", ":"),
}
SHAPES = {"epsilon_insensitive": losses.EpsilonInsensitive(1.0), "quantile": losses.Quantile(0.8)}
LABELS = {"epsilon_insensitive": "EpsilonInsensitive(1.0)", "quantile": "Quantile(0.8)"}


def draw() -> Figure:
    f = np.linspace(-2, 3, 201)
    with plots.panels(1, 2, (7.6, 3.0)) as (figure, (axes,)):
        for name, (colour, style) in OF_CLASSES.items():
            value = losses.resolve(name, "classification").value(np.ones_like(f), f)
            axes[0].plot(f, value, style, color=plots.PALETTE[colour], label=f'"{name}"')
        axes[0].set(xlabel="y f (right of 0: the right class)", title="classification", ylim=(0, 4))
        residual = np.linspace(-3, 3, 201)
        for name, (colour, style) in OF_NUMBERS.items():
            value = SHAPES.get(name, losses.resolve(name, "regression")).value(residual, np.zeros_like(residual))
            axes[1].plot(residual, value, style, color=plots.PALETTE[colour], label=LABELS.get(name, f'"{name}"'))
        axes[1].set(xlabel="y - f", title="regression", ylim=(0, 4))
        for ax in axes:
            ax.legend()
    return figure
