"""Programs' operations on images, one case each. Argument: a directory of JPEGs (see images.py)."""

import _thread
import copy
import gzip
import io
import mmap
import operator
import os
import pickle
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

import cases
from cases import Image, case
from PIL import ImageChops, ImageDraw, ImageEnhance, ImageFile, ImageFilter, ImageOps, ImageStat

DIRECTORY = sys.argv[1]


def path(name="color.jpg"):
    return os.path.join(DIRECTORY, name)


def opened(name="color.jpg"):
    return Image.open(path(name))


def data(name="color.jpg"):
    with open(path(name), "rb") as file:
        return file.read()


def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error)


# ---- loading ----

@case
def only_opened():
    image = opened()
    return type(image) is Image.Image, isinstance(image, Image.Image), image.size, image.mode


@case
def loaded():
    image = opened()
    access = image.load()
    return image, access[3, 4], attempt(lambda: access[10000, 0]), attempt(lambda: access["x"])


@case
def larger_than_one_piece_of_memory():
    """Pillow takes 16 MiB at once."""
    stream = io.BytesIO()
    opened().resize((2300, 2000), 2).save(stream, "JPEG")
    image = cases.reopened(stream.getvalue())
    image.load()
    return image


@case
def load_twice():
    image = opened()
    image.load()
    first = image.load()
    return first[0, 0], image.load()[0, 0], image


def parsed():
    parser = ImageFile.Parser()
    parser.feed(data())
    return parser.close()


def touched():
    image = opened()
    image.convert("RGB")
    return image


@case
def load_gives_a_program_pixels():
    """load() gives pixels, whatever Pillow did with the image before."""
    ways = [opened, parsed, touched, lambda: touched().convert("RGB"), lambda: ImageOps.mirror(opened()),
            lambda: touched().crop((1, 2, 5, 9))]
    return [(type(image.load()).__name__, image.load()[1, 1], image) for image in (way() for way in ways)]


@case
def load_in_a_thread_of_c():
    """Calls load() in a thread of C, without a function of Python's below it."""
    told, found, images = [], [], [opened(), touched(), touched().copy()]
    sys.unraisablehook = lambda failed: told.append(str(failed.exc_value))
    _thread.start_new_thread(found.extend, (map(operator.methodcaller("load"), images),))
    while not told and len(found) < len(images):
        time.sleep(0.001)
    sys.unraisablehook = sys.__unraisablehook__
    return told, [type(access).__name__ for access in found], images


@case
def access_writes():
    image = opened()
    access = image.load()
    access[2, 3] = (1, 2, 3)
    return image, image.getpixel((2, 3)), access[2, 3]


@case
def access_outlives_the_image():
    return [image_access[1, 1] for image_access in [opened().load(), opened().load()]]


@case
def access_after_close():
    image = opened()
    access = image.load()
    image.close()
    return access[4, 4]


@case
def every_kind():
    return [opened(name) for name in sorted(os.listdir(DIRECTORY))]


