"""
Fitting dask arrays
===================

The digits as a dask array in four chunks, fitted by two workers. On a real cluster only the address
of the scheduler differs. ``to_local`` returns an ordinary ``DSEKLClassifier``.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier
from dsekl.dask import DaskDSEKLClassifier

# %%
# A cluster on this machine
# -------------------------
# ``Client("scheduler:8786")`` connects to one elsewhere.

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
rows = da.from_array(X_train, chunks=(400, -1))
labels = da.from_array(y_train, chunks=400)

# %%
# Fit, predict, bring home
# ------------------------
# With gamma and C given there is no search; without them they are chosen on the workers, too.

settings = dict(kernel="rbf", gamma=0.001, C=10.0, loss="hinge", random_state=0)
model = DaskDSEKLClassifier(client=client, **settings).fit(rows, labels)
predicted = model.predict(da.from_array(X_test, chunks=(100, -1)))
print(type(predicted).__name__, predicted.shape, "computed when asked for")
print(f"accuracy {np.mean(predicted.compute() == y_test):.3f}")
local = model.to_local()
client.close()

# %%
# No cluster is needed any more. A local fit of the same rows gives the same answers here:

alone = DSEKLClassifier(**settings).fit(X_train, y_train)
same = np.mean(local.predict(X_test) == alone.predict(X_test))
print(f"{type(local).__name__}, {same:.1%} of its predictions are those of a local fit")

figure, ax = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    y_test, local.predict(X_test), ax=ax, cmap="Blues", colorbar=False
)
ax.grid(False)
ax.set_title("digits: confusion matrix of the local copy of the model")
plt.show()
