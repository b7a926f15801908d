"""
Concept drift: forgetting old rows
==================================

Three models learn the same stream one row at a time. Half-way, the two classes change places. The model that never
forgets loses most accuracy and takes longest to recover. The default, which weighs several half-lives by their recent
losses, recovers sooner and loses nothing before.
"""

import matplotlib.pyplot as plt
import numpy as np

from dsekl import OnlineDSEKLClassifier

# %%
# Two moons that change places
# ----------------------------

rng = np.random.default_rng(0)
n = 4000
angle, y = rng.uniform(0, np.pi, n), rng.integers(0, 2, n)
X = np.column_stack(
    [np.cos(angle) + y, np.sin(angle) * (1 - 2 * y) + 0.3 * y]
) + 0.15 * rng.standard_normal((n, 2))
y[n // 2 :] = 1 - y[n // 2 :]

# %%
# Every batch is predicted before it is learned from
# --------------------------------------------------

plt.figure(figsize=(7.5, 3.2), layout="constrained")
for half_life in (None, "auto", 200):
    model = OnlineDSEKLClassifier(budget=60, half_life=half_life, random_state=0)
    model.partial_fit(X[:50], y[:50], classes=[0, 1])
    right = []
    for first in range(50, n, 50):
        part = slice(first, first + 50)
        right.append(np.mean(model.predict(X[part]) == y[part]))
        model.partial_fit(X[part], y[part])
    smooth = np.convolve(right, np.ones(5) / 5, mode="valid")
    plt.plot(50 * np.arange(3, 3 + len(smooth)), smooth, label=f"half_life={half_life!r}")
    late = np.mean(right[n // 100 - 1 : n // 100 + 7])
    print(f"half_life={half_life!r}: {late:.2f} right of the 400 rows after the change")
plt.axvline(n // 2, color="0.7", linestyle=":")
plt.xlabel("rows")
plt.ylabel("progressive accuracy")
plt.legend()
plt.show()
