"""Decoding photographs: decode/ from C against Pillow's own calls, the same pixels, in turn."""

import ctypes
import io
import math
import os
import random
import sys
import time

import ground
from measure import Table, in_us, times

sys.path += [os.path.join(ground.REPOSITORY, each) for each in ("tests/decode", "examples/demo")]

# Kilobytes, and the size of the image in pixels.
SIZES = ((40, (500, 375)), (75, (500, 375)), (250, (1000, 750)))
PHOTOS = 40
STARTS = 15
KERNELS = ("avx512", "vnni", "avx2")


# ---- photographs: pieces of those of `make demo` ----

def piece_of(photos, path, pixels, kilobytes, choose):
    """A piece that a JPEG of about that size holds; None where it is too plain or too rich."""
    from PIL import Image
    image = photos.load(path)
    zoom = min(image.width / pixels[0], image.height / pixels[1]) * choose.uniform(0.5, 1)
    left = choose.uniform(0, image.width - pixels[0] * zoom)
    top = choose.uniform(0, image.height - pixels[1] * zoom)
    box = (left, top, left + pixels[0] * zoom, top + pixels[1] * zoom)
    image = image.resize(pixels, Image.BICUBIC, box)
    found = min((photos.encode(image, quality) for quality in photos.QUALITIES),
                key=lambda data: abs(len(data) - kilobytes * 1000))
    return found if abs(len(found) / 1000 / kilobytes - 1) < 0.15 else None


def make_photos(directory, kilobytes, pixels):
    import photos
    try:
        paths = photos.find_photographs()
    except FileNotFoundError as error:
        raise ground.Skip(str(error))
    choose, made = random.Random(kilobytes), []
    for turn in range(PHOTOS * 30):
        data = piece_of(photos, paths[turn // 3 % len(paths)], pixels, kilobytes, choose)
        made += [data] if data else []
        if len(made) == PHOTOS:
            break
    os.makedirs(directory, exist_ok=True)
    for number, data in enumerate(made):
        with open(os.path.join(directory, "%d-%03d.jpg" % (kilobytes, number)), "wb") as file:
            file.write(data)


def photographs(kilobytes, pixels):
    directory = os.path.join(ground.OUT, "photographs-%d" % kilobytes)
    if not os.path.isdir(directory):
        ground.say("making photographs of %d KB" % kilobytes)
        make_photos(directory, kilobytes, pixels)
    found = []
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            found.append(file.read())
    return found


# ---- what is done with each ----

def random_resized_crop(size, choose):
    """The crop that torchvision's RandomResizedCrop draws, with its defaults."""
    width, height = size
    for _ in range(10):
        area = width * height * choose.uniform(0.08, 1)
        ratio = math.exp(choose.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = choose.randint(0, width - w), choose.randint(0, height - h)
            return left, top, left + w, top + h
    return 0, 0, width, height


def geometry(size, what, choose):
    """The work on an image of that size: crop, size to resize to, window of that or None."""
    if what == "RandomResizedCrop(224)":
        return random_resized_crop(size, choose), (224, 224), None
    whole = (0, 0) + tuple(size)
    if what == "Resize(256), CenterCrop(224)":
        out = tuple(int(256 * side / min(size)) for side in size)
        left, top = ((side - 224) // 2 for side in out)
        return whole, out, (left, top, left + 224, top + 224)
    return whole, tuple(size), None


class Job:
    """One photograph and one of the things done with it, by Pillow and by decode/."""

    def __init__(self, data, what, decoder, resizer, choose):
        from PIL import Image
        self.data, self.what = data, what
        with Image.open(io.BytesIO(data)) as image:
            self.size = image.size
        self.crop, self.out, self.window = geometry(self.size, what, choose)
        self.plan = decoder.plan_for(self.size, self.crop, self.out, resizer=resizer,
                                     window=self.window)
        width, height = (224, 224) if self.window else self.out
        self.memory = ctypes.create_string_buffer(width * height * 3)
        self.target = decoder.Target(ctypes.addressof(self.memory), width * 3, 0,
                                     len(self.memory))
        self.library = decoder.LIBRARY

    def by_pillow(self):
        from PIL import Image
        image = Image.open(io.BytesIO(self.data)).convert("RGB")
        if self.what == "RandomResizedCrop(224)":
            return image.crop(self.crop).resize(self.out, Image.BILINEAR)
        if self.what == "Resize(256), CenterCrop(224)":
            return image.resize(self.out, Image.BILINEAR).crop(self.window)
        return image

    def by_us(self, handle):
        return self.library.test_decode(handle, self.data, len(self.data), self.plan, self.target)

    def check(self, handle):
        assert self.by_us(handle) == 0
        assert self.memory.raw == self.by_pillow().tobytes(), "other pixels"


def timed(call, *arguments):
    start = time.thread_time_ns()
    call(*arguments)
    return time.thread_time_ns() - start


def measure_jobs(jobs, handles):
    """For Pillow and each decoder: starts, each with the time of every job."""
    lanes = [[] for _ in range(1 + len(handles))]
    for _ in range(times(STARTS)):
        starts = [[] for _ in lanes]
        for job in jobs:
            starts[0].append(timed(job.by_pillow))
            for lane, handle in zip(starts[1:], handles):
                lane.append(timed(job.by_us, handle))
        for lane, start in zip(lanes, starts):
            lane.append(start)
    return lanes


def add_rows(table, decoder, exact, handles, photos, kilobytes):
    for what in ("decode", "RandomResizedCrop(224)", "Resize(256), CenterCrop(224)"):
        choose = random.Random(kilobytes)
        jobs = [Job(data, what, decoder, exact.RESIZER, choose) for data in photos]
        for job in jobs:
            job.check(next(iter(handles.values())).handle)
        pillow, *ours = measure_jobs(jobs, [one.handle for one in handles.values()])
        for name, lane in zip(handles, ours):
            table.row("%d KB, %s (%s)" % (kilobytes, what, name), "us", in_us(lane), in_us(pillow),
                      peer_name="Pillow")


def measure():
    try:
        import decoder
        import exact
    except (ImportError, OSError) as error:
        raise ground.Skip(str(error))
    ground.one_core()
    handles = {name: one for name, one in exact.DECODERS.items() if name in KERNELS + ("neon",)}
    table = Table("decode")
    for kilobytes, pixels in SIZES:
        add_rows(table, decoder, exact, handles, photographs(kilobytes, pixels), kilobytes)
    return table
