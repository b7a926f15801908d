"""
Callbacks: follow a fit and stop it early
=========================================

A callback gets a report after every epoch. It may keep a curve, and end the fit by returning True.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
# The curve
# ---------
# ``report.record`` has the figures of the epoch, and ``report.model()`` the model so far. This rule
# ends the fit when the error on held-out rows has not changed for five epochs.

X, y = load_digits(return_X_y=True)
X_train, X_held, y_train, y_held = train_test_split(X, y, random_state=0)
errors = []


def watch(report):
    errors.append(np.mean(report.model().predict(X_held) != y_held))
    return len(errors) > 5 and len(set(errors[-5:])) == 1


model = DSEKLClassifier(
    gamma=0.001,
    C=10,
    solver="doubly_stochastic",
    max_epochs=60,
    callbacks=[watch],
    random_state=0,
).fit(X_train, y_train)
print(f"{model.n_iter_} epochs, stopped by {model.stop_reason_!r}")
print(f"error on held-out rows {100 * errors[-1]:.1f} %")

# %%
figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
ax.plot(range(1, len(errors) + 1), 100 * np.array(errors), "o-")
ax.set(xlabel="epoch", title="error on held-out rows, %", ylim=(0, None))
plt.show()
