"""What the guide, the design pages and the FAQ repeat from docs/benchmarks.md is what that page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BENCHMARKS = (DOCS / "benchmarks.md").read_text()
N = r"([\d,.e+^-]*\d)"
WORDS = {"a": 1, "two": 2, "five": 5, "six": 6, "seven": 7, "nine": 9}
C = r"[^|\n]+"
"""A cell that does not matter."""

W = rf"({'|'.join(WORDS)})"

MATRIX = "A matrix of weights"
ALGORITHM_2 = "Algorithm 2 on 20,000 covertype rows"

QUOTES: list[tuple[str, str, str, str, float]] = [
    ("guide/pruning", rf"gamma 100, {N} kernel values", "Cost against N", rf"559,890 \|.* {N} \| {C} \|\n", 1),
    ("guide/pruning", rf"whole fit: {N} % of", "Cost against N", rf"559,890 \|.* \| {N} \|\n", 100),
    ("guide/pruning", rf"over {W} epochs", "Where the seconds go", rf"evaluations, {N} epochs", 1),
    ("guide/memory", rf"with the power {N} of N", "Cost against N", rf"exponents: time {N},", 1),
    ("guide/memory", rf"each row adds {N} bytes", "Cost against N", rf"each row takes {N} bytes", 1),
    ("guide/memory", rf"process, {N} of them", "Cost against N", rf"its own {N} among", 1),
    ("guide/memory", rf"at about {N} a second", "Where the seconds go", rf"unpruned product \| {N} ", 1e6),
    ("design/gram", rf"gram.py`\): {N} s for a", "Kernel products", rf"\| 54 \| {N} ", 1),
    ("design/gram", rf"54 features, {N} s for tiled", "Kernel products", rf"\| 54 \| {C} \| {C} \| {N} \|", 1),
    ("design/kernels", rf"times: {N} s for rbf", "Every kernel", rf"\| rbf \| {N} ", 1),
    ("design/kernels", rf"rbf and {N} s for matern52", "Every kernel", rf"\| matern52 \| {N} ", 1),
    (
        "design/rows",
        rf"the time: {N} times",
        "Training on a mapped file",
        rf"\| board \| 2,048 \|.*\| mapped \|.*\| {N} \| {C} \|\n",
        1,
    ),
    ("design/solvers", rf"global reading is at {N} %", ALGORITHM_2, rf"\| global .* \| {N} % \|\n", 1),
    ("design/solvers", rf"local one at {N} %", ALGORITHM_2, rf"\| local .* \| {N} % \|\n", 1),
]
"""Page, its words, the section of the benchmarks, its words, and what its figure is multiplied by."""


def figure_in(text: str, pattern: str) -> float:
    """Return the one number that a pattern finds."""
    found = re.findall(pattern, text)
    assert len(found) == 1, f"{len(found)} places have {pattern!r}"
    told = found[0]
    if told in WORDS:
        return WORDS[told]
    base, _, power = told.replace(",", "").partition("^")
    return float(base) ** float(power or 1)


def on_page(page: str) -> str:
    """Return a page without its line breaks."""
    return " ".join((DOCS / f"{page}.md").read_text().split())


def section(title: str) -> str:
    return BENCHMARKS.split(f"<!-- {title} -->")[1].split(f"<!-- end of {title} -->")[0]


@pytest.mark.parametrize(("page", "words", "title", "pattern", "times"), QUOTES)
def test_a_figure_on_a_page_is_that_of_the_benchmarks(
    page: str, words: str, title: str, pattern: str, times: float
) -> None:
    assert figure_in(on_page(page), words) == pytest.approx(times * figure_in(section(title), pattern), rel=0.02)


def columns(title: str) -> dict[str, list[float]]:
    """Return a table's numbers, column by column, without what stands behind ±."""
    header, _, *lines = [line for line in section(title).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in (header, *lines)]
    return {
        name: [float(cell.partition(" ")[0]) for cell in column]
        for name, *column in zip(*cells, strict=True)
        if re.match(r"-?\d", column[0])
    }


def test_what_is_said_of_a_matrix_of_weights() -> None:
    text = on_page("design/metric-and-search")
    told = re.search(rf"ahead on {W} tables of ten and behind on {W}; a whole matrix is behind on {W}", text)
    assert told is not None
    of = columns(MATRIX)
    one, five, whole = of["one per feature"], of["and five directions"], of["whole matrix"]
    counts = [
        sum(a < b for a, b in zip(five, one, strict=True)),
        sum(a > b for a, b in zip(five, one, strict=True)),
        sum(a > b for a, b in zip(whole, one, strict=True)),
    ]
    assert [WORDS[word] for word in told.groups()] == counts
    assert len(one) == 10


def test_what_is_said_of_the_papers_algorithms() -> None:
    text = on_page("guide/doubly-stochastic")
    told = re.search(rf"within a point of the exact machine on {W} of them and Algorithm 1 on (four)", text)
    assert told is not None
    of = columns("Algorithms 1 and 2 beside exact machines")
    behind = {
        name: [exact - found for exact, found in zip(of["exact"], of[name], strict=True)]
        for name in ("Algorithm 1", "Algorithm 2")
    }
    assert sum(lag <= 1 for lag in behind["Algorithm 2"]) == WORDS[told[1]]
    assert sum(lag <= 1 for lag in behind["Algorithm 1"]) == 4
    assert len(of["exact"]) == 6
    on_diabetes = [lags[1] for lags in behind.values()]
    assert min(on_diabetes) > 1
    assert max(on_diabetes) < 2.05
    assert figure_in(text, rf"Algorithm 1 is {N} points of R2 behind") == pytest.approx(
        behind["Algorithm 1"][-1], abs=0.05
    )


def test_what_is_said_of_constants_of_preconditioned_steps() -> None:
    text = on_page("design/solvers")
    title = "Constants of preconditioned steps"
    lines = [line.strip("|").split(" | ") for line in section(title).splitlines() if line.startswith("| 0.")]
    scores = [(cells[3].strip(), float(cells[4])) for cells in lines]
    best = scores[0][1]
    last = next(score for power, score in scores if power == "last")
    among = max(best - score for _, score in scores[:8])
    assert figure_in(text, rf"are within {N} points of each other") == pytest.approx(among, abs=0.05)
    assert figure_in(text, rf"for them, are {N} points worse") == pytest.approx(best - last, abs=0.05)


def test_what_is_said_of_choosing_by_probabilities() -> None:
    text = on_page("guide/probabilities")
    told = re.search(rf"log losses are a little lower on (three) of them, and errors a little higher on {W}\.", text)
    assert told is not None
    of = columns("Choosing by decisions or by probabilities")
    lower = [a < b for a, b in zip(of["log loss, probabilities"], of["log loss, decisions"], strict=True)]
    higher = [a > b for a, b in zip(of["error, probabilities"], of["error, decisions"], strict=True)]
    assert (sum(lower), len(lower), sum(higher)) == (3, 4, WORDS[told[2]])
