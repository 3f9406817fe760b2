"""Blends, conversions, filters and warps give Pillow's bytes, and what differs is left to Pillow."""

import json
import subprocess
import sys

import PIL
import pytest
from matrix import record
from slices import ALL

REPORT = """
import json
from PIL import Image, ImageEnhance, JpegImagePlugin
import stoker._pillow.hook
stoker._pillow.hook.install()
from stoker._pillow import operations_check
image = Image.frombytes("RGB", (64, 64), bytes(n * n % 251 for n in range(64 * 64 * 3)))
image = ImageEnhance.Color(image).enhance(0.3).rotate(20, 2).convert("HSV")
import stoker
operations_check.proves("blend")
print(json.dumps([sorted(operations_check._proven), stoker.counts()["operations"], sum(image.tobytes())]))
"""

# All three bytes at once of 65,536 colours, and of every so many of the third bytes.
COLOURS = """
from PIL import Image
import sys
from stoker._pillow import check, operate, operations_check
low = bytes(range(256)) * 256
high = b"".join(bytes([n]) * 256 for n in range(256))
for n in range(0, 256, int(sys.argv[1])):
    planes = [Image.frombytes("L", (256, 256), plane) for plane in (low, high, bytes([n]) * 65536)]
    for before, after in ("RGB", "L"), ("RGB", "HSV"), ("HSV", "RGB"):
        core = Image.merge(before, planes).im
        ours, pillows = operate.convert(core, after), core.convert(after, 3)
        same = Image.new(after, (1, 1))._new(ours).tobytes() == Image.new(after, (1, 1))._new(pillows).tobytes()
        assert same, (before, after, n)
    core = Image.merge("RGB", planes).im
    ours, pillows = operate.recolour(core, (operate.HUE, n)), operations_check._turned(core, n)
    assert check.stored(ours) == check.stored(pillows), n
print("same")
"""

# Shares of all kinds: those that integers stand for, and those next to an integer's product.
SHARES = """
import random
from PIL import Image
from stoker._pillow import check, operate, operations_check
numbers = random.Random(4)
plane = bytes(range(256)) * 256
a = Image.frombytes("L", (256, 256), plane)
b = a.transpose(Image.TRANSPOSE)
noise = Image.frombytes("RGB", (77, 53), numbers.randbytes(3 * 77 * 53)).im
shares = [numbers.uniform(*ends) for ends in ((0, 2), (0.6, 1.4), (-3, 4), (-99, 101)) for _ in range(60)]
shares += [n / 30 for n in range(-10, 70)] + [n / 100 for n in range(0, 200, 7)] + [0.5, 1.5, -0.5, 99.9999, -100.0, 1e6]
for share in shares:
    assert check.stored(operate.blend(a.im, b.im, share)) == check.stored(Image.core.blend(a.im, b.im, share)), share
    for kind in operate.BRIGHTNESS, operate.CONTRAST, operate.SATURATION:
        pillows = Image.core.blend(operations_check._without(noise, kind), noise, share)
        assert check.stored(operate.recolour(noise, (kind, share))) == check.stored(pillows), (kind, share)
print("same")
"""

# Rows of all lengths, with values in all orders and at both ends.
ROWS = """
import random
from PIL import Image, ImageFilter
from stoker._pillow import check, operate
numbers = random.Random(5)
size, scale, offset, weights = ImageFilter.SMOOTH.filterargs
for width in (*range(1, 70), 127, 128, 129, 224, 700):
    for mode, bands in operate.BANDS.items():
        random_bytes = numbers.randbytes(width * 5 * bands)
        for pixels in random_bytes, bytes(255 * (value > 127) for value in random_bytes):
            core = Image.frombytes(mode, (width, 5), pixels).im
            values = numbers.randbytes(256 * bands)
            assert check.stored(operate.look_up(core, values)) == check.stored(core.point(list(values), None)), width
            smooth = core.filter(size, scale, offset, weights)
            assert check.stored(operate.weigh_nine(core, weights, scale)) == check.stored(smooth), width
print("same")
"""

