"""Pages, help and messages use the field's words: a reader of scikit-learn's guide has nothing to translate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PRIVATE = {
    r"which was taken for which": "confusion matrix",
    r"\blikeness(es)?\b|\bhow alike\b": "similarity",
    r"\bterms kept\b": "support vectors",
    r"\bno file of dsekl\b": "not a dsekl model file, or corrupted",
    r"\bleaves? the play\b|rows that are away": "leaves the active set; inactive rows",
    r"\blosses of labels\b": "classification losses",
    r"\bkernels? of distances\b": "distance-based (stationary) kernel",
    r"\bequal in one unit\b": "isotropic",
    r"\bthinned sample\b": "subsample",
    r"\b(its|their) luck\b": "overfit; varies by sample",
    r"\bdealt like cards\b": "round-robin",
    r"\bin bites\b": "in chunks",
    r"\bbent into\b": "embedded in",
    r"\btails of the third power\b": "features cubed",
    r"\bmost passes over\b": "maximum number of epochs",
    r"\bdecides everything random\b": "random seed",
    r"\btexts of a column that\b": "categories per column",
    r"\bwhat has no feature is 0\b": "unseen categories are encoded as zeros",
    r"\bstands? for choice\b": "compared by the one-standard-error rule",
    r"\bthe gap's own speed\b": "estimated time left",
    r"\b(losses|rows|did) of late\b": "recent losses",
    r"\bclock on the wall\b": "wall-clock seconds",
    r"\b(either|two|both) doors?\b": "in Python and on the command line",
    r"\bnobody but you\b": "the task is ambiguous",
    r"\bkernels that are none\b": "functions that are not valid kernels",
    r"\b(files?|json|come) from anybody\b": "untrusted files",
    r"\bone model for one question\b": "the same model for the same input",
    r"\bthe usual (kernel|loss|weights) (is|because)\b": "the default",
    r"\bstep of the ladder\b|\bbent data\b": "rung; transformed data",
    r"\bthe (median|middle of theirs) stands in\b": "imputed by the median",
    r"\bwhat becomes of a column\b": "how columns are encoded",
    r"\b(table|frame|dates) as (it|they) comes?\b": "raw table",
    r"\brandom seed of everything\b": "seed of the random number generator",
    r"\bbrings? it home\b|\b(came|comes) home\b": "fetches it; the local copy",
    r"\bby a model without them\b": "rows held out from training",
    r"\bhow probabilities are made of f\b": "calibration of probabilities",
    r"\bneighbours to ask\b|\brows say of\b": "denser data; estimated from rows",
    r"\bwhat must not matter\*\*": "invariances",
    r"\bcertificate is a certificate\b": "the duality gap is a certificate",
    r"\bweights of the features won\b": "feature weights were chosen",
    r"\btakes? the constant of least loss\b": "subtracts the best constant",
    r"\bmost passes\b|\bepochs of patience\b": "epochs without improvement",
    r"\bto meet the stream\b|\bmeet more rows\b": "learn from the stream; compared on more rows",
}
"""Phrases that no user of scikit-learn knows, and what to say in their place."""

WRITTEN = [
    *(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"),  # which names what was renamed
    *(path for path in (ROOT / "docs").rglob("*.md") if "gallery" not in path.parts),
    *(ROOT / "examples").rglob("*.py"),
    *(ROOT / "examples").rglob("*.rst"),
    *(ROOT / "benchmarks").glob("*.py"),
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "src").rglob("*.jinja"),
]


@pytest.mark.parametrize(("phrase", "better"), PRIVATE.items())
def test_private_words_are_nowhere(phrase: str, better: str) -> None:
    pattern = re.compile(re.sub(r" ", r"\\s+", phrase), re.IGNORECASE)
    places = [
        f"{path.relative_to(ROOT)}: {found[0]!r}" for path in WRITTEN for found in pattern.finditer(path.read_text())
    ]
    assert not places, f"say {better!r} in the place of these"


def test_the_texts_are_found() -> None:
    assert len(WRITTEN) > 200
