"""Compares the decoder with the installed Pillow, once, at the first JPEG.

Small images of every kind that is taken (check.bin) are decoded, cropped and resized by both. A kind that differs in
a single byte is left to Pillow from then on. The result is kept beside the user's other caches, for this Pillow, this
processor and this decoder.
"""

import contextlib
import hashlib
import os
import struct

from PIL import Image

from .. import _core
from .._store.sources import Bytes
from . import versions
from .plan import FILTERS, Plan, reference

_proven = None


class Proven:
    """The kinds that give the same bytes: samplings ((h, v) of each component), filters (Pillow's numbers), RGB files,
    and the bands (1, 3, 4) of ordinary images that are resized."""

    def __init__(self, samplings=(), filters=(), rgb=False, bands=()):
        self.samplings = frozenset(samplings)
        self.filters = frozenset(filters)
        self.rgb = rgb
        self.bands = frozenset(bands)

    def text(self):
        samplings = ";".join(",".join(f"{h}x{v}" for h, v in each)
                             for each in sorted(self.samplings))
        filters = ",".join(str(each) for each in sorted(self.filters))
        bands = ",".join(str(each) for each in sorted(self.bands))
        return f"{samplings}\n{filters}\n{int(self.rgb)}\n{bands}\n"

    @classmethod
    def from_text(cls, text):
        samplings, filters, rgb, bands = text.split("\n")[:4]
        return cls([tuple(tuple(int(n) for n in pair.split("x")) for pair in each.split(","))
                    for each in samplings.split(";") if each],
                   [int(n) for n in filters.split(",") if n], rgb == "1",
                   [int(n) for n in bands.split(",") if n])


def proven():
    """Returns the Proven kinds. The first call finds them."""
    global _proven
    if _proven is None:
        _proven = _remembered() or _find_out()
    return _proven


# ---- finding out ----

def samples():
    """Yields (sampling, is RGB, JPEG) of each image in check.bin, which holds six digits of sampling, a byte, a length,
    and the file."""
    with open(os.path.join(os.path.dirname(__file__), "check.bin"), "rb") as file:
        packed = file.read()
    at = 0
    while at < len(packed):
        digits, rgb, size = struct.unpack_from("<6sBH", packed, at)
        at += 9
        factors = [int(digit) for digit in digits.decode()]
        yield tuple(zip(factors[::2], factors[1::2])), bool(rgb), packed[at:at + size]
        at += size


