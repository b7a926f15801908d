"""What a run is a run of: its parameters and its data, as short texts that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dsekl.version import __version__

from .role import Role

VERSION = "the version of dsekl"


@dataclass(frozen=True)
class Identity:
    """Texts for each parameter, and digests of X, y and sample_weight."""

    parameters: dict[str, str]
    data: dict[str, str]

    @staticmethod
    def of(parameters: Mapping[str, str], data: Mapping[str, str]) -> Identity:
        """Return the identity of a run of this version of the library."""
        return Identity({**parameters, VERSION: __version__}, dict(data))

    def differences(self, other: Identity) -> dict[str, tuple[str, str]]:
        """Return what differs: its name, and the two texts."""
        ours, theirs = {**self.parameters, **self.data}, {**other.parameters, **other.data}
        pairs = {name: (ours.get(name, "nothing"), theirs.get(name, "nothing")) for name in {**ours, **theirs}}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def role(self, name: str, roles: Mapping[str, Role]) -> Role:
        """Return what a difference in ``name`` means: the rows make the terms, all other data the problem."""
        return roles.get(name, Role.TERMS if name == "X" else Role.PROBLEM)
