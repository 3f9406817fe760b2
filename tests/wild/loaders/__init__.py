"""Loaders of data sets, as they are in the wild. `python -m loaders` makes files and reads them."""

from . import arrays, images, media, science, standard, stores, tensors  # noqa: F401
from .case import cases  # noqa: F401
