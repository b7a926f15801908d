"""A bar while rows stream by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dsekl.data.recipe import Rows

from .console import Voice


def counted(voice: Voice, stream: Iterable[Rows], label: str, total: int | None = None) -> Iterator[Rows]:
    """Yield from the stream, with a bar that counts rows."""
    from dsekl.solvers import Progress

    done = 0
    with Progress(voice.verbose, total, label) as progress:
        for rows in stream:
            yield rows
            done += rows.raw.n_rows
            progress.advance(done, f"{done:,} rows")
