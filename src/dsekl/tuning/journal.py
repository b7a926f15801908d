"""What a search has found so far, in a JSON file that is rewritten whole after each finding.

The file has a checksum, and says of which data and settings it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from dsekl import plain_json
from dsekl.atomic import replacing_text

LARGEST = sys.float_info.max
"""Of an error: JSON has no infinity."""


class JournalFileError(ValueError):
    """A file that is not the journal of this search."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; delete it, or name another"


@dataclass(frozen=True)
class Chosen:
    """What an estimator chose by itself: gamma, one number or one for each feature, and C."""

    gamma: float | list[float]
    C: float


Finding = float | Chosen
"""The error of a candidate, or what an estimator chose by itself."""


class Journal:
    """Findings by name. With a path, those of an earlier search of the same data and settings are there already."""

    def __init__(self, path: Path | None, identity: dict[str, Any], n_features: int) -> None:
        self._path, self._identity = path, identity
        self._errors: dict[str, float] = {}
        self._chosen: dict[str, Chosen] = {}
        if path is not None and os.path.lexists(path):
            self._read(path, n_features)

    def error(self, name: str) -> float | None:
        """Return the error of a candidate, None if it is not known."""
        return self._errors.get(name)

    def chosen(self, name: str) -> Chosen | None:
        """Return what an estimator chose, None if it is not known."""
        return self._chosen.get(name)

    def add(self, name: str, finding: Finding) -> None:
        """Keep a finding; with a path, it is on the disk when this returns."""
        if isinstance(finding, Chosen):
            self._chosen[name] = finding
        else:
            self._errors[name] = finding
        if self._path is not None:
            self._write(self._path)

    def _write(self, path: Path) -> None:
        chosen = {name: asdict(finding) for name, finding in self._chosen.items()}
        content = {"identity": self._identity, "found": {**chosen, **self._errors}}
        try:
            with replacing_text(path) as file:
                json.dump({**content, "sha256": checksum(content)}, file, allow_nan=False)
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error

    def _read(self, path: Path, n_features: int) -> None:
        with _reading(path) as file:
            kept = plain_json.read(file)
            if not isinstance(kept, dict) or kept.keys() != {"identity", "found", "sha256"}:
                raise ValueError("it does not hold identity, findings and a checksum")
            if kept.pop("sha256") != checksum(kept):
                raise ValueError("its checksum differs")
            earlier, found = kept["identity"], kept["found"]
            if not isinstance(earlier, dict) or not isinstance(found, dict):
                raise ValueError("identity and findings are no objects")
            differing = [name for name in self._identity if earlier.get(name) != self._identity[name]]
            if differing or earlier.keys() != self._identity.keys():
                others = ", ".join(differing) or "settings"
                raise JournalFileError(path, f"is the journal of another search, with other {others}")
            for name, finding in found.items():
                if isinstance(finding, dict):
                    self._chosen[name] = _choice(name, finding, n_features)
                else:
                    self._errors[name] = _number(name, finding)


def checksum(content: dict[str, Any]) -> str:
    """Return the checksum of what a journal holds."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    """Open a journal; what is wrong with it ends in a JournalFileError."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError("it is a folder, a pipe or a device")
        with path.open("rb") as file:
            yield file
    except JournalFileError:
        raise
    except OSError as error:
        raise JournalFileError(path, f"cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise JournalFileError(path, f"is no journal of a search ({error})") from error


def _number(name: str, value: object) -> float:
    """Return the error of a candidate: a number from 0 on."""
    if type(value) not in (int, float) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise ValueError(f"{name[:80]!r} is no number from 0 on")
    return float(value)


def _choice(name: str, value: dict[str, Any], n_features: int) -> Chosen:
    if value.keys() != {"gamma", "C"}:
        raise ValueError(f"{name[:80]!r} is not one gamma and one C")
    gamma, C = value["gamma"], _number(name, value["C"])
    several = isinstance(gamma, list)
    gammas = [_number(name, part) for part in (gamma if several else [gamma])]
    if several and len(gammas) != n_features:
        raise ValueError(f"{name[:80]!r} has {len(gammas)} gammas for {n_features} features")
    if not C or not any(gammas):
        raise ValueError(f"{name[:80]!r} has a gamma or C of 0")
    return Chosen(gammas if several else gammas[0], C)
