"""
A kernel on graphs
==================

The Weisfeiler-Lehman kernel compares graphs by the neighbourhoods of their nodes. It is a Python function like the
kernel on strings. The task: tell molecules apart that have the same atoms and differ in their bonds.
"""

from functools import cache
from hashlib import blake2b

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import shortest_path
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
# Molecules of the same atoms
# ---------------------------
# Random trees of 10 to 16 nodes, none with more than three neighbours; of the nodes three are N, three are O, the
# others C. A graph is in the class if it contains the chain N-C-C-O. All graphs of a size have the same atoms, so
# counting them does not help. A graph is a pair of tuples, labels and neighbours, which Python can hash.


def graph(rng):
    n = int(rng.integers(10, 17))
    labels = rng.permutation(list("NNNOOO" + "C" * (n - 6)))
    neighbours = [[] for _ in range(n)]
    for node in range(1, n):
        other = rng.choice([k for k in range(node) if len(neighbours[k]) < 3])
        neighbours[node].append(int(other))
        neighbours[other].append(node)
    return tuple(map(str, labels)), tuple(map(tuple, neighbours))


def chain(labels, neighbours):
    """Return the nodes of a chain N-C-C-O, or none."""
    beside = [{labels[other]: other for other in others} for others in neighbours]
    for a, others in enumerate(neighbours):
        for b in others:
            if labels[a] == labels[b] == "C" and "N" in beside[a] and "O" in beside[b]:
                return [beside[a]["N"], a, b, beside[b]["O"]]
    return []


rng = np.random.default_rng(0)
graphs = [graph(rng) for _ in range(1_500)]
y = np.array([len(chain(*each)) > 0 for each in graphs])
train, test, y_train, y_test = train_test_split(graphs, y, test_size=500, random_state=0)
print(f"{len(train)} graphs to learn from, {100 * y.mean():.0f} % of them in the class")

# %%
# The kernel
# ----------
# Each iteration gives every node a new label, made of its own and its neighbours'. After h iterations a label describes
# the neighbourhood within h steps. The kernel value of two graphs is the cosine similarity of their counts of labels
# from all iterations.


@cache
def all_labels(labels, neighbours, rounds):
    seen = list(labels)
    for _ in range(rounds):
        views = [
            "".join([labels[i], *sorted(labels[j] for j in others)])
            for i, others in enumerate(neighbours)
        ]
        labels = [blake2b(view.encode(), digest_size=8).hexdigest() for view in views]
        seen += labels
    return seen


class WeisfeilerLehman:
    def __init__(self, rounds):
        self.counter = HashingVectorizer(
            analyzer=lambda each: all_labels(*each, rounds), alternate_sign=False
        )

    def __call__(self, a, b):
        return (self.counter.transform(a) @ self.counter.transform(b).T).toarray()


# %%
# The number of iterations
# ------------------------
# Without iterations only atoms are counted. With one, each atom is counted with its neighbours, which does not show the
# whole chain. With two it does. Further iterations add labels that few graphs share.

rounds = range(5)
models = {
    h: DSEKLClassifier(kernel=WeisfeilerLehman(h), C=10.0, random_state=0).fit(train, y_train)
    for h in rounds
}
errors = [100 * (1 - models[h].score(test, y_test)) for h in rounds]
for h, error in zip(rounds, errors, strict=True):
    print(f"{h} iterations: test error {error:4.1f} %")

# %%
# Two of the graphs; the chain has thick outlines.

COLOURS = {"C": "#ffffff", "N": "#f3cf85", "O": "#f2b1ab"}


def draw(ax, labels, neighbours):
    n = len(labels)
    adjacent = np.zeros((n, n))
    for node, others in enumerate(neighbours):
        adjacent[node, list(others)] = 1
    wanted = shortest_path(adjacent)
    place = np.random.default_rng(0).standard_normal((n, 2))
    for _ in range(
        500
    ):  # each step lessens the squared difference between drawn and wanted distances
        drawn = np.linalg.norm(place[:, None] - place, axis=2) + np.eye(n)
        pull = wanted / drawn
        place = (pull.sum(axis=1)[:, None] * place - pull @ place) / n
    for node, others in enumerate(neighbours):
        for other in others:
            ax.plot(*place[[node, other]].T, color="0.3", linewidth=1, zorder=1)
    found = chain(labels, neighbours)
    for node, (x, y) in enumerate(place):
        rim = 3.0 if node in found else 0.8
        ax.scatter(
            x, y, s=190, color=COLOURS[labels[node]], edgecolor="0.3", linewidth=rim, zorder=2
        )
        ax.text(x, y, labels[node], ha="center", va="center", fontsize=9, color="0.1", zorder=3)
    ax.set_axis_off()


figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
draw(left, *train[int(np.flatnonzero(y_train)[0])])
left.set_title("in the class", loc="left", fontsize=10)
draw(middle, *train[int(np.flatnonzero(~y_train)[0])])
middle.set_title("not in it", loc="left", fontsize=10)
right.plot(rounds, errors, "o-", color="C0")
right.set(xlabel="iterations", xticks=list(rounds), ylim=(0, None))
right.set_title("test error, %", loc="left", fontsize=10)
right.spines[["top", "right"]].set_visible(False)
