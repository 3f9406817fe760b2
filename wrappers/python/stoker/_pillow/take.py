"""Taking a JPEG over from Pillow at the moment its pixels are loaded, or leaving it there.

Only what Pillow would certainly load without an error, and what was proven to give the same pixels
(check.py), becomes a plan. Afterwards the image and its file are as Pillow leaves them.
"""

import io

from PIL import Image, ImageFile, JpegImagePlugin

from .. import _core
from .._own import is_own
from .._slots import CUSTOMISED, DAMAGED, DRAFT, LENIENT, MODE, SCANS, STREAM, UNPROVEN
from .._store import sources
from . import check, pending, versions
from .plan import Plan

LARGEST_IMAGE = 1 << 27  # pixels
SPARSEST = 170  # pixels for each byte: two bits are the least that eight by eight of them take

YCBCR, RGB = 1, 2  # enum stk_color

_load_read = JpegImagePlugin.JpegImageFile.load_read


def take(image):
    """Puts a plan into an image whose pixels are wanted now and returns it; None: Pillow's."""
    parts = []
    try:
        plan = _take(image, parts)
    except Exception as error:
        if not is_own(error):
            raise
        plan = image.__dict__.get(versions.FIELD)  # may be set already
    if plan is None and parts:
        image.fp = _Again(image.fp, parts)
    return plan


def _take(image, parts):
    """Does what take() does, but may raise. `parts` then holds the bytes that were read from a stream."""
    reason = _obstacle(image)
    if reason is None:
        source = _opened_form(image)
        if source is not None:
            return _taken(image, source, source.info[8])
        reason = _other_obstacle(image)
    if reason is None:
        try:
            read = _read(image, parts)
        except Exception:  # Pillow meets it once more, and says it
            read = None
        if read is None:
            reason = STREAM
        else:
            source, info = read
            reason = _flaw(image.size, info)
    if reason is not None:
        is_let_through = reason == DAMAGED and ImageFile.LOAD_TRUNCATED_IMAGES
        _core.count(LENIENT if is_let_through else reason)
        return None
    return _taken(image, source, len(source) if parts else info[8])


def _taken(image, source, end):
    """The plan of an image whose file Pillow would read up to there."""
    size = image.size
    plan = Plan(source, (0, 0) + size, size, 0, 0)
    if type(image.fp) is io.BufferedReader:
        sources.tell_decoded(image.fp, source)
    _leave(image, len(source), end)
    image.__dict__[versions.FIELD] = plan
    pending.wait(image)
    return plan


def _obstacle(image):
    """Why the image is not looked at, or None."""
    if image.mode != "RGB":
        return DRAFT if image.decoderconfig else MODE
    if image.decoderconfig:
        return DRAFT
    own = image.__dict__
    if (image.tile != [("jpeg", (0, 0) + image.size, 0, ("RGB", ""))]
            or "jpeg" in Image.DECODERS
            or "load_read" in own or "load_seek" in own or "tile_prefix" in own
            or JpegImagePlugin.JpegImageFile.load_read is not _load_read):
        return CUSTOMISED
    return None


def _other_obstacle(image):
    """The same, of what open.py has seen to for those that were opened by a form."""
    if _sampling(image) not in check.proven().samplings:
        return UNPROVEN
    return SCANS if "progressive" in (image.info or ()) else None


def _opened_form(image):
    """The Form that the image was opened by, if its file is still as it was; else None."""
    file = image.fp
    form = sources.noted_form(file) if type(file) is io.BufferedReader else None
    return form if form is not None and form.info[:2] == image.size else None


def _sampling(image):
    return tuple((h, v) for _, h, v, _ in image.layer)


def _flaw(size, info):
    """Why an image of this size that was read is left to Pillow, or None. Errors must come at load(), where
    Pillow raises them, so only a file with one scan and its end in place is taken."""
    if info is None:
        return DAMAGED
    (width, height, components, color, precision,
     progressive, arithmetic, multiscan, end, sound) = info
    flaw = _flaw_of_kind(components, color, precision, progressive, arithmetic, multiscan)
    if flaw is None and (not end or not sound or (width, height) != size
                         or not is_likely(width, height, end)):
        return DAMAGED
    return flaw


def _flaw_of_kind(components, color, precision, progressive, arithmetic, multiscan):
    """The same, as far as it does not depend on the size or on damage."""
    if progressive or multiscan:
        return SCANS
    if components != 3 or precision != 8 or arithmetic:
        return UNPROVEN
    if color not in (YCBCR, RGB) or (color == RGB and not check.proven().rgb):
        return UNPROVEN
    return None


