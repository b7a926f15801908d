"""
The same model on one worker and on two
=======================================

The rows are cut into parts, and a part is the unit of work. The parts decide the model; how many
workers there are decides only how long it takes.
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
(one, history), (two, _) = models
print("the same coefficients, to the bit:", np.array_equal(one.dual_coef_, two.dual_coef_))
print(f"accuracy on the training rows {two.score(X, y):.3f}, {len(history)} rounds")

# %%
# The gap is the certificate
# --------------------------
# After each round the duality gap of the whole problem is summed over all parts. It bounds how far
# the objective is from the optimum, and ends the fit at ``tol``.

gaps = [(record["epoch"], record["gap"]) for record in history if np.isfinite(record["gap"])]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.semilogy(*np.transpose(gaps), "o-")
ax.axhline(1e-3, color="C1", linestyle=":")
ax.annotate("tol", (gaps[0][0], 1.15e-3), color="C1")
ax.set(xlabel="round", title="relative duality gap of all parts")
plt.show()
