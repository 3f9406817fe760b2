"""The header and the image data of PNGs that nothing is special about.

Each check sum is compared, since libpng compares it. A chunk that may change pixels, and one that is not known here,
leaves the file to the library, and so does anything that libpng might warn of.
"""

import struct
import zlib
from collections import namedtuple

from .._base.header import LARGEST_IMAGE

_BANDS = {0: 1, 2: 3, 6: 4}  # by the type of colour: grey, RGB, RGBA
_UNSEEN = frozenset((b"pHYs", b"tEXt", b"tIME", b"sRGB", b"gAMA"))  # chunks that change no pixel
_MOST = 1000000  # pixels of a side: libpng refuses more

# A PNG of eight bits a sample, not interlaced: its size, bytes a pixel, and compressed rows.
Png = namedtuple("Png", "size bands data")


def parsed(file):
    """Returns the Png of a file's bytes, or None."""
    try:
        chunks = list(_chunks(memoryview(file)))
    except (struct.error, ValueError):
        return None
    kinds = [kind for kind, _ in chunks]
    first, count = kinds.index(b"IDAT") if b"IDAT" in kinds else 0, kinds.count(b"IDAT")
    others = kinds[1:first] + kinds[first + count:-1]
    if first == 0 or kinds[0] != b"IHDR" or kinds[-1] != b"IEND" or not _UNSEEN.issuperset(others) or len(
            chunks[-1][1]):
        return None
    return _of(chunks[0][1], b"".join(data for _, data in chunks[first:first + count]))


def _chunks(file):
    """Yields (type, data) of each chunk. Raises ValueError for a wrong check sum, and struct.error at a short end."""
    at = 8
    while at < len(file):
        length, kind = struct.unpack_from(">I4s", file, at)
        end = at + 8 + length
        if struct.unpack_from(">I", file, end) != (zlib.crc32(file[at + 4:end]),):
            raise ValueError("a check sum")
        yield kind, file[at + 8:end]
        at = end + 4


def _of(header, data):
    if len(header) != 13 or len(data) < 2:
        return None
    width, height, bits, colour, *rest = struct.unpack(">IIBBBBB", header)
    bands = _BANDS.get(colour)
    is_plain = bits == 8 and bands is not None and not any(rest)
    if not is_plain or not 0 < width <= _MOST or not 0 < height <= _MOST or width * height > LARGEST_IMAGE:
        return None
    filtered = (1 + width * bands) * height
    window = 1 << 8 + (data[0] >> 4)  # libdeflate looks beyond the stream's window, where zlib finds an error
    return Png((width, height), bands, data) if data[0] == 0x78 or filtered <= window else None
