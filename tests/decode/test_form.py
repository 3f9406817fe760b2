"""
The coefficient form. The second touch has the first one's pixels. A form is equal, whichever
decoder made it. No bytes whatsoever do any harm.
"""
import io
import random
import struct

import numpy
import pytest
from PIL import Image

import cases
import decoder
import exact
from test_entropy import SAMPLINGS, kind_of, soft_noise

KERNELS = exact.DECODERS
ONE = next(iter(KERNELS.values()))
LIBJPEG = exact.MORE_DECODERS["libjpeg"]
AT_GROUP_ROWS, AT_BYTES, AT_END, AT_WIDTH, AT_COLOR, AT_HEADER = 6, 8, 24, 32, 41, 48


def form_of(data, size):
    """By all kernels, which must agree."""
    forms = {one.keep(data, decoder.plan_for(size))[2] for one in KERNELS.values()}
    assert len(forms) == 1
    return forms.pop()


def check(data, size, crops=()):
    """Second touch against libjpeg's own pixels, by all kernels. Returns the form."""
    form = form_of(data, size)
    assert form, "no form"
    for crop in ((0, 0) + tuple(size),) + tuple(crops):
        plan = decoder.plan_for(size, crop)
        expected = LIBJPEG.decode(data, plan)
        assert expected[0] == decoder.OK
        for name, one in KERNELS.items():
            assert one.decode_form(form, plan) == expected, (name, crop)
    return form


def crops_of(size, seed, count=6):
    rng = random.Random(seed)
    return [cases.random_crop(rng, size) for _ in range(count)]


def groups_of(form):
    """(where the index is, where the groups are, each group's bytes)"""
    header, setup, count = struct.unpack_from("<III", form, AT_HEADER)
    index = 64 + header + setup
    at = index + 4 * count
    ends = struct.unpack_from("<%dI" % count, form, index)
    return index, at, [form[at + begin:at + end] for begin, end in zip((0,) + ends, ends)]


def with_groups(form, groups):
    """Returns the form with these groups in the place of its own."""
    index, _, own = groups_of(form)
    assert len(groups) == len(own)
    ends = [sum(map(len, groups[:number + 1])) for number in range(len(groups))]
    return with_size(form[:index] + struct.pack("<%dI" % len(ends), *ends) + b"".join(groups) +
                     bytes(8))


def with_size(form):
    """So that the rest is looked at."""
    return form[:AT_BYTES] + struct.pack("<Q", len(form)) + form[AT_BYTES + 8:]


# ---- sound files ----

@pytest.mark.parametrize("sampling", SAMPLINGS + ("mixed b", "mixed c", "mixed f"))
@pytest.mark.parametrize("coding", ("baseline", "optimised", "progressive", "arithmetic",
                                    "arithmetic progressive"))
def test_all_samplings_and_codings(sampling, coding):
    size = 221, 187
    data = cases.encode(soft_noise(size, 1), kind_of(sampling, coding=coding))
    check(data, size, crops_of(size, sampling))


@pytest.mark.parametrize("sampling", ("4:2:0", "4:4:4", "4:2:2", "grey"))
@pytest.mark.parametrize("quality", range(30, 101, 10))
def test_qualities(sampling, quality):
    size = 320, 200
    check(cases.encode(soft_noise(size, quality), kind_of(sampling, quality)), size,
          crops_of(size, quality, 2))


@pytest.mark.parametrize("coding", ("baseline", "progressive"))
@pytest.mark.parametrize("quality", (1, 2, 98, 99, 100))
def test_values_and_differences_that_no_byte_holds(quality, coding):
    """Noise of two colours: each of its values is as large as they come."""
    size = 200, 120
    rng = numpy.random.default_rng(quality)
    pixels = rng.integers(0, 2, size[::-1] + (3,), dtype=numpy.uint8) * 255
    blocks = numpy.kron(rng.integers(0, 2, (15, 25, 1), dtype=numpy.uint8) * 255,
                        numpy.ones((8, 8, 3), numpy.uint8))
    for image in (pixels, blocks):
        for sampling in ("4:4:4", "4:2:0"):
            check(cases.encode(image, kind_of(sampling, quality, coding)), size,
                  [(40, 90, 200, 113)])


@pytest.mark.parametrize("restart", ("1", "1B", "3B", "7B", "40B"))
@pytest.mark.parametrize("sampling", ("4:2:0", "4:4:4", "grey", "mixed a"))
def test_restart_intervals_that_end_anywhere_in_a_group(sampling, restart):
    size = 150, 170
    data = cases.encode(soft_noise(size, 2), kind_of(sampling, restart=restart))
    check(data, size, crops_of(size, restart))


