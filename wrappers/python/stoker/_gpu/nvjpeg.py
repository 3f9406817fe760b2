"""The places of NVIDIA's JPEG library."""

import importlib.util
import pathlib

_NAMES = tuple(f"libnvjpeg.so.{version}" for version in (13, 12, 11))
_MOST = 8

_MISSING = ("nvJPEG comes with the CUDA toolkit, and as a package: pip install nvidia-nvjpeg (for CUDA 13) or "
            "nvidia-nvjpeg-cu12")


def libraries():
    """Returns the library's names for the system's search, then its paths in NVIDIA's packages, the newest first."""
    found = importlib.util.find_spec("nvidia")
    places = found.submodule_search_locations if found else ()
    packaged = [str(path) for name in _NAMES for place in places
                for path in sorted(pathlib.Path(place).glob(f"*/lib/{name}"))]
    return _NAMES + tuple(packaged[:_MOST])


def missing(why):
    """Returns the message for a process that cannot use nvJPEG."""
    return f'decode="nvjpeg": {why}. {_MISSING}'
