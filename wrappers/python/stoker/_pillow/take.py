"""Takes a JPEG over from Pillow when its pixels are loaded, or leaves it to Pillow.

A JPEG becomes a plan only if Pillow would certainly load it without an error, and its kind was proven to give the same
pixels (check.py). Afterwards the image and its file are as Pillow leaves them.
"""

import functools
import io
import sys

from PIL import Image, ImageFile, JpegImagePlugin

from .. import _core
from .._base.header import LARGEST_IMAGE, SPARSEST, is_likely  # noqa: F401  (a Feed takes them from here)
from .._base.own import attempt_beside, is_own
from .._store import sources
from . import check, pending, versions
from .plan import GreyPlan, Plan

GREY, YCBCR, RGB = range(3)  # enum stk_color

_Jpeg = JpegImagePlugin.JpegImageFile
_load_read = _Jpeg.load_read


def is_jpeg(image):
    """Returns true for an image that Pillow opened as a JPEG, or as an MPO: several JPEGs in a file."""
    return type(image) is _Jpeg or is_mpo(image)


def is_mpo(image):
    """Returns true for an image of Pillow's own MPO plugin, which is imported at the first such file."""
    kind = type(image)
    return kind.__name__ == "MpoImageFile" and kind is getattr(sys.modules.get("PIL.MpoImagePlugin"), kind.__name__, None)


def take(image, mode="RGB"):
    """Puts a plan into an image whose pixels are wanted now, and returns it. Returns None if Pillow is to load it. The
    plan of an image of mode L is that of its RGB image."""
    parts = []
    try:
        plan = _take(image, parts, mode)
    except Exception as error:
        if not is_own(error):
            raise
        plan = image.__dict__.get(versions.FIELD)  # may be set already
    if plan is None and parts:
        image.fp = _Replay(image.fp, parts)
    return plan


def _take(image, parts, mode):
    """Does what take() does, but may raise. `parts` then holds the bytes that were read from a stream."""
    reason = _obstacle(image, mode)
    if reason is not None:
        return _left(reason)
    form = _opened_form(image)
    if form is not None:
        return _taken(image, form, form.info[8])
    reason = _other_obstacle(image)
    if reason is not None:
        return _left(reason)
    read = attempt_beside(_read, image, parts)
    if read is None:
        return _left(_core.STREAM)
    source, info = read
    components = len(mode)
    if _may_have_form(image.size, info, components):
        info = source.proven(info)
    reason = _flaw(image.size, info, components)
    if reason is not None:
        return _left(reason)
    return _taken(image, source, len(source) if parts else info[8])


def _left(reason):
    """Counts an image that is left to Pillow. Returns None: it has no plan."""
    is_let_through = reason == _core.DAMAGED and ImageFile.LOAD_TRUNCATED_IMAGES
    _core.count(_core.LENIENT if is_let_through else reason)


def _taken(image, source, end):
    """Returns the plan of an image. Pillow would read its file up to `end`."""
    plan = Plan.whole(source, image.size)
    if type(image.fp) is io.BufferedReader:
        sources.tell_decoded(image.fp, source)
    _leave(image, len(source), end)
    image.__dict__[versions.FIELD] = GreyPlan(source, image.size) if image.mode == "L" else plan
    pending.wait(image)
    return plan


def _obstacle(image, mode):
    """Returns the reason for which an image is left to Pillow unread, or None."""
    if image.mode != mode:
        return _core.DRAFT if image.decoderconfig else _core.MODE
    if image.decoderconfig:
        return _core.DRAFT
    own = image.__dict__
    if (image.tile != [("jpeg", (0, 0) + image.size, 0, (mode, ""))]
            or "jpeg" in Image.DECODERS or not versions.are_unchanged()
            or "load_read" in own or "load_seek" in own or "tile_prefix" in own
            or _Jpeg.load_read is not _load_read or not _is_mpo_unchanged(image)):
        return _core.CUSTOMISED
    return None


def _is_mpo_unchanged(image):
    """Returns true unless the program has changed how MPOs are loaded."""
    own = type(image).__dict__
    return type(image) is _Jpeg or (
        "load_read" not in own and versions.is_pillows(own.get("load_seek")) and image.fp is image._fp)


def _other_obstacle(image):
    """Returns a further such reason, or None. For images that were opened by a form, open.py has checked these."""
    if _sampling(image) not in check.proven().samplings:
        return _core.UNPROVEN
    return _core.SCANS if "progressive" in (image.info or ()) and not check.proven().scans else None


def _opened_form(image):
    """Returns the Form by which the image was opened, if its file has not changed since; else None."""
    file = image.fp
    form = sources.noted_form(file) if type(file) is io.BufferedReader else None
    return form if form is not None and form.info[:2] == image.size else None


def _sampling(image):
    return tuple((h, v) for _, h, v, _ in image.layer)


def _flaw(size, info, wanted=3):
    """Returns the reason for which a read image of this size is left to Pillow, or None. Pillow raises errors at
    load(), so a file is taken only if its end is in place and nothing in it can fail."""
    if info is None:
        return _core.DAMAGED
    (width, height, components, color, precision,
     progressive, arithmetic, multiscan, end, sound) = info
    flaw = _flaw_of_kind(components, color, precision, progressive, arithmetic, multiscan, wanted)
    if flaw is None and (not end or not sound or (width, height) != size
                         or not is_likely(width, height, end)):
        return _core.DAMAGED
    return flaw


