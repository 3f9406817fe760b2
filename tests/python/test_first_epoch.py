"""What the first look at a file costs the origin, beside what the program's own reading costs."""

import sys

import pytest

READ = ("import os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    fd = os.open(name, os.O_RDONLY)\n"
        "    os.fstat(fd)\n"
        "    while os.read(fd, 1 << 20):\n"
        "        pass\n"
        "    os.close(fd)\n")
COUNT = 10


@pytest.mark.parametrize("size", [700, 100_000, 200_000])
def test_a_cold_read_asks_no_more_than_a_plain_one(jobs, origin, size):
    """Where attributes are kept for no time, so that each look at them is counted. The look that is
    forced when all is read takes the place of the one by which the program finds the end."""
    source, mount = origin.files("first", COUNT, size)
    program = [sys.executable, "-c", READ, *sorted(mount.iterdir())]
    with origin.fs.counting() as plain:
        jobs.place.run(program)
    with origin.fs.counting() as cold:
        ran = jobs.run(program, path=mount)
    assert ran.fills == COUNT
    for operation in ("open", "read", "read_bytes", "lookup_file", "getattr_file"):
        assert cold[operation] <= plain[operation], operation


STAT = ("import os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        print(os.stat(name).st_size, os.lstat(name).st_ino, end=' ')\n"
        "    except OSError as error:\n"
        "        print(error.errno, end=' ')\n")


def test_a_first_stat_asks_no_more_than_a_plain_one(jobs, origin):
    """It is answered from the one look that is remembered; and so is that of what is missing, of
    directories, and of links."""
    source, mount = origin.files("stats", COUNT, 700)
    (source / "directory").mkdir()
    (source / "link").symlink_to("file0000")
    (source / "dangling").symlink_to("missing")
    names = ["directory", "link", "dangling", "missing", "file0001/x",
             *(path.name for path in sorted(source.iterdir()) if path.name.startswith("file"))]
    program = [sys.executable, "-c", STAT, *(mount / name for name in names)]
    with origin.fs.counting() as plain:
        without = jobs.place.run(program)
    with origin.fs.counting() as cold:
        ran = jobs.run(program, path=mount)
    assert ran.stdout == without.stdout
    assert cold["getattr_file"] <= plain["getattr_file"] // 2 + 2  # lstat is known after stat
    for operation in ("lookup_file", "lookup_other", "lookup_negative", "readlink"):
        assert cold[operation] <= plain[operation] + 4, operation  # the root is looked at


def test_a_large_file_is_fetched_in_larger_pieces(jobs, origin):
    """For a reader of pieces the kernel asks for 128 KB at a time, and waits for each."""
    source, mount = origin.files("large", 2, 4_000_000)
    program = [sys.executable, "-c", READ.replace("1 << 20", "1 << 18"), *mount.iterdir()]
    with origin.fs.counting() as plain:
        jobs.place.run(program)
    with origin.fs.counting() as cold:
        ran = jobs.run(program, path=mount)
    assert ran.fills == 2
    assert cold["read_bytes"] == plain["read_bytes"]
    assert cold["read"] <= plain["read"] * 0.75