KINDS = ["HSVRGB", "LRGB", "RGBHSV", "RGBL", "autocontrast", "blend", "blur", "colours", "equalize", "invert", "nine",
         "posterize", "solarize", "table", "warp"]
TABLES = ["autocontrast", "equalize", "invert", "posterize", "solarize", "table"]


@pytest.fixture(scope="module")
def report(environment, tmp_path_factory):
    def run(code=REPORT, *arguments, before="", home=None, **more):
        env = {**environment, "XDG_CACHE_HOME": str(home or tmp_path_factory.mktemp("home")), **more}
        done = subprocess.run([sys.executable, "-B", "-c", before + code, *arguments], env=env, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture(scope="module")
def good(report):
    return json.loads(report())


def test_random_operations(compare, jpegs):
    count = 20_000 if ALL else 2000
    outcomes, counts = compare("operations.py", jpegs, 0, count)
    assert len(outcomes) == count
    assert counts["operations"] > count / 3
    returned = sum(outcome[0] == "returned" for outcome in outcomes.values())
    assert count / 3 < returned < count, "what Pillow refuses is asked for, too"
    record("Pillow under the hook", "operations on other images", PIL.__version__, f"{count} cases", "same")


@pytest.mark.parametrize("simd", ["c", "avx2", "avx512"])
def test_all_colours(report, simd):
    assert report(COLOURS, "1" if ALL else "5", STOKER_SIMD=simd) == "same\n"


@pytest.mark.parametrize("simd", ["c", "avx2", "avx512"])
@pytest.mark.parametrize("code", [SHARES, ROWS], ids=["shares", "rows"])
def test_all_shares_and_rows(report, simd, code):
    assert report(code, STOKER_SIMD=simd) == "same\n"


@pytest.mark.parametrize("simd", ["c", "avx2", "avx512"])
def test_everything_is_proven(report, simd):
    proven, operations, _ = json.loads(report(STOKER_SIMD=simd))
    assert proven == KINDS
    assert operations == 5  # to grey and back, a blend, a warp, to HSV


def wrong(name):
    """Returns code that has a function of the C code do its work, and change a byte."""
    return f"""
from stoker import _core
from stoker._pillow import operate
class Core:
    def __getattr__(self, name):
        if name != {name!r}:
            return getattr(_core, name)
        def function(new, *arguments):
            failed = getattr(_core, name)(new, *arguments)
            new.putpixel((0, 0), 1 if new.mode == "L" else (1, 2, 3))
            return failed
        return function
operate._core = Core()
"""


@pytest.mark.parametrize("name,kinds", [("blend", ["blend"]), ("blur", ["blur"]), ("weigh_nine", ["nine"]),
                                        ("warp", ["warp"]), ("recolour", ["colours"]), ("look_up", TABLES), ("convert", ["HSVRGB", "LRGB", "RGBHSV", "RGBL"])])
def test_what_differs_is_left_to_pillow(report, good, tmp_path, name, kinds):
    proven, operations, total = json.loads(report(before=wrong(name), home=tmp_path / "wrong"))
    assert proven == [kind for kind in KINDS if kind not in kinds]
    assert total == good[2] and operations <= good[1]


def test_the_answer_is_remembered(report, tmp_path):
    first = report(home=tmp_path)
    kept, = (path for path in (tmp_path / "stoker").iterdir() if path.name.startswith("operations-"))
    forbidden = "from stoker._pillow import operations_check as o\ndef no():\n    raise SystemExit('again')\n"
    assert report(before=forbidden + "o._KINDS = dict.fromkeys(o._KINDS, no)\n", home=tmp_path) == first
    kept.write_text("blend\n.")
    assert json.loads(report(home=tmp_path))[0] == ["blend"]
