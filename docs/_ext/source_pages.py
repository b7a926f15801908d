"""Takes the links back to the documentation off the pages of source code: names with two homes would have dead ones."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

BACK = re.compile(r'<a class="viewcode-back"[^>]*>.*?</a>')


def _without(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if name.startswith("_modules/"):
        context["body"] = BACK.sub("", context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _without)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
