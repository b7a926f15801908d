"""
How many points does a stream need?
===================================

The budget bounds memory and time for each row. Here the stream is a real one that comes with river:
1,250 web pages, phishing or not, each predicted before its label is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets, linear_model, preprocessing

from dsekl.river import KernelClassifier

# %%
# Predict first, then learn
# -------------------------


def progressive(model):
    """The share of right answers so far, after every row."""
    right = []
    for x, y in datasets.Phishing():
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return np.cumsum(right) / np.arange(1, len(right) + 1)


models = {
    "budget 10": KernelClassifier(budget=10, seed=1),
    "budget 50": KernelClassifier(budget=50, seed=1),
    "budget 300": KernelClassifier(budget=300, seed=1),
    "river's logistic regression": preprocessing.StandardScaler()
    | linear_model.LogisticRegression(),
}
curves = {name: progressive(model) for name, model in models.items()}
for name, curve in curves.items():
    print(f"{name:28s} {curve[-1]:.3f} of all rows right")

# %%
figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for name, curve in curves.items():
    ax.plot(np.arange(len(curve))[50:], curve[50:], label=name)
ax.set(xlabel="rows", title="share of right answers so far")
ax.legend()
plt.show()
