"""``python -m dsekl``: the same as the command ``dsekl``."""

from __future__ import annotations

from dsekl.cli import main

main()
