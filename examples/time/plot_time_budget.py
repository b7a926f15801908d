"""
A fit that takes as long as you have
====================================

``max_seconds`` bounds the search for weights, width and C, and the solver, together. The fit ends in
time with the best that it has found.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
# A checkerboard, with more and more time
# ---------------------------------------
# The class depends on two columns of ten, and to find them is most of the work.
# What a budget buys depends on the machine; ``stop_reason_`` says if the time was over. The first
# fit of all is made before, so that compiling is not counted.

X = np.random.default_rng(0).uniform(-1, 1, (6_000, 10))
y = np.floor(3 * X[:, :2]).sum(axis=1) % 2
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
DSEKLClassifier(max_seconds=1, random_state=0).fit(X_train, y_train)

errors = {}
for seconds in (0.3, 1, 3, 10):
    model = DSEKLClassifier(max_seconds=seconds, random_state=0).fit(X_train, y_train)
    errors[seconds] = 100 * (1 - model.score(X_test, y_test))
    print(
        f"{seconds:4.1f} s test error {errors[seconds]:4.1f} %   {model.kernel_}, {model.metric_}, "
        f"C={model.C_:g}, stopped by {model.stop_reason_!r}"
    )

# %%
figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
ax.plot([f"{seconds:g}" for seconds in errors], list(errors.values()), "o-")
ax.set(xlabel="max_seconds", title="test error, %", ylim=(0, None))
plt.show()
