"""What a search has found so far, in a JSON file that is rewritten whole after each finding."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dsekl.atomic import replacing_text

HASHED_ROWS = 2**14


class Journal:
    """Findings by name. With a path, those of an earlier search of the same data and settings are there already."""

    def __init__(self, path: Path | None, identity: dict[str, Any]) -> None:
        self._path, self._identity = path, identity
        self._found: dict[str, Any] = {}
        if path is not None and path.exists():
            try:
                kept = json.loads(path.read_text())
                earlier, self._found = kept["identity"], dict(kept["found"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: is no journal of a search ({error}); delete it, or name another") from error
            differing = [name for name in identity if earlier.get(name) != identity[name]]
            if differing:
                raise ValueError(
                    f"{path}: is the journal of another search, with other {', '.join(differing)}; delete it, or name "
                    "another"
                )

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def __getitem__(self, name: str) -> Any:
        return self._found[name]

    def __setitem__(self, name: str, finding: Any) -> None:
        self._found[name] = finding
        if self._path is not None:
            with replacing_text(self._path) as file:
                json.dump({"identity": self._identity, "found": self._found}, file)


def fingerprint(X: Any, y: Any) -> str:
    """Return a hash of the data, read some rows at a time."""
    digest = hashlib.sha256(repr((X.shape, str(X.dtype), str(y.dtype))).encode())
    for start in range(0, X.shape[0], HASHED_ROWS):
        rows = X[start : start + HASHED_ROWS]
        for array in (rows.data, rows.indices, rows.indptr) if sparse.issparse(rows) else (rows,):
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.ascontiguousarray(y).tobytes())
    return digest.hexdigest()
