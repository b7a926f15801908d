"""
Continuing a batch model online
===============================

Digits arrive one by one. A model that was fitted to the first 300 of them goes on
learning: ``from_model`` takes over its points and coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from dsekl import DSEKLClassifier, OnlineDSEKLClassifier

# %%
# Three ways to learn from the stream
# -----------------------------------

X, y = load_digits(return_X_y=True)
first, rest = slice(0, 300), slice(300, None)
batch = DSEKLClassifier(gamma=0.001, C=10, random_state=0).fit(X[first], y[first])
online = OnlineDSEKLClassifier.from_model(batch, budget=600, random_state=0)
fresh = OnlineDSEKLClassifier(budget=600, random_state=0)
fresh.partial_fit(X[first], y[first], classes=np.unique(y))
models = {
    "batch model, never learns on": batch,
    "from_model, learns on": online,
    "online from the start": fresh,
}

# %%
# Every batch of rows is predicted before it is learned from
# ----------------------------------------------------------

right = {name: [] for name in models}
for start in range(300, len(X), 50):
    part = slice(start, start + 50)
    for name, model in models.items():
        right[name].append(model.predict(X[part]) == y[part])
        if hasattr(model, "partial_fit"):
            model.partial_fit(X[part], y[part])
for name, found in right.items():
    print(f"{name:30s} {np.concatenate(found).mean():.3f} of {len(y[rest]):,} digits right")
print(
    f"{len(online.support_vectors_)} points are kept; {online.n_seen_:,} rows were learned from since"
)

# %%
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for name, found in right.items():
    share = np.cumsum(np.concatenate(found)) / np.arange(1, len(y[rest]) + 1)
    ax.plot(300 + np.arange(len(share))[50:], share[50:], label=name)
ax.set(xlabel="rows", title="share of right answers so far")
ax.legend()
plt.show()
