"""The calls of nvJPEG beside its own header and library, where these are: in CUDA's directory or as
the package nvidia-nvjpeg of PyPI. Then stoker._gpu_core's decoder over the nvJPEG of the tests."""

import importlib.util
import pathlib
import re

import pytest
from test_binding import run
from test_code import CUDA, calls_of, plain, symbols_of

CALLS = calls_of("gpu/nvjpeg.def")
TYPES = {"nvjpegHandle_t|nvjpegJpegState_t|nvjpegJpegStream_t|cudaStream_t": "void *",
         "nvjpegDevAllocator_t|nvjpegPinnedAllocator_t": "void",
         "nvjpegBackend_t|nvjpegOutputFormat_t|libraryPropertyType": "int",
         "nvjpegImage_t": "struct stk_nvjpeg_image"}


def found(*patterns):
    """The first of these files, in CUDA's directory or in those of packages."""
    packages = importlib.util.find_spec("nvidia")
    places = [CUDA, *map(pathlib.Path, packages.submodule_search_locations if packages else ())]
    files = [file for place in places for pattern in patterns for file in sorted(place.glob(pattern))]
    if not files:
        pytest.skip(f"no {patterns[0]}: pip install nvidia-nvjpeg")
    return files[0]


def header():
    return found("include/nvjpeg.h", "*/include/nvjpeg.h").read_text()


@pytest.mark.parametrize("symbol, parameters", [call[1:] for call in CALLS])
def test_calls_are_as_in_nvjpeg_s_header(symbol, parameters):
    theirs = re.search(rf"nvjpegStatus_t NVJPEGAPI {symbol}\(([^)]*)\);", header()).group(1)
    assert ([plain(one, TYPES) for one in parameters.split(",")]
            == [plain(one, TYPES) for one in theirs.split(",")])


def test_calls_are_the_library_s():
    library = found("lib64/libnvjpeg.so.1[1-3]", "*/lib/libnvjpeg.so.1[1-3]")
    assert {symbol for _, symbol, _ in CALLS} <= symbols_of(library)


@pytest.mark.parametrize("ours, theirs", [
    ("STK_NVJPEG_INVALID_PARAMETER", "NVJPEG_STATUS_INVALID_PARAMETER"),
    ("STK_NVJPEG_BAD_JPEG", "NVJPEG_STATUS_BAD_JPEG"),
    ("STK_NVJPEG_NOT_SUPPORTED", "NVJPEG_STATUS_JPEG_NOT_SUPPORTED"),
    ("STK_NVJPEG_ALLOCATOR_FAILURE", "NVJPEG_STATUS_ALLOCATOR_FAILURE"),
    ("STK_NVJPEG_INCOMPLETE", "NVJPEG_STATUS_INCOMPLETE_BITSTREAM"),
    ("STK_NVJPEG_GPU_HYBRID", "NVJPEG_BACKEND_GPU_HYBRID"),
    ("STK_NVJPEG_HARDWARE", "NVJPEG_BACKEND_HARDWARE"), ("STK_NVJPEG_RGB", "NVJPEG_OUTPUT_RGB")])
def test_numbers_are_its_own(ours, theirs):
    """And an image is laid out as its own is."""
    said = [int(re.search(rf"\b{name}\s*=\s*(\d+)", text).group(1)) for name, text in (
        (ours, (pathlib.Path(__file__).parents[2] / "gpu/nvjpeg.h").read_text()), (theirs, header()))]
    assert said[0] == said[1]
    assert re.search(r"NVJPEG_MAX_COMPONENT 4\b", header()) and re.search(
        r"unsigned char \* channel\[NVJPEG_MAX_COMPONENT\];\s*size_t +pitch\[NVJPEG_MAX_COMPONENT\];\s*"
        r"} nvjpegImage_t;", header())


# ---- over the nvJPEG of the tests ----

BEGIN = """
import io
from PIL import Image

NAMES = ("/no such library", "libnvjpeg.so.13")

def jpeg(seed, width=48, height=33, mode="RGB", **more):
    small = np.random.RandomState(seed).randint(0, 256, (5, 7, 4 if mode == "CMYK" else 3), np.uint8)
    file = io.BytesIO()
    image = Image.fromarray(small, "CMYK" if mode == "CMYK" else "RGB").resize((width, height))
    image.convert(mode).save(file, "JPEG", **more)
    return np.frombuffer(file.getvalue(), np.uint8)

def planes(data):
    return np.asarray(Image.open(io.BytesIO(data.tobytes()))).transpose(2, 0, 1).tobytes()

def told(datas, outs, width=48, height=33):
    return [(data.ctypes.data, len(data), width, height, out) for data, out in zip(datas, outs)]

SIZE = 48 * 33 * 3

def left():
    return world.decoders, world.events, world.memories, world.retained, world.wild
"""


def over_ours(text):
    run(BEGIN + text)


