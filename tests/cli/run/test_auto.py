"""`--auto`: where copies of files gain nothing, decoded images alone are kept."""

import hashlib
import io
import os
import sys

import pytest

from origin import settle

COUNT = 12
EPOCHS = 3
TIER = "/dev/shm:64M"

READER = """
import hashlib, pathlib, sys
from PIL import Image
files = sorted(pathlib.Path(sys.argv[1]).iterdir())
for epoch in range(int(sys.argv[2])):
    print(hashlib.sha1(b"".join(Image.open(file).convert("RGB").tobytes() for file in files)).hexdigest())
"""


def jpegs(directory):
    """COUNT images; the digest of their pixels."""
    image = pytest.importorskip("PIL.Image")
    pixels = hashlib.sha1()
    for number in range(COUNT):
        stream = io.BytesIO()
        picture = image.effect_mandelbrot((180, 120), (-2, -1.5, 1, 1.5 + number), 90)
        image.merge("RGB", [picture] * 3).save(stream, "JPEG")
        (directory / f"{number:02}.jpg").write_bytes(stream.getvalue())
        pixels.update(image.open(stream).convert("RGB").tobytes())
    settle()
    return pixels.hexdigest()


def reader(directory):
    return [sys.executable, "-B", "-c", READER, directory, EPOCHS]


@pytest.fixture
def local(scratch):
    directory = scratch / "local"
    directory.mkdir()
    return directory


@pytest.mark.torch
def test_of_what_is_local_and_small_forms_alone_are_kept(jobs, place, build, local):
    digest = jpegs(local)
    ran = jobs.run(reader(local), local, TIER, ["--auto", "--keep", "--warm"])
    assert ran.stdout == f"{digest}\n" * EPOCHS
    assert f"--auto: {local} is local and fast (" in ran.said and f"in {COUNT} files" in ran.said
    assert "files are left to the kernel's page cache, decoded images are kept in" in ran.said
    assert ran.fills == 0 and set(ran.bypassed) == {"left"}
    assert "page cache, as STOKER_FILES=off or --auto say)" in ran.said
    assert "advice" not in ran.said and "would change it" not in ran.said
    found = place.run(["find", "/dev/shm/stoker-0", "-path", "*/tree/*", "-type", "f"]).stdout
    assert found == ""
    if (build / "python/stoker/_samples_core.abi3.so").exists():
        assert ran.samples["kept"] == COUNT and ran.bypassed["left"] == COUNT
        assert ran.hits == ran.samples["unread"] == (EPOCHS - 1) * COUNT


def test_where_nothing_is_decoded_nothing_is_said_to_be_kept(jobs, local):
    jpegs(local)
    ran = jobs.run(["cat", local / "00.jpg"], local, TIER, ["--auto", "--no-decode"])
    assert "page cache" in ran.said and "are kept" not in ran.said and ran.fills == 0


def test_no_blocks_and_no_listings_are_kept_either(jobs, place, local):
    (local / "large").write_bytes(os.urandom(3 << 20))
    settle()
    script = f"ls -R {local} >/dev/null; head -c 2000000 {local}/large | wc -c"
    ran = jobs.run(["sh", "-c", script], local, TIER, ["--auto", "--keep"],
                   env={"STOKER_MAX_FILE": "1M"})
    assert ran.stdout == "2000000\n" and ran.bypassed == {"left": 1}
    for room in "tree", "fill":
        assert place.run(["find", f"/dev/shm/stoker-0/{room}", "-type", "f"],
                         check=False).stdout == ""


def test_of_what_is_behind_a_network_files_are_cached(jobs, origin):
    source, mount = origin.directory("auto")
    (source / "file").write_bytes(b"content")
    settle()
    ran = jobs.run(["cat", mount / "file"], mount, TIER, ["--auto"])
    assert f"--auto: files are cached as well: {mount} is not on a local disk" in ran.said
    assert f"caching {mount} in" in ran.said
    assert ran.fills == 1 and ran.bypassed == {}


def test_of_what_is_larger_than_memory_files_are_cached(jobs, local):
    (local / "file").write_bytes(b"content")
    with open(local / "vast", "wb") as file:
        file.truncate(1 << 42)
    settle()
    ran = jobs.run(["cat", local / "file"], local, TIER, ["--auto"])
    assert "--auto: files are cached as well: the data set holds 4.0 TiB, and the page cache can" in ran.said
    assert ran.fills == 1


def test_without_it_nothing_is_decided(jobs, local):
    (local / "file").write_bytes(b"content")
    settle()
    ran = jobs.run(["cat", local / "file"], local, TIER)
    assert ran.fills == 1 and "--auto" not in ran.said
    assert jobs.stoker("env", "--path", local, "--auto").returncode == 2
