"""Where a JPEG's data end: found by each kind of processor where bytes read one by one have it."""

import io
import random

import pytest
from PIL import Image

import decoder

SIMDS = ("avx512", "vnni", "avx2", "neon", "c")
CASES = 3000


def header():
    """Returns the head of a JPEG with one scan, up to its data."""
    stream = io.BytesIO()
    Image.new("L", (8, 8)).save(stream, "JPEG")
    data = stream.getvalue()
    scan = data.index(b"\xff\xda")
    return data[:scan + 2 + int.from_bytes(data[scan + 2:scan + 4], "big")]


def end_of(data, at):
    """Behind the EOI marker that the data from there on lead to; 0: they do not."""
    while at + 1 < len(data):
        if data[at] != 0xFF:
            at += 1
        elif data[at + 1] == 0xD9:
            return at + 2
        elif data[at + 1] == 0xFF:
            at += 1
        elif data[at + 1] == 0 or 0xD0 <= data[at + 1] <= 0xD7:
            at += 2
        else:
            return 0
    return 0


def some_data(dice):
    """With few marks, or with nothing but what may be one."""
    parts = []
    for _ in range(dice.randrange(6)):
        parts.append(bytes(dice.choices(range(255), k=dice.choice((0, 1, 60, 64, 250, 600)))))
        parts.append(dice.choice((b"\xff\0", b"\xff\0\xff\0", b"\xff\xff", b"\xff\xd3", b"\xff", b"\xff" * 70)))
    parts.append(dice.choice((b"\xff\xd9", b"\xff\xff\xd9", b"\xff", b"", b"\xff\xe1\0", b"\xff\xd9\xff\xd9")))
    return b"".join(parts) + bytes(dice.randrange(200))


@pytest.mark.parametrize("simd", SIMDS)
def test_ends(simd):
    ours, head = decoder.Decoder(simd), header()
    if ours.simd != simd:
        pytest.skip(f"no {simd} here")
    dice, found = random.Random(5), 0
    for i in range(CASES):
        data = head + some_data(dice)
        result, info = ours.examine(data)
        assert result == 0 and info.end == end_of(data, len(head)), i
        found += info.end > 0
    assert CASES / 5 < found < CASES * 4 / 5
