"""Pictures drawn when the site is built: ``docs/pictures/NAME.py`` has a function ``draw`` that returns a figure.

The drawing goes into the page itself as SVG. Its ink is the text's colour, so it suits the light and the dark theme.
It is there twice, for wide screens and for phones; the page's style shows one of them.
The words under the directive are the caption, and what a screen reader says unless there is an ``alt``.
"""

from __future__ import annotations

from html import escape
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from narrow import narrow
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dsekl.experiments import plots

SCRIPTS = Path(__file__).parent.parent / "pictures"


def drawn(script: Path) -> tuple[str, str]:
    """Run a script's ``draw`` and return its figure as SVG, as it is and for a phone."""
    spec = spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    figure = module.draw()
    with TemporaryDirectory() as folder:
        wide = plots.save(figure, Path(folder), script.stem)
        return wide, plots.save(narrow(figure), Path(folder), f"{script.stem}-narrow")


class Picture(SphinxDirective):
    """``{picture} name``, with the caption as its content."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        script = SCRIPTS / f"{self.arguments[0]}.py"
        self.env.note_dependency(str(script))
        caption = " ".join(self.content)
        label = escape(self.options.get("alt", caption), quote=True)
        figure = nodes.container(classes=["picture"])
        for size, drawing in zip(("wide", "narrow"), drawn(script), strict=True):
            html = f'<div class="{size}" role="img" aria-label="{label}">{drawing}</div>'
            figure += nodes.raw("", html, format="html")
        if caption:
            words, _ = self.parse_inline(caption)
            figure += nodes.paragraph("", "", *words, classes=["caption"])
        return [figure]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
