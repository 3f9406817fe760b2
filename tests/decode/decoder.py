"""decode/ from Python, by ctypes: for the tests of pixels, without the wrapper."""
import ctypes as c
import os

FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", "bilinear floats"]
OK, CORRUPT, UNSUPPORTED, MEMORY, ARGUMENT = 0, -1, -2, -3, -4
HORIZONTAL, TALL_VERTICAL, SHRINK_VERTICAL, TORCH = range(4)


class Info(c.Structure):
    _fields_ = [("width", c.c_uint32), ("height", c.c_uint32), ("components", c.c_uint32),
                ("color", c.c_int), ("precision", c.c_uint8), ("progressive", c.c_uint8),
                ("arithmetic", c.c_uint8), ("multiscan", c.c_uint8), ("end", c.c_size_t)]


class Plan(c.Structure):
    _fields_ = [("crop", c.c_int32 * 4), ("width", c.c_uint32), ("height", c.c_uint32),
                ("box", c.c_float * 4), ("filter", c.c_int), ("resizer", c.c_int),
                ("flip", c.c_uint), ("channels", c.c_uint32), ("layout", c.c_int),
                ("type", c.c_int), ("table", c.POINTER(c.c_float)),
                ("window", c.c_uint32 * 4), ("turn", c.c_uint),
                ("scale", c.c_uint32), ("end", c.c_size_t)]


class Target(c.Structure):
    _fields_ = [("data", c.c_void_p), ("row_bytes", c.c_size_t), ("plane_bytes", c.c_size_t),
                ("bytes", c.c_size_t), ("streamed", c.c_bool)]


class Form(c.Structure):
    _fields_ = [("data", c.c_void_p), ("bytes", c.c_size_t)]


class FormSource(c.Structure):
    _fields_ = [("info", Info), ("header", c.c_void_p), ("header_bytes", c.c_size_t),
                ("file_bytes", c.c_uint64)]


class Source(c.Structure):
    _fields_ = [("data", c.c_char_p), ("width", c.c_uint32), ("height", c.c_uint32),
                ("channels", c.c_uint32), ("row_bytes", c.c_size_t),
                ("rows", c.POINTER(c.c_void_p)), ("unused", c.c_uint32)]


def load():
    path = os.path.join(os.environ.get("STOKER_BUILD", "build"), "tests", "libdecode.so")
    library = c.CDLL(os.path.abspath(path))
    library.test_new.restype = c.c_void_p
    library.test_simd.restype = c.c_char_p
    library.test_free.argtypes = library.test_cursors.argtypes = [c.c_void_p]
    library.test_is_computed.argtypes = [c.c_void_p, c.POINTER(c.c_float)]
    library.test_is_computed.restype = c.c_bool
    sized = [c.c_void_p, c.c_char_p, c.c_size_t]
    library.test_examine.argtypes = sized + [c.POINTER(Info)]
    library.test_decode.argtypes = sized + [c.POINTER(Plan), c.POINTER(Target)]
    library.test_keep.argtypes = library.test_decode.argtypes + [c.POINTER(Form)]
    library.test_form.argtypes = library.test_decode.argtypes
    library.test_examine_form.argtypes = [c.c_char_p, c.c_size_t, c.POINTER(FormSource)]
    library.test_transform.argtypes = [c.c_void_p, c.POINTER(Source), c.POINTER(Plan),
                                       c.POINTER(Target)]
    return library


LIBRARY = load()


