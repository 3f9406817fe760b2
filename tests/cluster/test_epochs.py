"""Three machines train with a tier on a real file system that they share."""

import pytest

from cluster import COUNT, SIZE, made
from engines import ENGINES

pytestmark = [pytest.mark.usefixtures("as_root"), pytest.mark.torch]


@pytest.mark.parametrize("kind", ENGINES)
def test_epochs(build, scratch, kind):
    """The nodes read the data from the origin once together, and in the next epoch nothing of it."""
    with made(kind, build, scratch) as cluster:
        counted, told = cluster.epoch(0)
        assert counted["read_bytes"] <= 1.02 * COUNT * SIZE
        assert sum(one["published"] for one in told) == COUNT
        counted, told = cluster.epoch(1)
        assert counted["read_bytes"] == 0 and sum(one["fetched"] for one in told) == COUNT