@pytest.mark.parametrize("scans", ("one-by-one", "two-and-one"))
@pytest.mark.parametrize("sampling", ("4:2:0", "4:4:4", "mixed a"))
def test_several_sequential_scans(sampling, scans):
    size = 150, 170
    kind = dict(kind_of(sampling), multiscan=scans)
    data = cases.encode(soft_noise(size, 2), kind)
    assert data.count(b"\xff\xda") > 1
    check(data, size, crops_of(size, scans))


@pytest.mark.parametrize("size", ((1, 1), (8, 8), (9, 7), (16, 16), (17, 33), (1, 17), (3000, 9),
                                  (9, 3000), (32, 64), (33, 65)))
@pytest.mark.parametrize("sampling", ("4:2:0", "grey", "mixed a"))
@pytest.mark.parametrize("coding", ("baseline", "progressive"))
def test_sizes_at_the_edges(size, sampling, coding):
    check(cases.encode(soft_noise(size, 3), kind_of(sampling, coding=coding)), size)


def test_a_region_touches_only_its_own_groups():
    """All others may be anything."""
    size = 160, 320
    form = check(cases.encode(soft_noise(size, 3), kind_of("4:2:0")), size)
    groups = groups_of(form)[2]
    assert len(groups) == 10
    form = with_groups(form, [group if number in (3, 4) else b"\xff" * len(group)
                              for number, group in enumerate(groups)])
    plan = decoder.plan_for(size, (0, 112, 160, 144))
    whole = cases.encode(soft_noise(size, 3), kind_of("4:2:0"))
    for one in KERNELS.values():
        assert one.decode_form(form, plan) == LIBJPEG.decode(whole, plan)
        assert one.decode_form(form, decoder.plan_for(size))[0] == decoder.CORRUPT


def test_the_form_is_the_same_whatever_is_decoded():
    size = 150, 170
    for coding in ("baseline", "progressive"):
        data = cases.encode(soft_noise(size, 4), kind_of("4:2:0", coding=coding))
        form = form_of(data, size)
        for crop in crops_of(size, 4):
            result, pixels, part = ONE.keep(data, decoder.plan_for(size, crop, out=(20, 20)))
            assert (result, part) == (decoder.OK, form)


def test_what_the_form_says_of_its_file():
    image = Image.fromarray(soft_noise((90, 60), 5))
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(out, "JPEG", exif=exif, icc_profile=b"profile" * 999, comment=b"a comment")
    data = out.getvalue() + b"behind the end"
    form = form_of(data, (90, 60))
    result, info, header, size = decoder.examine_form(form)
    assert (result, size, bytes(info)) == (decoder.OK, len(data), bytes(ONE.examine(data)[1]))
    assert data.startswith(header)
    # All that comes before the pixels is what it was.
    again = Image.open(io.BytesIO(header))
    assert again.getexif()[0x0112] == 6 and again.size == (90, 60)
    assert again.info["icc_profile"] == b"profile" * 999 and again.info["comment"] == b"a comment"


def test_files_that_have_none(monkeypatch):
    size = 64, 64
    plan = decoder.plan_for(size)
    # Twelve blocks in an MCU, which only several scans may have.
    monkeypatch.setitem(cases.SAMPLINGS, "twelve", "2x2,2x2,2x2")
    data = cases.encode(soft_noise(size, 1), dict(kind_of("twelve"), multiscan="one-by-one"))
    for one in KERNELS.values():
        result, pixels, form = one.keep(data, plan)
        assert (result, pixels) == LIBJPEG.decode(data, plan) and result == decoder.OK
        assert form == b""
    # An image that is not decoded has none either.
    out = io.BytesIO()
    Image.new("CMYK", size, 77).save(out, "JPEG")
    assert ONE.keep(out.getvalue(), plan)[0::2] == (decoder.UNSUPPORTED, b"")
    whole = cases.encode(soft_noise(size, 1), kind_of("4:2:0"))
    assert ONE.keep(whole[:-2], plan)[0::2] == (decoder.CORRUPT, b"")


