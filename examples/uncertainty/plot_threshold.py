"""
Imbalanced classes: choosing a threshold
========================================

One row in twenty is of the rare class. A false negative costs ten times as much as a false
positive. The probabilities stay as they are; the threshold is moved.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
X, y = make_classification(
    3_000, 8, n_informative=5, weights=[0.95], flip_y=0.02, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = DSEKLClassifier(random_state=0).fit(X_train, y_train)
proba = model.predict_proba(X_test)[:, 1]

# %%
# What a threshold costs
# ----------------------
# With calibrated probabilities the best threshold is known beforehand: an alarm pays off where the
# probability is above the cost of a false alarm over the sum of both costs, 1 / 11.

MISSED, FALSE_ALARM = 10, 1
thresholds = np.linspace(0.01, 0.9, 90)
costs = [
    MISSED * np.sum((proba < t) & (y_test == 1))
    + FALSE_ALARM * np.sum((proba >= t) & (y_test == 0))
    for t in thresholds
]
best = FALSE_ALARM / (FALSE_ALARM + MISSED)
for t in (0.5, best):
    alarms = proba >= t
    cost = MISSED * np.sum(~alarms & (y_test == 1)) + FALSE_ALARM * np.sum(
        alarms & (y_test == 0)
    )
    print(
        f"threshold {t:.2f}: {np.sum(alarms & (y_test == 1))} of {y_test.sum()} rare rows found, "
        f"{np.sum(alarms & (y_test == 0))} false alarms, cost {cost}"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(thresholds, costs)
left.axvline(best, color="C1", linestyle="--", label="1 / 11")
left.axvline(0.5, color="0.5", linestyle=":", label="predict")
left.set(xlabel="threshold", title="cost on the test rows")
left.legend()
precision, recall, _ = precision_recall_curve(y_test, proba)
right.plot(recall, precision)
right.set(xlabel="recall", title="precision", ylim=(0, 1.05))
plt.show()
