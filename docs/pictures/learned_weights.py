"""Learned feature weights: y depends on the first five columns of ten, and nobody has told the model."""

from matplotlib.figure import Figure
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from dsekl import DSEKLRegressor
from dsekl.experiments import plots


def draw() -> Figure:
    X, y = make_friedman1(1000, n_features=10, noise=1.0, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    models = {
        "one gamma\nfor all columns": DSEKLRegressor(gamma="scale", random_state=0),
        "learned\n(the default)": DSEKLRegressor(random_state=0),
    }
    scores = {words: model.fit(X_train, y_train).score(X_test, y_test) for words, model in models.items()}
    learned = list(models.values())[-1]
    with plots.panels(1, 2, (7.6, 2.9)) as (figure, axes):
        left, right = axes[0]
        colours = [plots.PALETTE["red"]] * 5 + [plots.PALETTE["grey"]] * 5
        left.bar(range(1, 11), 100 * learned.feature_importances_, color=colours)
        left.set(xlabel="column (y depends on the red ones)", title="feature importance, %", xticks=range(1, 11))
        bars = right.barh(list(scores), list(scores.values()), color=[plots.PALETTE["grey"], plots.PALETTE["red"]])
        right.bar_label(bars, fmt="%.2f", padding=3)
        right.set(xlim=(0, 1.1), title="R2 on test rows")
    return figure
