"""PNGs are loaded as by Pillow, whatever is in them, and what differs is left to Pillow."""

import json
import subprocess
import sys

import PIL
import pytest
from matrix import record
from slices import ALL

REPORT = """
import io, json
from PIL import Image
import stoker._pillow.hook
stoker._pillow.hook.install()
file = io.BytesIO()
Image.frombytes("RGB", (64, 64), bytes(n * n % 251 for n in range(64 * 64 * 3))).save(file, "PNG")
pixels = sum(Image.open(file).tobytes())
import stoker
from stoker._pillow import png_check
print(json.dumps([sorted(png_check.proven()), stoker.counts()["pngs"], pixels]))
"""


@pytest.fixture
def report(environment, tmp_path):
    def run(before="", home=tmp_path):
        done = subprocess.run([sys.executable, "-B", "-c", before + REPORT], text=True, capture_output=True,
                              env={**environment, "XDG_CACHE_HOME": str(home)})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def test_random_files(compare, tmp_path):
    count = 10_000 if ALL else 1500
    outcomes, counts = compare("pngs.py", tmp_path, 0, count)
    assert len(outcomes) == count
    assert counts["pngs"] > count / 6
    returned = sum(outcome[0] == "returned" for outcome in outcomes.values())
    assert count / 3 < returned < count, "what Pillow refuses is asked for, too"
    record("Pillow under the hook", "PNGs, sound and damaged", PIL.__version__, f"{count} cases", "same")


def test_every_mode_is_proven(report):
    modes, pngs, _ = report()
    assert modes == ["L", "P", "RGB", "RGBA"]
    assert pngs == 1


WRONG = """
from stoker import _core
from stoker._pillow import png_decoder
class Core:
    def __getattr__(self, name):
        return getattr(_core, name)
    def png(self, core, bands, size, *more):
        done = _core.png(core, bands, size, *more)
        if done and core.mode == "RGB":
            core.putpixel((0, 0), (1, 2, 3))
        return done
png_decoder._core = Core()
"""


def test_a_mode_that_differs_is_left_to_pillow(report, tmp_path):
    good = report(home=tmp_path / "good")
    modes, pngs, pixels = report(WRONG, home=tmp_path / "wrong")
    assert modes == ["L", "P", "RGBA"]
    assert pngs == 0 and pixels == good[2]


def test_the_answer_is_remembered(report, tmp_path):
    first = report()
    kept, = (path for path in (tmp_path / "stoker").iterdir() if path.name.startswith("png-"))
    forbidden = "from stoker._pillow import png_check as c\ndef no():\n    raise SystemExit('again')\nc._holds = no\n"
    assert report(forbidden) == first
    kept.write_text("L\n.")
    assert report()[:2] == [["L"], 0]


def said(environment, code, place):
    done = subprocess.run([sys.executable, "-B", "-c", REPORT + code], text=True, capture_output=True, cwd=place,
                          env={**environment, "XDG_CACHE_HOME": str(place)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


MANY = """
file.seek(0, 2)
file.write(bytes(64 << 20))
with open("many", "wb") as many:
    many.write(file.getvalue())
with open("/proc/self/io") as io_before:
    read = int(io_before.readline().split()[1])
with open("many", "rb") as many:
    Image.open(many).load()
with open("/proc/self/io") as io_after:
    read = int(io_after.readline().split()[1]) - read
print(json.dumps([stoker.counts()["pngs"], read]))
"""


def test_no_more_is_read_than_the_image(environment, tmp_path):
    pngs, read = said(environment, MANY, tmp_path)
    assert pngs == 2 and read < 1 << 20


CHOSEN = """
plain, chosen = Image._getdecoder, []
Image._getdecoder = lambda *arguments: chosen.append(arguments[1]) or plain(*arguments)
file.seek(0)
Image.open(file).load()
print(json.dumps([stoker.counts()["pngs"], chosen]))
"""


def test_a_program_that_chooses_the_decoder(environment, tmp_path):
    assert said(environment, CHOSEN, tmp_path) == [1, ["zip"]]
