#!/usr/bin/python3
"""Random cases against the installed Pillow: not one byte may differ.

    tests/decode/exact.py --cases 10000          seeds 1 to 10,000
    tests/decode/exact.py --seed 123             one of them, with what it is
"""
import argparse
import ctypes
import io
import multiprocessing
import os
import sys

import numpy
import PIL
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import decoder  # noqa: E402
from cases import Case  # noqa: E402

NUMBERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
KERNELS = ("c", "avx2", "vnni", "avx512", "neon")
MEAN, STD = (0.485, 0.456, 0.406, 0.5), (0.229, 0.224, 0.225, 0.25)


def resizer_of(version):
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers >= (13, 0):
        return decoder.SHRINK_VERTICAL
    return decoder.TALL_VERTICAL if numbers >= (12, 2) else decoder.HORIZONTAL


RESIZER = resizer_of(PIL.__version__)


def all_decoders():
    """One for each kind of kernel that this machine can run."""
    found = [decoder.Decoder(name) for name in KERNELS]
    return {one.simd: one for one in found}


def more_decoders():
    """Other ways to the coefficients: libjpeg's, and each number of cursors by some kernel."""
    found = {"libjpeg": decoder.Decoder(entropy="libjpeg")}
    for cursors, name in zip((1, 2, 3, 4, 4), KERNELS[:3] * 2):
        one = decoder.Decoder(name, cursors)
        found["%s with %d cursors" % (one.simd, cursors)] = one
    return found


DECODERS = all_decoders()
MORE_DECODERS = more_decoders()


def tables():
    table = (ctypes.c_float * 1024)()
    for channel in range(4):
        part = (ctypes.c_float * 256).from_buffer(table, channel * 1024)
        decoder.LIBRARY.test_table(part, ctypes.byref(ctypes.c_float(MEAN[channel])),
                                   ctypes.byref(ctypes.c_float(STD[channel])))
    return table


TABLE = tables()


def turned(case, image):
    for bit, method in ((1, Image.FLIP_LEFT_RIGHT), (2, Image.FLIP_TOP_BOTTOM), (4, Image.TRANSPOSE)):
        if case.turn & bit:
            image = image.transpose(method)
    return image


def reference_image(case, image):
    """The plan of a turned image as a user of Pillow writes it."""
    if image.mode == "L" and case.channels != 1:
        image = image.convert("RGB")
    image = image.crop(case.crop)
    if case.out:
        image = image.resize(case.out, NUMBERS[case.filter], box=case.box)
    if case.window:
        image = image.crop(case.window)
    if case.flip & 1:
        image = image.transpose(Image.FLIP_LEFT_RIGHT)
    if case.flip & 2:
        image = image.transpose(Image.FLIP_TOP_BOTTOM)
    return image


def reference_bytes(case, image):
    raw = "RGBX" if case.channels == 4 else image.mode
    pixels = numpy.frombuffer(image.tobytes("raw", raw), numpy.uint8)
    pixels = pixels.reshape(image.height, image.width, case.channels)
    if case.floats:
        table = numpy.frombuffer(TABLE, numpy.float32).reshape(4, 256)
        pixels = numpy.stack([table[c][pixels[..., c]] for c in range(case.channels)], axis=2)
    if case.planes:
        pixels = pixels.transpose(2, 0, 1)
    return numpy.ascontiguousarray(pixels).tobytes()


def open_image(data):
    """Pillow reads pieces, across which arithmetic coding cannot be suspended: one large piece."""
    image = Image.open(io.BytesIO(data))
    image.decodermaxblock = len(data) + 1024
    image.load()
    return image


def stored(image):
    """(bytes, size, channels) as Pillow has them in memory."""
    if image.mode == "L":
        return image.tobytes(), image.size, 1
    return image.tobytes("raw", "RGBX"), image.size, 4


def plan_of(case, turn=None):
    return decoder.plan_for(case.size, case.crop, case.out, case.box, case.filter, RESIZER, case.flip,
                            case.channels, case.planes, TABLE if case.floats else None,
                            case.window, case.turn if turn is None else turn)


def can_be_played(case):
    """Returns true if Stoker's own parser must take it: sequential, Huffman codes."""
    return case.kind["coding"] in ("baseline", "optimised")


def decoded_otherwise(name, one, case, data):
    """Returns the result, and what is wrong with how it came to its coefficients; None: nothing."""
    expected = can_be_played(case) and one.entropy != "libjpeg"
    result = one.decode(data, plan_of(case))
    if one.was_played() != expected:
        return result, "%s: %s" % (name, "not played" if expected else "played")
    return result, None


def second_touch(case, data):
    """
    (name, way, (result, pixels)) of each kind of kernel: with making the form, and from it; and
    what is wrong with the forms.
    """
    found, wrong, forms = [], [], {}
    for name, one in DECODERS.items():
        result, pixels, forms[name] = one.keep(data, plan_of(case))
        found.append((name, "keep", (result, pixels)))
    wanted = forms["c"]
    if not wanted:
        return found, ["no form"]
    wrong += ["the form by %s is another one" % name for name in forms if forms[name] != wanted]
    found += [(name, "form", one.decode_form(wanted, plan_of(case)))
              for name, one in DECODERS.items()]
    result, info, header, size = decoder.examine_form(wanted)
    examined = MORE_DECODERS["libjpeg"].examine(data)[1]
    if result != decoder.OK or bytes(info) != bytes(examined) or size != len(data) or \
            not data.startswith(header) or data.find(b"\xff\xda") >= len(header):
        wrong.append("the form says something else of its file")
    return found, wrong


def differences(seed):
    """Returns the differences, as lines; none is wanted."""
    case = Case(seed)
    data = case.make()
    image = turned(case, open_image(data))
    expected, plan, found = reference_bytes(case, reference_image(case, image)), plan_of(case, 0), []
    results = []
    for name, one in {**DECODERS, **MORE_DECODERS}.items():
        result, wrong = decoded_otherwise(name, one, case, data)
        results.append((name, "decode", result))
        found += [wrong] if wrong else []
    more, wrong = second_touch(case, data)
    results += more
    found += wrong
    for name, one in DECODERS.items():
        results.append((name, "transform", one.transform(
            image.tobytes(), image.size, 1 if image.mode == "L" else 3, plan)))
        results.append((name, "stored", one.transform(
            *stored(image), plan, image.mode != "L", 1 + seed % 7 * (seed % 50))))
    for name, way, (result, pixels) in results:
        if result != decoder.OK:
            found.append("%s %s: result %d" % (name, way, result))
        elif pixels != expected:
            found.append("%s %s: %d bytes differ" % (name, way, sum(
                a != b for a, b in zip(pixels, expected))))
    return ["%s\n    %s" % (case, "\n    ".join(found))] if found else []


def check(seeds, jobs):
    """All differences of many seeds."""
    if jobs == 1:
        return [line for seed in seeds for line in differences(seed)]
    with multiprocessing.Pool(jobs) as pool:
        return [line for lines in pool.imap_unordered(differences, seeds, 20) for line in lines]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    seeds = [args.seed] if args.seed else range(args.first, args.first + args.cases)
    if args.seed:
        print(Case(args.seed))
    failures = check(seeds, 1 if args.seed else args.jobs)
    for line in failures:
        print(line, file=sys.stderr)
        print("    alone: %s %s --seed %s" % (sys.executable, sys.argv[0],
                                              line.split()[1].rstrip(":")), file=sys.stderr)
    print("Pillow %s, %s: %d passed, %d failed" % (PIL.__version__, "+".join(DECODERS),
                                                   len(seeds) - len(failures), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
