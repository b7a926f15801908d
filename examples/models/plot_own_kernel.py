"""
A kernel of your own in one line
================================

A kernel that is a function of the distance or of the dot product needs no class: one scalar function, compiled by
Numba, is fused into the kernel products like the built-in kernels. A kernel on other objects is a plain Python
function; the next two examples have one on strings and one on graphs.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from numba import njit

from dsekl import DSEKLRegressor
from dsekl.kernels import DotProduct, Radial

# %%
# A function of the distance
# --------------------------
# ``Radial`` gives the function ``s = gamma d^2``. Here: the Cauchy kernel, which is not built in. It has
# heavier tails than the rbf kernel, so distant points have more influence.

cauchy = Radial(njit(lambda s: 1 / (1 + s)))

rng = np.random.default_rng(0)
X = np.sort(np.concatenate([rng.uniform(0, 4, 60), rng.uniform(7, 10, 60)]))[:, None]
y = 0.3 * X[:, 0] + np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(120)
axis = np.linspace(-1, 12, 600)[:, None]

figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
ax.scatter(X, y, s=9, color="0.3", alpha=0.6, linewidth=0)
for name, kernel, colour in (("rbf", "rbf", "C0"), ("Cauchy, our own", cauchy, "C2")):
    model = DSEKLRegressor(kernel=kernel, gamma=1.0, C=100.0, random_state=0).fit(X, y)
    ax.plot(axis, model.predict(axis), color=colour, linewidth=2, label=name)
ax.set(xlabel="x", ylabel="y", xlim=(-1, 12))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# A function of the dot product
# -----------------------------
# ``DotProduct`` gives the function ``gamma <x, z>``. The exponential of it is a sum of all polynomial kernels.

exponential = DotProduct(njit(lambda s: np.exp(s)))
X2 = rng.uniform(-1, 1, (400, 3))
y2 = X2[:, 0] * X2[:, 1] * X2[:, 2] + X2[:, 0] ** 2
model = DSEKLRegressor(kernel=exponential, gamma=1.0, C=1e3, random_state=0).fit(
    X2[:300], y2[:300]
)
print(f"R^2 on 100 new rows: {model.score(X2[300:], y2[300:]):.3f}")

# %%
# Speed
# -----
# The function is compiled into the innermost loop of the products; no kernel matrix is built. 20,000 training rows and
# 20,000 queries are 400 million kernel values, which as a matrix of float32 would take 1.6 GB.

X3, queries = rng.standard_normal((2, 20_000, 10)).astype(np.float32)
for name, kernel in (("rbf", "rbf"), ("Cauchy, our own", cauchy)):
    model = DSEKLRegressor(
        kernel=kernel, gamma=0.1, C=0.01, max_epochs=4, tol=1.0, random_state=0
    ).fit(X3, X3[:, 0])
    started = time.perf_counter()
    model.predict(queries)
    rate = len(queries) * len(model.dual_coef_) / (time.perf_counter() - started)
    print(f"{name:16s} {rate / 1e6:5.0f} million kernel values a second in predict")