def test_damage_behind_a_region_costs_only_the_form():
    size = 160, 320
    data = cases.encode(soft_noise(size, 3), kind_of("4:2:0"))
    damaged = data[:-40] + data[-2:]
    plan = decoder.plan_for(size, (0, 0, 160, 100))
    for one in KERNELS.values():
        result, pixels, form = one.keep(damaged, plan)
        assert (result, pixels, form) == one.decode(data, plan) + (b"",)
        assert one.keep(damaged, decoder.plan_for(size))[0::2] == (decoder.CORRUPT, b"")
        assert one.keep(data, plan) == one.decode(data, plan) + (form_of(data, size),)


def test_jfif_and_adobe_segments_decide_about_colours():
    """Also where the header is made up."""
    size = 50, 40
    image = Image.fromarray(soft_noise(size, 6))
    for options in ({"progressive": True}, {"progressive": True, "keep_rgb": True}):
        out = io.BytesIO()
        image.save(out, "JPEG", **options)
        check(out.getvalue(), size)
    data = cases.encode(soft_noise(size, 6), kind_of("rgb", coding="progressive"))
    adobe = data.index(b"\xff\xee")
    length = 2 + int.from_bytes(data[adobe + 2:adobe + 4], "big")
    jfif = b"\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
    colors = []
    # Components by the names of the colours, and by numbers, which say something else.
    for names in (b"RGB", b"\1\2\3"):
        for segment in (data[adobe:adobe + length], jfif, b""):
            changed = with_names(data[:adobe] + segment + data[adobe + length:], names)
            colors.append(ONE.examine(changed)[1].color)
            check(changed, size)
    assert sorted(set(colors)) == [1, 2]


def with_names(data, names):
    """The components of an RGB file under other names, in the frame and in all scans."""
    out, at = bytearray(data), 2
    while True:
        at = min(place for place in (data.find(b"\xff\xc2", at), data.find(b"\xff\xda", at),
                                     len(data)) if place >= 0)
        if at == len(data):
            return bytes(out)
        first, step = (at + 10, 3) if data[at + 1] == 0xC2 else (at + 5, 2)
        for place in range(first, first + step * data[first - 1], step):
            out[place] = names[b"RGB".index(data[place])]
        at += 2


# ---- damaged forms ----

