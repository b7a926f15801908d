"""What every file says of itself: versions, what it is of, and where and when it was made."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from dsekl.version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "safetensors")


def about(owner: str, own: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the part of a header that tells where it comes from; ``own`` is what the user adds."""
    made = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **_machinery()}
    own = plain(own, "provenance")
    return {
        "library": __version__,
        "class": owner,
        "provenance": made if own is None else {**made, "user": own},
    }


def plain(value: dict[str, Any] | None, name: str) -> dict[str, Any] | None:
    """Return a user's dict if it is JSON."""
    try:
        copied: dict[str, Any] | None = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={value!r} must hold JSON alone (texts, finite numbers, lists, dicts): {error}"
        ) from error
    return copied


@cache
def _machinery() -> dict[str, str]:
    """Return the platform and the versions, looked up once: a checkpoint may be due many times a second."""
    versions = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "platform": platform.platform(), **versions}