@case
def every_kind_transformed():
    results = []
    for name in sorted(os.listdir(DIRECTORY)):
        image = opened(name)
        width, height = image.size
        image = image.convert("RGB").crop((width // 4, height // 5, max(width - 1, 1), height))
        results.append(image.resize((19, 31), 2).transpose(0))
    return results


@case
def bytes_io():
    stream = io.BytesIO(data())
    image = Image.open(stream)
    image.load()
    return image, stream.tell(), stream.closed


@case
def bytes_io_with_more_behind():
    stream = io.BytesIO(data() + b"x" * 300000)
    image = Image.open(stream)
    image.load()
    return image, stream.tell()


@case
def large_file_position():
    stream = io.BytesIO(data("large.jpg") + b"x" * 100)
    image = Image.open(stream)
    image.load()
    return image, stream.tell()


@case
def file_object():
    with open(path(), "rb") as file:
        image = Image.open(file)
        image.load()
        return image, file.tell(), file.closed


@case
def raw_file_object():
    with open(path("large.jpg"), "rb", buffering=0) as file:
        image = Image.open(file)
        image.load()
        return image, file.tell()


@case
def file_object_used_afterwards():
    with open(path(), "rb") as file:
        image = Image.open(file)
        image.load()
        file.seek(0)
        return image, len(file.read())


class Counting(io.BytesIO):
    """A stream of the program's own."""


@case
def own_stream():
    stream = Counting(data("large.jpg") + b"y" * 200000)
    image = Image.open(stream)
    image.load()
    return image, stream.tell()


class Halting(io.BytesIO):
    """Gives less than it is asked for."""

    def read(self, size=-1):
        return super().read(min(size, 999) if size > 999 else size)


@case
def stream_that_gives_little():
    results = []
    for name in ("color.jpg", "large.jpg"):
        stream = Halting(data(name) + b"z" * 5000)
        image = Image.open(stream)
        image.load()
        results.append((image, stream.tell()))
    return results


@case
def members_of_archives():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in ("color.jpg", "large.jpg"):
            zipped.writestr(name, data(name))
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w") as tar:
        tar.add(path("color.jpg"), "color.jpg")
        tar.add(path("large.jpg"), "large.jpg")
    results = []
    for name in ("color.jpg", "large.jpg"):
        with zipfile.ZipFile(packed) as zipped, zipped.open(name) as member:
            results.append((Image.open(member).convert("RGB"), member.tell()))
        tarred.seek(0)
        with tarfile.open(fileobj=tarred) as tar:
            member = tar.extractfile(name)
            results.append((Image.open(member).convert("RGB"), member.tell()))
    return results


@case
def other_files():
    compressed = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data("large.jpg"))))
    with tempfile.SpooledTemporaryFile() as spooled, open(path(), "rb") as file:
        spooled.write(data("large.jpg"))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return [(Image.open(each).convert("RGB"), each.tell())
                for each in (compressed, spooled, mapped)]


class Unseekable(io.RawIOBase):
    def __init__(self, content):
        super().__init__()
        self.stream = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.stream.readinto(buffer)


@case
def unseekable():
    return Image.open(Unseekable(data()))


@case
def pipe():
    reader, writer = os.pipe()
    content = data()
    thread = threading.Thread(target=lambda: (os.write(writer, content), os.close(writer)))
    thread.start()
    try:
        with open(reader, "rb") as file:
            return Image.open(file)
    finally:
        thread.join()


@case
def closed_early():
    stream = io.BytesIO(data())
    image = Image.open(stream)
    stream.close()
    return image.load()


@case
def closed_file_early():
    with open(path(), "rb") as file:
        image = Image.open(file)
    return image.load()


@case
def context_manager():
    with opened() as image:
        image.load()
    return image, image.fp


@case
def context_manager_unloaded():
    with opened() as image:
        pass
    return attempt(image.load), image.size


@case
def context_manager_plan_used_later():
    with opened() as image:
        other = image.convert("RGB")
    return other.crop((1, 2, 30, 40)), image


@case
def closed():
    image = opened()
    image.load()
    image.close()
    return attempt(image.load), attempt(image.tobytes), attempt(lambda: image.getpixel((0, 0)))


@case
def closed_unloaded():
    image = opened()
    image.close()
    return attempt(image.load), attempt(lambda: image.convert("RGB"))


@case
def seek_and_tell():
    image = opened()
    before = image.tell()
    image.seek(0)
    image.load()
    image.seek(0)
    return before, image.tell(), attempt(lambda: image.seek(1)), image


@case
def verified():
    image = opened()
    image.verify()
    return attempt(image.load), image.size


@case
def drafted():
    image = opened("large.jpg")
    result = image.draft("RGB", (100, 100))
    return result, image


@case
def drafted_grey():
    image = opened()
    return image.draft("L", image.size), image


@case
def drafted_after_loading():
    image = opened()
    image.load()
    return image.draft("L", (10, 10)), image


@case
def thumbnail():
    image = opened("large.jpg")
    image.thumbnail((64, 64))
    return image


@case
def thumbnail_without_gap():
    image = opened()
    image.thumbnail((33, 50), reducing_gap=None)
    return image


@case
def thumbnail_after_loading():
    image = opened()
    image.load()
    image.thumbnail((20, 20))
    return image


@case
def lenient():
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        return opened(), Image.open(io.BytesIO(data()[:1500])).convert("RGB")
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


@case
def parser():
    parser = ImageFile.Parser()
    content = data()
    for at in range(0, len(content), 700):
        parser.feed(content[at:at + 700])
    return parser.close()


