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


_context = ctypes.c_void_p()


def inside(call, *arguments):
    """Makes a call of the driver in the context of its first device, which is open. Raises RuntimeError, or MemoryError
    where there is none."""
    if not _context:
        library.cuDevicePrimaryCtxRetain(ctypes.byref(_context), 0)
        library.cuDevicePrimaryCtxRelease_v2(0)
    result = library.cuCtxPushCurrent_v2(_context)
    if result == 0:
        result = call(*arguments)
        library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    if result != 0:
        raise MemoryError("CUDA_ERROR_OUT_OF_MEMORY") if result == 2 else RuntimeError(f"the driver says {result}")


def take(size):
    """Returns the address of so much memory of the device, as a framework takes it."""
    address = ctypes.c_ulonglong()
    inside(library.cuMemAlloc_v2, ctypes.byref(address), ctypes.c_size_t(size))
    return address.value


def give(address):
    """Gives the memory back."""
    inside(library.cuMemFree_v2, ctypes.c_ulonglong(address))


def fetch(address, size):
    """Returns the bytes of the device's memory."""
    data = ctypes.create_string_buffer(size)
    inside(library.cuMemcpyDtoH_v2, data, ctypes.c_ulonglong(address), ctypes.c_size_t(size))
    return data.raw
