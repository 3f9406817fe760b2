"""stoker.decode and its like, called directly, against Pillow without the hook."""

import io

import pytest
from PIL import Image

import images

stoker = pytest.importorskip("stoker")
np = pytest.importorskip("numpy")


def plain(data):
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_narrow_regions(subsampling):
    """Where a component is left with one column, libjpeg rounds differently."""
    for width in (18, 33, 34, 50, 65):
        data = images.jpeg(images.picture(width, 20, width), quality=85, subsampling=subsampling)
        whole = np.asarray(plain(data))
        for left in range(width):
            for right in range(left + 1, min(width, left + 9) + 1):
                region = stoker.decode(data, box=(left, 3, right, 11))
                assert (region == whole[3:11, left:right]).all(), (width, left, right)


FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
NUMBERS = {"nearest": 0, "box": 4, "bilinear": 2, "hamming": 5, "bicubic": 3, "lanczos": 1}


@pytest.mark.parametrize("filter", FILTERS)
def test_all_steps(filter):
    data = images.kinds()["color.jpg"]
    expected = plain(data).crop((10, 5, 99, 80)).resize((40, 41), NUMBERS[filter])
    expected = np.asarray(expected.transpose(0).transpose(1))
    for name in (filter, NUMBERS[filter]):
        mine = stoker.decode(data, box=(10, 5, 99, 80), size=(40, 41), filter=name, flip="hv")
        assert mine.dtype == np.uint8 and mine.shape == (41, 40, 3)
        assert (mine == expected).all()


def test_layouts_and_floats(tmp_path):
    data = images.kinds()["444.jpg"]
    (tmp_path / "x.jpg").write_bytes(data)
    whole = np.asarray(plain(data))
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    for source in (data, bytearray(data), memoryview(data), tmp_path / "x.jpg",
                   str(tmp_path / "x.jpg")):
        assert (stoker.decode(source, layout="CHW") == whole.transpose(2, 0, 1)).all()
    one = np.float32
    for layout in "HWC", "CHW":
        mine = stoker.decode(data, layout=layout, dtype="float32", mean=mean, std=std)
        assert mine.dtype == np.float32
        expected = whole.astype(one) / one(255)
        expected = (expected - np.array(mean, one)) / np.array(std, one)
        assert (mine == (expected if layout == "HWC" else expected.transpose(2, 0, 1))).all()


def test_grey_and_progressive():
    for name in ("grey.jpg", "progressive.jpg", "exif.jpg", "one.jpg"):
        data = images.kinds()[name]
        whole = np.asarray(plain(data))
        mine = stoker.decode(data)
        assert (mine == whole.reshape(mine.shape)).all(), name


def test_out():
    data = images.kinds()["color.jpg"]
    whole = np.asarray(plain(data))
    batch = np.zeros((2, *whole.shape), np.uint8)
    assert stoker.decode(data, out=batch[1]).base is batch
    assert (batch[1] == whole).all() and not batch[0].any()
    flat = bytearray(whole.nbytes)
    assert stoker.decode(data, out=flat) is flat and flat == whole.tobytes()
    with pytest.raises(ValueError, match="bytes"):
        stoker.decode(data, out=bytearray(5))
    with pytest.raises(BufferError):
        stoker.decode(data, out=bytes(whole.nbytes))


@pytest.mark.parametrize("wrong", [
    {"box": (0, 0, 1000, 10)}, {"box": (5, 5, 5, 9)}, {"size": (0, 4)}, {"filter": "sharp"},
    {"layout": "WHC"}, {"dtype": "float64"}, {"mean": (1, 2)}, {"dtype": "float32", "mean": (1, 2)},
    {"flip": "x"}, {"box": (-1, 0, 4, 4)}, {"box": (0, 0, 1)}])
def test_wrong_arguments(wrong):
    with pytest.raises(ValueError):
        stoker.decode(images.kinds()["color.jpg"], **wrong)


def test_no_jpeg(tmp_path):
    data = images.kinds()["color.jpg"]
    for wrong in (b"", b"x", data[:300], data[:-500], images.kinds()["cmyk.jpg"]):
        with pytest.raises(ValueError):
            stoker.decode(wrong)
    with pytest.raises(FileNotFoundError):
        stoker.decode(tmp_path / "nothing.jpg")
    with pytest.raises(TypeError):
        stoker.decode(7)