@case
def getexif():
    image = opened("exif.jpg")
    return dict(image.getexif()), image, dict(image.getexif())


def turned(orientation):
    stream, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = orientation
    opened().save(stream, "JPEG", exif=exif.tobytes())
    return Image.open(stream)


@case
def exif_transposed():
    return [ImageOps.exif_transpose(image) for image in (opened(), opened("exif.jpg"))] + [
        ImageOps.exif_transpose(turned(orientation)) for orientation in range(10)]


@case
def exif_transposed_and_more():
    return [ImageOps.exif_transpose(turned(orientation)).crop((3, 4, 60, 50)).resize((30, 20), 2)
            for orientation in range(1, 9)]


@case
def tables():
    image = opened()
    image.load()
    return image.quantization, image.layers, image.layer, image.applist, image.app, image


@case
def a_decoder_of_the_program():
    class Decoder(ImageFile.PyDecoder):
        def decode(self, buffer):
            return -1, 0
    Image.register_decoder("jpeg", Decoder)
    try:
        image = opened()
        return attempt(image.load), image.tile
    finally:
        del Image.DECODERS["jpeg"]


@case
def another_mode_by_hand():
    image = opened()
    image.tile = []
    return attempt(image.load)


# ---- copies, comparisons, pickles ----

@case
def copies():
    image = opened()
    first, second = copy.copy(image), copy.deepcopy(image)
    third = image.copy()
    third.putpixel((0, 0), (9, 9, 9))
    return image, first, second, third


@case
def copy_of_a_plan():
    image = opened().convert("RGB")
    first, second = image.copy(), copy.copy(image)
    first.paste((1, 2, 3), (0, 0, 5, 5))
    return image, first, second, copy.deepcopy(second)


@case
def equality():
    one, other = opened(), opened()
    changed = opened()
    changed.putpixel((0, 0), (1, 1, 1))
    return one == other, one == changed, one != other, one.convert("RGB") == other.convert("RGB")


@case
def pickles():
    image = opened()
    plan = opened().convert("RGB").crop((3, 3, 40, 50))
    return [pickle.loads(pickle.dumps(each, protocol)) for each in (image, plan)
            for protocol in (2, pickle.HIGHEST_PROTOCOL)]


@case
def hashing():
    return attempt(lambda: hash(opened()))


@case
def info_is_shared_rightly():
    image = opened()
    image.info["mine"] = [1]
    other = image.convert("RGB")
    other.info["theirs"] = 2
    return image.info, other.info, image.crop((0, 0, 5, 5)).info


@case
def representations():
    image = opened()
    return repr(image), str(image.convert("RGB")), image._repr_png_()


# ---- the operations that wait, and those that do not ----

@case
def crops():
    image = opened().convert("RGB")
    width, height = image.size
    boxes = [None, (0, 0, width, height), (5, 6, 20, 30), [5, 6, 20, 30], (-4, 4, 10, 10),
             (4, -4, 10, 10), (0, 0, width + 5, 5), (0, 0, 5, height + 5), (3, 3, 3, 9),
             (2.5, 1.5, 10.2, 11.7), (9, 9, 3, 3),
             (True, 0, 5, 5), (0, 0, 5), "abcd", (width, 0, width + 1, 2)]
    return [attempt(lambda box=box: opened().crop(box)) for box in boxes] + [
        attempt(lambda box=box: image.crop(box)) for box in boxes]


@case
def crops_above_the_limit():
    """Pillow looks at the size of each crop, too."""
    results, before = [], Image.MAX_IMAGE_PIXELS
    for limit in (2500, 3000, 5000, 10000):
        image = opened()
        image.load()
        Image.MAX_IMAGE_PIXELS = limit
        try:
            results.append(cases.outcome(lambda: image.crop((0, 0, 60, 50)).size))
            results.append(cases.outcome(lambda: opened().convert("RGB").crop((9, 9, 99, 69))))
        finally:
            Image.MAX_IMAGE_PIXELS = before
    return results


@case
def crop_of_a_crop():
    image = opened().crop((10, 10, 60, 70)).crop((5, 6, 30, 31)).crop((1, 1, 20, 20))
    return image, image.resize((11, 13), 3)


