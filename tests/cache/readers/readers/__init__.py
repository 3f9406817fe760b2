"""Readers of big files, as they are in the wild. `python -m readers` makes files and reads them."""

from . import arrays, records, stores, tensors  # noqa: F401
from .reader import readers  # noqa: F401
