"""A slice of the random cases of exact.py; all of them with STOKER_ALL=1 or `make test-exact`."""
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import exact  # noqa: E402
import slices  # noqa: E402

CASES, CHUNK = (10000 if slices.ALL else 600), 50


@pytest.mark.parametrize("first", range(1, CASES, CHUNK))
def test_no_byte_differs_from_pillow(first):
    failures = exact.check(range(first, first + CHUNK), os.cpu_count())
    assert not failures, "\n".join(failures + ["alone: tests/decode/exact.py --seed N"])


def test_every_kind_of_kernel_of_this_processor_takes_part():
    flags = open("/proc/cpuinfo").read()
    assert "c" in exact.DECODERS
    assert ("avx2" in exact.DECODERS) == ("avx2" in flags)
    assert ("avx512" in exact.DECODERS) == ("avx512_vnni" in flags and "avx512_vbmi" in flags)
