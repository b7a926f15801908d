"""
The same model on one worker and on two
=======================================

The rows are cut into parts, and a part is the unit of work. The model depends on the parts; the
number of workers only changes how long a fit takes.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from dsekl.dask import DaskDSEKLClassifier

# %%
# Two clusters, one problem
# --------------------------

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
rows, labels = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)
models = []
for n_workers in (1, 2):
    with Client(
        processes=False, n_workers=n_workers, threads_per_worker=1, dashboard_address=None
    ) as client:
        model = DaskDSEKLClassifier(
            client=client, kernel="rbf", gamma=0.03, C=4.0, n_parts=4, tol=1e-3, random_state=0
        )
        model.fit(rows, labels)
        models.append((model.to_local(), model.history_))
(one, history), (two, history_of_two) = models
print("the same coefficients, to the bit:", np.array_equal(one.dual_coef_, two.dual_coef_))
print(f"accuracy on the training rows {two.score(X, y):.3f}, {len(history)} rounds")

# %%
# The gap is the certificate
# --------------------------
# After each round the duality gap of the whole problem is summed over all parts. It bounds how far
# the objective is from the optimum, and ends the fit at ``tol``.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for label, records, style in (
    ("one worker", history, "-"),
    ("two workers", history_of_two, "o"),
):
    known = [(each["epoch"], each["gap"]) for each in records if np.isfinite(each["gap"])]
    ax.semilogy(*np.transpose(known), style, markersize=9, fillstyle="none", label=label)
ax.axhline(1e-3, color="0.5", linestyle=":", label="tol")
ax.set(
    xlabel="round", title="relative duality gap of all parts", xticks=range(1, len(history) + 1)
)
ax.legend()
plt.show()
