"""Where and when pixels are made, as the number of decoded images so far shows. Argument: a
directory of JPEGs."""

import concurrent.futures
import io
import json
import os
import sys
import warnings

from PIL import ImageOps

import cases
import stoker
from cases import Image, case

DIRECTORY = sys.argv[1]
del sys.argv[1]
KEPT, WORKERS, EPOCHS = 150, 3, 3


def opened(name="color.jpg"):
    return Image.open(os.path.join(DIRECTORY, name))


def decoded(function, *arguments):
    """(what it returned, how many images were decoded meanwhile)."""
    before = stoker.counts()["images"]
    result = function(*arguments)
    return result, stoker.counts()["images"] - before


def loaded(image):
    image.load()
    return image


def turned(image):
    """As newer versions' exif_transpose does it."""
    space = {"__name__": ImageOps.__name__}
    exec("def turned(image):\n    image.load()\n    return image.copy()", space)
    return space["turned"](image)


MAKERS = {"load": loaded, "convert": lambda image: image.convert("RGB"),
          "copy": lambda image: image.copy(), "crop": lambda image: image.crop((1, 1, 9, 9)),
          "resize": lambda image: image.resize((20, 20), 2),
          "flip": lambda image: image.transpose(0),
          "turn": ImageOps.exif_transpose, "inside": turned}


def here_and_behind(image, run):
    """How many images were decoded by what the image went through, and by looking at it."""
    image, made = decoded(run, image)
    return made, decoded(image.tobytes)[1]


@case
def in_the_main_thread():
    return {name: here_and_behind(opened(), maker) for name, maker in MAKERS.items()}


@case
def behind_load():
    """In the main thread, in another one, and from bytes."""
    def of_bytes():
        with open(os.path.join(DIRECTORY, "color.jpg"), "rb") as file:
            return Image.open(io.BytesIO(file.read()))

    def in_thread(image):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(loaded, image).result()
    def kept(image):
        return image, image.load()

    ways = {"file": (opened, loaded), "bytes": (of_bytes, loaded), "thread": (opened, in_thread),
            "result kept": (opened, lambda image: kept(image)[0])}
    return {name: here_and_behind(make(), load) for name, (make, load) in ways.items()}


@case
def pixels_behind_load():
    """The pixel access of load() shows what is changed of the image, and changes it."""
    image = opened()
    access = image.load()
    image.putpixel((3, 4), (1, 2, 3))
    access[5, 6] = 9, 8, 7
    return access[3, 4], image.getpixel((5, 6)), access[0, 0], image.getpixel((0, 0))


@case
def in_another_thread():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return {name: here_and_behind(opened(), lambda image, maker=maker:
                                      pool.submit(maker, image).result())
                for name, maker in MAKERS.items()}


@case
def in_a_thread_that_forked():
    """The child's only thread is its main thread."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(in_a_child, lambda: here_and_behind(opened(), MAKERS["convert"])).result()


def in_a_child(function):
    """Returns the function's result in a process of its own."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from 3.12 on, of forking beside threads
        pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, json.dumps(function()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        said = answer.read()
    os.waitpid(pid, 0)
    return json.loads(said)


def kept():
    return [opened().convert("RGB") for _ in range(KEPT)]


def epochs(images):
    """As persistent workers do: each a part of the images, in each epoch another."""
    def epoch():
        for image in images:
            image.crop((2, 2, 40, 30)).resize((16, 16), 2).tobytes()
    return [decoded(epoch)[1] for _ in range(EPOCHS)]


@case
def kept_by_the_parent():
    """(decoded when they were made, and what each worker decodes in its epochs)."""
    images, made = decoded(kept)
    return made, [in_a_child(lambda: epochs(images)) for _ in range(WORKERS)]


@case
def opened_by_the_parent():
    """Images that Pillow has not read either."""
    images, made = decoded(lambda: [opened() for _ in range(KEPT)])
    return made, decoded(lambda: in_a_child(lambda: 0))[1], in_a_child(lambda: epochs(images[:3]))


@case
def thrown_away():
    """Each is dropped before the next one comes."""
    def work():
        for _ in range(KEPT):
            opened().convert("RGB").crop((2, 2, 40, 30)).resize((16, 16), 2)
    return decoded(work)[1]


def crops(count, images=1):
    """Takes so many crops of each of some images. Returns how many images each was decoded as."""
    def work(image):
        for _ in range(count):
            image.crop((2, 2, 40, 30)).tobytes()
    return [decoded(work, opened().convert("RGB"))[1] for _ in range(images)]


@case
def used_several_times():
    """Eight images of two crops, then some more; one of which only one crop is taken at times, and then always."""
    crops(1)
    return crops(2, 8), crops(2, 23), crops(2, 4), crops(1), crops(2, 2), crops(1, 28), crops(2, 1)


@case
def damaged():
    """Only the caller that wants the pixels gets an error."""
    with open(os.path.join(DIRECTORY, "color.jpg"), "rb") as file:
        data = bytearray(file.read())
    image = Image.open(io.BytesIO(data)).convert("RGB")
    plan = vars(image)["_im" if "_im" in vars(image) else "im"]
    plan.source.data = b"no longer a JPEG"
    kept()
    in_a_child(lambda: 0)
    return cases.outcome(image.tobytes)[:2]


cases.tell()
