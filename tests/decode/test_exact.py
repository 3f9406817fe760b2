"""A slice of the random cases of exact.py, of which `make test-exact` runs all."""
import os

import pytest

import exact

CASES, CHUNK = 600, 50


@pytest.mark.parametrize("first", range(1, CASES, CHUNK))
def test_no_byte_differs_from_pillow(first):
    failures = exact.check(range(first, first + CHUNK), os.cpu_count())
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
