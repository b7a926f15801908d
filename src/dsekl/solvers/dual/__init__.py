"""Block dual ascent: the loop over blocks, one block, the certificate, the active set, and acceleration for ridge."""

from .ascent import DualAscent

__all__ = ["DualAscent"]
