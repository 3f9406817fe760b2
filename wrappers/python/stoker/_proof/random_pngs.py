"""Small PNGs of random rows, for self-tests."""

import random
import struct
import zlib

# By Pillow's names of the modes: the type of colour in the header, and bytes of a pixel.
_TYPES = {"L": (0, 1), "P": (3, 1), "RGB": (2, 3), "RGBA": (6, 4)}


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(mode, size, part, before=(), behind=()):
    """Returns a PNG, whose filters take turns. Its image data comes in chunks of so many bytes, with the chunks `before`
    and `behind` around it: pairs of a type and its data."""
    dice = random.Random(repr((mode, size)))
    colour, pixel_bytes = _TYPES[mode]
    rows = b"".join(bytes([y % 5]) + dice.randbytes(size[0] * pixel_bytes) for y in range(size[1]))
    data = zlib.compress(rows)
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, colour, 0, 0, 0))]
    if mode == "P":
        chunks += [_chunk(b"PLTE", dice.randbytes(768)), _chunk(b"tRNS", dice.randbytes(9))]
    chunks += [_chunk(*each) for each in before]
    chunks += [_chunk(b"IDAT", data[at:at + part]) for at in range(0, len(data), part)]
    chunks += [_chunk(*each) for each in (*behind, (b"IEND", b""))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def odd(mode, size, part):
    """Returns a PNG with chunks and bytes behind the image data that a reader passes over."""
    return png(mode, size, part, (), ((b"tEXt", b"Title\0behind"), (b"prIv", b"more"))) + b"tail"
