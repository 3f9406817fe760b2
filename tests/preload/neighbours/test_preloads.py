"""Other preloads, before Stoker and behind. They see every call that they would see without it.
Only those behind miss the calls that the cache answers."""

import glob
import os

import pytest

from matrix import record
from origin import settle
from pair import COUNT, version_of

STATS = ("stat", "lstat", "fstat", "fstatat", "access")
FAKETIME = "-400d"


@pytest.fixture
def reader(programs, data):
    return [programs / "reader", data, COUNT]


@pytest.fixture
def library(build):
    return build / "libstoker.so"


def preload(jobs, libraries, data, **more):
    """Ours is one of the libraries, and nothing but the environment speaks of us."""
    return {**jobs.preload_env(data), "LD_PRELOAD": ":".join(map(str, libraries)), **more}


class Traced:
    """Runs of the reader with the tracer: what it says, and the calls that the tracer saw."""

    def __init__(self, jobs, programs, data, reader, scratch):
        self._jobs, self._data, self._reader = jobs, data, reader
        self._calls, self.tracer = scratch / "calls", programs / "libtracer.so"

    def run(self, *libraries, **more):
        self._calls.unlink(missing_ok=True)
        env = preload(self._jobs, libraries, self._data, TRACER_OUT=self._calls, **more)
        said = self._jobs.place.run(self._reader, env)
        return said.stdout, self._calls.read_text().splitlines()


@pytest.fixture
def traced(jobs, programs, data, reader, scratch):
    return Traced(jobs, programs, data, reader, scratch)


@pytest.fixture
def hits(jobs, reader, data):
    """How many hits one more run of the reader has, under the command."""
    return lambda: jobs.run(reader, path=data, flags=["--keep"]).hits


def test_a_library_before_ours_sees_every_call(traced, library, hits):
    plain, calls = traced.run(traced.tracer)
    assert len(calls) > 10 * COUNT
    for _ in range(3):  # cold, warm, warm
        assert traced.run(traced.tracer, library) == (plain, calls)
    assert hits() == 4 * COUNT
    record("Neighbours", "a tracer before ours", "", "each call of each symbol, cold and warm",
           "same")


def test_a_library_behind_ours_sees_what_is_not_covered(traced, library):
    plain, calls = traced.run(traced.tracer)
    assert traced.run(library, traced.tracer, STOKER_PATHS="/nonexistent/data") == (plain, calls)
    assert traced.run(library, traced.tracer, STOKER_PATHS="") == (plain, calls)


def test_a_library_behind_ours_sees_every_miss(traced, library):
    """Nothing fits into the cache: every open goes on, in its order."""
    plain, calls = traced.run(traced.tracer)
    said, seen = traced.run(library, traced.tracer, STOKER_TIERS="/dev/shm:1")
    assert said == plain
    assert without(STATS, seen) == without(STATS, calls)


def without(names, calls):
    return [name for name in calls if name not in names]


def test_a_library_behind_ours_sees_no_hits(traced, library, hits):
    """A cold file is opened through it, once; a warm one by fopen alone, with the entry's path."""
    plain, calls = traced.run(traced.tracer)
    said, cold = traced.run(library, traced.tracer)
    again, warm = traced.run(library, traced.tracer)
    assert said == again == plain
    opens = {"open", "open64", "openat", "openat64", "fopen", "fopen64"}
    count = [sum(name in opens for name in run) for run in (calls, cold, warm)]
    # Four opens of each file, of which the first fills, and one is by fopen.
    assert count[0] - count[1] == 2 * COUNT
    assert count[0] - count[2] == 3 * COUNT
    assert hits() == 4 * COUNT
    record("Neighbours", "a tracer behind ours", "", "each call of each symbol", "same where "
           "nothing is covered and for every open that misses; hits it does not see, but those by "
           "fopen, with the entry's name")


def library_file(pattern):
    found = glob.glob(f"/usr/lib/*/{pattern}")
    if not found:
        pytest.skip(f"no {pattern}")
    return found[0]


@pytest.mark.parametrize("order", ["before", "behind"])
def test_jemalloc(jobs, library, reader, data, hits, order):
    jemalloc = library_file("libjemalloc.so.2")
    libraries = [jemalloc, library] if order == "before" else [library, jemalloc]
    plain = jobs.place.run(reader, {"LD_PRELOAD": jemalloc})
    for _ in range(2):
        ran = jobs.place.run(reader, preload(jobs, libraries, data))
        assert (ran.stdout, ran.stderr) == (plain.stdout, plain.stderr)
    assert hits() == 4 * COUNT
    record("Neighbours", "jemalloc", version_of("libjemalloc2"), "before ours and behind", "same")


