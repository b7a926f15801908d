"""
Log loss compared with other models
===================================

Web pages, phishing or not: a real table that comes with river, with overlapping classes. The log loss
punishes overconfident probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from river import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
# Three splits
# ------------
# All models have their defaults.

pages = list(datasets.Phishing())
X, y = pd.DataFrame([row for row, _ in pages]), np.array([label for _, label in pages])
models = {
    "dsekl": DSEKLClassifier(random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "random forest": RandomForestClassifier(random_state=0),
}
losses = {}
for name, model in models.items():
    found = []
    for seed in range(3):
        parts = train_test_split(X, y, test_size=0.6, random_state=seed, stratify=y)
        X_train, X_test, y_train, y_test = parts
        found.append(log_loss(y_test, model.fit(X_train, y_train).predict_proba(X_test)))
    losses[name] = found
    print(f"{name:14s} log loss {np.mean(found):.3f} ± {np.std(found, ddof=1):.3f}")
print(f"{'the share of phishing pages':14s} {log_loss(y, np.full(len(y), y.mean())):.3f}")

# %%
# Each dot is a split, of 750 test rows:

figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for k, found in enumerate(losses.values()):
    ax.plot(found, [k] * len(found), "o", color=f"C{k}", ms=8)
ax.set(yticks=range(len(losses)), yticklabels=losses, title="log loss on test rows")
ax.set(ylim=(len(losses) - 0.5, -0.5), xlim=(0, None))
plt.show()
