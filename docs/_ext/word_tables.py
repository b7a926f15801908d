"""Tables of sentences on a phone: one cell under the other, each with the heading of its column.

The style sheet does it, for tables of the class "stacked"; the headings are hidden where columns have theirs.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

LONG = 40
"""Characters of a cell, behind the first column, from which on a table is one of sentences."""


def _stack(app: Sphinx, doctree: nodes.document) -> None:
    for table in doctree.findall(nodes.table):
        heads, bodies = list(table.findall(nodes.thead)), list(table.findall(nodes.tbody))
        if len(heads) != 1 or len(bodies) != 1:
            continue
        titles = [entry.astext() for entry in heads[0].findall(nodes.entry)]
        rows = [list(row.findall(nodes.entry)) for row in bodies[0].findall(nodes.row)]
        if max((len(cell.astext()) for row in rows for cell in row[1:]), default=0) < LONG:
            continue
        table["classes"].append("stacked")
        for row in rows:
            for title, cell in list(zip(titles, row, strict=False))[1:]:
                if title and cell.astext().strip() and isinstance(cell[0], nodes.paragraph):
                    cell[0].insert(0, nodes.inline("", f"{title}: ", classes=["heading"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _stack)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
