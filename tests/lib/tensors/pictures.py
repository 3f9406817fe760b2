"""Images of the kinds that data sets hold."""

import io
import random

import numpy
from PIL import Image


def array(width, height, seed):
    """Soft colours with noise, of every value."""
    dice = numpy.random.RandomState(seed)
    small = dice.randint(0, 256, (height // 9 + 2, width // 9 + 2, 3)).astype("uint8")
    soft = numpy.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC))
    noise = dice.randint(-12, 13, soft.shape)
    return numpy.clip(soft.astype(int) + noise, 0, 255).astype("uint8")


def image(width, height, seed=1, mode="RGB"):
    return Image.fromarray(array(width, height, seed)).convert(mode)


def jpeg(picture, **options):
    stream = io.BytesIO()
    picture.save(stream, "JPEG", **options)
    return stream.getvalue()


def write(directory):
    """Two classes; most files are what Stoker decodes, some are not."""
    dice = random.Random(4)
    for kind in ("cat", "dog"):
        (directory / kind).mkdir()
        for i in range(10):
            picture = image(dice.randrange(40, 300), dice.randrange(40, 300), i)
            data = jpeg(picture, quality=dice.randrange(30, 98), subsampling=i % 3)
            (directory / kind / f"{i}.jpg").write_bytes(data)
        picture = image(90, 70, 30)
        (directory / kind / "grey.jpg").write_bytes(jpeg(picture.convert("L")))
        (directory / kind / "progressive.jpg").write_bytes(jpeg(picture, progressive=True))
        (directory / kind / "cmyk.jpg").write_bytes(jpeg(picture.convert("CMYK")))
        picture.save(directory / kind / "png.png")
        picture.convert("P").save(directory / kind / "palette.png")
