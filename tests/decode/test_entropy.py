"""
Our own entropy decoder against libjpeg's: what it takes has the same pixels and no warning, what is
damaged is left to libjpeg, nothing crashes. STOKER_ALL=1 damages 100,000 scans instead of 4,000.
"""
import io
import random

import numpy
import pytest
from PIL import Image

import cases
import decoder
import exact

from slices import ALL

DAMAGED, CHUNK = 100_000 if ALL else 4_000, 500
LIBJPEG = exact.MORE_DECODERS["libjpeg"]
OURS = {**exact.DECODERS, **exact.MORE_DECODERS}
OURS.pop("libjpeg")
SAMPLINGS = ("4:2:0", "4:4:4", "4:2:2", "4:4:0", "4:1:1", "4:1:0", "mixed a", "mixed e", "rgb", "grey")


def kind_of(sampling, quality=90, coding="baseline", restart="", multiscan=False):
    mode = sampling if sampling in ("rgb", "grey") else "color"
    return {"mode": mode, "sampling": sampling if mode == "color" else "", "quality": quality,
            "coding": coding, "restart": restart, "multiscan": multiscan}


def soft_noise(size, seed):
    return cases.random_pixels(numpy.random.Generator(numpy.random.PCG64(seed)), size)


def scan_of(data):
    """Where the data of the first scan begin."""
    at = data.index(b"\xff\xda")
    return at + 2 + int.from_bytes(data[at + 2:at + 4], "big")


def agrees(name, one, data, plan):
    """Compares the result with libjpeg's. Returns whether it was played."""
    expected = LIBJPEG.decode(data, plan)
    result = one.decode(data, plan)
    assert result[0] == expected[0], name
    assert result[0] != decoder.OK or result[1] == expected[1], name
    return one.was_played()


def check_all(data, size, crops=()):
    for crop in ((0, 0) + size,) + tuple(crops):
        for name, one in OURS.items():
            assert agrees(name, one, data, decoder.plan_for(size, crop)), (name, crop)


# ---- sound files ----

@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("restart", ("", "1", "1B", "7B"))
def test_all_samplings_whole_and_by_region(sampling, restart):
    size = 221, 187
    data = cases.encode(soft_noise(size, 1), kind_of(sampling, restart=restart))
    rng = random.Random(sampling + restart)
    check_all(data, size, [cases.random_crop(rng, size) for _ in range(6)])


@pytest.mark.parametrize("quality", (1, 5, 20, 50, 85, 95, 100))
@pytest.mark.parametrize("coding", ("baseline", "optimised"))
def test_all_qualities(quality, coding):
    """Up to 100, where differences of DC and many values are larger than a byte."""
    size = 320, 200
    pixels = numpy.random.default_rng(quality).integers(0, 256, size[::-1] + (3,), dtype=numpy.uint8)
    for image in (pixels, soft_noise(size, quality)):
        check_all(cases.encode(image, kind_of("4:2:0", quality, coding)), size, [(40, 90, 200, 133)])


