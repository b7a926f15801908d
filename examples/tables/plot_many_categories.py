"""
A categorical column with many levels
=====================================

578 weights of 50 chicks on four diets, a real table that comes with river. The number of the chick is
a category, not a quantity: with ``categorical_features`` the model learns each chick.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from river import datasets
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from dsekl import DSEKLRegressor

# %%
# The table
# ---------

table = pd.DataFrame([{**row, "weight": weight} for row, weight in datasets.ChickWeights()])
print(table.sample(3, random_state=0))
X, y = table.drop(columns="weight"), table["weight"]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Numbers that are names
# ----------------------
# ``categorical_features`` makes categories of them. A column with more than ten categories also gets
# the mean of the target in each, where held-out rows say that it helps.

models = {
    "numbers": DSEKLRegressor(random_state=0),
    "categories": DSEKLRegressor(categorical_features=["chick", "diet"], random_state=0),
    "boosting": HistGradientBoostingRegressor(
        categorical_features=["chick", "diet"], min_samples_leaf=5, random_state=0
    ),
}
errors = {}
for name, model in models.items():
    predicted = model.fit(X_train, y_train).predict(X_test)
    errors[name] = np.abs(predicted - y_test)
    print(f"{name:12s} mean absolute error {errors[name].mean():5.1f} grams")

# %%
# Errors on the 145 test rows of one split:

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.boxplot(list(errors.values()), orientation="horizontal", tick_labels=list(errors))
ax.set_title("absolute error on test rows, grams")
plt.show()
