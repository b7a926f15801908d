"""What a search has found so far, in a JSON file that is rewritten whole after each finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dsekl.atomic import replacing_text


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