@pytest.mark.parametrize("period", (1, 8, 16, 24, 40))
def test_images_that_repeat_themselves(period):
    """Cursors that begin anywhere may never come upon the true blocks here."""
    size = 640, 480
    rng = numpy.random.default_rng(period)
    tile = rng.integers(0, 256, (period, period, 3), dtype=numpy.uint8)
    pixels = numpy.tile(tile, (size[1] // period + 1, size[0] // period + 1, 1))[:size[1], :size[0]]
    for sampling in ("4:2:0", "4:4:4", "grey"):
        for coding in ("baseline", "optimised"):
            data = cases.encode(numpy.ascontiguousarray(pixels), kind_of(sampling, 75, coding))
            check_all(data, size, [(0, 300, 640, 480), (5, 100, 30, 120)])


def test_regions_of_an_image_whose_bytes_are_not_where_its_rows_are():
    """Flat above and noise below, and the other way round: the guess how far to parse is wrong."""
    size = 400, 600
    flat = numpy.full((300, 400, 3), 90, numpy.uint8)
    noise = numpy.random.default_rng(5).integers(0, 256, (300, 400, 3), dtype=numpy.uint8)
    for halves in ((flat, noise), (noise, flat), (noise, noise)):
        data = cases.encode(numpy.concatenate(halves), kind_of("4:2:0"))
        check_all(data, size, [(10, top, 390, bottom) for top, bottom in
                               ((0, 1), (0, 16), (0, 250), (0, 299), (100, 310), (290, 600),
                                (304, 305), (599, 600), (200, 500))])


def test_a_cursor_stops_within_a_symbol():
    """Flat blocks whose differences take two steps, and a guess that is too small for them."""
    size = 400, 400
    choose = random.Random(1)
    pixels = numpy.full((400, 400, 3), 50, numpy.uint8)
    for number in range(50 * 25):
        row, column = divmod(number, 50)
        level = choose.randrange(0, 20) + (number + row) % 2 * 85
        pixels[row * 8:row * 8 + 8, column * 8:column * 8 + 8] = level
    data = cases.encode(pixels, kind_of("grey", 75))
    check_all(data, size, [(0, 0, 400, bottom) for bottom in range(20, 210, 5)])


@pytest.mark.parametrize("rows", range(30, 34))
@pytest.mark.parametrize("sampling", ("4:2:0", "4:4:0", "4:4:4", "4:1:0"))
def test_a_region_ends_in_every_row_of_a_unit(sampling, rows):
    size = 70, 90
    data = cases.encode(soft_noise(size, rows), kind_of(sampling))
    check_all(data, size, [(3, top, 50, rows) for top in (0, 15, rows - 1)])


@pytest.mark.parametrize("size", ((1, 1), (8, 8), (16, 16), (17, 1), (1, 17), (3000, 9), (9, 3000)))
@pytest.mark.parametrize("sampling", ("4:2:0", "grey", "mixed a"))
def test_sizes_at_the_edges(size, sampling):
    for restart in ("", "1B"):
        check_all(cases.encode(soft_noise(size, 3), kind_of(sampling, restart=restart)), size)


@pytest.mark.parametrize("restart", ("", "1"))
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_cursors_that_begin_anywhere_are_met(sampling, restart):
    """Else each would be in vain, with the right pixels nevertheless."""
    size = 640, 480
    pixels = numpy.random.default_rng(6).integers(60, 190, size[::-1] + (3,), dtype=numpy.uint8)
    data = cases.encode(pixels, kind_of(sampling, 75, restart=restart))
    for one in OURS.values():
        for bottom in (480, 300):
            plan = decoder.plan_for(size, (0, 0, 640, bottom))
            assert one.decode(data, plan)[0] == decoder.OK
            # All three colours of RGB have the same codes: which one is the first cannot be met.
            wanted = 1 if sampling == "rgb" and not restart else one.entropy or 3
            assert one.cursors() >= wanted, (one.simd, one.entropy, bottom)


@pytest.mark.parametrize("sampling", [name for name in SAMPLINGS if name not in ("rgb", "grey")])
@pytest.mark.parametrize("scans", ("one-by-one", "two-and-one"))
@pytest.mark.parametrize("coding", ("baseline", "optimised"))
def test_several_scans(sampling, scans, coding):
    """Each with tables of its own where they are optimised, and with restart markers."""
    rng = random.Random(sampling)
    for size in ((221, 187), (16, 16), (1, 40)):
        for restart in ("", "1", "7B"):
            data = cases.encode(soft_noise(size, 1),
                                kind_of(sampling, coding=coding, restart=restart, multiscan=scans))
            assert data.count(b"\xff\xda") == (3 if scans == "one-by-one" else 2)
            check_all(data, size, [cases.random_crop(rng, size) for _ in range(2)])


def test_a_scan_among_several_that_is_left_to_libjpeg():
    """Bytes behind one scan's data, which libjpeg skips with a warning: the others' pixels and that."""
    size = 90, 70
    data = cases.encode(soft_noise(size, 3), kind_of("4:2:0", multiscan=True))
    end = next(at for at in range(scan_of(data), len(data)) if data[at] == 255 and data[at + 1])
    for name, one in OURS.items():
        assert one.decode(data, decoder.plan_for(size))[0] == decoder.OK and one.was_played()
        for more in (b"\x55", b"\xff", bytes(9)):
            bad = data[:end] + more + data[end:]
            assert not agrees(name, one, bad, decoder.plan_for(size)), (name, more)


def test_what_is_left_to_libjpeg():
    size = 90, 70
    for kind in (kind_of("4:2:0", coding="progressive"), kind_of("4:2:0", coding="arithmetic")):
        data = cases.encode(soft_noise(size, 3), kind)
        for name, one in OURS.items():
            assert not agrees(name, one, data, decoder.plan_for(size)), kind


def test_a_component_with_two_scans():
    """A value that the second one leaves zero stays as it was."""
    size = 90, 70
    data = cases.encode(soft_noise(size, 3), kind_of("4:4:4", multiscan=True))
    at = data.rindex(b"\xff\xda") + 5
    assert data[at] == 3
    twice = data[:at] + b"\2" + data[at + 1:]
    for name, one in OURS.items():
        assert not agrees(name, one, twice, decoder.plan_for(size)), name


def test_files_with_other_tables_one_after_another():
    """More pairs of tables than are kept, and the first ones again."""
    size = 120, 100
    files = [cases.encode(soft_noise(size, seed), kind_of("4:2:0", 20 + 10 * seed, "optimised"))
             for seed in range(8)]
    for data in files + files + files[::-1]:
        check_all(data, size)


# ---- damage ----

def small_files():
    files = []
    for number, sampling in enumerate(SAMPLINGS * 2):
        size = 40 + number * 7, 60 + number % 5 * 9
        restart = ("", "", "1", "3B")[number % 4]
        coding = "optimised" if number % 3 == 0 else "baseline"
        files.append((size, cases.encode(soft_noise(size, number),
                                         kind_of(sampling, 60 + number * 2, coding, restart,
                                                 number % 5 == 0))))
    return files


FILES = small_files()


def damage(data, rng):
    """Some bytes of the scan, or its end, or a piece of it twice or not at all."""
    begin, out = scan_of(data), bytearray(data)
    roll = rng.random()
    if roll < 0.7:
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            at = rng.randrange(begin, len(out) - 2)
            out[at] = rng.choice((0, 255, out[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
    elif roll < 0.8:
        first = rng.randrange(begin, len(out) - 2)
        del out[first:min(first + rng.choice((1, 2, 3, 40)), len(out) - 2)]
    elif roll < 0.9:
        first = rng.randrange(begin, len(out) - 2)
        out[first:first] = rng.randbytes(rng.choice((1, 2, 40)))
    else:  # the tables, the sampling, the restart interval: all of the header
        at = rng.randrange(2, begin)
        out[at] = rng.randrange(256)
    return bytes(out)


@pytest.mark.parametrize("first", range(0, DAMAGED, CHUNK))
def test_damaged_scans(first):
    played = 0
    for seed in range(first, first + CHUNK):
        rng = random.Random(seed)
        size, data = rng.choice(FILES)
        name, one = rng.choice(list(OURS.items()))
        data = damage(data, rng)
        crop = cases.random_crop(rng, size)
        result, info = LIBJPEG.examine(data)
        plan = decoder.plan_for(size, crop, channels=1 if info.components == 1 else 3)
        was_played = agrees("seed %d, %s" % (seed, name), one, data, plan)
        assert not was_played or LIBJPEG.decode(data, plan)[0] == decoder.OK, seed
        played += was_played
    assert CHUNK // 20 < played < CHUNK, "%d of %d were taken" % (played, CHUNK)


def test_a_scan_that_ends_too_late_or_too_early():
    """All blocks are there, and the pixels would be right: libjpeg's to judge nevertheless."""
    size = 64, 64
    data = cases.encode(soft_noise(size, 9), kind_of("4:2:0"))
    for name, one in OURS.items():
        for more in (b"\0", b"\x55\xaa", bytes(40)):
            assert not agrees(name, one, data[:-2] + more + data[-2:], decoder.plan_for(size)), name
        assert not agrees(name, one, data[:-3] + data[-2:], decoder.plan_for(size)), name


def test_restart_markers_in_another_order():
    size = 128, 128
    data = bytearray(cases.encode(soft_noise(size, 9), kind_of("4:2:0", restart="1")))
    marks = [at for at in range(scan_of(data), len(data) - 1)
             if data[at] == 0xFF and 0xD0 <= data[at + 1] <= 0xD7]
    assert len(marks) == 7
    data[marks[2] + 1], data[marks[3] + 1] = data[marks[3] + 1], data[marks[2] + 1]
    for name, one in OURS.items():
        assert not agrees(name, one, bytes(data), decoder.plan_for(size)), name


def test_codes_that_no_decoder_may_use():
    """Too many codes of one length, a size of DC that there is not: libjpeg says what it thinks."""
    size = 40, 30
    out = io.BytesIO()
    Image.fromarray(soft_noise(size, 4)).save(out, "JPEG")
    data = out.getvalue()
    at = data.index(b"\xff\xc4")
    for place, value in ((5, 3), (5, 200), (20, 255), (25, 16)):
        bad = data[:at + place] + bytes((value,)) + data[at + place + 1:]
        for name, one in OURS.items():
            assert not agrees(name, one, bad, decoder.plan_for(size)), (name, place)
