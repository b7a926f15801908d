"""Fixtures of the command line's tests: run it, and a folder with data and a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl.cli import main


class Completed:
    """The output of a command, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.out)
        return content


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command line in this process."""

    def run(*arguments: object) -> Completed:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Completed(left.value.code, printed.out, printed.err)

    return run


def people(n: int, seed: int) -> str:
    """Return csv with numbers, categories, missing values and an id; who buys depends on age and city."""
    rng = np.random.default_rng(seed)
    lines = ["id,age,city,income,buys"]
    for i in range(n):
        age, city = int(rng.integers(18, 80)), str(rng.choice(["Rome", "Bern", "Oslo"]))
        buys = "yes" if (age > 45) ^ (city == "Rome") else "no"
        lines.append(f"{i:04d},{age if rng.random() > 0.05 else ''},{city},{rng.lognormal(10, 0.5):.1f},{buys}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def bought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with train.csv, test.csv and a model of them."""
    folder = tmp_path_factory.mktemp("bought")
    (folder / "train.csv").write_text(people(300, 0))
    (folder / "test.csv").write_text(people(120, 1))
    with pytest.raises(SystemExit) as left:
        main(["fit", str(folder / "train.csv"), "-t", "buys", "-m", str(folder / "m.dsekl"), "--text", "id", "-q"])
    assert left.value.code == 0
    return folder