class Decoder:
    """
    One decoder. `simd` names the kernels, which are what it gets if this machine has them; `entropy`
    may be libjpeg, or the number of cursors.
    """

    def __init__(self, simd=None, entropy=None):
        wishes = {"STOKER_SIMD": simd, "STOKER_ENTROPY": "libjpeg" if entropy == "libjpeg" else None,
                  "STOKER_CURSORS": str(entropy) if isinstance(entropy, int) else None}
        os.environ.update({name: value for name, value in wishes.items() if value})
        self.simd = LIBRARY.test_simd().decode()
        self.entropy = entropy
        self.handle = LIBRARY.test_new()
        self.examine(b"not a JPEG")  # it looks at the environment now
        for name in wishes:
            os.environ.pop(name, None)

    def was_played(self):
        """The last image's coefficients came from our own parser."""
        return self.cursors() > 0

    def cursors(self):
        """How many cursors had a part in it."""
        return LIBRARY.test_cursors(self.handle)

    def __del__(self):
        LIBRARY.test_free(self.handle)

    def examine(self, data):
        """(result, Info)"""
        info = Info()
        return LIBRARY.test_examine(self.handle, data, len(data), info), info

    def decode(self, data, plan):
        """(result, the target's bytes)"""
        return self._into(plan, lambda target: LIBRARY.test_decode(
            self.handle, data, len(data), plan, target))

    def keep(self, data, plan):
        """(result, the target's bytes, the form's bytes)"""
        form = Form()
        result = self._into(plan, lambda target: LIBRARY.test_keep(
            self.handle, data, len(data), plan, target, form))
        return result + (c.string_at(form.data, form.bytes),)

    def decode_form(self, form, plan):
        """(result, the target's bytes)"""
        return self._into(plan, lambda target: LIBRARY.test_form(
            self.handle, form, len(form), plan, target))

    def transform(self, pixels, size, channels, plan, unused=0, pieces=None):
        """`pieces`: that many rows lie together; all of them if it is None."""
        row = size[0] * channels
        source = Source(pixels, size[0], size[1], channels, row, None, unused)
        kept = in_pieces(pixels, row, pieces) if pieces else []
        if pieces:
            source.data, source.rows = None, (c.c_void_p * size[1])(*(
                c.addressof(piece) + at * row for piece, rows in kept for at in range(rows)))
        return self._into(plan, lambda target: LIBRARY.test_transform(
            self.handle, source, plan, target))

    @staticmethod
    def _into(plan, call):
        sample = 4 if plan.type else 1
        planes = plan.layout == 1
        left, top, right, bottom = plan.window if any(plan.window) else (
            0, 0, plan.width, plan.height)
        width, height = max(right - left, 0), max(bottom - top, 0)
        row = width * sample * (1 if planes else plan.channels)
        size = width * height * plan.channels * sample
        # A guard behind the pixels shows what is written too far.
        memory = c.create_string_buffer(b"\xa5" * (size + 64), size + 64)
        target = Target(c.addressof(memory), row, row * height, size)
        result = call(target)
        assert memory.raw[size:] == b"\xa5" * 64, "written behind the target"
        return result, memory.raw[:size]


def examine_form(form):
    """(result, Info, the file's header, the file's size)"""
    source = FormSource()
    result = LIBRARY.test_examine_form(form, len(form), source)
    return (result, source.info, c.string_at(source.header, source.header_bytes),
            source.file_bytes)


def in_pieces(pixels, row, rows):
    """[(memory of its own, how many rows it has)...]"""
    parts = [pixels[at:at + row * rows] for at in range(0, len(pixels), row * rows)]
    return [(c.create_string_buffer(part, len(part)), len(part) // row) for part in parts]


def plan_for(size, crop=None, out=None, box=None, filter="bilinear", resizer=HORIZONTAL, flip=0,
             channels=3, layout=0, table=None, window=None, turn=0):
    """A plan for an image of that size; what is left out is what changes nothing."""
    crop = crop or (0, 0) + tuple(size)
    inner = (crop[2] - crop[0], crop[3] - crop[1])
    out = out or inner
    plan = Plan(crop, out[0], out[1], box or (0, 0) + inner, FILTERS.index(filter), resizer, flip,
                channels, layout, 1 if table is not None else 0, None, window or (0, 0, 0, 0), turn)
    if table is not None:
        plan.table = c.cast(table, c.POINTER(c.c_float))
    return plan
