"""Write the model files of the current format version, once: ``python tests/files/make.py``.

Each is kept for good, with the predictions that it must give, so that later versions prove that they can read it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.kernels import Matern
from dsekl.losses import Huber
from dsekl.persistence.container import FORMAT

FOLDER = Path(__file__).parent


def grid() -> np.ndarray:
    """Return the rows that the kept models were fitted on and are asked about."""
    left, right = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-2, 2, 7))
    return np.column_stack([left.ravel(), right.ravel()])


def main() -> None:
    X = grid()
    table = pd.DataFrame(X, columns=["left", "right"])
    labels = np.array(["inner", "middle", "outer"])[np.digitize(np.hypot(*X.T), [0.8, 1.6])]
    classifier = DSEKLClassifier(Matern(2.5), gamma=[2.0, 0.5], C=5.0, loss="logistic", random_state=0)
    classifier.fit(table, labels).save(
        FOLDER / f"classifier-{FORMAT}.dsekl", table={"columns": ["left", "right"]}, provenance={"for": "tests"}
    )
    regressor = DSEKLRegressor(gamma=0.5, C=10.0, loss=Huber(0.5), dtype="float64", random_state=0)
    regressor.fit(sparse.csr_array(X), np.column_stack([np.sin(X[:, 0]), X[:, 1]]))
    regressor.save(FOLDER / f"regressor-{FORMAT}.dsekl")
    np.savez(
        FOLDER / f"predictions-{FORMAT}.npz",
        classifier=classifier.predict_proba(table),
        regressor=regressor.predict(sparse.csr_array(X)),
    )


if __name__ == "__main__":
    main()
