"""Plans and targets that make no sense, and the parts that are no pixels."""
import ctypes
import io
import itertools
import random

import numpy
import pytest
from PIL import Image

import decoder
import exact

ONE = next(iter(exact.DECODERS.values()))
LIBM = ctypes.CDLL("libm.so.6")
LIBM.fmaf.restype, LIBM.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
PIXELS = numpy.random.default_rng(7).integers(0, 256, (30, 40, 3), dtype=numpy.uint8)


def jpeg():
    out = io.BytesIO()
    Image.fromarray(PIXELS).save(out, "JPEG")
    return out.getvalue()


@pytest.mark.parametrize("crop", ((0, 0, 41, 30), (0, 0, 40, 31), (-1, 0, 4, 4), (4, 4, 4, 8),
                                  (8, 4, 4, 8), (0, 0, 2**31 - 1, 4)))
def test_crops_outside_of_the_image(crop):
    plan = decoder.plan_for((40, 30), out=(4, 4))
    plan.crop = crop
    assert ONE.decode(jpeg(), plan)[0] == decoder.ARGUMENT


@pytest.mark.parametrize("box", ((-0.5, 0, 4, 4), (0, 0, 40.5, 30), (5, 0, 4, 4),
                                 (float("nan"), 0, 4, 4), (0, 0, float("inf"), 4)))
def test_boxes_outside_of_the_crop(box):
    plan = decoder.plan_for((40, 30), out=(7, 7))
    plan.box = box
    assert ONE.decode(jpeg(), plan)[0] == decoder.ARGUMENT


@pytest.mark.parametrize("field, value", (
    ("width", 0), ("height", 0), ("channels", 0), ("channels", 2), ("channels", 5), ("filter", 7),
    ("resizer", 4), ("flip", 4), ("layout", 2), ("layout", 3), ("type", 2), ("type", 1)))
def test_fields_that_have_no_such_value(field, value):
    plan = decoder.plan_for((40, 30), out=(4, 4))
    setattr(plan, field, value)
    assert ONE.decode(jpeg(), plan)[0] == decoder.ARGUMENT


@pytest.mark.parametrize("layout, channels, row, plane, size, fits", (
    (0, 3, 12, 0, 48, True), (0, 3, 12, 0, 47, False), (0, 3, 11, 0, 480, False),
    (0, 3, 20, 0, 72, True), (0, 3, 20, 0, 71, False), (0, 3, 2**63, 0, 4800, False),
    (1, 3, 4, 16, 48, True), (1, 3, 4, 16, 47, False), (1, 3, 4, 2**63, 48, False)))
def test_targets_that_are_too_small(layout, channels, row, plane, size, fits):
    plan = decoder.plan_for((40, 30), out=(4, 4), layout=layout, channels=channels)
    memory = ctypes.create_string_buffer(5000)
    target = decoder.Target(ctypes.addressof(memory), row, plane, size)
    data = jpeg()
    result = decoder.LIBRARY.test_decode(ONE.handle, data, len(data), plan, target)
    assert result == (decoder.OK if fits else decoder.ARGUMENT)


def test_rows_further_apart_than_they_are_long():
    plan = decoder.plan_for((40, 30))
    memory = ctypes.create_string_buffer(b"\x11" * (200 * 30), 200 * 30)
    target = decoder.Target(ctypes.addressof(memory), 200, 0, 200 * 30)
    data = jpeg()
    assert decoder.LIBRARY.test_decode(ONE.handle, data, len(data), plan, target) == 0
    rows = numpy.frombuffer(memory.raw, numpy.uint8).reshape(30, 200)
    assert (rows[:, 120:] == 0x11).all()
    expected = numpy.asarray(Image.open(io.BytesIO(data)))
    assert (rows[:, :120].reshape(30, 40, 3) == expected).all()


