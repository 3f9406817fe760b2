"""Damaged files: either they are left to Pillow, or Pillow says nothing and has the same pixels."""
import io
import random

import pytest
from PIL import Image, ImageFile

import decoder
import exact
from cases import Case

SEEDS = range(1, 9)
ONE = next(iter(exact.DECODERS.values()))


def small_case(seed):
    """The first case from there on that is not large, and how it is encoded."""
    number = seed * 1000
    while True:
        case = Case(number)
        if 20 < case.size[0] < 300 and 20 < case.size[1] < 300:
            return case, case.make()
        number += 1


def agrees(case, data):
    """True: decoded, as by Pillow. False: left to Pillow."""
    result, pixels = ONE.decode(data, exact.plan_of(case))
    if result != decoder.OK:
        return False
    image = exact.turned(case, exact.open_image(data))
    assert pixels == exact.reference_bytes(case, exact.reference_image(case, image)), case
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_that_was_cut_is_never_decoded(seed):
    case, data = small_case(seed)
    assert agrees(case, data)
    for step in range(50):
        cut = data[:len(data) * step // 50]
        assert ONE.decode(cut, exact.plan_of(case))[0] != decoder.OK, step
    assert ONE.decode(data[:-1], exact.plan_of(case))[0] == decoder.CORRUPT
    assert ONE.decode(data[:-2], exact.plan_of(case))[0] == decoder.CORRUPT


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_that_were_changed(seed):
    rng = random.Random(seed)
    case, data = small_case(seed)
    outcomes = {True: 0, False: 0}
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.choice((0, 255, 217, rng.randrange(256)))
        outcomes[agrees(case, bytes(damaged))] += 1
    assert outcomes[True] > 0 and outcomes[False] > 0, outcomes


def test_what_stands_behind_the_end_does_not_count():
    case, data = small_case(1)
    assert agrees(case, data + b"\xff\xd8 trailing")
    assert ONE.examine(data + b"trailing")[1].end == len(data)


def test_a_missing_end_is_seen_although_the_region_is_complete():
    case, data = small_case(2)
    plan = decoder.plan_for(case.size, (0, 0, 4, 4))
    assert ONE.decode(data, plan)[0] == decoder.OK
    assert ONE.examine(data[:-2])[1].end == 0
    assert ONE.decode(data[:-2], plan)[0] == decoder.CORRUPT


def test_a_marker_in_the_data_is_seen_although_the_region_is_complete():
    case = Case(1)
    case.size, case.kind = (200, 200), dict(case.kind, coding="baseline", restart="",
                                            mode="grey", multiscan=False, sampling="")
    data = case.make()
    plan = decoder.plan_for(case.size, (0, 0, 8, 8))
    assert ONE.decode(data, plan)[0] == decoder.OK
    damaged = data[:-20] + b"\xff\xc4\x00\x03\x07" + data[-15:]
    assert ONE.decode(damaged, plan)[0] == decoder.CORRUPT


def with_size(data, width, height):
    """Returns the file with another size in its frame header."""
    at = next(i for i in range(2, len(data)) if data[i] == 0xFF and data[i + 1] in (0xC0, 0xC1, 0xC2))
    return data[:at + 5] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + data[at + 9:]


@pytest.mark.parametrize("coding", ("baseline", "progressive"))
def test_a_small_file_that_claims_a_huge_image_costs_nothing(coding):
    case = Case(3)
    case.size, case.kind = (64, 64), dict(case.kind, coding=coding, mode="color",
                                          sampling="4:2:0", multiscan=False)
    data = with_size(case.make(), 65500, 65500)
    result, info = ONE.examine(data)
    assert (result, info.width, info.height) == (decoder.OK, 65500, 65500)
    for crop in ((0, 0, 8, 8), (0, 65000, 8, 65008)):
        assert ONE.decode(data, decoder.plan_for((65500, 65500), crop))[0] in (
            decoder.CORRUPT, decoder.MEMORY)
    data = with_size(case.make(), 5000, 5000)
    assert ONE.decode(data, decoder.plan_for((5000, 5000), (0, 0, 8, 8)))[0] == decoder.CORRUPT


def test_a_size_that_the_bytes_cannot_hold_is_seen_although_the_region_is_there():
    case = Case(3)
    case.size, case.kind = (64, 64), dict(case.kind, coding="baseline", mode="color", restart="",
                                          sampling="4:2:0", multiscan=False)
    data = case.make()
    plan = decoder.plan_for((64, 64), (0, 0, 8, 8))
    assert ONE.decode(data, plan)[0] == ONE.decode(with_size(data, 64, 100), plan)[0] == decoder.OK
    assert ONE.decode(with_size(data, 64, 60000), plan)[0] == decoder.CORRUPT


def test_more_scans_than_any_encoder_makes_are_left_to_pillow():
    case = Case(3)
    case.size, case.kind = (64, 64), dict(case.kind, coding="baseline", mode="color", restart="",
                                          sampling="4:2:0", multiscan=True)
    data = case.make()
    plan = decoder.plan_for((64, 64))
    last = data[data.rindex(b"\xff\xda"):-2]
    whole = ONE.decode(data, plan)
    assert whole[0] == decoder.OK
    assert ONE.decode(data[:-2] + last * 20 + b"\xff\xd9", plan) == whole
    assert ONE.decode(data[:-2] + last * 200 + b"\xff\xd9", plan)[0] == decoder.UNSUPPORTED


def test_a_progressive_file_whose_last_scans_are_missing_is_left_to_pillow():
    case = Case(4)
    case.size, case.kind = (64, 64), dict(case.kind, coding="progressive", mode="color",
                                          sampling="4:2:0", restart="")
    data = case.make()
    cut = data[:data.rindex(b"\xff\xda")] + b"\xff\xd9"
    assert ONE.decode(data, decoder.plan_for((64, 64)))[0] == decoder.OK
    assert ONE.decode(cut, decoder.plan_for((64, 64)))[0] == decoder.UNSUPPORTED


def jpeg_of(mode, **options):
    out = io.BytesIO()
    Image.new(mode, (40, 30), 77).save(out, "JPEG", **options)
    return out.getvalue()


def test_what_is_not_decoded_here():
    cmyk = jpeg_of("CMYK")
    assert ONE.examine(cmyk)[1].color in (3, 4)
    assert ONE.decode(cmyk, decoder.plan_for((40, 30)))[0] == decoder.UNSUPPORTED
    twelve = bytearray(jpeg_of("RGB"))
    twelve[twelve.index(b"\xff\xc0") + 4] = 12
    assert ONE.decode(bytes(twelve), decoder.plan_for((40, 30)))[0] == decoder.UNSUPPORTED
    lossless = bytearray(jpeg_of("RGB"))
    lossless[lossless.index(b"\xff\xc0") + 1] = 0xC3
    assert ONE.decode(bytes(lossless), decoder.plan_for((40, 30)))[0] == decoder.UNSUPPORTED


@pytest.mark.parametrize("data", (b"", b"\xff", b"\xff\xd8", b"\xff\xd8\xff\xd9", b"\x89PNG\r\n\x1a\n",
                                  b"\0" * 1000, b"\xff" * 1000))
def test_what_is_no_jpeg_at_all(data):
    assert ONE.examine(data)[0] == decoder.CORRUPT
    assert ONE.decode(data, decoder.plan_for((8, 8)))[0] == decoder.CORRUPT


def test_a_decoder_works_on_after_each_error():
    case, data = small_case(5)
    for bad in (data[:50], data[:-2], b"nothing", jpeg_of("CMYK")):
        assert ONE.decode(bad, exact.plan_of(case))[0] != decoder.OK
        assert agrees(case, data)


def without_segments(data, marker):
    """The file without its segments of that kind, all of which stand before the scan."""
    out, at = data[:2], 2
    while data[at + 1] != 0xDA:
        length = 2 + int.from_bytes(data[at + 2:at + 4], "big")
        out += b"" if data[at + 1] == marker else data[at:at + length]
        at += length
    return out + data[at:]


@pytest.mark.parametrize("marker", (0xDB, 0xC4))
def test_tables_of_one_file_do_not_serve_the_next(marker):
    whole = jpeg_of("RGB", quality=33, optimize=True)
    plan = decoder.plan_for((40, 30))
    bare = without_segments(whole, marker)
    alone = decoder.Decoder().decode(bare, plan)
    assert ONE.decode(whole, plan)[0] == decoder.OK
    assert ONE.decode(bare, plan) == alone
    assert alone[0] != decoder.OK


@pytest.fixture(autouse=True)
def strict_pillow(monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", False)