def test_pixels_arrive_late_and_are_libjpeg_s():
    """Two batches, one behind the other: the second waits for the state of the first."""
    over_ours("""
device = core.open(0)
jpegs = core.jpegs(device, NAMES)
assert core.jpegs_name(jpegs) == "nvJPEG 13.0, by the JPEG engine"
world.late_us = 20000
datas = [jpeg(seed) for seed in range(9)]
outs = [core.take(device, SIZE) for _ in datas]
assert core.jpegs_decode(jpegs, told(datas[:4], outs), 0) == [True] * 4
assert core.jpegs_decode(jpegs, told(datas[4:], outs[4:]), 0) == [True] * 5
assert core.jpegs_decode(jpegs, [], 0) == []
core.jpegs_decode(jpegs, told(datas[:1], outs), 0)
assert [core.fetch(device, out, SIZE) for out in outs[4:]] == [planes(data) for data in datas[4:]]
del jpegs
assert [core.fetch(device, out, SIZE) for out in outs[:4]] == [planes(data) for data in datas[:4]]
assert (world.decoded, world.decoders, world.wild) == (10, 0, 0)
""")


def test_what_nvjpeg_does_not_take_is_left():
    """Also one that it finds to be of another size than was said: its planes would not fit."""
    over_ours("""
device = core.open(0)
datas = [jpeg(1), jpeg(2, progressive=True), jpeg(3, mode="L"), jpeg(4, mode="CMYK"), jpeg(5, 49),
         jpeg(6)[:100], jpeg(7)]
outs = [core.take(device, SIZE) for _ in datas]
for world.has_no_engine, name in (False, "the JPEG engine"), (True, "kernels"):
    jpegs = core.jpegs(device, NAMES)
    assert core.jpegs_name(jpegs).endswith(name)
    assert core.jpegs_decode(jpegs, told(datas, outs), 0) == [True] + [False] * 5 + [True]
    del jpegs
assert world.decoded == 4 and world.wild == 0
""")


def test_no_library_is_said():
    over_ours("""
device = core.open(0)
for names in (), NAMES[:1], ("libcuda.so.1",):
    try:
        core.jpegs(device, names)
        raise AssertionError
    except core.NoDevice as why:
        told = str(why)
    assert told.startswith("nvJPEG is too old" if names[:1] == ("libcuda.so.1",) else "no nvJPEG"), told
""")


def test_what_one_that_is_there_says_is_said():
    """Rather than that another one is not there."""
    over_ours("""
device = core.open(0)
world.calls, world.fail_at, world.for_good = 0, 2, True
try:
    core.jpegs(device, NAMES[1:] + NAMES[:1])
    raise AssertionError
except core.NoDevice as why:
    assert str(why) == "nvJPEG cannot begin (libnvjpeg.so.13): EXECUTION_FAILED (6)", why
world.fail_at = 0
del device
""")


@pytest.mark.parametrize("error", [999, 2, 4])
def test_every_call_fails_once(error):
    """If a batch is begun, it is right, or there is an exception; images that are not liked are
    left. Nothing stays."""
    over_ours(f"error = {error}" + """
datas = [jpeg(seed) for seed in range(3)]
def work():
    device = core.open(0)
    jpegs = core.jpegs(device, NAMES[1:])
    outs = [core.take(device, SIZE) for _ in datas]
    for _ in range(2):
        begun = core.jpegs_decode(jpegs, told(datas, outs), 0)
    del jpegs
    made = [core.fetch(device, out, SIZE) == planes(data) for out, data in zip(outs, datas)]
    for out in outs:
        core.give(device, out)
    return begun, made
world.late_us, world.fail_with, at, seen = 0, error, 0, {}
while True:
    at += 1
    world.calls, world.failed, world.fail_at, begun = 0, None, at, None
    try:
        begun, made = work()
    except (RuntimeError, MemoryError):
        pass
    world.fail_at = 0
    if world.failed is None:
        break
    seen[world.failed.decode()] = begun
    assert begun is None or all(right for was_begun, right in zip(begun, made) if was_begun), at
    assert (world.decoders, world.retained, world.pushed, world.wild) == (0, 0, 0, 0), (at, left())
theirs = {name for name in seen if name.startswith("nvjpeg")}
assert len(theirs) == 11, theirs
for name in "nvjpegJpegStreamParseHeader", "nvjpegDecodeBatchedSupported":
    assert seen[name] in ([True, True, False], [False, True, True], [True] * 3), (name, seen[name])
assert (seen["nvjpegDecodeBatched"] == [False] * 3) == (error == 4), seen["nvjpegDecodeBatched"]
assert begun == [True] * 3 and all(made)
""")


def test_a_child_of_fork_is_told():
    over_ours("""
device = core.open(0)
jpegs, data = core.jpegs(device, NAMES), jpeg(1)
out = core.take(device, SIZE)
pid = os.fork()
if pid == 0:
    for call in (lambda: core.jpegs_decode(jpegs, told([data], [out]), 0),
                 lambda: core.jpegs(device, NAMES)):
        try:
            call()
        except RuntimeError as error:
            assert "spawn" in str(error)
        else:
            os._exit(1)
    del jpegs, device
    gc.collect()
    os._exit(0 if world.decoders == 3 else 2)
assert os.waitpid(pid, 0)[1] == 0
assert core.jpegs_decode(jpegs, told([data], [out]), 0) == [True]
""")
