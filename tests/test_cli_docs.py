"""The command line's page, help and messages agree with the code."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer
from sklearn.datasets import load_breast_cancer

from dsekl import kernels, losses, solvers
from dsekl.cli import app
from dsekl.cli import options as o
from dsekl.cli.fit import fit
from dsekl.cli.summary import most_important
from dsekl.data import column_learners, encoder_learner, messages, sparse_encoding, target
from dsekl.data.field_values import MISSING
from dsekl.data.recipe_learner import Options
from dsekl.search import lattice, regions
from dsekl.tuning import candidate, halving

ROOT = Path(__file__).parent.parent
PAGE = " ".join((ROOT / "docs" / "command-line.md").read_text().split())
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
WIDEST = lattice.WIDTH_STEP**candidate.WIDTH_STEPS
LARGEST_C = lattice.C_STEP**candidate.C_STEPS
DEFAULTS = fit.__defaults__ or ()


def default(name: str) -> Any:
    """Return the default of an option of fit."""
    names = fit.__code__.co_varnames[: fit.__code__.co_argcount]
    return dict(zip(names[-len(DEFAULTS) :], DEFAULTS, strict=True))[name]


@pytest.mark.parametrize(
    "sentence",
    [
        f"at most {sparse_encoding.MOST_DENSE_COLUMNS} columns",
        f"(of {encoder_learner.SAMPLE_ROWS:,} random ones in a larger table)",
        f"occur at least {column_learners.MIN_FREQUENCY} times",
        f"the {Options().max_categories} most frequent at most (`--max-levels`)",
        f"more than {column_learners.MOST_COUNTED_CATEGORIES:,} categories",
        f"at most {target.MOST_INFERRED_CLASSES} different integers",
        f"A share of {o.DEFAULT_VALIDATION} of the rows",
        f"none of fewer than {o.FEWEST_ROWS_TO_SPLIT} rows",
        f"every {default('checkpoint_interval'):g} seconds",
        f"{(2 * candidate.WIDTH_STEPS + 1) * (2 * candidate.C_STEPS + 1)} pairs of gamma",
        f"times 1/{WIDEST:g} to {WIDEST:g}",
        f"times 1/{LARGEST_C:g} to {LARGEST_C:g}",
        f"{halving.RUNGS_OF_REGIONS[0]} regions of at most {regions.REGION_ROWS:,} rows "
        f"({regions.RIDGE_REGION_ROWS:,} for the squared loss)",
        f"the best third on {halving.RUNGS_OF_REGIONS[1]} regions",
        f"the best {halving.FINALISTS} on all rows",
        f"Up to {regions.REGION_ROWS:,} rows are one region",
    ],
)
def test_the_page_repeats_the_numbers_of_the_code(sentence: str) -> None:
    assert sentence in PAGE


def test_the_page_names_what_counts_as_missing() -> None:
    (row,) = re.findall(r"\| missing values \|([^|]*)\|", PAGE)
    assert {value.lower() for value in re.findall(r"`([^`]+)`", row)} | {""} == MISSING


def test_the_page_lists_every_command() -> None:
    assert set(re.findall(r"\| `dsekl (\w+)[^`]*` \|", PAGE.split("`dsekl COMMAND --help`")[0])) == set(COMMANDS)


def test_the_options_on_the_page_exist() -> None:
    known = {name for command in COMMANDS.values() for option in command.params for name in option.opts}
    known |= {name for command in COMMANDS.values() for option in command.params for name in option.secondary_opts}
    assert set(re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", PAGE)) <= known | {"--help"}


def names_in(error: pytest.ExceptionInfo[ValueError]) -> set[str]:
    return set(str(error.value).split("choose one of ")[1].split(", "))


def test_the_help_lists_what_the_library_knows() -> None:
    with pytest.raises(ValueError, match="kernel") as error:
        kernels.resolve("?")
    assert names_in(error) == set(o.KERNELS)
    with pytest.raises(ValueError, match="solver") as error:
        solvers.resolve("?")
    assert names_in(error) == set(o.SOLVERS)
    for task, names in o.LOSSES.items():
        with pytest.raises(ValueError, match="loss") as error:
            losses.resolve("?", task)
        assert names_in(error) == set(names)


def test_every_parameter_in_a_message_has_an_option() -> None:
    assert set(o.OPTION_OF) == set(messages.PARAMETERS)
    options = {name for command in ("fit", "convert") for option in COMMANDS[command].params for name in option.opts}
    assert set(o.OPTION_OF.values()) <= options


def test_the_readers_do_not_know_the_command_line() -> None:
    for file in (ROOT / "src" / "dsekl" / "data").glob("*.py"):
        assert not re.search(r"--[a-z]", file.read_text()), file.name


def test_the_defaults_of_fit_are_those_of_the_readers() -> None:
    assert default("max_levels") == Options().max_categories
    assert f"up to {target.MOST_INFERRED_CLASSES} integers" in str(COMMANDS["fit"].params[3].help)


def test_features_are_ranked_whatever_weights_won() -> None:
    recipe: Any = SimpleNamespace(encoder=SimpleNamespace(column=["a", "b"].__getitem__))
    shares = np.array([0.25, 0.75])
    for weights in ("learned", "equal"):
        model: Any = SimpleNamespace(metric_=weights, feature_importances_=shares)
        assert most_important(model, recipe) == {"b": 0.75, "a": 0.25}
    without: Any = SimpleNamespace()
    assert most_important(without, recipe) is None


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_shows_no_type_of_a_flag_and_no_braces(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app([name, "--help"])
    told = capsys.readouterr().out
    assert "--help" in told
    assert "<bool>" not in told
    assert "{" not in told


def test_the_commands_of_the_first_table_run_as_they_stand(
    run: Any, bought: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, like in (("shop.csv", "train.csv"), ("new.csv", "test.csv")):
        (tmp_path / name).write_bytes((bought / like).read_bytes())
    page = (ROOT / "docs" / "guide" / "first-table.md").read_text()
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("dsekl ")]
    assert [command[0] for command in commands] == ["fit", "predict", "evaluate"]
    for command in commands:
        done = run(*command)
        assert done.code == 0, done.err
    assert (tmp_path / "out.csv").read_text().startswith("prediction,probability no,probability yes")
    assert "accuracy" in done.out


def test_the_scores_that_getting_started_shows_are_printed(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is the page's own; processors round differently, so scores may differ in the second place."""
    page = (ROOT / "docs" / "getting-started.md").read_text()
    (shown,) = re.findall(r"<!-- scores of the command -->\n```text\n(.*?)```", page, re.DOTALL)
    cells = load_breast_cancer(as_frame=True)
    table = cells.data.mask(np.random.default_rng(0).random(cells.data.shape) < 0.02)
    table["diagnosis"] = cells.target_names[cells.target]
    table.to_csv(tmp_path / "cells.csv", index=False)
    monkeypatch.chdir(tmp_path)
    printed = run("fit", "cells.csv", "--target", "diagnosis", "--model", "cells.dsekl").out
    number = r"[\d.]+"
    start = printed.strip()[: len(shown)]
    assert re.sub(number, "", start).split() == re.sub(number, "", shown).split()
    found, told = (list(map(float, re.findall(number, text))) for text in (start, shown))
    assert found == pytest.approx(told, abs=0.03)
