"""
Are the probabilities calibrated?
=================================

The classes are drawn with known probabilities, so that the predicted ones can be compared with the
true ones, and not only with observed frequencies.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
# A wave in the plane
# -------------------
# The probability of class 1 rises and falls across the plane.

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (4_000, 2))
truth = 1 / (1 + np.exp(-3 * np.sin(2 * X[:, 0]) - 2 * X[:, 1]))
y = (rng.random(len(X)) < truth).astype(int)
X_train, X_test, y_train, y_test, _, truth_test = train_test_split(
    X, y, truth, test_size=2_000, random_state=0
)

# %%
# Held-out rows chose the loss. Whatever it is, probabilities are learned from rows that the model
# had not seen.

model = DSEKLClassifier(random_state=0).fit(X_train, y_train)
proba = model.predict_proba(X_test)[:, 1]
print(f"loss: {model.loss_}, from f to a probability: {model.calibration_.method}")
print(f"log loss {log_loss(y_test, proba):.3f}")
print(f"log loss of the true probabilities {log_loss(y_test, truth_test):.3f}")

# %%
# Left: of the rows that get a probability, how many are of class 1? Right: the predicted probability
# of each test row against the true one.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
share, predicted = calibration_curve(y_test, proba, n_bins=10)
left.plot([0, 1], [0, 1], color="0.5", linewidth=1)
left.plot(predicted, share, "o-")
left.set(xlabel="predicted probability", title="share of class 1")
right.plot([0, 1], [0, 1], color="0.5", linewidth=1)
right.plot(truth_test, proba, ".", markersize=3, alpha=0.4)
right.set(xlabel="true probability", title="predicted probability")
plt.show()
