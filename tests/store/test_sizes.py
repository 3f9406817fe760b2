"""The command and the package read the same sizes (base/text.c), in a tier's budget and in STOKER_DECODED."""


import pytest

from conftest import ROOT


# Those that are sizes are large enough for a cache: `stoker env` exports no other tier.
SIZES = ["33554432", "40960000", "65536K", "65536k", "60G", "1.5T", "200M", "200MB", "200MiB", "2P",
         "77777777B", "65536.5K", "4095P", "55555555.", "55555555.5", "65536.9K", "1.123456789123G",
         "65536kiB", "65536Ki", "3tB", "00033554432", "0012.50m", "4611686018427387903",
         "", "G", "-1G", "+1", "1X", "1 G", " 1", "1 ", "1GG", "1iB", "1b", "1ki b", ".5G", "1,5G",
         "0x10", "1e3", "1_000", "inf", "nan", "4096P", "4611686018427387904",
         "99999999999999999999", "١", "1\n"]


def read_by_package(text):
    from stoker import _samples_core
    try:
        return _samples_core.place(f"/directory:{text}")[1]
    except ValueError:
        return None


def read_by_command(jobs, text):
    """By way of a tier's budget, which is exported in bytes."""
    done = jobs.stoker("env", "--path", ROOT, f"--tier=/dev/shm:{text}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("export STOKER_TIERS=")]
    return int(lines[0].strip("'").rsplit(":")[-1]) if lines else None


@pytest.mark.parametrize("text", SIZES)
def test_both_read_the_same(jobs, text):
    assert read_by_package(text) == read_by_command(jobs, text)


def test_some_are_sizes_and_some_are_none():
    read = [read_by_package(text) for text in SIZES]
    assert read.count(None) == 24 and read[5] == 3 << 39
