"""Fixtures of the command line's tests: run it, and a folder with data and a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from dsekl.cli import main

# In a fresh clone Hypothesis first makes its table of all characters, which a busy machine takes for slow data.
settings.register_profile("dsekl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dsekl")


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


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two Dask workers. They are threads, which start at once, but tasks and results are sent as between machines."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0"
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def fitted(client: Any) -> Any:
    """A classifier on the workers."""
    from dsekl.dask import DaskDSEKLClassifier
    from tests.on_dask import ROWS, SETTINGS, UP

    return DaskDSEKLClassifier(**SETTINGS, client=client).fit(ROWS, UP)


@pytest.fixture(scope="session")
def fine(client: Any) -> Any:
    """A classifier on the workers, after more rounds."""
    from dsekl.dask import DaskDSEKLClassifier
    from tests.on_dask import FINE, ROWS, UP

    return DaskDSEKLClassifier(**FINE, client=client).fit(ROWS, UP)
