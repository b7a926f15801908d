"""
Learned feature weights and feature importances
===============================================

A kernel with one gamma gives every column the same weight in the distance, so columns that are unrelated to the target
add noise. ``gamma="learn"`` learns one gamma per column (automatic relevance determination), and shows which columns
matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dsekl import DSEKLClassifier, DSEKLRegressor

# %%
# Five columns that matter, fifteen that do not
# ---------------------------------------------
# Friedman's first problem: ``y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4``, with columns 5 to 19 independent
# of y. The columns are then multiplied by random factors from 0.001 to 1,000, as if they had different units. The model
# with one gamma has its columns standardised, and gamma and C chosen from twelve pairs by cross-validation.

X, y = make_friedman1(1_200, n_features=20, noise=0.5, random_state=0)
X = X * 10.0 ** np.random.default_rng(0).uniform(-3, 3, 20)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=500, random_state=0)

one_gamma = GridSearchCV(
    make_pipeline(StandardScaler(), DSEKLRegressor(random_state=0)),
    {"dseklregressor__gamma": [0.003, 0.01, 0.03, 0.1], "dseklregressor__C": [1, 10, 100]},
    cv=2,
)
learned = DSEKLRegressor(gamma="learn", random_state=0)
for name, model in {
    "one gamma, tuned with C": one_gamma,
    "one gamma for each column": learned,
}.items():
    rmse = np.sqrt(np.mean((model.fit(X_train, y_train).predict(X_test) - y_test) ** 2))
    print(f"{name:32s} RMSE {rmse:.2f}   (the noise alone: 0.50)")
print(f"weights: {learned.metric_}")

# %%
# ``feature_importances_`` has a share for each column, in units of the column's own spread; they add up to 1.
# ``gamma_`` has the raw weights, which cannot be compared between columns: their unit is one over the column's unit
# squared.

figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
ax.bar(range(20), 100 * learned.feature_importances_, color=["C0"] * 5 + ["C2"] * 15)
ax.set(xlabel="column (red: y depends on it)", ylabel="feature importance, %", xticks=range(20))
ax.spines[["top", "right"]].set_visible(False)

# %%
# A large share means that y changes quickly along the column. Column 3, in which y is linear, has a smaller share than
# columns 0 and 1, in which y is a sine wave. A share is not an effect size.
#
# The overfitting check
# ---------------------
# Weights that were learned on few rows may overfit. Equal, partly learned and learned weights are compared on held-out
# rows by the one-standard-error rule, simplest first. ``metric_`` says which were chosen. The table is scikit-learn's
# breast cancer data (569 rows, called wdbc on the benchmarks page), in the first three splits of ``make demo``.

X, y = load_breast_cancer(return_X_y=True)
errors, winners = [], []
for seed in range(3):
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=y
    )
    model = DSEKLClassifier(random_state=seed).fit(X_train, y_train)
    errors.append(100 * (1 - model.score(X_test, y_test)))
    winners.append(model.metric_)
print(f"wdbc, {len(X_train)} training rows, 30 columns, three splits")
print(f"test error {np.mean(errors):.1f} ± {np.std(errors, ddof=1):.1f} % (standard deviation)")
print(f"weights chosen: {', '.join(winners)}")