def test_frames():
    """The frame header alone gives the decoder's numbers, or none."""
    core, found = stoker._core, 0
    for name, data in images.kinds().items():
        info = core.examine(data)
        assert core.frame(data) in (None, info and info[:3]), name
        found += core.frame(data) is not None
        for size in range(min(len(data), 1200)):
            assert core.frame(data[:size]) in (None, core.frame(data)), (name, size)
    assert found > 10
    data = images.kinds()["color.jpg"]
    tables = data.index(b"\xff\xdb")
    for odd in (b"\xff\x01", b"\xff\xd0", b"\0", b"\xff\xe0\0\1"):
        assert core.frame(data[:tables] + odd + data[tables:]) is None, odd
    filled = data[:tables] + b"\xff\xff" + data[tables:]
    assert core.frame(filled) == core.frame(data)
    assert (stoker.decode(filled) == stoker.decode(data)).all()


def test_batch():
    data = [images.kinds()[name] for name in ("color.jpg", "444.jpg", "large.jpg", "422.jpg")] * 4
    sizes = [(20 + i, 30) for i in range(len(data))]
    before = stoker.counts()["images"]
    for threads in (1, 3, None):
        results = stoker.decode_batch(data, threads=threads, size=sizes, filter="bicubic")
        for source, size, mine in zip(data, sizes, results):
            assert (mine == np.asarray(plain(source).resize(size, 3))).all()
    assert stoker.counts()["images"] == before + 3 * len(data)
    out = np.zeros((len(data), 8, 9, 3), np.uint8)
    stoker.decode_batch(data, size=(9, 8), out=out)
    assert (out[3] == np.asarray(plain(data[3]).resize((9, 8), 2))).all()
    with pytest.raises(ValueError):
        stoker.decode_batch(data, size=[(1, 1)])


def test_view(tmp_path):
    (tmp_path / "x").write_bytes(b"abc" * 5000)
    view = stoker.view(tmp_path / "x")
    assert isinstance(view, memoryview) and view.readonly and view == b"abc" * 5000
    (tmp_path / "empty").write_bytes(b"")
    assert stoker.view(str(tmp_path / "empty")) == b""
    with pytest.raises(FileNotFoundError):
        stoker.view(tmp_path / "nothing")


@pytest.mark.parametrize("size", [(1 << 32 | 8, 8), (8, 1 << 32 | 8), (1 << 31, 8), (1 << 70, 8)])
def test_sizes_beyond_those_of_c(size):
    """They are errors, and no other sizes: at once, where they are Pillow's."""
    from stoker import Image as hooked

    data = images.kinds()["color.jpg"]
    with pytest.raises(OverflowError):
        hooked.open(io.BytesIO(data)).resize(size)
    with pytest.raises((OverflowError, ValueError, MemoryError)):
        stoker.decode(data, size=size)
    pixels = 4, 0, 0, None
    whole = ((0, 0, 2, 3), (2, 3), 0, 0, None, 0), 0, pixels
    for shape in (1 << 32 | 2, 3, 4), (1 << 31, 1 << 31, 4), (-1, 3, 4):
        with pytest.raises((OverflowError, ValueError)):
            stoker._core.transform(b"" if shape[1] > 3 else bytes(24), shape, whole, None)
    with pytest.raises((OverflowError, ValueError)):
        stoker._core.transform(bytes(24), (2, 3, 4), (((0, 0, 2, 3), size, 0, 0, None, 0), 0, pixels), None)


def test_one_number_for_all_channels():
    """The number may be Python's or NumPy's."""
    data = images.kinds()["color.jpg"]
    expected = stoker.decode(data, dtype="float32", mean=[.5] * 3, std=[.25] * 3)
    for kind in float, np.float32, np.float64, np.array:
        found = stoker.decode(data, dtype="float32", mean=kind(.5), std=kind(.25))
        assert (found == expected).all(), kind


@pytest.mark.parametrize("threads, error", [(-2, ValueError), (1.5, TypeError)])
def test_how_many_threads_is_a_whole_number(threads, error):
    with pytest.raises(error, match="threads is"):
        stoker.decode_batch([images.kinds()["color.jpg"]], threads=threads)
