"""Whole decodes by libjpeg-turbo, our parser, making the form, and from it; and the form's size."""

import io
import os
import random
import sys

import ground
from measure import Table, in_us, ratio, spread, times
from parts.pixels import decode

STARTS = 5
KERNELS = ("avx512", "vnni", "avx2", "neon")
MOST_SIZE, MOST_MAKING = 1.08, 1.10
QUALITIES = range(30, 101, 10)
SAMPLINGS = {"4:2:0": 2, "4:2:2": 1, "4:4:4": 0, "grey": None}
PHOTOS, PIXELS = 40, (500, 375)
PROGRAM = os.path.join(ground.OUT, "form")


# ---- times ----

def measure_photos(kernels, kilobytes):
    """Way -> starts of slices, in nanoseconds a photograph; and the sizes."""
    directory = os.path.join(ground.OUT, "photographs-%d" % kilobytes)
    paths = [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
    environment = dict(ground.bare_environment(), STOKER_SIMD=kernels)
    found = {}
    for _ in range(times(STARTS)):
        for line in ground.run([PROGRAM] + paths, environment).splitlines():
            name, *values = line.split()
            found.setdefault(name, []).append([float(each) for each in values])
    return found


def add_times(table, kernels, kilobytes):
    found = measure_photos(kernels, kilobytes)
    for prefix, what in (("", "whole"), ("region-", "region of RandomResizedCrop")):
        of = {name: found[prefix + name] for name in ("libjpeg", "parser", "keep", "form")}
        for name, text in (("parser", "first touch"), ("form", "from the form")):
            table.row("%d KB, %s, %s (%s)" % (kilobytes, what, text, kernels), "us",
                      in_us(of[name]), in_us(of["libjpeg"]), peer_name="libjpeg-turbo")
        # A region alone needs a part of the file; its form, all.
        table.row("%d KB, %s, first touch with making the form (%s)" % (kilobytes, what, kernels),
                  "us", in_us(of["keep"]), in_us(of["parser"]), peer_name="without",
                  goal=None if prefix else MOST_MAKING)
    return found["size"]


def add_size(table, kilobytes, sizes):
    directory = os.path.join(ground.OUT, "photographs-%d" % kilobytes)
    bytes_of = [os.path.getsize(os.path.join(directory, name))
                for name in sorted(os.listdir(directory))]
    forms = [size * each for size, each in zip(sizes[0], bytes_of)]
    of_all = [[sum(forms) / 1000]], [[sum(bytes_of) / 1000]]
    table.row("%d KB, size of all forms" % kilobytes, "KB", *of_all, peer_name="the JPEGs",
              goal=MOST_SIZE, compared=ratio(*of_all), decimals=0)


# ---- sizes by sampling and quality ----

def pieces():
    """Pieces of photographs that were not encoded at this size before."""
    import photos
    from PIL import Image
    choose, found = random.Random(1), []
    paths = photos.find_photographs()
    for path in (paths * PHOTOS)[:PHOTOS]:
        image = photos.load(path)
        zoom = min(image.width / PIXELS[0], image.height / PIXELS[1]) * choose.uniform(0.5, 1)
        left = choose.uniform(0, image.width - PIXELS[0] * zoom)
        top = choose.uniform(0, image.height - PIXELS[1] * zoom)
        box = (left, top, left + PIXELS[0] * zoom, top + PIXELS[1] * zoom)
        found.append(image.resize(PIXELS, Image.BICUBIC, box))
    return found


def size_of(decoder, one, image, sampling, quality):
    out = io.BytesIO()
    if SAMPLINGS[sampling] is None:
        image.convert("L").save(out, "JPEG", quality=quality)
    else:
        image.save(out, "JPEG", quality=quality, subsampling=SAMPLINGS[sampling])
    data = out.getvalue()
    plan = decoder.plan_for(image.size, channels=1 if SAMPLINGS[sampling] is None else 3)
    return len(one.keep(data, plan)[2]) / len(data)


def size_table(decoder):
    one, images = decoder.Decoder(), pieces()
    rows = [[str(quality)] + [spread([size_of(decoder, one, image, sampling, quality)
                                      for image in images]) for sampling in SAMPLINGS]
            for quality in QUALITIES]
    heads = ["size of the form over the JPEG's; quality"] + list(SAMPLINGS)
    return {"heads": heads, "rows": rows, "decimals": 3}


def measure():
    sys.path += [os.path.join(ground.REPOSITORY, each)
                 for each in ("tests/decode", "examples/demo")]
    if not os.path.exists(PROGRAM):
        raise ground.Skip("bench/programs/form.c was not built")
    import decoder
    ground.one_core()
    table = Table("form")
    there = {decoder.Decoder(name).simd for name in KERNELS}
    for kilobytes, pixels in decode.SIZES:
        decode.photographs(kilobytes, pixels)
        for kernels in KERNELS:
            if kernels in there:
                sizes = add_times(table, kernels, kilobytes)
        add_size(table, kilobytes, sizes)
    table.grids.append(size_table(decoder))
    return table
