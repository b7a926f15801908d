"""Categories that are the names of months or weekdays: December is as near to January as to November."""

from __future__ import annotations

from collections.abc import Iterable

FEWEST_NAMES = 3
"""Of a cycle, from which on a column of names is one of places in it."""

SPELLINGS = {"sept": "sep", "tues": "tue", "thur": "thu", "thurs": "thu"}
"""Short names that are longer than three letters."""

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def places_in_cycle(names: Iterable[str]) -> dict[str, float] | None:
    """Return the share of the year, or of the week, at which each name stands; None where one is of neither."""
    given = list(names)
    for cycle in (MONTHS, WEEKDAYS):
        places = {name: place / len(cycle) for place, whole in enumerate(cycle) for name in (whole, whole[:3])}
        plain = [name.casefold().rstrip(".") for name in given]
        found = [places.get(SPELLINGS.get(name, name)) for name in plain]
        if None not in found and len(set(found)) >= FEWEST_NAMES:
            return {name: place for name, place in zip(given, found, strict=True) if place is not None}
    return None
