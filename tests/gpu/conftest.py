"""Plans from Python, by ctypes."""
import ctypes as c
import os

import pytest


class Image(c.Structure):
    _fields_ = [("pixels", c.c_uint64), ("width", c.c_uint32), ("height", c.c_uint32),
                ("stride", c.c_uint32), ("left", c.c_int32), ("top", c.c_int32),
                ("flip", c.c_uint32)]


class Plan(c.Structure):
    _fields_ = [("type", c.c_int), ("layout", c.c_int), ("channels", c.c_uint32),
                ("width", c.c_uint32), ("height", c.c_uint32), ("mean", c.c_float * 3),
                ("std", c.c_float * 3), ("fill", c.c_uint8 * 3), ("planes", c.c_uint32),
                ("inverse", c.c_float * 3), ("rest", c.c_float * 3), ("numbers", c.c_uint32 * 256 * 3)]


@pytest.fixture(scope="session")
def library():
    path = os.path.join(os.environ.get("STOKER_BUILD", "build"), "tests", "libgpu.so")
    loaded = c.CDLL(os.path.abspath(path))
    loaded.test_plan.restype = c.c_char_p
    loaded.test_plan.argtypes = [c.POINTER(Plan)]
    for function in loaded.test_run, loaded.test_walk:
        function.argtypes = [c.POINTER(Plan), c.POINTER(Image), c.c_size_t, c.c_void_p]
    return loaded
