"""Python values as bytes and back, the large parts without a copy.

A packed value is the pickle of it without its arrays' memory, and the memory of each behind it, each
at a multiple of 64 bytes:

    u32 number of buffers, u32 bytes of the pickle, u64 bytes of each buffer, the pickle, the buffers

An unpacked value is read-only, and its arrays lie where the packed bytes lie.
"""

import pickle
import struct

_ALIGN = 64


def _pad(size):
    return -size % _ALIGN


def pack(value):
    """Returns the packed bytes of a value. Raises pickle's errors."""
    buffers = []
    body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [memoryview(buffer.raw()) for buffer in buffers]
    head = struct.pack(f"<II{len(views)}Q", len(views), len(body), *(v.nbytes for v in views))
    parts = [head, body, bytes(_pad(len(head) + len(body)))]
    for view in views:
        parts += [view, bytes(_pad(view.nbytes))]
    return b"".join(parts)


def unpack(packed):
    """Returns the value that a read-only memoryview holds, as pack() made it."""
    count, length = struct.unpack_from("<II", packed)
    sizes = struct.unpack_from(f"<{count}Q", packed, 8)
    start = 8 + 8 * count
    at = start + length + _pad(start + length)
    buffers = []
    for size in sizes:
        buffers.append(packed[at:at + size])
        at += size + _pad(size)
    return pickle.loads(packed[start:start + length], buffers=buffers)
