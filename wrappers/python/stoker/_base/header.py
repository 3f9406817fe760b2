"""The segments of a JPEG's header, and what they say that the decoder does not need. A header is any buffer of bytes."""

import struct

LARGEST_IMAGE = 1 << 27  # pixels
SPARSEST = 170  # pixels for each byte of a file: 8 x 8 pixels take at least two bits

_APP1, _APP2 = 0xE1, 0xE2
EXIF, MPF = b"Exif\0\0", b"MPF\0"
ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
_ORIENTATION, _SHORT = 0x0112, 3


def is_likely(width, height, end):
    """Returns true if a file whose image ends at `end` may hold so many pixels."""
    return width * height <= min(LARGEST_IMAGE, SPARSEST * end)


def _segments(head):
    """Yields (marker, begin, end) of the data of each segment before the first scan."""
    at = 2
    while at + 4 <= len(head):
        marker, size = head[at + 1], head[at + 2] << 8 | head[at + 3]
        if head[at] != 0xFF or marker == 0xDA:
            return
        if marker == 0xFF:
            at += 1
        else:
            yield marker, at + 4, at + 2 + size
            at += 2 + size


def exif(head):
    """Returns (begin, end) of the data of the first EXIF segment, or None."""
    return _marked(head, _APP1, EXIF)


def mp_index(head):
    """Returns (begin, end) of the data of the first segment with an index of several images, or None."""
    return _marked(head, _APP2, MPF)


def _marked(head, wanted, mark):
    for marker, begin, end in _segments(head):
        if marker == wanted and head[begin:begin + len(mark)] == mark:
            return begin, end
    return None


def orientation(head):
    """Returns the EXIF orientation, 1 to 8, that every reader finds; 1 if there is none. Returns None if readers may
    disagree: they look at other segments, or at damaged ones."""
    parts = [bytes(head[begin:end]) for marker, begin, end in _segments(head) if marker == _APP1]
    found = {_orientation_of(part) for part in parts}
    if found <= {1}:
        return 1
    return found.pop() if len(parts) == 1 else None


def _orientation_of(part):
    """Returns the orientation of one segment; 1 if it has none, None if it is not clear."""
    order = ORDERS.get(part[6:10])
    if not part.startswith(EXIF):
        return 1 if order is None else None
    try:
        values = list(_orientations(part[6:], order))
    except (struct.error, TypeError):
        return None
    return values[0] if len(values) == 1 else None if values else 1


def _orientations(tiff, order):
    """Yields each orientation of the first directory, or None for one of another type. Raises struct.error beyond the
    end, and TypeError for no order."""
    begin, = struct.unpack_from(order + "I", tiff, 4)
    count, = struct.unpack_from(order + "H", tiff, begin)
    for at in range(begin + 2, begin + 2 + 12 * count, 12):
        tag, kind, values, value = struct.unpack_from(order + "HHIHxx", tiff, at)
        if tag == _ORIENTATION:
            yield value if kind == _SHORT and values == 1 and 1 <= value <= 8 else None
