"""Files that hold numbers and settings, and nothing that could run.

``container`` is the file: a JSON header and named arrays, checksummed, written whole or not at all. ``values`` turns
Python values into what such a file can hold, and back. Neither knows what a model is.
"""

from .container import Location, ModelFileError, believing, read, read_header, write
from .values import decode, encode

__all__ = ["Location", "ModelFileError", "believing", "decode", "encode", "read", "read_header", "write"]