def _plans(jpeg, size):
    """Yields the plans that are tried with each image, without resizes."""
    width, height = size
    source = Bytes(jpeg)
    regions = [(0, 0, width, height), (0, 0, 1, height), (width - 1, 0, width, height),
               (0, 0, 1, 1), (width // 3, height // 4, width - 2, height - 1),
               (1, 2, width // 2 + 1, height // 2)]
    for box in regions:
        left, top, right, bottom = (max(n, 0) for n in box)
        if right > left and bottom > top:
            for flip in range(4):
                yield Plan(source, (left, top, right, bottom), (right - left, bottom - top), 0, flip)


def _resizes(plan, filter):
    width, height = plan.size
    for size in ((width * 2 + 1, height * 2 - 1 or 1), (width // 2 or 1, height), (width, 3),
                 (max(width - 1, 1), height // 3 or 1), (7, 5)):
        if size != plan.size:
            yield Plan(plan.source, plan.crop, size, filter, plan.flip)
    yield Plan(plan.source, plan.crop, (width + 9, height + 9), filter, 3,
               (1, 3, width + 5, height // 2 + 4))


def _is_same(plan):
    """Returns true if the pixels are those that Pillow stores, with the unused byte."""
    try:
        expected = reference(plan)
        return _core.decode(plan.source.data, plan.order(4), None) == _stored(expected)
    except Exception:
        return False


def _ordinary():
    """Yields (bands, image) of pixels that were never in a file."""
    for mode, bands in (("L", 1), ("RGB", 3), ("CMYK", 4)):
        for width, height in ((37, 53), (3, 330), (41, 1)):
            count = width * height * bands
            values = bytes(n * n * 7 + n // 5 & 255 for n in range(count))
            yield bands, Image.frombytes(mode, (width, height), values)


def _is_resized(image, filter):
    """Returns true if an ordinary image's resizes are the same: down, up, of a box, along one axis."""
    width, height = image.size
    for size, box in (((19, 7), (0, 0, width, height)), ((width, 31), (0, 0, width, height)),
                      ((50, height), (0, 0, width, height)),
                      ((30, 40), (width * 0.1, 0.3, width * 0.9, height * 0.7))):
        new = versions.resized_core(versions.core(image), image.mode, image.size, size, box,
                                    FILTERS[filter])
        expected = versions.core(versions.plainly("resize", image, size, filter, box))
        if new is None or _stored(new) != _stored(expected):
            return False
    return True


def _stored(core):
    """Returns all bytes of a core image."""
    raw = "RGBX" if core.mode == "RGB" else core.mode
    encoder = Image.core.raw_encoder(core.mode, raw, 0, 1)
    encoder.setimage(core, (0, 0) + core.size)
    return encoder.encode(core.size[0] * core.size[1] * 4 + 65536)[2]


def _proven_bands(filters):
    found = {1, 3, 4}
    for bands, image in _ordinary():
        try:
            if not all(_is_resized(image, filter) for filter in filters):
                found.discard(bands)
        except Exception:
            found.discard(bands)
    return found


def _find_out():
    same = {}
    rgb = False
    filters = set(FILTERS)
    for sampling, is_rgb, jpeg in samples():
        size = _core.probe(jpeg)[:2]
        plans = list(_plans(jpeg, size))
        good = all(map(_is_same, plans))
        if is_rgb:
            rgb = good
        else:
            same[sampling] = same.get(sampling, True) and good
        if good:
            filters -= {filter for filter in filters
                        if not all(map(_is_same, _resizes(plans[0], filter)))}
    found = Proven([sampling for sampling, good in same.items() if good], filters, rgb,
                   _proven_bands(filters))
    _remember(found)
    return found


# ---- remembering ----

def _processor():
    kinds = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags", b"CPU ", b"Features")
    try:
        with open("/proc/cpuinfo", "rb") as file:
            first = file.read(8192).split(b"\n\n")[0]
    except OSError:
        return b""
    return b"\n".join(line for line in first.split(b"\n") if line.startswith(kinds))


def _name():
    """Returns the result's file name. It changes with anything that could change the result."""
    parts = [versions.PIL.__version__, getattr(Image.core, "jpeglib_version", ""), _core.simd()]
    for module in (Image.core, _core):
        status = os.stat(module.__file__)
        parts += [module.__file__, status.st_size, status.st_mtime_ns]
    digest = hashlib.sha256(repr(parts).encode() + _processor())
    return f"pillow-{versions.PIL.__version__}-{digest.hexdigest()[:16]}"


def _places():
    """Yields the directories that may keep the result: the user's cache, then the run's directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield os.path.join(cache, "stoker")
    run = os.environ.get("STOKER_RUN")
    if run:
        yield os.path.join(os.path.dirname(os.path.dirname(run)), "proven")


@contextlib.contextmanager
def _opened(place, make):
    """Opens a directory whose path belongs to this user and root (base/trusted_path.h). Raises OSError."""
    directory = _core.open_own(place, make)
    try:
        yield directory
    finally:
        os.close(directory)


def _read(place, name):
    with _opened(place, False) as directory:
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)) as file:
            ours = os.fstat(file.fileno()).st_uid == os.geteuid()
            return Proven.from_text(file.read()) if ours else None


def _remembered():
    try:
        name = _name()
    except Exception:
        return None
    for place in _places():
        try:
            found = _read(place, name)
        except (OSError, ValueError):
            continue
        if found is not None:
            return found
    return None


def _write(place, name, text):
    aside = f"{name}.{os.getpid()}"
    with _opened(place, True) as directory:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=directory)
        new = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
        with open(new, "w") as file:
            file.write(text)
        os.replace(aside, name, src_dir_fd=directory, dst_dir_fd=directory)


def _remember(found):
    for place in _places():
        try:
            return _write(place, _name(), found.text())
        except OSError:
            continue
