"""
Prediction intervals
====================

``predict_interval`` gives each row a range that holds its target with a chosen probability. It is
wider where residuals are large.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from dsekl import DSEKLRegressor

# %%
# Noise that grows
# ----------------

rng = np.random.default_rng(0)
X = rng.uniform(0, 1, (800, 1))
y = np.sin(6 * X[:, 0]) + X[:, 0] * rng.normal(size=800)
model = DSEKLRegressor(random_state=0).fit(X, y)

axis = np.linspace(0, 1, 200)
figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
ax.plot(X[:, 0], y, ".", color="0.6", markersize=3)
for coverage, strength in ((0.9, 0.2), (0.5, 0.3)):
    low, high = model.predict_interval(axis[:, None], coverage=coverage).T
    ax.fill_between(
        axis,
        low,
        high,
        color="C1",
        alpha=strength,
        linewidth=0,
        label=f"{coverage:.0%} of rows",
    )
ax.plot(axis, model.predict(axis[:, None]), linewidth=2, label="prediction")
ax.set(xlabel="x", title="y")
ax.legend()

# %%
# A real table
# ------------
# Diabetes, 442 patients: the progress of the disease after a year. How many of the test rows are
# within their interval, over five splits?

X, y = load_diabetes(return_X_y=True)
coverages = (0.5, 0.8, 0.95)
held, width = [], []
for seed in range(5):
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
    model = DSEKLRegressor(random_state=seed).fit(X_train, y_train)
    ends = [model.predict_interval(X_test, coverage=coverage).T for coverage in coverages]
    held.append([np.mean((low <= y_test) & (y_test <= high)) for low, high in ends])
    width.append([np.mean(high - low) for low, high in ends])
shares, widths = np.mean(held, axis=0), np.mean(width, axis=0)
for k, coverage in enumerate(coverages):
    print(f"coverage {coverage:.2f}: {shares[k]:.2f} within, mean width {widths[k]:.0f}")
plt.show()
