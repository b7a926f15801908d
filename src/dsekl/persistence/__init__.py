"""Files that hold numbers and settings, and nothing that could run.

``container`` is the file: a JSON header and named arrays, checksummed, written whole or not at all. ``values`` turns
Python values into what such a file can hold, and back. ``provenance`` says where and when a file was made. None of them
knows what a model is.
"""

from .container import Location, ModelFileError, building, checking, read, read_header, write
from .provenance import about, plain
from .values import decode, decoded, encode, encoded

__all__ = [
    "Location",
    "ModelFileError",
    "about",
    "building",
    "checking",
    "decode",
    "decoded",
    "encode",
    "encoded",
    "plain",
    "read",
    "read_header",
    "write",
]