@case
def resizes():
    sizes = [(20, 30), [20, 30], (200, 10), (1, 1), (0, 5), (5,), (5.0, 6.0), (-1, 4), (True, 2)]
    filters = [None, 0, 1, 2, 3, 4, 5, 6, 17, 2.0, "x", True]
    return [attempt(lambda: opened().resize(size)) for size in sizes] + [
        attempt(lambda: opened().resize((23, 29), filter)) for filter in filters]


@case
def resizes_with_more():
    image = opened()
    return (opened().resize((20, 20), 2, (1, 2, 30, 40)), opened().resize((9, 9), reducing_gap=2.0),
            opened().resize(image.size), opened().resize(image.size, 1),
            opened().resize(size=(7, 8), resample=1), opened().resize((11, 12), box=(0, 0, 9, 9)))


@case
def resizes_twice():
    image = opened().resize((50, 40), 2)
    return image.resize((20, 20), 1), image.resize((50, 40), 3), image


@case
def extreme_shapes():
    image = opened().convert("RGB")
    tall, wide = image.crop((0, 0, 1, image.height)), image.crop((0, 3, image.width, 4))
    return [each.resize(size, filter) for each in (tall, wide, opened("tall.jpg"))
            for size in ((3, 3), (1, 50), (40, 1), (2, 30)) for filter in (1, 2, 3, 4, 5)]


@case
def transposes():
    return [attempt(lambda: opened().transpose(method)) for method in (0, 1, 2, 3, 4, 5, 6, 7, "x")]


@case
def transposes_by_name():
    names = getattr(Image, "Transpose", Image)
    image = opened().transpose(names.FLIP_LEFT_RIGHT)
    return image, image.transpose(names.FLIP_LEFT_RIGHT), image.transpose(names.ROTATE_90)


@case
def after_a_flip():
    image = opened().transpose(0)
    return image.crop((1, 2, 20, 30)), image.resize((10, 10)), image.convert("RGB"), image.copy()


@case
def mode_changes():
    modes = ["1", "L", "P", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "F", "I", "XYZ", "",
             None, "LA"]
    return [attempt(lambda mode=mode: opened().convert(mode)) for mode in modes]


@case
def conversions_with_more():
    matrix = (0.4, 0.3, 0.2, 0, 0.1, 0.8, 0.1, 0, 0.2, 0.2, 0.6, 0)
    return (opened().convert("RGB", matrix).tobytes(), opened().convert("L", dither=0),
            opened().convert("P", palette=1, colors=7), opened().convert(mode="RGB"),
            opened().quantize(8))


@case
def several_views_of_one():
    image = opened().convert("RGB")
    crops = [image.crop((i, 2 * i, i + 30, i + 40)).resize((24, 24), 2) for i in range(10)]
    return crops, image


@case
def in_place():
    image = opened().crop((0, 0, 50, 50))
    image.putpixel((1, 1), (5, 6, 7))
    image.paste((10, 20, 30), (5, 5, 9, 9))
    ImageDraw.Draw(image).line((0, 0, 40, 40), fill=(255, 0, 0))
    image.putalpha(7)
    return image


@case
def in_place_on_a_file():
    image = opened()
    ImageDraw.Draw(image).rectangle((3, 3, 20, 20), fill=(1, 2, 3))
    image.paste(opened("small.jpg"), (4, 4))
    image.frombytes(bytes(image.width * image.height * 3))
    return image


@case
def pasting_a_plan():
    canvas = Image.new("RGB", (80, 80))
    canvas.paste(opened().crop((0, 0, 40, 40)), (7, 7))
    canvas.paste(opened("small.jpg"), (50, 50), opened("small.jpg").convert("L"))
    return canvas, Image.blend(canvas, canvas.transpose(0), 0.3)


@case
def pixels():
    image = opened().resize((30, 20), 3)
    return (image.getpixel((2, 2)), list(image.getdata())[:9], image.getbbox(), image.histogram(),
            image.getextrema(), image.getcolors(10000) is None, image.getbands(),
            image.getprojection())


@case
def byte_forms():
    image = opened().convert("RGB")
    return (image.tobytes(), image.tobytes("raw"), image.tobytes("raw", "BGR"),
            image.tobytes("raw", "RGB", 0, -1), opened().tobytes("raw", "RGB"),
            opened().tobytes("raw", ("RGB",)), attempt(lambda: image.tobytes("nothing")),
            attempt(lambda: opened().tobytes("jpeg", "RGB", "")),
            attempt(lambda: opened().tobytes("raw", "XXX")))


