"""The command line: one command a file, each a thin layer over the public API."""

from __future__ import annotations

from .app import app, main

__all__ = ["app", "main"]
