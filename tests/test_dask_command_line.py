"""The command line on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import pandas as pd
from distributed import Client

from tests.on_dask import encoded_table


def test_the_command_line_fits_and_predicts_on_a_cluster(
    client: Client, run: Any, bought: Path, tmp_path: Path
) -> None:
    at = ("--scheduler", client.scheduler.address)
    result = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m.dsekl", "--text", "id", "-q", *at)
    assert result.code == 0, result.err
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    assert run("predict", tmp_path / "m.dsekl", bought / "test.csv", "-o", here, "--proba", "-q").code == 0
    assert run("predict", tmp_path / "m.dsekl", bought / "test.csv", "-o", there, "--proba", "-q", *at).code == 0
    assert here.read_text() == there.read_text()
    right = [line.split(",")[-1] for line in (bought / "test.csv").read_text().splitlines()[1:]]
    found = [line.split(",")[0] for line in here.read_text().splitlines()[1:]]
    assert np.mean(np.array(right) == found) > 0.8


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--scheduler", "127.0.0.1:1", "--workers", "2"), "leave one of the two out"),
        (("--scheduler", "nowhere"), "no scheduler answers there"),
        (("--workers", "2", "--validation", "0.2"), "no rows are held out on a cluster"),
    ],
)
def test_the_command_line_names_what_is_wrong_with_a_cluster(
    run: Any, bought: Path, tmp_path: Path, given: tuple[str, ...], words: str
) -> None:
    result = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m.dsekl", "-q", *given)
    assert result.code != 0
    assert words in " ".join(result.err.split())


def test_the_workers_read_the_files_of_a_pattern(client: Client, run: Any, tmp_path: Path) -> None:
    frame = encoded_table()
    for k in range(3):
        part = frame[400 * k : 400 * (k + 1)]
        part.astype({"size": str}).to_parquet(tmp_path / f"rows-{k}.parquet", row_group_size=150)
        part.to_csv(tmp_path / f"rows-{k}.csv", index=False)
    at = ("--scheduler", client.scheduler.address)
    model = tmp_path / "m.dsekl"
    given = ("-t", "up", "--gamma", "3", "--C", "2", "-q")
    result = run("fit", tmp_path / "rows-*.parquet", *given, "-m", model, *at)
    assert result.code == 0, result.err
    found = {}
    for name, where in (("here", ()), ("there", at)):
        found[name] = tmp_path / f"{name}.csv"
        result = run(
            "predict", model, tmp_path / "rows-*.csv", "-o", found[name], "--keep", "town", "--proba", "-q", *where
        )
        assert result.code == 0, result.err
    assert found["here"].read_text() == found["there"].read_text()
    assert (pd.read_csv(found["here"])["prediction"] == frame["up"]).mean() > 0.9
    (tmp_path / "rows-1.csv").write_text("a,b\n1,2\n")
    for command in (("predict", model), ("fit",)):
        more = ("-o", tmp_path / "o.csv") if command[0] == "predict" else (*given, "-m", tmp_path / "n.dsekl")
        result = run(*command, tmp_path / "rows-*.csv", *more, *at)
        assert result.code == 2
        assert "rows-1.csv" in result.err
        assert "lacks the column 'town'" in " ".join(result.err.split())
    assert "matches no file" in run("fit", tmp_path / "no-*.csv", *given, "-m", model, "--force", *at).err
