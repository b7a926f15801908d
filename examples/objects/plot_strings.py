"""
A kernel on strings
===================

A kernel machine needs only kernel values, so it can learn from any objects that have a kernel. Here: strings of
letters. Some contain a motif at an unknown position, with errors in it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
# Sequences with a hidden motif
# -----------------------------
# Random letters A, C, G, T. Half of the sequences contain the motif, each letter of it replaced by a random one with
# probability 0.1.

MOTIF = "TATAATGC"


def sequences(n, length, rng):
    letters = rng.choice(list("ACGT"), (n, length))
    labels = rng.random(n) < 0.5
    for row in np.flatnonzero(labels):
        start = rng.integers(0, length - len(MOTIF) + 1)
        kept = rng.random(len(MOTIF)) > 0.1
        letters[row, start : start + len(MOTIF)][kept] = np.array(list(MOTIF))[kept]
    return ["".join(row) for row in letters], labels


texts, labels = sequences(1_500, 60, np.random.default_rng(0))
train, test, y_train, y_test = train_test_split(texts, labels, test_size=500, random_state=0)
print("with the motif   ", train[np.argmax(y_train)])
print("without the motif", train[np.argmin(y_train)])

# %%
# The kernel
# ----------
# The spectrum kernel compares the counts of k-mers (substrings of k letters) of two strings. It is a function of two
# lists of strings that returns their block of kernel values; the solver asks for blocks of bounded size.
# ``HashingVectorizer`` counts the k-mers and normalises the counts of each string to length 1.


class Spectrum:
    def __init__(self, k):
        self.pieces = HashingVectorizer(
            analyzer="char", ngram_range=(k, k), lowercase=False, alternate_sign=False
        )

    def __call__(self, a, b):
        return (self.pieces.transform(a) @ self.pieces.transform(b).T).toarray()


# %%
# Short k-mers carry little information, long ones are rarely shared.

models, lengths = {}, range(1, 8)
for k in lengths:
    models[k] = DSEKLClassifier(kernel=Spectrum(k), C=1.0, random_state=0).fit(train, y_train)
errors = [100 * (1 - models[k].score(test, y_test)) for k in lengths]
for k, error in zip(lengths, errors, strict=True):
    print(f"k = {k}: test error {error:4.1f} %")

# %%
# What it found
# -------------
# f is linear in the counts, so every k-mer has a weight: the sum of the support vectors' counts times their
# coefficients. Most of the largest weights belong to parts of the motif.

best = int(np.argmin(errors)) + 1
model = models[best]
support = [train[row] for row in model.support_]
weights = np.asarray(model.kernel.pieces.transform(support).T @ model.dual_coef_).ravel()
pieces = sorted({text[i : i + best] for text in support for i in range(len(text) - best + 1)})
found = weights[model.kernel.pieces.transform(pieces).indices]
top = np.argsort(found)[-10:]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(lengths, errors, "o-", color="C0")
left.set(xlabel="k", xticks=list(lengths), ylim=(0, None))
left.set_title("test error, %", loc="left", fontsize=10)
colours = ["C2" if pieces[i] in MOTIF else "0.3" for i in top]
right.barh(range(len(top)), found[top], color=colours)
right.set_yticks(range(len(top)), [pieces[i] for i in top], family="monospace")
right.set_title(f"weight of a k-mer; gold: part of {MOTIF}", loc="left", fontsize=10)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