def is_likely(width, height, end):
    """Whether a file of so many bytes may hold so many pixels."""
    return width * height <= min(LARGEST_IMAGE, SPARSEST * end)


def _read(image, parts):
    """(the source, what the decoder says of it), or None for what is better read by Pillow. The
    file is left anywhere: _leave() positions it, or Pillow begins anew; of a stream what was read is
    in `parts` then."""
    file = image.fp
    kind = type(file)
    if kind is io.BytesIO:
        file.seek(0)
        source = sources.Bytes(file.read())
    elif kind is io.BufferedReader:
        source = _of_file(file)
    else:
        source = None
    if source is None:
        return _read_blocks(image, parts)
    return source, source.probe()


def _of_file(file):
    """The source of a file that may be read as a whole, from its beginning; else None."""
    return sources.of_file(file) if sources.is_plain(file) else None


def _read_blocks(image, parts):
    """Reads as Pillow does, block by block and not beyond the one that holds the end, or from which
    on it is Pillow's."""
    image.fp.seek(0)
    source = bytearray()
    while len(source) <= sources.LARGEST:
        try:
            part = image.fp.read(image.decodermaxblock)
        except Exception as error:
            part = error
        parts.append(part)
        if type(part) is not bytes or not part:
            return None
        before = max(len(source) - 1, 0)
        source += part
        ends = source.find(b"\xff\xd9", before) >= 0
        if ends or len(parts) == 1:
            info = _core.probe(source)
            if ends if info is None else info[8] or _flaw(image.size, info) != DAMAGED:
                return sources.Bytes(bytes(source)), info
    return None


class _Again:
    """A stream that was read from its beginning on, for Pillow's load(), which reads it in the same
    way and meets the same error. It may be a far one: what was read of it is not read again."""

    def __init__(self, file, parts):
        self.file = file
        self._parts = parts
        self._at = 0

    def seek(self, offset):
        """To the beginning, before anything else."""
        return offset

    def read(self, size):
        if not self._parts:
            return self.file.read(size)
        part = self._parts.pop(0)
        if isinstance(part, Exception):
            raise part
        if self._parts:  # the last one may be anything
            self._at += len(part)
        return part

    def close(self):
        self._parts.clear()
        self.file.close()

    def put_back(self):
        """Leaves the file where it was read up to."""
        if self._parts:
            self.file.seek(self._at)


def load_plainly(image):
    """Pillow's load() of an image that was not taken."""
    again = image.fp
    try:
        return versions.plain_load(image)
    finally:
        if type(again) is _Again:
            again.put_back()
            if image.fp is again:
                image.fp = again.file


def _leave(image, size, end):
    """What Pillow's load() leaves of an image and its file."""
    image.map = None
    image.tile = []
    image.readonly = 0
    if image._exclusive_fp and image._close_exclusive_fp_after_loading:
        image.fp.close()
    else:
        block = image.decodermaxblock
        image.fp.seek(min(size, -(-end // block) * block))
    image.fp = None


# ---- a file that is no image yet ----

def picture_size(source):
    """(width, height) of a JPEG (_store/sources.py), as Image.open would find it, if it is decoded
    here as far as its header tells; None: Pillow shall open it."""
    size = sampled_size(source)
    return size if size and _header_sampling(source.head) in check.proven().samplings else None


def sampled_size(source):
    """The same, if it has a sampling that is."""
    if "jpeg" in Image.DECODERS or len(source) > sources.LARGEST:
        return None
    info = source.probe()
    if info is None or _flaw(info[:2], info) is not None:
        return None
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and info[0] * info[1] > limit:
        return None
    return info[:2]


def is_taken(kind):
    """Whether files of a kind that threads have found (_core.Files.heads) are decoded here, if their size
    is_likely()."""
    components, color, precision, flags = kind & 15, kind >> 4 & 15, kind >> 8 & 15, kind >> 12
    progressive, arithmetic, multiscan, sound, has_end = (flags >> i & 1 for i in range(5))
    sampling = tuple((kind >> at + 4 & 15, kind >> at & 15) for at in (24, 32, 40))
    return bool(
        sound and has_end and sampling in check.proven().samplings
        and not _flaw_of_kind(components, color, precision, progressive, arithmetic, multiscan))


def _header_sampling(source):
    """((h, v) of each component), or None; of a file that the decoder found sound."""
    at = 2
    while at + 10 < len(source):
        marker, size = source[at + 1], int.from_bytes(source[at + 2:at + 4], "big")
        if source[at] != 0xFF:
            return None
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            factors = source[at + 11:at + 2 + size:3]
            return tuple((each >> 4, each & 15) for each in factors)
        at += 1 if marker == 0xFF else 2 + size
    return None
