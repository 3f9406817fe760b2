"""MPOs under the hook: the first image is a plan as a JPEG's is, and the others are Pillow's."""

import struct

import pytest

import images
from slices import ALL

SPOILT = " cut at", " without ", " junk behind", " byte "


def mpo(*jpegs):
    """Returns an MPO of these JPEGs. Each entry of its index holds an attribute, a length and a place; places count from
    the index's own beginning."""
    count = len(jpegs)
    begin = 2 + 4 + 4  # behind the marker, the segment's length and its name
    first = len(jpegs[0]) + 8 + 50 + 16 * count  # the bytes that the first one takes with the index in it
    places = [0]
    for each in jpegs[:-1]:
        places.append((places[-1] + len(each)) if places[-1] else first - begin)
    entries = b"".join(struct.pack("<IIIHH", 0 if n else 0x20030000, len(each) if n else first, places[n], 0, 0)
                       for n, each in enumerate(jpegs))
    index = struct.pack("<4sIH", b"II*\0", 8, 3) + b"".join((
        struct.pack("<HHI4s", 0xB000, 7, 4, b"0100"), struct.pack("<HHII", 0xB001, 4, 1, count),
        struct.pack("<HHII", 0xB002, 7, 16 * count, 50), bytes(4))) + entries
    return b"".join((jpegs[0][:2], images.segment(0xe2, b"MPF\0" + index), jpegs[0][2:], *jpegs[1:]))


@pytest.fixture(scope="module")
def mpos(written):
    first, second, third = (images.picture(63, 47, n) for n in range(3))  # of one size: Pillow 9.4 writes past another one's memory
    exif = images.jpeg(first, exif=images.exif(6), quality=70)
    small = (images.jpeg(each.crop((0, 0, 1, 1))) for each in (first, second))
    one, two, three = map(images.jpeg, (first, second, third))
    xmp = images.segment(0xe1, b'http://ns.adobe.com/xap/1.0/\0<x hdrgm:Version="1.0"/>')
    pair = mpo(one, two)
    return written({
        "two.jpg": pair,
        "three.mpo": mpo(images.jpeg(first, subsampling=0, quality=91), two, three),
        "turned.jpg": mpo(exif, two),
        "progressive.jpg": mpo(images.jpeg(first, progressive=True), two),
        "grey.jpg": mpo(images.jpeg(first.convert("L")), images.jpeg(second.convert("L"))),
        "cmyk.jpg": mpo(images.jpeg(first.convert("CMYK")), images.jpeg(second.convert("CMYK"))),
        "small.jpg": mpo(*small),
        "gain-map.jpg": pair[:2] + xmp + pair[2:],  # which Pillow opens as a JPEG
        "no-second.jpg": mpo(one)})


def engaged(counts):
    return {name: number for name, number in counts["cases"].items()
            if number and not any(each in name for each in SPOILT)}


def test_what_is_done_with_them(compare, mpos):
    _, counts = compare("mpo.py", mpos, "every" if ALL else "slice")
    taken = engaged(counts)
    for way in "whole", "chain", "frames", "moved_while_waiting", "moved_after_load", "turned":
        assert {f"{name} {opened} {way}" for name in ("two.jpg", "three.mpo", "progressive.jpg")
                for opened in ("of_path", "of_memory", "of_file")} <= taken.keys(), way
    assert {"grey.jpg of_path whole", "gain-map.jpg of_path whole", "small.jpg of_memory whole"} <= taken.keys()
    assert not any("of_a_kind" in name for name in taken if name.startswith("two"))


def test_later_touches_come_from_forms(compare, mpos, store):
    _, counts = compare("mpo.py", mpos, "every" if ALL else "slice", touches=2, env=store)
    unread = {name for name, number in counts["unread_cases"].items() if number}
    wanted = {f"{name} of_path {way}" for name in ("two.jpg", "three.mpo", "progressive.jpg") for way in ("whole", "frames")}
    wanted.add("grey.jpg of_path whole")
    assert wanted <= unread, wanted - unread
