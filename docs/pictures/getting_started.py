"""The bar chart of the getting-started page, made as the page makes it."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier
from dsekl.experiments import plots


def draw() -> Figure:
    cells = load_breast_cancer(as_frame=True)
    X = cells.data.mask(np.random.default_rng(0).random(cells.data.shape) < 0.02)
    X_train, _, y_train, _ = train_test_split(X, cells.target_names[cells.target], random_state=0)
    model = DSEKLClassifier(random_state=0).fit(X_train, y_train)
    importance = pd.Series(model.feature_importances_, model.feature_names_in_).nlargest(6)[::-1]
    with plots.panels(1, 1, (6.4, 2.6)) as (figure, axes):
        axes[0, 0].barh(importance.index, importance, color=plots.PALETTE["red"])
        axes[0, 0].set_title("feature importance")
        axes[0, 0].xaxis.set_major_formatter(plots.in_per_cent)
    return figure