def _may_have_form(size, info, components):
    """Returns true for a file of several scans that has nothing else against it. Errors may be anywhere in
    such a file, so a form is the proof that it can be loaded."""
    return (info is not None and (info[5] or info[7]) and not info[9]
            and _flaw(size, info[:9] + (1,), components) is None)


@functools.cache
def _flaw_of_kind(components, color, precision, progressive, arithmetic, multiscan, wanted=3):
    """Returns a reason that depends neither on the size nor on damage, or None. So many components are wanted."""
    if (progressive or multiscan) and not check.proven().scans:
        return _core.SCANS
    if components != wanted or precision != 8 or arithmetic:
        return _core.UNPROVEN
    if wanted == 1:
        return None if color == GREY else _core.UNPROVEN
    if color not in (YCBCR, RGB) or (color == RGB and not check.proven().rgb):
        return _core.UNPROVEN
    return None


def _read(image, parts):
    """Returns (source, info of the decoder), or None if Pillow should read the file. The file's position is undefined
    afterwards: _leave() sets it, or Pillow begins anew. The bytes that were read of a stream are in `parts`."""
    file = image.fp
    kind = type(file)
    if kind is io.BytesIO:
        file.seek(0)
        source = sources.Bytes(file.read())
    elif kind is io.BufferedReader:
        source = _of_file(file)
    else:
        source = None
    if source is not None:
        return source, source.examine()
    return None if is_mpo(image) else _read_blocks(image, parts)  # Pillow sets the position of an MPO's file by itself


def _of_file(file):
    """Returns the source of a file that may be read as a whole, from its beginning; else None."""
    return sources.of_file(file) if sources.is_plain(file) else None


def _read_blocks(image, parts):
    """Reads block by block, as Pillow does. Stops at the block with the end, or at the block that shows that Pillow is
    to load the image."""
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
            info = _core.examine(source)
            if _is_enough(image.size, info, ends):
                return sources.Bytes(bytes(source)), info
    return None


def _is_enough(size, info, ends):
    """Returns true if no more of a stream has to be read: it has its end, or Pillow is to load the image."""
    if info is None:
        return ends
    return info[8] or _flaw(size, info) != _core.DAMAGED


class _Replay:
    """Plays the read blocks of a stream to Pillow's load(), which reads in the same way and gets the same error. The
    stream may be remote: its blocks are not read twice."""

    def __init__(self, file, parts):
        self.file = file
        self._parts = parts
        self._at = 0

    def seek(self, offset):
        """Accepts Pillow's seek to the beginning, its first call."""
        return offset

    def read(self, size):
        if not self._parts:
            return self.file.read(size)
        part = self._parts.pop(0)
        if isinstance(part, Exception):
            raise part
        if self._parts:  # the last part may be an error or of another type
            self._at += len(part)
        return part

    def close(self):
        self._parts.clear()
        self.file.close()

    def put_back(self):
        """Sets the file's position behind the bytes that Pillow read."""
        if self._parts:
            self.file.seek(self._at)


def load_plainly(image):
    """Calls Pillow's load() for an image that was not taken."""
    replay = image.fp
    try:
        return versions.plain_load(image)
    finally:
        if type(replay) is _Replay:
            replay.put_back()
            if image.fp is replay:
                image.fp = replay.file


def _leave(image, size, end):
    """Leaves an image and its file as Pillow's load() leaves them."""
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

def jpeg_size(source):
    """Returns (width, height) of a JPEG (_store/sources.py), as Image.open would find it. Returns None if its header
    shows that Pillow is to open it."""
    size = sampled_size(source)
    return size if size and _core.sampling(source.head) in check.proven().samplings else None


def sampled_size(source):
    """Returns the result of jpeg_size(), but does not check the sampling."""
    if "jpeg" in Image.DECODERS or len(source) > sources.LARGEST:
        return None
    info = source.examine()
    if info is None or _flaw(info[:2], info) is not None:
        return None
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and info[0] * info[1] > limit:
        return None
    return info[:2]


def may_become_rgb(form):
    """Returns true for the form of a grey JPEG, of which an RGB image can be made."""
    return (form.info[2] == 1 and _flaw(form.info[:2], form.info, 1) is None
            and _core.sampling(form.head) in check.proven().samplings)


def is_taken(kind):
    """Returns true if files of a kind that threads found (_core.Files.heads) are decoded here, if their size
    is_likely()."""
    components, color, precision, flags = kind & 15, kind >> 4 & 15, kind >> 8 & 15, kind >> 12
    progressive, arithmetic, multiscan, sound, has_end = (flags >> i & 1 for i in range(5))
    sampling = tuple((kind >> at + 4 & 15, kind >> at & 15) for at in (24, 32, 40))
    return bool(
        sound and has_end and sampling in check.proven().samplings
        and not _flaw_of_kind(components, color, precision, progressive, arithmetic, multiscan))
