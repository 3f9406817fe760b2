"""Which pages of the origin are in memory when a fill has read it: those that were there before. The
pages of a file are everybody's, and a fill that brought them in gives them back."""

import json
import os
import platform
import random
import sys
import time

import pytest

import resident
from jobs import AGE
from matrix import record

PAGES = 150
KERNELS = {"this kernel": [], "one before 6.5": ["--every", "cachestat", "--fail", "38"],
           "a sandbox": ["--every", "cachestat", "--fail", "1"]}

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="meddle.c knows only its registers"),
    pytest.mark.skipif(os.geteuid() != 0, reason="pages of others' files are nobody's business"),
]


@pytest.fixture
def files(scratch):
    """Three files on the disk, of which nothing, one page and everything is in memory."""
    paths = {name: scratch / "data" / name for name in ("unread", "begun", "read")}
    (scratch / "data").mkdir()
    for path in paths.values():
        path.write_bytes(random.Random(path.name).randbytes(PAGES * 4096))
    resident.drop(paths.values())
    with open(paths["begun"], "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for _ in range(3):  # one that is in use, or the kernel takes it first
            os.pread(file.fileno(), 10, 100 * 4096)
    paths["read"].read_bytes()
    if pages(paths)[:2] != [0, 1]:
        pytest.skip("not on a disk")
    time.sleep(AGE)
    return paths


def pages(paths):
    return [resident.pages(path)[0] for path in paths.values()]


@pytest.mark.parametrize("kernel", KERNELS)
def test_pages_that_were_there_before_stay(jobs, build, scratch, files, kernel):
    log = scratch / "calls"
    env = jobs.preload_env(scratch / "data")
    library = env.pop("LD_PRELOAD")
    program = "import sys; [open(name, 'rb').read() for name in sys.argv[1:]]"
    argv = [build / "tests/cache/faults/meddle", "--log", log, *KERNELS[kernel], "--preload", library,
            "--", sys.executable, "-c", program, *files.values()]
    jobs.place.run(argv, env=env)
    counters = [build / "tests/preload/symbols/counters", "/dev/shm/stoker-0/runs/outside"]
    assert json.loads(jobs.place.run(counters).stdout)["fills"] == 3
    unread, begun, read = pages(files)
    assert unread == 0
    # A fill that gave them back would leave none. The kernel may take some, and then the one of `begun`.
    assert read > PAGES // 2
    assert begun >= 1 or read < PAGES
    calls = [line.split()[1] for line in log.read_text().splitlines()]
    # Each is read through, and that is over; and of one the pages go.
    assert calls.count("fadvise64") == 3 * 2 + 1
    assert calls.count("cachestat") + calls.count("mincore") == (
        3 if kernel == "this kernel" else 6)
    record("Faults", "pages of the origin", kernel, "one call more for a fill", "same")
