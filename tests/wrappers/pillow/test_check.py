"""The self-test: what is proven, how it is remembered, and that what differs is left to Pillow."""

import json
import os
import subprocess
import sys

import pytest
from conftest import BUILD

REPORT = """
import json, sys, io
import stoker
from stoker import Image
found = stoker.Image.open(sys.argv[1]).convert("RGB").resize((20, 20), 2).tobytes()
from stoker._pillow import check
p = check.proven()
counts = {name: stoker.counts()[name] for name in ("images", "settled", "resized")}
print(json.dumps([len(p.samplings), sorted(p.filters), p.rgb, counts, sum(found)]))
"""


@pytest.fixture
def report(jpegs, environment, tmp_path):
    def run(code=REPORT, before="", home=tmp_path, **more):
        env = {**environment, "XDG_CACHE_HOME": str(home), **more}
        done = subprocess.run([sys.executable, "-B", "-c", before + code, jpegs / "color.jpg"],
                              env=env, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def test_everything_is_proven(report):
    samplings, filters, rgb, counts, _ = report()
    assert samplings == 7 and filters == [1, 2, 3, 4, 5] and rgb is True
    assert counts == {"images": 1, "settled": {}, "resized": 0}


@pytest.mark.parametrize("simd", ["c", "avx2", "vnni", "avx512", "neon"])
def test_by_every_kernel(report, simd):
    assert report(STOKER_SIMD=simd)[:3] == report()[:3]


def test_the_answer_is_remembered(report, tmp_path):
    first = report()
    kept, = (tmp_path / "stoker").iterdir()
    assert kept.name.startswith("pillow-") and kept.stat().st_mode & 0o077 in (0, 0o044)
    forbidden = "from stoker._pillow import check\ndef no():\n    raise SystemExit('asked again')\n"
    assert report(before=forbidden + "check._is_same = no\n") == first
    whole = kept.read_text()
    for broken in "nonsense", "", "\0" * len(whole), whole[:-1], whole[:len(whole) // 2]:  # as a lost machine leaves it
        kept.write_text(broken)
        assert report() == first and kept.read_text() == whole
    kept.write_text(".")
    assert report()[3] == {"images": 0, "settled": {"unproven": 1}, "resized": 0}


@pytest.mark.parametrize("before", [
    "from stoker import _core; _core.LOADED_NS = 0\n",
    "from stoker._pillow import check\ndef full(*_):\n    raise MemoryError\ncheck._is_same = full\n",
    "from stoker._pillow import check\ndef late(*_):\n    raise RuntimeError('too late')\ncheck.reference = late\n",
], ids=["a file changed since it was loaded", "no memory", "the program's own error"])
def test_what_may_be_otherwise_next_time_is_not_remembered(report, tmp_path, before):
    report(before=before)
    assert not (tmp_path / "stoker").exists()
    assert report()[3]["images"] == 1


def test_nowhere_to_remember(report, tmp_path):
    (tmp_path / "file").write_text("")
    assert report(home=tmp_path / "file")[3]["images"] == 1


def test_a_full_disk_keeps_no_part_of_an_answer(report, tmp_path):
    full = ("import resource\nfrom stoker._proof import answers\nplain = answers._write\ndef write(*given):\n"
            "    before = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
            "    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))\n"
            "    try:\n        return plain(*given)\n    finally:\n"
            "        resource.setrlimit(resource.RLIMIT_FSIZE, before)\n"
            "answers._write = write\n")
    assert report(before=full)[3]["images"] == 1
    assert list((tmp_path / "stoker").iterdir()) == []


STRANGER = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_nothing_goes_through_links_of_another_user(report, tmp_path):
    """In another user's home Stoker keeps nothing, and believes no file there."""
    precious, home = tmp_path / "precious", tmp_path / "home"
    report(home=home)
    kept, = (home / "stoker").iterdir()
    kept.write_text(".")
    precious.mkdir()
    (home / "stoker").rename(home / "own")
    (home / "stoker").symlink_to(precious)
    os.chown(home, STRANGER, STRANGER)
    assert report(home=home)[3]["images"] == 1 and list(precious.iterdir()) == []
    (home / "stoker").unlink()
    (home / "own").rename(home / "stoker")
    assert report(home=home)[3]["images"] == 1
    os.chown(home, 0, 0)
    assert report(home=home)[3] == {"images": 0, "settled": {"unproven": 1}, "resized": 0}


def wrong(condition):
    """Code that has the decoder err, where the condition holds of `plan`."""
    return f"""
from stoker import _core
from stoker._pillow import check
plain = _core.decode
def decode(data, plan, out):
    pixels = plain(data, plan, out)
    if {condition} and type(pixels) is bytes:
        pixels = bytes([pixels[0] ^ 1]) + pixels[1:]
    return pixels
class Core:
    def __getattr__(self, name):
        return decode if name == "decode" else getattr(_core, name)
check._core = Core()
"""


def test_what_differs_is_left_to_pillow(report, tmp_path):
    """The sum of the pixels is Pillow's in every case."""
    good = report(home=tmp_path / "a")
    none = report(before=wrong("True"), home=tmp_path / "b")
    assert none[:3] == [0, [], False] or none[0] == 0 and none[2] is False
    assert none[3] == {"images": 0, "settled": {"unproven": 1}, "resized": 1}
    assert none[4] == good[4]
    resize = report(before=wrong("plan[0][2] == 2"), home=tmp_path / "c")
    assert resize[:3] == [7, [1, 3, 4, 5], True]
    assert resize[3] == {"images": 1, "settled": {}, "resized": 0} and resize[4] == good[4]


WRONG_RESIZE = """
from stoker import _core
from stoker._pillow import versions
def resize(source, target, *arguments):
    status = _core.resize(source, target, *arguments)
    if {condition}:
        target.putpixel((0, 0), 77 if target.mode == "L" else (77,) * len(target.getpixel((0, 0))))
    return status
class Core:
    def __getattr__(self, name):
        return resize if name == "resize" else getattr(_core, name)
versions._core = Core()
"""

RESIZES = """
import json
import stoker
from stoker import Image
from stoker._pillow import check
images = [Image.new(mode, (90, 80), 33 if mode == "L" else (9,) * len(mode)).resize((70, 60), 3)
          for mode in ("L", "RGB", "CMYK")]
print(json.dumps([sorted(check.proven().bands), stoker.counts()["resized"],
                  [sum(image.tobytes()) for image in images]]))
"""


def test_other_images_are_proven_too(report, tmp_path):
    bands, resized, sums = report(RESIZES, home=tmp_path / "a")
    assert (bands, resized) == ([1, 3, 4], 3)
    for mode, left in (("L", [3, 4]), ("RGB", [1, 4]), ("CMYK", [1, 3])):
        wrong = WRONG_RESIZE.format(condition=f"target.mode == {mode!r}")
        assert report(RESIZES, wrong, tmp_path / mode) == [left, 2, sums]


def test_memory_that_is_not_what_it_was(report, tmp_path):
    """If the description of an image cannot be found, nothing is believed."""
    before = """
from stoker import _core
from stoker._pillow import versions
class Core:
    def __getattr__(self, name):
        return (lambda *_: -2) if name == "resize" else getattr(_core, name)
versions._core = Core()
"""
    assert report(RESIZES, before, tmp_path / "a")[:2] == [[], 0]


def test_the_check_is_quick():
    """Few and small: it is made at the start of a job."""
    assert (BUILD / "python/stoker/_proof/check.bin").stat().st_size < 20_000
