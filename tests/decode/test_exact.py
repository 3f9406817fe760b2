"""A slice of the random cases of exact.py, of which `make test-exact` runs all."""
import os

import pytest

import exact
from cases import Case
from slices import ALL

CASES, CHUNK = 700, 50
SMALL = 100000  # pixels; a sixth of the cases have more, and four fifths of all pixels


def in_slice(seed):
    width, height = Case(seed).size
    return ALL or width * height <= SMALL or seed % 8 == 0


SEEDS = list(filter(in_slice, range(1, CASES + 1)))


def test_large_images_are_among_them():
    sizes = [width * height for width, height in (Case(seed).size for seed in SEEDS)]
    assert max(sizes) > 1000000 and sum(size > SMALL for size in sizes) >= 10 and len(sizes) > 500


@pytest.mark.parametrize("first", range(0, len(SEEDS), CHUNK))
def test_no_byte_differs_from_pillow(first):
    failures = exact.check(SEEDS[first:first + CHUNK], os.cpu_count())
    assert not failures, "\n".join(failures + ["alone: tests/decode/exact.py --seed N"])


# Seeds outside of the slice that catch what it does not: a constant of hamming in double.
@pytest.mark.parametrize("seed", (4768,))
def test_no_byte_differs_in_a_rare_case(seed):
    assert not exact.differences(seed)


def test_every_kind_of_kernel_of_this_processor_takes_part():
    flags = open("/proc/cpuinfo").read()
    assert "c" in exact.DECODERS
    assert ("avx2" in exact.DECODERS) == ("avx2" in flags)
    assert ("vnni" in exact.DECODERS) == ("avx512_vnni" in flags)
    assert ("avx512" in exact.DECODERS) == ("avx512_vnni" in flags and "avx512_vbmi" in flags)
