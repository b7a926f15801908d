"""Formulas as MathML, which browsers draw by themselves: no script, no fonts and no network are needed to read them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _displayed(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