DATE = 'date +%Y-%m-%d; cat "$1"/3 | md5sum; stat -c "%Y %s" "$1"/3; exec "$2" "$1" 5'


def test_faketime_before_ours(pair, programs):
    """Where `stoker run` puts it, and `faketime stoker run` does."""
    faketime = library_file("faketime/libfaketime.so.1")
    env = {"LD_PRELOAD": faketime, "FAKETIME": FAKETIME}
    line = ["sh", "-c", DATE, "sh", pair.data, programs / "reader"]
    faked, real = pair.check(line, env=env, hits=5), pair.plain(line)
    assert faked != real  # the dates at least
    record("Neighbours", "libfaketime", version_of("libfaketime"), "before ours", "same")


def test_faketime_behind_ours(jobs, pair, programs, library):
    """A stat that the cache answers does not reach it, so that its times are the real ones."""
    faketime = library_file("faketime/libfaketime.so.1")
    line = ["sh", "-c", DATE, "sh", pair.data, programs / "reader"]
    plain = jobs.place.run(line, {"LD_PRELOAD": faketime, "FAKETIME": FAKETIME}).stdout
    env = preload(jobs, [library, faketime], pair.data, FAKETIME=FAKETIME)
    for _ in range(2):
        said = jobs.place.run(line, env).stdout
        assert [line.split(" mtime")[0] for line in said.splitlines() if "mtime" in line] == \
            [line.split(" mtime")[0] for line in plain.splitlines() if "mtime" in line]
        assert said.splitlines()[:2] == plain.splitlines()[:2]  # the date and the bytes
    record("Neighbours", "libfaketime behind ours", version_of("libfaketime"), "dates, bytes, stat",
           "same but for the times of cached files, which are the real ones")


FAKEROOT = """
chmod 644 "$1"/2 && cd "$1" && id -u && stat -c '%u %g %a %s' 1 2 && cat 1 2 | md5sum
chown 12:34 1 && chmod 4711 2 && stat -c '%u %g %a %s' 1 2 && cat 1 2 | md5sum
chown 56 1 <&- && tar c --numeric-owner 1 2 | tar tv --numeric-owner | cut -c1-40
exec "$2" "$1" 4
"""


@pytest.mark.parametrize("order", ["inside", "outside"])
def test_fakeroot(jobs, pair, programs, order):
    if not os.path.exists("/usr/bin/fakeroot"):
        pytest.skip("no fakeroot")
    line = ["sh", "-c", FAKEROOT, "sh", pair.data, programs / "reader"]
    fake = ["fakeroot"]
    plain = jobs.place.run([*fake, *line])
    assert "12 34 644" in plain.stdout
    for _ in range(3):
        if order == "inside":
            ran = jobs.run([*fake, *line], path=pair.data, flags=["--keep"])
        else:
            json = pair.data.parent / "summary"
            command = jobs.command_line(line, pair.data, flags=["--keep", f"--json={json}"])
            done = jobs.place.run([*fake, *command], env={"STOKER_MIN_AGE": "0.05"})
            ran = type(jobs.run(["true"], path=pair.data, flags=["--keep"]))(done, json)
        assert ran.stdout == plain.stdout
    assert ran.hits > 0
    record("Neighbours", "fakeroot", version_of("fakeroot"), f"stoker {order}; chown, chmod, tar",
           "same")


# The file that loses its name is asked about by another name in the very moment before.
BETWEEN = """
import os, sys
data, look, change = sys.argv[1:]
def read():
    try:
        return open(look).read()
    except OSError as error:
        return error.errno
for _ in range(3):
    read()
if change == "replaced":
    os.rename(data + "/new", data + "/a/file")
elif change == "pointed elsewhere":
    os.rename(data + "/other", data + "/latest")
else:
    os.unlink(data + "/latest")
print(read())
"""


@pytest.mark.parametrize("change,said", [("replaced", "new"), ("pointed elsewhere", "in b"),
                                         ("unlinked", "2")])
def test_who_looks_right_before_a_name_changes(jobs, programs, library, scratch, change, said):
    data = scratch / "data"
    for path, text in {"a/file": "in a", "b/file": "in b", "new": "new"}.items():
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).write_text(text)
    (data / "latest").symlink_to("a")
    (data / "other").symlink_to("b")
    settle()
    look = data / "latest/file"
    env = preload(jobs, [library, programs / "libbetween.so"], data, BETWEEN_LOOK=look)
    line = ["/usr/bin/python3", "-S", "-E", "-c", BETWEEN, data, look, change]
    assert jobs.place.run(line, env).stdout == said + "\n"
