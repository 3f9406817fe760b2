"""Pillow's pixels, faster; and the files of a data set from this node's cache.

    from stoker import Image           stands for: from PIL import Image
    stoker.decode(path, box=..., ...)  a JPEG's pixels in one call, NumPy array or any buffer out
    stoker.decode_batch([...])         many of them, on several threads
    stoker.view(path)                  a file as a memoryview, without a copy
    @stoker.cached                     what a function returns, kept for all processes
    stoker.Loader(dataloader, ...)     its batches on a GPU, normalised there
    stoker.Feed(paths, labels, ...)    batches of images without worker processes

Under `stoker run` nothing has to be imported for the first.
"""

import os

from . import _core
from ._direct import decode, decode_batch, view

__version__ = "0.1.0"
__all__ = ["Feed", "Image", "Loader", "cached", "counts", "decode", "decode_batch", "view"]

if os.environ.get("STOKER_RUN"):
    _core.join(os.environ["STOKER_RUN"])


def counts():
    """Returns the numbers of images that this process decoded: {"images": n, "left_to_pillow": {reason: n},
    "resized": n, "pngs": n, "operations": n, "copies_kept": n, "from_copies": n, "unread": n}. "resized" are images other
    than waiting JPEGs, "pngs" the PNGs whose pixels were made here, and "operations" what else of Pillow's was done here.
    "copies_kept" are decoded copies that were stored, "from_copies" images that were decoded from one, and "unread" those
    of them whose file was not read. "settled", "forms" and "from_forms" are older names, for this version."""
    slots = _core.counts()
    names = list(slots)
    reasons = names[names.index("images") + 1:names.index("resized")]
    left = {reason: slots[reason] for reason in reasons if slots[reason]}
    return {"images": slots["images"], "left_to_pillow": left, "settled": left,
            "copies_kept": slots["forms"], "from_copies": slots["from_forms"],
            **{name: slots[name] for name in ("resized", "pngs", "operations", "forms", "from_forms", "unread")}}


def __dir__():
    return [*__all__, "__doc__", "__version__", "gpu", "transforms"]


def __getattr__(name):
    if name in ("Image", "gpu", "transforms"):
        import importlib
        return importlib.import_module(f".{name}", __name__)
    if name == "cached":
        from ._cached import cached
        return cached
    if name == "Loader":
        from .loader import Loader
        return Loader
    if name == "Feed":
        from ._feed import Feed
        return Feed
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
