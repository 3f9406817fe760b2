"""The driver of tests/gpu from Python: how it behaves, and what became of it (tests/gpu/world.h). For
programs that find it as their libcuda.so.1."""

import ctypes


class World(ctypes.Structure):
    """struct cuda_world."""
    _fields_ = [("version", ctypes.c_int), ("devices", ctypes.c_int), ("capability", ctypes.c_int),
                ("device_bytes", ctypes.c_size_t), ("locked_bytes", ctypes.c_size_t),
                ("late_us", ctypes.c_uint), ("copy_mb_s", ctypes.c_uint), ("takes_ptx_only", ctypes.c_bool),
                ("fail_at", ctypes.c_long), ("fail_with", ctypes.c_int), ("for_good", ctypes.c_bool),
                ("calls", ctypes.c_long), ("failed", ctypes.c_char_p), ("retained", ctypes.c_int),
                ("pushed", ctypes.c_int), ("modules", ctypes.c_int), ("streams", ctypes.c_int),
                ("events", ctypes.c_int), ("memories", ctypes.c_int), ("locks", ctypes.c_int),
                ("device_used", ctypes.c_size_t), ("locked_used", ctypes.c_size_t),
                ("lost", ctypes.c_long), ("wild", ctypes.c_long), ("copies", ctypes.c_long),
                ("kernels", ctypes.c_long)]


library = ctypes.CDLL("libcuda.so.1")
library.cuda_world.restype = ctypes.POINTER(World)
world = library.cuda_world().contents
