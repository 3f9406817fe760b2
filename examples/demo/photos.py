#!/usr/bin/python3
"""Makes a data set shaped like ImageNet out of photographs that Debian packages ship.

    python3 photos.py DIR --images 2000

DIR gets train/n00000001/n00000001_00001.JPEG and so on: pieces of about 500x375 pixels and 75 to
110 KB. They are cut at random places out of the photographs below, at random sizes. The seed is
fixed: the same arguments give the same files. A class holds pieces of one or two photographs, so there is
something to learn. Needs Pillow and the packages; nothing else.

The photographs, 25 in all, and their licences as their packages state them:
  lomiri-wallpapers-16.04  CC-BY-4.0, CC-BY-SA-4.0 and CC0-1.0, by the people in the file names
  palapeli-data            public domain, GFDL and GPL-2+: E. Pouhier, D. Jensen, J. Severns,
                           B. Navez, US Department of Agriculture
  mate-backgrounds         GPL-2+: C. Barbin, H. Bons, M. Cogoni, T. Schellhase and others
The images made from them stay on the machine that made them.
"""

import argparse
import functools
import io
import multiprocessing
import os
import random
import shutil
import signal
import sys

from PIL import Image

PHOTOGRAPHS = {
    "/usr/share/backgrounds": (
        "Bridge_by_Sander_Klootwijk", "Dragonfly_by_Bolly", "Picture_0B_by_freespace",
        "Picture_1A_by_freespace", "Wine_by_Jakkub_Mede", "aitzgorri_by_Aitzol_Berasategi",
        "friends_by_Aitzol_Berasategi", "life_by_Aitzol_Berasategi",
        "picosdeeuropa_by_Aitzol_Berasategi", "seeding_by_Clements_Engelhardt",
        "sunset_by_Aitzol_Berasategi"),
    "/usr/share/palapeli/collection": (
        "castle-maintenon", "cincinnati-bridge", "citrus-fruits", "european-honey-bee",
        "panther-chameleon-female"),
    "/usr/share/backgrounds/mate/nature": (
        "Blinds", "Dune", "Garden", "GreenMeadow", "LadyBird", "RainDrops", "TwoWings", "Wood",
        "YellowFlower"),
}
PACKAGES = ("lomiri-wallpapers-16.04", "palapeli-data", "mate-backgrounds")

PIECE = (500, 375)
SMALLEST_BYTES, LARGEST_BYTES = 75_000, 110_000
# Up to 99 only where blur and sky would stay too small.
QUALITIES = (75, 80, 85, 88, 90, 92, 94, 95, 96, 97, 98, 99)
PLACES_TRIED = 12


def find_photographs():
    paths = [os.path.join(directory, name + ".jpg")
             for directory, names in PHOTOGRAPHS.items() for name in names]
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        raise FileNotFoundError("%s is not there: install %s" % (missing[0], " ".join(PACKAGES)))
    return paths


@functools.lru_cache(maxsize=1)
def load(path):
    with Image.open(path) as image:
        return image.convert("RGB")


def cut(photograph, choose):
    """A piece of the photograph at a random place, of a random size, upright or lying."""
    width, height = PIECE if choose.random() < 0.8 else PIECE[::-1]
    largest = min(photograph.width / width, photograph.height / height)
    zoom = choose.uniform(min(1.0, largest), min(largest, 6.0))
    left = choose.uniform(0, photograph.width - width * zoom)
    top = choose.uniform(0, photograph.height - height * zoom)
    box = (left, top, left + width * zoom, top + height * zoom)
    return photograph.resize((width, height), Image.BICUBIC, box, reducing_gap=2.0)


def encode(image, quality):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def encode_to_size(image):
    """The JPEG at a quality that gives the wanted size; a smaller one, if none does."""
    low, high = 0, len(QUALITIES) - 1
    best = b""
    while low <= high and len(best) < SMALLEST_BYTES:
        middle = (low + high + 1) // 2
        content = encode(image, QUALITIES[middle])
        if len(content) > LARGEST_BYTES:
            high = middle - 1
        else:
            best, low = content, middle + 1
    return best


def make_piece(path, choose):
    """Sky and blur give small files at any quality: then another place is tried."""
    best = b""
    for _ in range(PLACES_TRIED):
        best = max(best, encode_to_size(cut(load(path), choose)), key=len)
        if len(best) >= SMALLEST_BYTES:
            break
    return best


def make_some(task):
    """All pieces of one class that come from one photograph; how many."""
    path, directory, numbers, seed = task
    name = os.path.basename(directory)
    for number in numbers:
        content = make_piece(path, random.Random("%d %s %d" % (seed, name, number)))
        with open(os.path.join(directory, "%s_%05d.JPEG" % (name, number)), "wb") as file:
            file.write(content)
    return len(numbers)


def tasks_of(directory, classes, per_class, seed):
    """Each class draws from its own photographs, as long as there are enough of them."""
    photographs = find_photographs()
    for index in range(classes):
        own = photographs[index % len(photographs)::classes]
        folder = os.path.join(directory, "train", "n%08d" % (index + 1))
        os.makedirs(folder)
        for turn, path in enumerate(own):
            numbers = range(turn + 1, per_class + 1, len(own))
            # Small tasks: the progress moves, and the processes end together.
            for start in range(0, len(numbers), 20):
                yield path, folder, numbers[start:start + 20], seed


def leave_signals_to_parent():
    """Ctrl-C reaches all processes, but one decides. TERM ends a worker without a word."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def make_photos(directory, classes=20, per_class=100, seed=1, progress=None):
    """Makes the set in `directory`, whole or not at all. progress(done, total) is called often."""
    partial = directory + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    done, total = 0, classes * per_class
    tasks = list(tasks_of(partial, classes, per_class, seed))
    try:
        with multiprocessing.Pool(initializer=leave_signals_to_parent) as pool:
            for count in pool.imap_unordered(make_some, tasks):
                done += count
                if progress:
                    progress(done, total)
        os.rename(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", metavar="DIR", help="is made; must not exist")
    parser.add_argument("--images", type=int, default=2000, help="(%(default)s)")
    parser.add_argument("--classes", type=int, default=20, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    arguments = parser.parse_args()
    if os.path.exists(arguments.directory):
        parser.error("%s is there already" % arguments.directory)

    def show(done, total):
        print("\r%d of %d photographs" % (done, total), end="", file=sys.stderr, flush=True)

    make_photos(arguments.directory.rstrip("/"), arguments.classes,
                -(-arguments.images // arguments.classes), arguments.seed, show)
    print(file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ImportError) as error:
        sys.exit("photos.py: %s" % error)
