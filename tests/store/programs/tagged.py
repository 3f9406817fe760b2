"""Small photographs, what Pillow makes of them, and as many files with the same pixels as wanted."""

import hashlib
import io
import random
import struct

BOX = 17, 9, 121, 88


def digest(pixels):
    return hashlib.blake2b(memoryview(pixels).cast("B"), digest_size=16).hexdigest()


def noisy(dice, size, part):
    """An image of soft colours, and so much noise."""
    from PIL import Image
    small = Image.frombytes("RGB", (12, 9), dice.randbytes(12 * 9 * 3))
    noise = Image.frombytes("RGB", size, dice.randbytes(size[0] * size[1] * 3))
    return Image.blend(small.resize(size, 3), noise, part)


def make_pictures():
    """[(JPEG, {box: digest of Pillow's pixels})]"""
    from PIL import Image
    dice, pictures = random.Random(7), []
    for number in range(24):
        size = dice.randrange(128, 300), dice.randrange(96, 240)
        stream = io.BytesIO()
        noisy(dice, size, 0.1).save(stream, "JPEG", quality=dice.randrange(40, 95),
                                    subsampling=number % 3, progressive=number % 6 == 5)
        image = Image.open(stream)
        pictures.append((stream.getvalue(), {box: digest(image.crop(box).tobytes() if box else
                                                         image.tobytes()) for box in (None, BOX)}))
    return pictures


def noisy_pictures():
    """Photographs of sensors: most of their bytes are noise, as of all that is kept in good quality."""
    dice = random.Random(11)
    for number in range(16):
        size = dice.randrange(300, 420), dice.randrange(240, 320)
        stream = io.BytesIO()
        noisy(dice, size, 0.3).save(stream, "JPEG", quality=90 + number % 5, subsampling=number % 3)
        yield stream.getvalue()


def tagged(jpeg, tag):
    """Another file with the same pixels: a comment behind the first marker."""
    return jpeg[:2] + b"\xff\xfe\0\x0a" + struct.pack("<Q", tag) + jpeg[2:]
