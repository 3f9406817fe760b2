"""Is this a JPEG that is decoded here, as far as its header tells? As Image.open would find it, and
what take.py asks before it takes an image over from Pillow."""

from PIL import Image

from . import check, take


class _Header:
    """What take.py asks of an image."""

    def __init__(self, size):
        self.size = size


def picture_size(source):
    """(width, height) of a JPEG (_store/sources.py), or None where Pillow shall open it."""
    if "jpeg" in Image.DECODERS or len(source) > take.LARGEST:
        return None
    info = source.probe()
    if info is None or take._flaw(_Header(info[:2]), info) is not None:
        return None
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and info[0] * info[1] > limit:
        return None
    return info[:2] if sampling(source.head) in check.proven().samplings else None


def sampling(source):
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
