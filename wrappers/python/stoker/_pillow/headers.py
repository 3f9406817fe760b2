"""Makes images of headers whose like Pillow's parser has parsed before.

Headers of one outline (core/decode/outline.h) differ in Huffman tables, the size, EXIF data and an MPO's index only. When an
outline comes for the second time, a template is made of the image that Pillow opened: all of its attributes. The template is
used if it gives, for other tables and another size, EXIF and index, exactly the image that Pillow makes of them. Each image
has dictionaries and lists of its own.

If there is EXIF data, the template has none of the file's own, and Pillow's own function reads what it wants of each file's.
So Pillow warns of a file's data as often as without the template, and all examples that it parses here are sound.
"""

import io
import os
from collections import OrderedDict
from itertools import chain
from typing import NamedTuple

from PIL import Image, ImageFile, JpegImagePlugin

from .. import _core
from .._base import header
from .._base.own import attempt_beside
from . import mp_index, take

_MOST = 128  # outlines, of 4 KiB at most

_Jpeg = JpegImagePlugin.JpegImageFile
_SIMPLE = frozenset((int, float, bool, str, bytes, type(None)))

_READ = "_read_dpi_from_exif"  # what reads EXIF at an open; an older Pillow has it in its parser
_ORIENTATION, _RESOLUTION, _UNIT, _PER_CM = 0x0112, 0x011A, 0x0128, 3  # tags of EXIF, and a unit

_seen = OrderedDict()  # outlines that occurred once
_templates = OrderedDict()  # for each outline that occurred again: its Template, or None if it can have none


# ---- Pillow as it was ----

# The classes and functions that make an image, as _core.are_as_seen() takes them.
OWN_PARTS = (
    _Jpeg, ("__init__", _Jpeg.__init__, "_getmp", _Jpeg._getmp, "_open", _Jpeg._open),
    ImageFile.ImageFile, ("__init__", ImageFile.ImageFile.__init__),
    Image.Image, ("__init__", Image.Image.__init__),
    JpegImagePlugin, ("JpegImageFile", _Jpeg),
    JpegImagePlugin.MARKER, tuple(chain.from_iterable(JpegImagePlugin.MARKER.items())),
)


def _imports_nothing(name):
    """Returns true if Pillow opens a file of this name, or without a name, by plugins that it has imported already."""
    stem, dot, ending = name.rpartition(".")
    if (dot + ending).lower() in Image.EXTENSION and stem and stem[-1] not in "./":
        return True
    ending = os.path.splitext(name)[1].lower() if name else ""
    return ending in Image.EXTENSION or (not ending and getattr(Image, "_initialized", 0) > 0)


# ---- templates ----

def _copier(value):
    """Returns a function that copies a dictionary or a list of this shape."""
    items = value.items() if type(value) is dict else enumerate(value)
    parts = [(key, _copier(each)) for key, each in items if type(each) in (dict, list)]
    copied = type(value).copy
    if not parts:
        return copied

    def copy(old):
        new = copied(old)
        for key, part in parts:
            new[key] = part(new[key])
        return new
    return copy


def _is_simple(value, seen):
    """Returns true if a value consists of immutable values, in dictionaries and lists that each occur once."""
    kind = type(value)
    if kind in _SIMPLE:
        return True
    if kind in (dict, list):
        if id(value) in seen:
            return False
        seen.add(id(value))
        return all(_is_simple(each, seen)
                   for each in (*value, *(value.values() if kind is dict else ())))
    return isinstance(value, tuple) and all(
        type(each) not in (dict, list) and _is_simple(each, seen) for each in value)


def _is_same(one, other):
    """Returns true if two such values are equal in all types and in the order of their keys, too."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return list(one) == list(other) and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return one is other or one == other


class _Exif:
    """The places of EXIF data in the attributes of an image. Takes the data out of them."""

    __slots__ = ("_entry", "_is_last")

    def __init__(self, state):
        info = state["info"]
        data = info["exif"]
        self._entry = state["applist"].index(("APP1", data))
        self._is_last = state["app"]["APP1"] == data  # XMP has the same name
        if state["_exif"] is not None and hasattr(_Jpeg, _READ):
            state["_exif"] = None
            state["info"] = {key: value for key, value in info.items() if key != "dpi"}

    @staticmethod
    def data(head):
        begin, end = header.exif(head)
        return head[begin:end]

    def put(self, image, head):
        """Puts in the data of a header, as Pillow's parser does."""
        begin, end = header.exif(head)
        own, data = image.__dict__, head[begin:end]
        own["applist"][self._entry] = "APP1", data
        own["info"]["exif"] = data
        own["_exif_offset"] = begin + 6
        if self._is_last:
            own["app"]["APP1"] = data
        if hasattr(_Jpeg, _READ):
            getattr(image, _READ)()


