"""Jobs whose data does not fit into the tier: files that were opened go, and make room for those that are wanted."""

import pytest

from test_jobs import line, read_ahead

COUNT, SIZE = 600, 40000
TIER = 16 << 20
ROOM = 10 << 20  # of the tier, at least, beside what is set aside
EPOCHS = 3


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("outgrown", COUNT, SIZE)[1]


def run(jobs, data, kind, epochs):
    return jobs.run(line(data, kind, 2, epochs), path=data, tier=f"/dev/shm:{TIER}", timeout=300)


def test_what_the_tier_holds_is_not_read_again(jobs, plainly, origin, data):
    """Each epoch reads what the tier has no room for, nearly all of it ahead of the job."""
    plain = plainly(line(data, "plain", 2, EPOCHS))
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = run(jobs, data, "plain", EPOCHS)
    assert ran.stdout == plain
    most = COUNT * SIZE + (EPOCHS - 1) * (COUNT * SIZE - ROOM)
    assert COUNT * SIZE < counted.counts()["read_bytes"] <= 1.02 * most
    assert read_ahead(ran) * SIZE >= counted.counts()["read_bytes"] / 2
    assert TIER * 3 // 4 <= ran.json["tiers"][0]["used_bytes"] <= TIER


def test_open_files_stay(jobs, origin, data):
    """An open file takes memory even if it is removed: nothing is read into its room."""
    origin.fs.latency_ms = 1
    ran = run(jobs, data, "keeps", 1)
    assert 0 < read_ahead(ran) * SIZE <= TIER