def small_forms():
    found = []
    for number, sampling in enumerate(SAMPLINGS):
        size = 40 + number * 7, 60 + number % 5 * 9
        coding = ("baseline", "progressive")[number % 2]
        data = cases.encode(soft_noise(size, number), kind_of(sampling, 70 + 3 * number, coding))
        found.append((size, form_of(data, size)))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_damaged_forms(seed):
    rng = random.Random(seed)
    forms, outcomes = small_forms(), set()
    for number in range(500):
        size, form = rng.choice(forms)
        damaged = bytearray(form)
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(0 if number % 2 else len(form) // 2, len(form))
            damaged[at] = rng.choice((0, 255, form[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
        plan = decoder.plan_for(size, cases.random_crop(rng, size))
        results = {one.decode_form(bytes(damaged), plan)[0] for one in KERNELS.values()}
        assert len(results) == 1, "kernels disagree"
        outcomes |= results
    assert {decoder.OK, decoder.CORRUPT} <= outcomes


def test_forms_that_are_cut_or_longer():
    for size, form in small_forms():
        plan = decoder.plan_for(size)
        for step in range(60):
            cut = form[:len(form) * step // 60]
            assert ONE.decode_form(cut, plan)[0] == decoder.CORRUPT
            assert decoder.examine_form(cut)[0] == decoder.CORRUPT
            if len(cut) > 80:
                assert ONE.decode_form(with_size(cut), plan)[0] == decoder.CORRUPT
        assert ONE.decode_form(form + b"\0", plan)[0] == decoder.CORRUPT
        assert ONE.decode_form(form, plan)[0] == decoder.OK, "and it works on"


def test_groups_that_are_longer_or_shorter_than_what_is_in_them():
    for size, form in small_forms():
        groups = groups_of(form)[2]
        plan = decoder.plan_for(size)
        assert with_groups(form, groups) == form
        for number in range(len(groups)):
            before, group, after = groups[:number], groups[number], groups[number + 1:]
            for other in (group + b"\0", group[:-1], b"", group[:len(group) // 2], group * 2):
                changed = with_groups(form, before + [other] + after)
                for one in KERNELS.values():
                    assert one.decode_form(changed, plan)[0] == decoder.CORRUPT
        # One byte less and one more: each for itself is sound in length, as far as the head knows.
        for first, second in zip(range(len(groups)), range(1, len(groups))):
            moved = groups[:first] + [groups[first] + groups[second][:1], groups[second][1:]] + \
                groups[second + 1:]
            assert ONE.decode_form(with_groups(form, moved), plan)[0] == decoder.CORRUPT


def test_an_index_that_runs_backwards_or_away():
    size, form = small_forms()[0]
    index, _, groups = groups_of(form)
    assert len(groups) > 1
    for end in (0, 2 ** 32 - 1, 2 ** 31, len(form)):
        for number in range(len(groups)):
            lying = bytearray(form)
            lying[index + 4 * number:index + 4 * number + 4] = struct.pack("<I", end)
            assert ONE.decode_form(bytes(lying), decoder.plan_for(size))[0] == decoder.CORRUPT


def test_a_group_more_than_the_image_has():
    size, form = small_forms()[0]
    index, at, groups = groups_of(form)
    more = bytearray(form[:at] + form[at - 4:])
    more[AT_HEADER + 8:AT_HEADER + 12] = struct.pack("<I", len(groups) + 1)
    assert ONE.decode_form(with_size(bytes(more)), decoder.plan_for(size))[0] == decoder.CORRUPT


def test_other_versions():
    size, form = small_forms()[0]
    for version in (0, 2, 65535):
        other = form[:4] + struct.pack("<H", version) + form[6:]
        assert ONE.decode_form(other, decoder.plan_for(size))[0] == decoder.UNSUPPORTED
        assert decoder.examine_form(other)[0] == decoder.UNSUPPORTED
    other = b"X" + form[1:]
    assert decoder.examine_form(other)[0] == decoder.CORRUPT


@pytest.mark.parametrize("at, value", (
    (AT_GROUP_ROWS, b"\0\0"), (AT_GROUP_ROWS, b"\1\0"), (AT_GROUP_ROWS, b"\x11\0"),
    (AT_BYTES, b"\xff" * 8), (AT_WIDTH, b"\xff\xff\0\0"), (AT_WIDTH, b"\x29\0\0\0"),
    (AT_COLOR, b"\2"), (AT_COLOR, b"\xff"), (AT_HEADER, b"\xff" * 4), (AT_HEADER, b"\0" * 4),
    (AT_HEADER + 4, b"\xff" * 4), (AT_HEADER + 8, b"\xff" * 4), (AT_HEADER + 8, b"\1\0\0\0"),
))
def test_heads_that_lie(at, value):
    size, form = small_forms()[0]
    damaged = form[:at] + value + form[at + len(value):]
    assert ONE.decode_form(damaged, decoder.plan_for(size))[0] == decoder.CORRUPT


def test_a_small_form_that_claims_a_huge_image_costs_nothing():
    size, form = small_forms()[0]
    header = struct.unpack_from("<I", form, AT_HEADER)[0]
    frame = form.index(b"\xff\xc0", 64, 64 + header)
    huge = bytearray(form)
    huge[frame + 5:frame + 9] = struct.pack(">HH", 65000, 65000)
    huge[AT_WIDTH:AT_WIDTH + 8] = struct.pack("<II", 65000, 65000)
    for crop in ((0, 0, 8, 8), (0, 64000, 8, 64008)):
        result = ONE.decode_form(bytes(huge), decoder.plan_for((65000, 65000), crop))[0]
        assert result in (decoder.CORRUPT, decoder.MEMORY)


@pytest.mark.parametrize("setup", (b"\xff\xd8", b"\xff\xd8\xff\xd9", b"\xff\xd8" + b"\0" * 60))
def test_headers_that_are_none(setup):
    size, form = small_forms()[0]
    header = struct.unpack_from("<I", form, AT_HEADER)[0]
    other = form[:AT_HEADER] + struct.pack("<I", len(setup)) + form[AT_HEADER + 4:64] + setup + \
        form[64 + header:]
    assert ONE.decode_form(with_size(other), decoder.plan_for(size))[0] == decoder.CORRUPT


@pytest.mark.parametrize("marker", (0xC2, 0xC9, 0xC1))
def test_setups_of_another_kind_of_file(marker):
    """A progressive or arithmetic one is refused; extended sequential ones are like baseline."""
    size, form = small_forms()[0]
    frame = form.index(b"\xff\xc0", 64)
    other = form[:frame + 1] + bytes((marker,)) + form[frame + 2:]
    expected = decoder.OK if marker == 0xC1 else decoder.CORRUPT
    assert ONE.decode_form(other, decoder.plan_for(size))[0] == expected