@case
def many_operations():
    plan = opened().crop((4, 4, 60, 61))
    return (ImageOps.invert(plan), ImageOps.autocontrast(plan), ImageChops.add(plan, plan),
            plan.filter(ImageFilter.BLUR), ImageEnhance.Color(plan).enhance(0.3),
            plan.rotate(33, expand=True), plan.point(lambda v: 255 - v), plan.reduce(2),
            plan.getchannel("G"), plan.split(), Image.merge("RGB", plan.split()[::-1]),
            plan.transform((20, 20), 0, (1, 0.2, 3, 0, 1, 4)), ImageStat.Stat(plan).mean,
            ImageOps.fit(plan, (20, 30)), ImageOps.pad(plan, (40, 20)), plan.effect_spread(0),
            ImageOps.expand(plan, 3), ImageOps.mirror(plan), ImageOps.flip(plan),
            ImageOps.equalize(plan), ImageOps.posterize(plan, 3), plan.entropy())


@case
def saves():
    results = []
    for kind in ("PNG", "JPEG", "BMP", "PPM", "TIFF", "GIF", "WEBP"):
        stream = io.BytesIO()
        saved = attempt(lambda: opened().crop((0, 0, 33, 44)).save(stream, kind))
        results.append((kind, saved, stream.getvalue()))
    stream = io.BytesIO()
    opened().save(stream, "JPEG", quality="keep")
    return results, stream.getvalue()


@case
def attributes():
    image = opened().convert("RGB")
    return (image.width, image.height, image.im.mode, image.im.size, image.im.bands, image.palette,
            image.format, type(image) is Image.Image, image.is_animated if
            hasattr(image, "is_animated") else None, image.im is image.im, hasattr(image, "im"),
            attempt(lambda: image.nothing), image.getpalette())


@case
def core_given_and_taken():
    image, other = opened().convert("RGB"), opened("small.jpg").convert("RGB")
    image.im = other.im
    image._size = other.size
    return image


@case
def other_formats():
    png, gif = io.BytesIO(), io.BytesIO()
    opened().save(png, "PNG")
    opened().convert("P").save(gif, "GIF")
    images = [cases.reopened(each.getvalue()) for each in (png, gif)]
    return [(each, each.convert("RGB").crop((2, 2, 30, 30)).resize((10, 10), 2).transpose(0),
             copy.copy(each)) for each in images]


@case
def threads():
    results = {}

    def work(number):
        for turn in range(6):
            image = opened().convert("RGB").crop((number, turn, number + 40, turn + 41))
            results[number, turn] = image.resize((24, 24), 2).tobytes()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(results.items())


@case
def threads_on_one_image():
    image = opened("large.jpg").convert("RGB")
    barrier, results = threading.Barrier(8), []

    def work(number):
        barrier.wait()
        image.putpixel((number, 0), (number, number, number))
        results.append(image.getpixel((number, 0)))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(results), image


@case
def forked_while_decoding():
    stop = threading.Event()

    def decode():
        while not stop.is_set():
            opened("large.jpg").convert("RGB").resize((50, 50), 2).tobytes()

    workers = [threading.Thread(target=decode) for _ in range(2)]
    for worker in workers:
        worker.start()
    statuses, expected = [], opened().tobytes()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0 if opened().tobytes() == expected else 1)
        statuses.append(os.waitpid(child, 0)[1])
    stop.set()
    for worker in workers:
        worker.join()
    return statuses


# ---- other libraries ----

@case
def arrays():
    import numpy
    image = opened().convert("RGB").crop((1, 1, 31, 41))
    return (numpy.asarray(opened()), numpy.array(image), numpy.array(image, copy=True),
            numpy.asarray(image, dtype="float32"), numpy.asarray(image.transpose(0)),
            sorted(image.__array_interface__), Image.fromarray(numpy.array(image)))


@case
def arrow():
    image = opened().crop((0, 0, 20, 20))
    if not hasattr(image, "__arrow_c_array__"):
        return None
    return [type(each).__name__ for each in image.__arrow_c_array__()]


cases.tell()
