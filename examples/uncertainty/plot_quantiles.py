"""
Quantile regression
===================

The quantile loss fits a conditional quantile: the value that a given share of the targets is below. Several quantiles,
one model each, make a prediction interval that is wide where the targets are uncertain.
"""

import matplotlib.pyplot as plt
import numpy as np

from dsekl import DSEKLRegressor
from dsekl.losses import Quantile

# %%
# Heteroscedastic, skewed noise
# -----------------------------
# A sine wave. The noise depends on x and is skewed, so neither a constant nor a symmetric interval fits.


def sample(n, rng):
    x = rng.uniform(0, 10, n)
    scatter = 0.1 + 0.05 * x * (1 + np.cos(x))
    return x[:, None], np.sin(x) + scatter * (rng.gamma(2.0, 1.0, n) - 2.0)


rng = np.random.default_rng(0)
X, y = sample(2_000, rng)
X_new, y_new = sample(20_000, rng)

# %%
# One model per quantile
# ----------------------
# A quantile is calibrated if the share of new targets below it is the quantile itself.

levels = [0.05, 0.25, 0.5, 0.75, 0.95]
models = {
    q: DSEKLRegressor(gamma=1.0, C=10.0, loss=Quantile(q), random_state=0).fit(X, y)
    for q in levels
}
for q, model in models.items():
    print(
        f"quantile {q:4.2f}: {np.mean(y_new <= model.predict(X_new)):5.3f} of 20,000 new targets "
        "lie below it"
    )

between = (y_new > models[0.05].predict(X_new)) & (y_new <= models[0.95].predict(X_new))
print(f"\nbetween the outer two: {between.mean():.3f}, wanted: 0.900")

# %%
# The prediction interval
# -----------------------
# The models are fitted independently. Where there are few data, neighbouring quantiles may cross; sort the predictions
# of a row if they must not.

axis = np.linspace(0, 10, 500)
at = {q: model.predict(axis[:, None]) for q, model in models.items()}
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
ax.scatter(X[:, 0], y, s=4, color="0.3", alpha=0.25, linewidth=0)
ax.fill_between(
    axis, at[0.05], at[0.95], color="C2", alpha=0.25, linewidth=0, label="0.05 to 0.95"
)
ax.fill_between(
    axis, at[0.25], at[0.75], color="C2", alpha=0.5, linewidth=0, label="0.25 to 0.75"
)
ax.plot(axis, at[0.5], color="C0", linewidth=2, label="median")
ax.set(xlabel="x", ylabel="y", xlim=(0, 10))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(loc="upper left", frameon=False, ncols=3)

crossings = np.mean(np.diff(np.stack(list(at.values())), axis=0) < 0)
print(f"crossings on this axis: {100 * crossings:.1f} % of neighbouring pairs")
