"""Dates and times as they are usually spelled, in seconds.

2024-03-04 and the rest of ISO 8601, 4.3.2024, 2024/3/4, 4 March 2024, 04Mar2024, Mar 4, 2024 and 10:30 say what they
mean; 3/4/2024 is in March or in April, as the column decides. All may have a weekday before them, and a time with or
without a zone behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from .field_values import is_number

_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: place for place, name in enumerate(_NAMES, 1)}

_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(:(?P<second>\d{2})(\.\d+)?)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
_ZONE = r"(\s?(Z|UTC|GMT|(?P<zone>[+-]\d{2}:?\d{2})))?"
_BEHIND = rf"([T,:]?\s*{_TIME}{_ZONE})?"
_YEAR = r"(?P<year>\d{4}|\d{2})"

_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})(?P<gap>[/.-])(?P<month>\d{{1,2}})(?P=gap)(?P<day>\d{{1,2}}){_BEHIND}")
_DOTTED = re.compile(rf"(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}{_BEHIND}")
_DAY_NAMED = re.compile(rf"(?P<day>\d{{1,2}})\.?[ /-]?(?P<name>[A-Za-z]{{3,9}})\.?[ ,/-]?\s?{_YEAR}{_BEHIND}")
_MONTH_NAMED = re.compile(rf"(?P<name>[A-Za-z]{{3,9}})\.? (?P<day>\d{{1,2}})(st|nd|rd|th)?,? {_YEAR}{_BEHIND}")
_WEEKDAY = re.compile(r"(mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,? +", re.IGNORECASE)
_CLOCK = re.compile(_TIME)
_PLAIN = (_YEAR_FIRST, _DOTTED, _DAY_NAMED, _MONTH_NAMED)

_SLASHED = re.compile(rf"(?P<first>\d{{1,2}})(?P<gap>[/-])(?P<second_>\d{{1,2}})(?P=gap){_YEAR}{_BEHIND}")
"""Of which the first or the second number is the day."""

CENTURY_TURNS = 69
"""Years of two digits from here on are in the 20th century, as POSIX has it."""


def as_time(text: str, day_first: bool = False) -> float | None:
    """Return a date or time, as it is usually spelled, in seconds since 1970; None for any other text.

    A time without a zone is taken as it stands, one with a zone in UTC, one without a date as seconds of the day.
    """
    text = text.strip()
    if text[:1].isalpha() and (weekday := _WEEKDAY.match(text)):
        text = text[weekday.end() :]
    if not (text[:1].isdigit() or text[:3].casefold() in MONTHS):
        return None
    if text[4:5] != "-" and is_number(text):
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).timestamp()
    except ValueError:
        pass
    for pattern in _PLAIN:
        if parts := pattern.fullmatch(text):
            return _seconds(parts.groupdict())
    if slashed := _SLASHED.fullmatch(text):
        groups = slashed.groupdict()
        day, month = ("first", "second_") if day_first else ("second_", "first")
        return _seconds({**groups, "day": groups[day], "month": groups[month]})
    clock = _CLOCK.fullmatch(text)
    return None if clock is None else _seconds({**clock.groupdict(), "year": "1970", "month": "1", "day": "1"})


def day_comes_first(fields: Iterable[str]) -> bool | None:
    """Tell whether dates with slashes have the day first; None where each may be read either way.

    True as well as False stands for a column without such dates.
    """
    slashed = [field for field in fields if _SLASHED.fullmatch(field.strip())]
    if not slashed:
        return False
    orders = [order for order in (False, True) if all(as_time(field, order) is not None for field in slashed)]
    if len(orders) == 2:
        return None
    counts = {order: sum(as_time(field, order) is not None for field in slashed) for order in (False, True)}
    return counts[True] > counts[False]


def _seconds(parts: dict[str, str | None]) -> float | None:
    """Return a date in seconds, None for one that no calendar has."""
    month = parts.get("month") or str(MONTHS.get((parts.get("name") or "")[:3].casefold(), 0))
    year, hour = int(parts["year"] or 0), int(parts["hour"] or 0)
    if len(parts["year"] or "") == 2:
        year += 1900 if year >= CENTURY_TURNS else 2000
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (parts["half"][0] in "Pp")
    try:
        minute, second = int(parts["minute"] or 0), int(parts["second"] or 0)
        moment = datetime(year, int(month), int(parts["day"] or 0), hour, minute, second, tzinfo=UTC).timestamp()
        return moment - _offset(parts.get("zone") or "+0000")
    except ValueError:
        return None


def _offset(zone: str) -> float:
    """Return how many seconds a zone such as +02:00 is ahead of UTC."""
    digits = zone[1:].replace(":", "")
    return (-1.0 if zone[0] == "-" else 1.0) * 60.0 * (60 * int(digits[:2]) + int(digits[2:]))
