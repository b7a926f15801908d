"""
Categorical columns, dates and missing values
=============================================

One call fits a raw data frame; prediction intervals and feature importances refer to its own columns.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from dsekl import DSEKLRegressor

# %%
# The table
# ---------
# 442 patients, and how far their diabetes had gone a year later. We write it as a clinic might have: a text for the
# sex, an ordered category for the blood pressure, a date for the visit (made up here), and some missing
# values.

bunch = load_diabetes(as_frame=True, scaled=False)
numbers, y = bunch.data, bunch.target
rng = np.random.default_rng(0)
table = numbers[["age", "bmi", "s5", "s6"]].copy()
table["sex"] = numbers["sex"].map({1.0: "one", 2.0: "two"})
table["pressure"] = pd.cut(
    numbers["bp"], [0, 85, 100, 200], labels=["low", "middle", "high"], ordered=True
)
table["visit"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(
    rng.integers(0, 365, len(table)), unit="D"
)
for column in ("bmi", "s6", "pressure", "visit"):
    table.loc[rng.random(len(table)) < 0.1, column] = None
print(table.head())

# %%
# Fit and predict
# ---------------
# Nothing is scaled, encoded or filled in by hand.

model = DSEKLRegressor(random_state=0).fit(table[:300], y[:300])
low, high = model.predict_interval(table[300:], coverage=0.9).T
inside = ((low <= y[300:]) & (y[300:] <= high)).mean()
print(
    f"R2 on new patients: {model.score(table[300:], y[300:]):.2f}; {inside:.0%} lie in their 90 % interval"
)

# %%
# What the model sees, and what matters
# -------------------------------------
# A column may be several features, such as the code of a category and an indicator of missing
# values. Importances are those of columns.

print(model.encoder_.features)
order = np.argsort(model.feature_importances_)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.barh(model.get_feature_names_out()[order], model.feature_importances_[order])
left.set_xlabel("importance")
predicted = model.predict(table[300:])
right.errorbar(predicted, y[300:], fmt=".", color="black")
ranked = np.argsort(predicted)
right.fill_between(predicted[ranked], low[ranked], high[ranked], alpha=0.3)
right.set_xlabel("predicted")
right.set_ylabel("found a year later, and 90 % intervals")
fig.tight_layout()
plt.show()
