"""Many processes that want the same cold file cost the origin one read of it."""

import pytest

from origin import settle

PROCESSES = 32
READAHEAD = 256 << 10

ALL_AT_ONCE = f"""
for i in $(seq {PROCESSES}); do
    cmp "$1" "$2" || echo wrong &
done
wait
"""


@pytest.mark.parametrize("size, latency_ms", [(100_000, 20), (60_000_000, 2)])
@pytest.mark.parametrize("preload_alone", [False, True])
def test_the_origin_is_read_once(jobs, origin, scratch, size, latency_ms, preload_alone):
    source, mount = origin.directory("single")
    with open("/dev/urandom", "rb") as dice:
        (source / "file").write_bytes(dice.read(size))
    settle()
    origin.fs.latency_ms = latency_ms
    command = ["sh", "-c", ALL_AT_ONCE, "sh", mount / "file", source / "file"]
    with origin.fs.counting() as counted:
        if preload_alone:
            ran = jobs.preloaded(command, mount)
        else:
            ran = jobs.run(command, path=mount)
    assert ran.stdout == ""
    assert size <= counted["read_bytes"] <= size + READAHEAD
    if not preload_alone:
        assert (ran.opens, ran.fills, ran.hits) == (PROCESSES, 1, PROCESSES - 1)
