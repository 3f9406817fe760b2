"""JPEGs of every kind: those that Pillow can write, by the Pillow at hand, the others by cjpeg."""

import io
import pathlib
import random
import struct
import subprocess

from PIL import Image

SCANS = pathlib.Path(__file__).resolve().parents[2] / "decode/one-by-one.scans"


def picture(width, height, seed=1):
    """Soft colours with noise and edges."""
    dice = random.Random(seed)
    small = Image.new("RGB", (max(width // 12, 2), max(height // 12, 2)))
    small.putdata([tuple(dice.randrange(256) for _ in range(3))
                   for _ in range(small.width * small.height)])
    image = small.resize((width, height), 3)
    noise = Image.new("RGB", (width, height))
    noise.frombytes(bytes(dice.getrandbits(8) for _ in range(width * height * 3)))
    return Image.blend(image, noise, 0.08)


def jpeg(image, **options):
    stream = io.BytesIO()
    image.save(stream, "JPEG", **options)
    return stream.getvalue()


def cjpeg(image, *options):
    """By libjpeg-turbo's own command, which knows more kinds than Pillow asks for."""
    stream = io.BytesIO()
    image.save(stream, "PPM")
    return subprocess.run(["cjpeg", *options], input=stream.getvalue(), capture_output=True,
                          check=True).stdout


def exif(orientation, description="a description"):
    data = Image.Exif()
    data[0x0112] = orientation
    data[0x010e] = description
    return data.tobytes()


def kinds():
    """{name: bytes}"""
    image = picture(123, 97)
    return {
        "color.jpg": jpeg(image, quality=85),
        "444.jpg": jpeg(image, quality=92, subsampling=0, dpi=(72, 72)),
        "422.jpg": jpeg(image, quality=70, subsampling=1),
        "grey.jpg": jpeg(image.convert("L"), quality=80),
        "cmyk.jpg": jpeg(image.convert("CMYK")),
        "progressive.jpg": jpeg(image, progressive=True),
        "optimized.jpg": jpeg(image, optimize=True, quality=30, icc_profile=b"\1" * 600),
        "exif.jpg": jpeg(image, exif=exif(6)),
        "small.jpg": jpeg(picture(7, 5)),
        "one.jpg": jpeg(picture(1, 1)),
        "tall.jpg": jpeg(picture(3, 330)),
        "large.jpg": jpeg(picture(400, 300), quality=97, subsampling=0),
        "440.jpg": cjpeg(image, "-sample", "1x2,1x1,1x1"),
        "411.jpg": cjpeg(image, "-sample", "4x1,1x1,1x1"),
        "410.jpg": cjpeg(image, "-sample", "4x2,1x1,1x1"),
        "mixed.jpg": cjpeg(image, "-sample", "2x2,1x2,2x1"),
        "rgb.jpg": cjpeg(image, "-rgb"),
        "restart.jpg": cjpeg(image, "-restart", "3B"),
    }


def segment(marker, data):
    return bytes((0xff, marker)) + (len(data) + 2).to_bytes(2, "big") + data


def odd_kinds():
    """{name: bytes}: what may stand in a file before and behind its only scan."""
    image = picture(120, 80)
    plain, other = jpeg(image), jpeg(picture(40, 30, 2))
    stream = io.BytesIO()
    image.save(stream, "MPO", save_all=True, append_images=[image.rotate(9)])

    def after(*segments):
        """Behind the first segment, which is JFIF's."""
        end = 4 + int.from_bytes(plain[4:6], "big")
        return plain[:end] + b"".join(segments) + plain[end:]

    xmp = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
    return {
        "mpo.jpg": stream.getvalue(),
        "no-mpo.jpg": after(segment(0xe2, b"MPF\0II*\0\x08\0\0\0\xff\xff")),
        "comments.jpg": after(segment(0xfe, b"a comment"), segment(0xfe, b"another")),
        "long.jpg": after(*(segment(0xe0 + n, bytes(65000)) for n in range(3, 10))),
        "xmp.jpg": after(segment(0xe1, xmp), segment(0xe1, b"Exif\0\0" + exif(3)[6:])),
        "exif-twice.jpg": after(segment(0xe1, exif(3)), segment(0xe1, exif(6))),
        "exif-broken.jpg": after(segment(0xe1, b"Exif\0\0nothing")),
        "icc-broken.jpg": after(segment(0xe2, b"ICC_PROFILE\0\2\2xx")),
        "photoshop.jpg": after(segment(0xed, b"Photoshop 3.0\x008BIM\4\4\0\0\0\0\0\2ab")),
        "adobe.jpg": after(segment(0xee, b"Adobe\0\x64\0\0\0\0\1")),
        "fill.jpg": after(b"\xff\xff\xff", segment(0xfe, b"behind fill bytes")),
        "tail.jpg": plain + b"\0" * 70000,
        "two.jpg": plain + other,
        "thumbnail.jpg": after(segment(0xe1, b"Exif\0\0" + other)),
        "name.png": plain,
    }


def arithmetic_kinds(every):
    """{name: bytes}, of every kind or of those that differ in a marker or in their pieces. Pillow decodes these if all of the file is in its first piece of 64 KB, or if
    it happens to be lucky."""
    kinds = {}
    for name, size, options in (
            ("small", (123, 97), ()), ("large", (480, 360), ()),
            ("restart", (480, 360), ("-restart", "7B")),
            ("progressive", (480, 360), ("-progressive",)),
            ("small-progressive", (90, 80), ("-progressive",)),
            ("huge", (720, 540), ("-restart", "1")),
            ("444", (400, 300), ("-sample", "1x1,1x1,1x1")),
            ("grey", (560, 420), ("-grayscale",)), ("rgb", (320, 240), ("-rgb",)))[:9 if every else 5]:
        kinds[f"{name}.jpg"] = cjpeg(picture(*size), "-arithmetic", "-quality", "95", *options)
    return kinds


def several_scans():
    """{name: bytes}: more than Pillow reads at once; in one scan, in several, one a component."""
    options = {"quality": 95, "subsampling": 0}
    large, script = picture(300, 260), str(SCANS)
    return {
        "progressive.jpg": jpeg(large, progressive=True, **options),
        "one-by-one.jpg": cjpeg(large, "-quality", "95", "-scans", script),
        "thumbnail.jpg": jpeg(large, progressive=True, **options,
                              exif=b"Exif\0\0" + jpeg(picture(40, 30, 2))),
        "whole.jpg": jpeg(large, **options),
    }


def write(directory, kinds):
    for name, data in kinds.items():
        (directory / name).write_bytes(data)


# ---- headers ----

def _segments(data):
    """(the header's segments, what follows them)"""
    found, at = [], 2
    while not found or found[-1][1] != 0xda:
        end = at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        found.append(data[at:end])
        at = end
    return found, data[at:]


def with_header(data, change):
    """The JPEG with what change() makes of its header's segments."""
    segments, rest = _segments(data)
    return data[:2] + b"".join(change(segments)) + rest


def _behind_first(*more):
    return lambda segments: segments[:1] + list(more) + segments[1:]


def _before_scan(*more):
    return lambda segments: segments[:-1] + list(more) + segments[-1:]


def _jfif(unit, x, y):
    data = b"JFIF\0\1\2" + bytes((unit,)) + x.to_bytes(2, "big") + y.to_bytes(2, "big") + b"\0\0"
    return lambda segments: [segment(0xe0, data)] + segments[1:]


def _icc(number, count, data=b"profile" * 9):
    return segment(0xe2, b"ICC_PROFILE\0" + bytes((number, count)) + data)


def _joined(marker):
    """All segments with the marker as one."""
    def change(segments):
        these = [each for each in segments if each[1] == marker]
        others = [each for each in segments if each[1] != marker]
        return others[:1] + [segment(marker, b"".join(each[4:] for each in these))] + others[1:]
    return change


def _wide_tables(segments):
    """Quantization tables of 16 bits, as an extended sequential file may have."""
    new = []
    for each in segments:
        if each[1] == 0xdb:
            each = segment(0xdb, bytes((each[4] | 16,)) + b"".join(
                bytes((0, value)) for value in each[5:]))
        new.append(b"\xff\xc1" + each[2:] if each[1] == 0xc0 else each)
    return new


def _spread(segments):
    """Tables that come twice, and behind the frame."""
    tables = [each for each in segments if each[1] == 0xdb]
    return segments[:-1] + tables + segments[-1:]


_PHOTOSHOP = (b"Photoshop 3.0\x008BIM\3\xed\0\0\0\0\0\x10\0\x48\0\0\0\1\0\1\0\x48\0\0\0\1\0\1"
              b"8BIM\4\4\0\0\0\0\0\2ab")
_XMP = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"

HEADERS = {
    "plain": lambda segments: segments,
    "no-jfif": lambda segments: segments[1:],
    "ratio": _jfif(0, 3, 2),
    "inches": _jfif(1, 300, 150),
    "centimetres": _jfif(2, 100, 50),
    "short-jfif": lambda segments: [segment(0xe0, b"JFIF\0\1\2")] + segments[1:],
    "twice-jfif": lambda segments: segments[:1] * 2 + segments[1:],
    "empty": _behind_first(segment(0xe5, b""), segment(0xfe, b"")),
    "adobe": _behind_first(segment(0xee, b"Adobe\0\x64\0\0\0\0\1")),
    "short-adobe": _behind_first(segment(0xee, b"Adobe\0\x64")),
    "comments": _behind_first(segment(0xfe, b"a comment"), segment(0xfe, b"another")),
    "late-comment": _before_scan(segment(0xfe, b"behind the frame")),
    "icc": _behind_first(_icc(1, 1)),
    "icc-parts": _behind_first(_icc(2, 3, b"b"), _icc(3, 3, b"c"), _icc(1, 3, b"a")),
    "icc-missing": _behind_first(_icc(2, 2)),
    "icc-late": _before_scan(_icc(1, 1)),
    "icc-long": _behind_first(_icc(1, 1, bytes(5000))),
    "photoshop": _behind_first(segment(0xed, _PHOTOSHOP)),
    "photoshop-twice": _behind_first(segment(0xed, _PHOTOSHOP), segment(0xed, _PHOTOSHOP)),
    "flashpix": _behind_first(segment(0xe2, b"FPXR\0abc")),
    "xmp": _behind_first(segment(0xe1, _XMP)),
    "exif": _behind_first(segment(0xe1, exif(6))),
    "exif-broken": _behind_first(segment(0xe1, b"Exif\0\0nothing")),
    "exif-short": _behind_first(segment(0xfe, b"short"), segment(0xe1, exif(3)[:-9])),  # Pillow warns of it
    "no-mpo": _behind_first(segment(0xe2, b"MPF\0II*\0\x08\0\0\0\xff\xff")),
    "many": _behind_first(*(segment(0xe0 + n, bytes((n,)) * n) for n in range(3, 12))),
    "tables-joined": _joined(0xdb),
    "codes-joined": _joined(0xc4),
    "tables-wide": _wide_tables,
    "tables-twice": _spread,
    "no-restarts": _before_scan(segment(0xdd, b"\0\0")),
    "fill": _behind_first(b"\xff\xff" + segment(0xfe, b"behind fill bytes")),
}


def _exifs():
    """Returns EXIF data that differs in length, in what it says, and in its errors: Pillow warns of the last one."""
    resolution = Image.Exif()
    resolution.update({0x011a: 300.0, 0x0128: 3, 0x0112: 8})
    return exif(6), resolution.tobytes(), exif(3)[:-9]


def mp_index(order, *entries):
    """Returns the data of the segment with the index of an MPO: of (flags, bytes, place, number, number) for each image."""
    count = len(entries)
    return b"MPF\0" + (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(
        order + "IHHHI4sHHIIHHIII", 8, 3, 0xB000, 7, 4, b"0100", 0xB001, 4, 1, count, 0xB002, 7, 16 * count, 50, 0) + b"".join(
            struct.pack(order + "IIIHH", *each) for each in entries)


# Indices that differ in their order, their length and all that they say.
INDICES = (mp_index("<", (0x20030000, 5000, 0, 0, 0), (0, 700, 4000, 0, 0)),
           mp_index(">", (0xd8010001, 1, 9, 2, 3), (0x08020002, 4, 5, 6, 7), (0x01234, 8, 9, 65535, 1)),
           mp_index("<", (0x00020001, 1 << 32 - 1, 0, 0, 0), (0x40020003, 0, 1 << 32 - 1, 0, 0)))
SPOILT_INDICES = (mp_index("<", (0x20030000, 5000, 0, 0, 0), (0, 700, 4000, 0, 0))[:-9],  # Pillow warns of the first two
                  mp_index(">", (0x21030000, 5000, 0, 0, 0), (0, 700, 4000, 0, 0)),
                  mp_index("<", (0x20030000, 5000, 0, 0, 0)))
_GAIN_MAP = b'http://ns.adobe.com/xap/1.0/\0<x hdrgm:Version="1.0"/>'


def _mpos(index, exif_data):
    """Returns the changes of a header that has this index in it."""
    index = segment(0xe2, index)
    return {"plain": _behind_first(index), "late": _before_scan(index), "exif": _behind_first(segment(0xe1, exif_data), index),
            "icc": _behind_first(_icc(1, 1), index), "behind": _behind_first(index, _icc(1, 1)),
            "no-jfif": lambda each: [index] + each[1:],
            "gain-map": _behind_first(segment(0xe1, _GAIN_MAP), index), "twice": _behind_first(index, index),
            "gain-in-exif": _behind_first(segment(0xe1, exif_data + b' hdrgm:Version="' * (index[9] == b"M"[0])), index)}


EXIF_PLACES = {
    "behind-first": lambda data: _behind_first(segment(0xe1, data)),
    "late": lambda data: _before_scan(segment(0xe1, data)),
    "inches": lambda data: lambda segments: _jfif(1, 300, 150)(segments[:1]) + [segment(0xe1, data)] + segments[1:],
    "no-jfif": lambda data: lambda segments: [segment(0xe1, data)] + segments[1:],
    "xmp": lambda data: _behind_first(segment(0xe1, data), segment(0xe1, _XMP)),
    "behind-xmp": lambda data: _behind_first(segment(0xe1, _XMP), segment(0xe1, data)),
    "twice": lambda data: _behind_first(segment(0xe1, data), segment(0xe1, data)),
}


def header_kinds():
    """Returns {name: bytes}: for each kind of header three files that differ in size and in codes.
    Further files are as Pillow writes them for several of its settings."""
    pictures = [picture(60 + 37 * n, 50 + 23 * n, n) for n in range(3)]
    found = {f"{kind}-{n}.jpg": with_header(jpeg(each, optimize=True), change)
             for kind, change in HEADERS.items() for n, each in enumerate(pictures)}
    for place, change in EXIF_PLACES.items():
        found.update({f"exifs-{place}-{n}.jpg": with_header(jpeg(each, optimize=True), change(data))
                      for n, (each, data) in enumerate(zip(pictures, _exifs()))})
    for name, indices in {"mpos": INDICES, "mpos-spoilt": SPOILT_INDICES}.items():
        for n, (each, index, data) in enumerate(zip(pictures, indices, _exifs())):
            found.update({f"{name}-{place}-{n}.jpg": with_header(jpeg(each, optimize=True), change)
                          for place, change in _mpos(index, data).items()})
    settings = {"444": {"subsampling": 0}, "422": {"subsampling": 1}, "quality": {"quality": 40},
                "progressive": {"progressive": True}}
    for kind, options in settings.items():
        found.update({f"{kind}-{n}.jpg": jpeg(each, **options) for n, each in enumerate(pictures)})
    found.update({f"grey-{n}.jpg": jpeg(each.convert("L")) for n, each in enumerate(pictures)})
    found.update({f"cmyk-{n}.jpg": jpeg(each.convert("CMYK")) for n, each in enumerate(pictures)})
    return found