@pytest.mark.parametrize("size", ((1, 1), (7, 33), (33, 7), (64, 50), (101, 67)))
@pytest.mark.parametrize("mode, sampling", (("RGB", 0), ("RGB", 1), ("RGB", 2), ("L", 0)))
@pytest.mark.parametrize("channels", (3, 4))
def test_rows_that_libjpeg_writes_where_they_go(size, mode, sampling, channels):
    """Whole rows, not resized: all of them or some, from above or from below."""
    out = io.BytesIO()
    Image.fromarray(PIXELS).convert(mode).resize(size).save(out, "JPEG", subsampling=sampling)
    reference = Image.open(out).convert("RGB")
    for top, bottom in ((0, size[1]), (size[1] // 3, size[1] - size[1] // 3)):
        for flip in (0, 2):
            crop = (0, top, size[0], bottom)
            plan = decoder.plan_for(size, crop, channels=channels, flip=flip)
            image = reference.crop(crop)
            image = image.transpose(Image.FLIP_TOP_BOTTOM) if flip else image
            expected = image.tobytes("raw", "RGB" if channels == 3 else "RGBX")
            assert ONE.decode(out.getvalue(), plan) == (decoder.OK, expected)


def every_decode(data, plan):
    """The results of all kernels, from the file and from its form."""
    for one in exact.DECODERS.values():
        yield one.decode(data, plan)
        result, pixels, form = one.keep(data, plan)
        yield result, pixels
        yield one.decode_form(form, plan)


@pytest.mark.parametrize("size", ((1, 1), (7, 33), (33, 7), (64, 50), (101, 67)))
@pytest.mark.parametrize("kind", ({"subsampling": 0}, {"subsampling": 1}, {"subsampling": 2},
                                  {"progressive": True}))
def test_blue_first_and_luma(size, kind):
    """Whole rows only. The luma is what libjpeg gives as grey."""
    out = io.BytesIO()
    Image.fromarray(PIXELS).resize(size).save(out, "JPEG", **kind)
    data = out.getvalue()
    grey = Image.open(out)
    grey.draft("L", None)
    blue_first = Image.open(out).convert("RGB").tobytes("raw", "BGR")
    for channels, layout, expected in ((3, 2, blue_first), (1, 0, grey.tobytes())):
        plan = decoder.plan_for(size, channels=channels, layout=layout)
        assert set(every_decode(data, plan)) == {(decoder.OK, expected)}


@pytest.mark.parametrize("crop, out, flip", (((1, 0, 40, 30), None, 0), (None, (20, 15), 0),
                                             (None, None, 1)))
def test_blue_first_and_luma_of_parts(crop, out, flip):
    for channels, layout, result in ((3, 2, decoder.ARGUMENT), (1, 0, decoder.UNSUPPORTED)):
        plan = decoder.plan_for((40, 30), crop, out, channels=channels, layout=layout, flip=flip)
        assert {one.decode(jpeg(), plan)[0] for one in exact.DECODERS.values()} == {result}


@pytest.mark.parametrize("size", ((1, 1), (7, 33), (33, 7), (64, 50), (101, 67)))
@pytest.mark.parametrize("kind", ({"subsampling": 0}, {"subsampling": 1}, {"subsampling": 2},
                                  {"progressive": True}, {"restart_marker_blocks": 1}, {"mode": "L"}))
def test_images_that_libjpeg_makes_smaller(size, kind):
    """As Pillow's draft() asks libjpeg for them."""
    out = io.BytesIO()
    options = {"mode": "RGB", **kind}
    Image.fromarray(PIXELS).resize(size).convert(options.pop("mode")).save(out, "JPEG", **options)
    data = out.getvalue()
    for scale in (2, 4, 8):
        image = Image.open(io.BytesIO(data))
        image.draft(None, tuple(max(side // scale, 1) for side in size))
        small = tuple(-(-side // scale) for side in size)
        if image.decoderconfig != (scale, 0):  # too small for it: draft() is not asked for so little
            image.decoderconfig, image._size = (scale, 0), small
            image.tile = [(image.tile[0][0], (0, 0) + small, *image.tile[0][2:])]
        blue_first = image.convert("RGB").tobytes("raw", "BGR")
        plan = decoder.plan_for(small, layout=2)
        plan.scale = scale
        assert set(every_decode(data, plan)) == {(decoder.OK, blue_first)}


@pytest.mark.parametrize("scale, crop, out, flip, turn, result", (
    (3, None, None, 0, 0, decoder.ARGUMENT), (1, None, None, 0, 0, decoder.ARGUMENT),
    (2, None, None, 0, 0, decoder.OK), (2, None, None, 2, 0, decoder.OK),
    (2, (0, 0, 40, 30), None, 0, 0, decoder.ARGUMENT), (2, (1, 0, 20, 15), None, 0, 0, decoder.UNSUPPORTED),
    (2, (0, 1, 20, 15), None, 0, 0, decoder.UNSUPPORTED), (2, None, (9, 9), 0, 0, decoder.UNSUPPORTED),
    (2, None, None, 1, 0, decoder.UNSUPPORTED), (2, None, None, 0, 3, decoder.UNSUPPORTED)))
def test_smaller_images_are_whole(scale, crop, out, flip, turn, result):
    plan = decoder.plan_for((20, 15), crop, out, flip=flip, turn=turn)
    plan.scale = scale
    for each in every_decode(jpeg(), plan) if result == decoder.OK else [one.decode(jpeg(), plan) for one in exact.DECODERS.values()]:
        assert each[0] == result


def test_images_in_memory_are_not_made_smaller():
    plan = decoder.plan_for((20, 15))
    plan.scale = 2
    assert ONE.transform(PIXELS.tobytes(), (40, 30), 3, plan)[0] == decoder.ARGUMENT


def test_four_real_channels_are_all_resized():
    pixels = numpy.random.default_rng(8).integers(0, 256, (31, 45, 4), dtype=numpy.uint8)
    reference = Image.fromarray(pixels, "CMYK").resize((20, 17), Image.BICUBIC)
    plan = decoder.plan_for((45, 31), out=(20, 17), filter="bicubic", resizer=exact.RESIZER, channels=4)
    for one in exact.DECODERS.values():
        assert one.transform(pixels.tobytes(), (45, 31), 4, plan) == (0, reference.tobytes())


@pytest.mark.parametrize("own, wanted, result", ((1, 3, 0), (1, 4, 0), (3, 4, 0), (4, 3, 0),
                                                 (3, 1, -4), (4, 1, -4), (2, 3, -4), (0, 3, -4)))
def test_channels_of_an_image_and_of_a_plan(own, wanted, result):
    plan = decoder.plan_for((8, 8), channels=wanted)
    assert ONE.transform(bytes(8 * 8 * 4), (8, 8), own, plan)[0] == result


def torchs_weights(size, out, filter):
    """[(the first input, the weights as whole numbers)...] of an axis, and the bits of their fractions: as torch
    resizes bytes, with antialias."""
    scale = size / out
    stretch = max(scale, 1.0)
    support = (2 if filter == "bicubic" else 1) * stretch

    def curve(x):
        x = abs(x)
        if filter == "bilinear":
            return max(1 - x, 0.0)
        if x < 1:
            return (1.5 * x - 2.5) * x * x + 1
        return ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0

    found = []
    for o in range(out):
        center = scale * (o + 0.5)
        first = max(int(center - support + 0.5), 0)
        weights = [curve((i - center + 0.5) / stretch) for i in range(first, min(int(center + support + 0.5), size))]
        found.append((first, [each / sum(weights) for each in weights]))
    largest = max(max(weights) for _, weights in found)
    bits = next((n for n in range(22) if int(0.5 + largest * 2**(n + 1)) >= 2**15), 22)
    return [(first, [int(each * 2**bits + (0.5 if each >= 0 else -0.5)) for each in weights])
            for first, weights in found], bits


def resized_as_torch(pixels, out, filter):
    """The horizontal pass, then the vertical one, each rounded to bytes."""
    for axis, size in ((1, out[0]), (0, out[1])):
        if size == pixels.shape[axis]:
            continue
        weights, bits = torchs_weights(pixels.shape[axis], size, filter)
        lines = numpy.moveaxis(pixels, axis, 0).astype(int)
        sums = [sum(w * lines[first + i] for i, w in enumerate(each)) for first, each in weights]
        made = numpy.clip((numpy.array(sums) + 2**(bits - 1)) >> bits, 0, 255)
        pixels = numpy.moveaxis(made, 0, axis).astype(numpy.uint8)
    return pixels


@pytest.mark.parametrize("filter", ("bilinear", "bicubic"))
@pytest.mark.parametrize("channels", (1, 3))
def test_bytes_are_resized_as_by_torch(filter, channels):
    """Its weights have fewer bits, as many as the largest one of all leaves room for, wanted or not."""
    choose, differ = random.Random(filter), 0
    for case in range(60):
        (width, height), out = ([choose.randint(1, 70) for _ in range(2)] for _ in range(2))
        pixels = numpy.random.default_rng(case).integers(0, 256, (height, width, channels), dtype=numpy.uint8)
        left, flip = choose.randrange(out[0]), choose.randrange(2)
        window = left, 0, choose.randint(left + 1, out[0]), out[1]
        plans = [decoder.plan_for((width, height), out=out, filter=filter, resizer=resizer, channels=channels, flip=flip,
                                  window=window) for resizer in (decoder.TORCH, decoder.HORIZONTAL)]
        expected = resized_as_torch(pixels, out, filter)[:, left:window[2]]
        expected = expected[:, ::-1] if flip else expected
        for one in exact.DECODERS.values():
            own, pillows = (one.transform(pixels.tobytes(), (width, height), channels, plan) for plan in plans)
            assert own == (decoder.OK, expected.tobytes()), (width, height, out)
            differ += own != pillows
    assert differ, "Pillow's weights serve as well"


def torchs_floats(size, out):
    """[(the first input, the weights)...] of an axis, in single precision, as torch resizes floats with antialias."""
    single = numpy.float32
    scale = single(size) / single(out)
    support, inverse = max(scale, single(1)), single(1 / float(max(scale, single(1))))
    found = []
    for o in range(out):
        center = single(float(scale) * (o + 0.5))
        first = max(int(float(center - support) + 0.5), 0)
        inputs = range(first, min(int(float(center + support) + 0.5), size))
        far = [abs(single((float(single(i) - center) + 0.5) * float(inverse))) for i in inputs]
        weights = [single(1 - float(each)) if each < 1 else single(0) for each in far]
        total = single(0)
        for each in weights:
            total += each
        found.append((first, [each / total for each in weights]))
    return found


def fused_sum(inputs, weights):
    """The sum whose last one to three products are not rounded."""
    products = [value * weight for value, weight in zip(inputs, weights)]
    rounded = 1 + (len(products) - 1) // 4 * 4
    total = products[0]
    for each in products[1:rounded]:
        total = total + each
    for value, weight in list(zip(inputs, weights))[rounded:]:
        total = numpy.float32(LIBM.fmaf(value, weight, total))
    return total


def resized_by_floats(pixels, out):
    """The columns, then the rows, and halves are rounded to the even byte."""
    floats = pixels.astype(numpy.float32)
    for axis, size in ((1, out[0]), (0, out[1])):
        lines = numpy.moveaxis(floats, axis, -1)
        made = numpy.empty((*lines.shape[:-1], size), numpy.float32)
        for o, (first, weights) in enumerate(torchs_floats(lines.shape[-1], size)):
            for at in numpy.ndindex(lines.shape[:-1]):
                made[(*at, o)] = fused_sum(lines[at][first:], weights)
        floats = numpy.moveaxis(made, -1, axis)
    return numpy.rint(floats).astype(numpy.uint8)


def test_bytes_are_resized_as_torchs_floats():
    choose, differ = random.Random(6), 0
    for case in range(25):
        (width, height), out = ([choose.randint(1, limit) for _ in range(2)] for limit in (40, 12))
        pixels = numpy.random.default_rng(case).integers(0, 256, (height, width, 3), dtype=numpy.uint8)
        left, flip = choose.randrange(out[0]), choose.randrange(4)
        window = left, 0, choose.randint(left + 1, out[0]), out[1]
        plans = [decoder.plan_for((width, height), out=out, filter=filter, flip=flip, window=window)
                 for filter in ("bilinear floats", "bilinear")]
        expected = resized_by_floats(pixels, out)[:, left:window[2]]
        expected = expected[::-1 if flip & 2 else 1, ::-1 if flip & 1 else 1]
        for one in exact.DECODERS.values():
            own, pillows = (one.transform(pixels.tobytes(), (width, height), 3, plan) for plan in plans)
            assert own == (decoder.OK, expected.tobytes()), (width, height, out)
            differ += own != pillows
    assert differ, "Pillow's resize serves as well"


def test_tables_are_rounded_step_by_step():
    table = (ctypes.c_float * 256)()
    mean, std = numpy.float32(0.485), numpy.float32(0.229)
    decoder.LIBRARY.test_table(table, ctypes.byref(ctypes.c_float(mean)),
                               ctypes.byref(ctypes.c_float(std)))
    steps = (numpy.arange(256, dtype=numpy.float32) / numpy.float32(255) - mean) / std
    assert (numpy.frombuffer(table, numpy.float32) == steps).all()
    decoder.LIBRARY.test_table(table, None, None)
    assert table[255] == 1.0 and table[0] == 0.0


def numbers_of(choose, kind):
    """Returns random (mean, std)."""
    return (0, 1) if "255ths" in kind else (choose.uniform(-2, 2), choose.uniform(.001, 3))


def random_table(choose, kind):
    """Floats of 256 bytes for three channels: of a normalisation of any kind, of one that is one float off, or of no formula."""
    table = (ctypes.c_float * 768)()
    floats = numpy.frombuffer(table, numpy.float32).reshape(3, 256)
    for channel in range(3):
        mean, std = map(numpy.float32, numbers_of(choose, kind))
        if "products" in kind:
            floats[channel] = (numpy.arange(256, dtype=numpy.float32) * numpy.float32(1 / 255) - mean) / std
        elif kind == "of bytes":
            floats[channel] = (numpy.arange(256, dtype=numpy.float32) - mean * numpy.float32(255)) / (std * numpy.float32(255))
        else:
            part = (ctypes.c_float * 256).from_buffer(table, channel * 1024)
            decoder.LIBRARY.test_table(part, ctypes.byref(ctypes.c_float(mean)), ctypes.byref(ctypes.c_float(std)))
    if kind == "one float off":
        at = choose.randrange(3), choose.randrange(256)
        floats[at] = numpy.nextafter(floats[at], numpy.float32(9))
    elif kind == "no formula":
        floats.view(numpy.uint32).ravel()[:] = [choose.getrandbits(32) for _ in range(768)]
    return table, floats


@pytest.mark.parametrize("kind", ("normalisation", "of products", "of bytes", "255ths", "255ths as products", "one float off",
                                  "no formula"))
def test_tables_of_any_kind(kind):
    choose, computed = random.Random(kind), 0
    pixels = numpy.arange(256, dtype=numpy.uint8).repeat(3).tobytes()
    for _ in range(300):
        table, floats = random_table(choose, kind)
        computed += decoder.LIBRARY.test_is_computed(ONE.handle, table)
        for one, (layout, wanted) in itertools.product(exact.DECODERS.values(), ((0, floats.T), (1, floats))):
            plan = decoder.plan_for((256, 1), layout=layout, table=table)
            result, data = one.transform(pixels, (256, 1), 3, plan)
            assert result == decoder.OK
            assert data == wanted.tobytes()
    assert computed == 0 if kind in ("one float off", "no formula") else computed > 290


def test_the_header_says_what_the_file_is():
    result, info = ONE.examine(jpeg())
    assert (result, info.width, info.height, info.components) == (0, 40, 30, 3)
    assert (info.color, info.precision, info.progressive, info.multiscan) == (1, 8, 0, 0)
    assert info.end == len(jpeg())


@pytest.mark.parametrize("window, result", (
    ((1, 1, 4, 4), decoder.OK), ((0, 0, 5, 4), decoder.ARGUMENT), ((0, 0, 4, 5), decoder.ARGUMENT),
    ((2, 0, 2, 4), decoder.ARGUMENT), ((3, 0, 2, 4), decoder.ARGUMENT),
    ((0, 4, 4, 4), decoder.ARGUMENT), ((0, 0, 2**32 - 1, 4), decoder.ARGUMENT)))
def test_windows_of_the_result(window, result):
    plan = decoder.plan_for((40, 30), out=(4, 4), window=window)
    memory = ctypes.create_string_buffer(5000)
    target = decoder.Target(ctypes.addressof(memory), 12, 0, 5000)
    data = jpeg()
    assert decoder.LIBRARY.test_decode(ONE.handle, data, len(data), plan, target) == result
