"""
Comparison with SVC and gradient boosting
=========================================

Two tables that come with scikit-learn, three splits of each: the defaults of dsekl, a support
vector machine with its columns scaled and gamma and C tuned, and gradient boosting with 50 trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dsekl import DSEKLClassifier

# %%
# The models
# ----------
# dsekl gets the raw columns. The SVM needs a scaler and a grid.

grid = {"svc__gamma": [0.003, 0.01, 0.03, 0.1], "svc__C": [1, 10, 100]}
models = {
    "dsekl, all defaults": DSEKLClassifier(random_state=0),
    "SVC, scaled and tuned": GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid),
    "boosting, 50 trees": HistGradientBoostingClassifier(max_iter=50, random_state=0),
}
tables = {"breast cancer": load_breast_cancer, "wine": load_wine}

# %%
# Three splits
# ------------
# Two thirds of the rows are for training. The tables are small: one test row is about half a
# per cent of breast cancer and two per cent of wine, so differences within the spread mean nothing.

errors = {name: [] for name in models}
for name, model in models.items():
    for title, load in tables.items():
        X, y = load(return_X_y=True)
        found = []
        for seed in range(3):
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, test_size=1 / 3, random_state=seed, stratify=y
            )
            found.append(100 * (1 - model.fit(X_train, y_train).score(X_test, y_test)))
        errors[name].append((np.mean(found), np.std(found, ddof=1)))
        print(
            f"{name:24s} {title:14s} {errors[name][-1][0]:4.1f} ± {errors[name][-1][1]:.1f} %"
        )

# %%
# Test errors, with the standard deviation over the splits:

figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for k, (name, found) in enumerate(errors.items()):
    mean, spread = np.transpose(found)
    ax.bar(
        np.arange(len(tables)) + 0.27 * (k - 1), mean, 0.25, yerr=spread, label=name, capsize=3
    )
ax.set(xticks=range(len(tables)), xticklabels=tables, title="test error, %")
ax.legend()
plt.show()