class Template:
    """The attributes of an image that Pillow opened."""

    __slots__ = ("_kind", "_state", "_copy", "_tile", "_exif", "_index")

    def __init__(self, image):
        (self._tile,) = image.tile
        self._kind = type(image)
        state = {**vars(image), "fp": None, "filename": None, "tile": None}
        self._index = mp_index.Place(state, self._kind is not _Jpeg) if "mp" in image.info else None
        self._exif = _Exif(state) if "exif" in image.info else None
        self._copy = _copier(state)
        self._state = self._copy(state)

    def is_simple(self):
        return _is_simple(self._state, set()) and _is_simple(self._tile, set())

    def index(self, head):
        """Returns the index of an MPO, None for a template without one, or false for an index that Pillow is to read."""
        if self._index is None:
            return None
        return self._index.is_known(self._exif and self._exif.data(head)) and (mp_index.of(head) or False)

    def image(self, size, head, index, file, name):
        """Returns a new image of a file. Pillow itself opened a file with a name."""
        image = self._kind.__new__(self._kind)
        image.__dict__ = own = self._copy(self._state)
        tile = self._tile
        own["_size"] = size
        own["tile"] = [tuple.__new__(type(tile), (tile[0], (0, 0) + size) + tile[2:])]
        own["fp"] = file
        own["filename"] = name
        own["_exclusive_fp"] = bool(name)
        own["decodermaxblock"] = ImageFile.MAXBLOCK
        if index is not None:
            self._index.put(own, index)
        if self._exif is not None:
            self._exif.put(image, head)
        return image

    def gives(self, image, head):
        """Returns true if the template gives the image that Pillow made of a header."""
        made = self.image(image.size, head, self.index(head), image.fp, image.filename)
        return type(made) is type(image) and _is_same(_seen_of(made), _seen_of(image))


def _seen_of(image):
    """Returns the attributes of an image, with bytes in the place of EXIF data that was parsed."""
    exif = vars(image).get("_exif")
    return {**vars(image), "_exif": exif and exif._loaded_exif}


def _with_exif(head, *values):
    """Returns the header with (tag, value) as its EXIF data, if it has any."""
    found = header.exif(head)
    if found is None:
        return head
    exif = Image.Exif()
    exif.update(values)
    data = exif.tobytes()
    begin, end = found
    return head[:begin - 2] + (2 + len(data)).to_bytes(2, "big") + data + head[end:]


def _varied(head):
    """Returns a header of the same outline, with another size, and with more and other Huffman tables."""
    varied, at = bytearray(head[:2]), 2
    while at < len(head):
        end = at + 2 + int.from_bytes(head[at + 2:at + 4], "big")
        segment, at = bytearray(head[at:end]), end
        if segment[1] == 0xC4:
            varied += b"\xff\xc4\0\3\xff"
            segment[4:] = (255 - byte for byte in segment[4:])
        elif segment[1] in (0xC0, 0xC1, 0xC2):
            for place, more in ((5, 1001), (7, 2003)):
                length = int.from_bytes(segment[place:place + 2], "big") % 60000 + more
                segment[place:place + 2] = length.to_bytes(2, "big")
        elif segment[1] == 0xE2 and segment[4:8] == header.MPF:
            segment = _with_another_index(segment)
        varied += segment
    return bytes(varied)


def _with_another_index(segment):
    data = header.MPF + mp_index.of_all_kinds(b"MM\0*" if segment[8:10] == b"II" else b"II*\0")
    return segment[:2] + (2 + len(data)).to_bytes(2, "big") + data


def _parsed(head):
    """Returns the image that Pillow makes of a header."""
    image = Image.OPEN["JPEG"][0](io.BytesIO(head), "")
    image._exclusive_fp = False
    return image


def _template_of(head, image):
    """Returns the Template, or None if it does not give Pillow's images. A Pillow whose images are made otherwise may
    raise any error."""
    if "exif" in image.info:  # Pillow may warn of the file's own once more
        head = _with_exif(head, (_ORIENTATION, 6))
        image = _parsed(head)
    varied = _varied(_with_exif(head, (_RESOLUTION, 300.0), (_UNIT, _PER_CM)))
    template = Template(image)
    if not template.is_simple() or not template.gives(image, head):
        return None
    return template if template.gives(_parsed(varied), varied) else None


# ---- for open.py ----

class Header(NamedTuple):
    """The header of a JPEG in memory, as a Form has it."""
    outline: bytes
    info: tuple
    head: bytes


def of_memory(data):
    """Returns the Header of a JPEG, or None if there can be no template for it."""
    found = _core.outline(data)
    return found and Header(*found)


def knows(form):
    """Returns true if a header of this outline was parsed before, in a file that was taken."""
    return _templates.get(form.outline) is not None


def image_of(form, file, name=""):
    """Returns the image of a file that was just opened, or None if Pillow has to parse its header. The file is left
    where Pillow's parser leaves it. The caller has checked that OWN_PARTS are Pillow's own."""
    template = _templates.get(form.outline)
    if template is None or not _imports_nothing(name):
        return None
    size, index = form.info[:2], template.index(form.head)
    if index is False or 0 in size:
        return None
    Image._decompression_bomb_check(size)
    image = template.image(size, form.head, index, file, name)
    file.seek(0 if take.is_mpo(image) else len(form.head))
    return image


def note(form, image):
    """Notes an image that Pillow opened by its form."""
    outline = form.outline
    if outline is None or outline in _templates or not _core.are_as_seen(OWN_PARTS):
        return
    if header.MPF in form.head and mp_index.of(form.head) is None:  # Pillow may warn of it at each open
        return
    if _seen.pop(outline, None) is None:
        _keep(_seen, outline, True)
    else:
        _keep(_templates, outline, attempt_beside(_template_of, form.head, image))


def _keep(table, key, value):
    """Puts a value into a table, which drops its oldest value when it is full."""
    table[key] = value
    if len(table) > _MOST:
        table.popitem(last=False)
