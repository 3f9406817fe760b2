"""A node that lacks something for the cache never stops a job. One line says so. The cache is as large as
there is room for, or lies elsewhere, or there is none, and the command ends as it would. `--require-cache`
makes each of these an error."""

import errno
import os
import re
import sys
from concurrent import futures

import pytest

import slowfs
from jobs import HOME, YOUNG
from memory_group import group_of
from origin import CONTENT, truth_in
from user import User

USER, OTHER = 15011, 15012

pytestmark = pytest.mark.usefixtures("as_root")


@pytest.fixture
def data(scratch):
    return truth_in(scratch)


@pytest.fixture
def user(jobs):
    return User(jobs, USER)


@pytest.fixture
def disk(scratch):
    """A directory on the disk for a tier of USER's."""
    (scratch / "disk").mkdir()
    os.chown(scratch / "disk", USER, USER)
    return scratch / "disk"


def said_by(done):
    """Returns stoker's lines before the command begins, without those about a cache that exists."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("stoker: ")]
    return [line for line in lines if not re.match(r"stoker: (caching|then in|the data set|without|\d)", line)]


class Node:
    """Checks `stoker run`, `env` and `run --require-cache` with these flags."""

    def __init__(self, user, data, *flags):
        self.user, self.data, self.flags = user, data, flags

    def _stoker(self, verb, *more, env=None):
        command = ["--", "sh", "-c", 'cat "$0/file" "$0/file"; exit 7', self.data] if verb == "run" else []
        return self.user.do(self.user._jobs.build / "stoker", verb, f"--path={self.data}", *self.flags,
                            *more, *command, env=env)

    def goes_on(self, *words, cached=False):
        """Checks that one line has these words, and that the status is the command's. Returns the line."""
        done = self._stoker("run", "--no-history")
        assert (done.returncode, done.stdout) == (7, 2 * CONTENT), done.stderr
        said = said_by(done)
        assert len(said) == 1, done.stderr
        for word in words:
            assert str(word) in said[0], said
        assert ("stoker: caching" in done.stderr) == cached, done.stderr
        assert ("running uncached" in said[0]) == (not cached), said
        self._is_an_error_where_that_is_asked_for(words)
        self._env_says_the_same(words, cached)
        return said[0]

    def _is_an_error_where_that_is_asked_for(self, words):
        for flags, env in (["--require-cache"], {}), ([], {"STOKER_REQUIRE_CACHE": "on"}):
            done = self._stoker("run", *flags, env=env)
            assert (done.returncode, done.stdout) == (2, ""), done.stderr
            assert re.fullmatch(r"stoker: [^\n]+\n", done.stderr), done.stderr
            assert str(words[0]) in done.stderr and "running uncached" not in done.stderr
        assert self._stoker("env", "--require-cache").returncode == 2

    def _env_says_the_same(self, words, cached):
        done = self._stoker("env")
        assert done.returncode == 0, done.stderr
        assert ("LD_PRELOAD" in done.stdout) == cached, done.stdout
        assert len(said_by(done)) == 1 and str(words[0]) in done.stderr, done.stderr
        script = f"{done.stdout}\n" + 'cat "$1/file"'
        assert self.user.sh(script, self.data) == CONTENT


def small(user, where, size):
    user._jobs.place.run(["mount", "-t", "tmpfs", "-o", f"mode=1777,size={size}", "small", where])


def fill(user, where):
    user._jobs.place.run(["sh", "-c", 'cat /dev/zero >"$0/leftover"; true', where])


# ---- sizes ----

def test_a_budget_larger_than_its_file_system(user, data):
    """The line names both sizes, and the next line has the size that holds."""
    said = Node(user, data, "--tier=/dev/shm:500G").goes_on("/dev/shm", "500 GiB", cached=True)
    room = re.search(r"at most ([\d.]+ MiB)", said)[1]
    done = user.run(data, "--tier=/dev/shm:500G")
    assert f"in /dev/shm/stoker-{USER}, at most {room};" in done.stderr


def test_a_budget_larger_than_a_disk(user, data, disk):
    Node(user, data, f"--tier={disk}:9000T").goes_on(disk, "8.8 PiB", "at most", cached=True)


def test_a_budget_larger_than_what_the_job_leaves_of_shared_memory(user, data):
    """60 MiB stay the job's, whichever budget the user asks for."""
    small(user, "/dev/shm", "64m")
    for flags, lines in (["--tier=/dev/shm:60M"], 2), (["--tier=/dev/shm"], 1):
        said = user.run(data, *flags).stderr.splitlines()[:lines]
        assert "at most 4.0 MiB" in said[0], said
        assert all("60.0 MiB" not in line or "4.0 MiB" in line for line in said)
    Node(user, data, "--tier=/dev/shm:60M").goes_on("/dev/shm", "60.0 MiB", "4.0 MiB", cached=True)


def test_a_budget_larger_than_the_control_group(jobs, data):
    with group_of(192 << 20) as group:
        enter = 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"'
        line = jobs.command_line(["cat", f"{data}/file"], path=data, flags=["--tier=/dev/shm:250M"])
        done = jobs.place.run(["sh", "-c", enter, "sh", group, *line], check=False)
        assert done.returncode == 0 and done.stdout == CONTENT, done.stderr
        assert re.search(r"stoker: --tier /dev/shm: 250 MiB [^\n]* at most \d+", done.stderr), done.stderr


def test_samples_larger_than_the_tier(user, data):
    done = user.run(data, "--tier=/dev/shm:20M", "--decoded=21M")
    assert done.returncode == 0 and done.stdout == 2 * CONTENT
    line, = said_by(done)
    assert "--decoded 21M" in line and "20.0 MiB" in line
    done = user.run(data, "--tier=/dev/shm:20M", "--decoded=21M", "--require-cache")
    assert done.returncode == 2 and "20.0 MiB" in done.stderr and done.stdout == ""


# ---- room ----

def test_a_tier_without_room(user, data, disk):
    small(user, disk, "16m")
    fill(user, disk)
    Node(user, data, f"--tier={disk}").goes_on(f"--tier {disk} is full")


def test_a_tier_without_room_beside_another(user, data, disk):
    small(user, disk, "16m")
    fill(user, disk)
    Node(user, data, f"--tier={disk}:8M,/dev/shm:64M").goes_on(f"--tier {disk} is full", cached=True)


def test_leftovers_in_shared_memory(user, data, disk):
    """The catalogue has no room either, so a tier on a disk does not help."""
    small(user, "/dev/shm", "300m")
    fill(user, "/dev/shm")
    for flags in [], ["--tier=/dev/shm"], ["--tier=/dev/shm:10M"], [f"--tier={disk}"]:
        Node(user, data, *flags).goes_on("no tmpfs has room for the index of the cache")


def test_names_that_others_have_taken(user, data, disk):
    """The user typed none of these names, so the job goes on."""
    names = f'{HOME[:-1]}{USER}; cd "$1"; for i in $name $name.1 $name.2 $name.3 $name.4 $name.5 ' \
            '$name.6 $name.7 $name.8 $name.9; do mkdir $i; done'
    User(user._jobs, OTHER).sh(f"name={names}", "/dev/shm")
    for flags in [], ["--tier=/dev/shm:64M"], [f"--tier={disk}"]:
        Node(user, data, *flags).goes_on("belongs to another user")


def test_a_tier_s_names_that_others_have_taken(user, data, disk):
    os.chown(disk, 0, 0)
    os.chmod(disk, 0o1777)
    for number in range(10):
        os.mkdir(disk / (f"stoker-{USER}" + (f".{number}" if number else "")))
    Node(user, data, f"--tier={disk}").goes_on("belongs to another user")
    Node(user, data, f"--tier={disk}:5M,/dev/shm:64M").goes_on("belongs to another user", cached=True)


# ---- places ----

def test_a_tier_that_may_not_be_written(user, data, disk):
    """The line says that permission is denied, not that others may write, and the rest of the cache works."""
    os.chown(disk, 0, 0)
    for mode in 0o755, 0o700:
        os.chmod(disk, mode)
        said = Node(user, data, f"--tier={disk}").goes_on(f"--tier {disk}: permission denied")
        assert "writable by others" not in said and "--tier DIR" in said
        Node(user, data, f"--tier={disk}:5M,/dev/shm:64M").goes_on("permission denied", cached=True)
    os.chmod(disk, 0o700)
    (disk / "below").mkdir()
    Node(user, data, f"--tier={disk}/below").goes_on("permission denied")


def test_a_tier_that_is_read_only(user, data, disk):
    small(user, disk, "16m")
    user._jobs.place.run(["mount", "-o", "remount,ro", disk])
    Node(user, data, f"--tier={disk}").goes_on(f"--tier {disk}: read-only file system")
    Node(user, data, f"--tier={disk}:5M,/dev/shm:64M").goes_on("read-only", cached=True)


def test_shared_memory_that_may_not_be_written(user, data):
    """The user did not name it, so its modes are no mistake of the user's."""
    for mode in "755", "777":
        user._jobs.place.run(["chmod", mode, "/dev/shm"])
        Node(user, data).goes_on("/dev/shm")
    small(user, "/dev/shm", "300m")
    user._jobs.place.run(["mount", "-o", "remount,ro", "/dev/shm"])
    Node(user, data).goes_on("read-only")


def test_no_shared_memory_at_all(user, data):
    user._jobs.place.run(["umount", "/dev/shm"])
    user._jobs.place.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/dev"])
    user._jobs.place.run(["mknod", "-m", "666", "/dev/null", "c", "1", "3"])
    Node(user, data).goes_on("/dev/shm: No such file or directory")


def test_no_place_for_the_catalogue_by_a_limit(jobs, data, scratch):
    line = jobs.command_line(["sh", "-c", "exit 7"], path=data, tier=scratch)
    done = jobs.place.run(["prlimit", "--fsize=4096", *line], check=False)
    assert done.returncode == 7 and re.fullmatch(r"stoker: [^\n]*ulimit -f[^\n]*\n", done.stderr), done.stderr


def test_tiers_in_one_place(user, data, disk):
    """Two disks on one node may be one disk on another."""
    for name in "a", "b":
        (disk / name).mkdir()
        os.chown(disk / name, USER, USER)
    Node(user, data, f"--tier={disk}/a,{disk}/b:5M").goes_on(f"--tier {disk}/b", "same file system",
                                                            cached=True)


def test_a_tier_that_is_not_used_takes_no_room(user, data, disk):
    """One in the same memory, or on the same disk, is used in its place."""
    for name in "memory", "a", "b":
        (disk / name).mkdir()
    os.chown(disk / "b", USER, USER)
    Node(user, data, f"--tier={disk}/a,{disk}/b").goes_on(f"{disk}/a: permission denied", cached=True)
    small(user, disk / "memory", "40m")
    user._jobs.place.run(["mount", "-o", "remount,ro", disk / "memory"])
    for tiers in f"{disk}/memory,/dev/shm", f"/dev/shm,{disk}/memory":
        done = user.run(data, f"--tier={tiers}")
        line, = said_by(done)
        assert f"--tier {disk}/memory" in line and "going on without it" in line
        assert f"in /dev/shm/stoker-{USER}" in done.stderr


def test_samples_that_cannot_be_kept(user, data, disk):
    os.chown(disk, 0, 0)
    (disk / "own").mkdir(mode=0o500)
    os.chown(disk / "own", USER, USER)
    for place in disk / "own", disk / "new":
        done = user.run(data, f"--decoded={place}")
        assert done.returncode == 0 and done.stdout == 2 * CONTENT
        line, = said_by(done)
        assert f"--decoded {place}: permission denied" in line
        done = user.run(data, f"--decoded={place}", "--require-cache")
        assert done.returncode == 2 and "permission denied" in done.stderr and done.stdout == ""


# ---- servers ----

@pytest.fixture
def server(build, scratch):
    """A file system for a shared tier, mounted before the place is made."""
    (scratch / "server").mkdir()
    with slowfs.SlowFS(scratch / "server", binary=str(build / "slowfs"), attr_timeout=0,
                       entry_timeout=0, allow_other=True) as fs:
        os.chmod(fs._directory, 0o755)
        os.chown(scratch / "server", USER, USER)
        yield fs


def test_a_server_that_is_gone(server, user, data):
    """A FUSE file system whose process has died answers ENOTCONN."""
    server.kill()
    for flags in [f"--tier={server.mountpoint}"], [f"--tier=/dev/shm:64M,{server.mountpoint}"], \
            [f"--tier={server.mountpoint}/below:5G,/dev/shm:64M"]:
        Node(user, data, *flags).goes_on("Transport endpoint is not connected", cached=True)


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN,
                                   errno.EACCES])
def test_a_server_that_fails(server, user, data, error):
    with server.faults(getattr=error):
        done = user.run(data, f"--tier={server.mountpoint}")
        assert (done.returncode, done.stdout) == (0, 2 * CONTENT), done.stderr
        line, = said_by(done)
        assert server.mountpoint in line and "going on without it" in line
        assert "stoker: caching" in done.stderr
        done = user.run(data, f"--tier={server.mountpoint}", "--require-cache")
        assert done.returncode == 2 and done.stdout == "", done.stderr


def test_a_server_that_hangs(server, user, data):
    with server.faults(hang_ns=slowfs.HOUR_NS):
        Node(user, data, f"--tier={server.mountpoint}").goes_on("does not answer", cached=True)


def test_a_path_whose_server_is_gone(server, user, data):
    """The command may not need the path."""
    server.kill()
    done = user.run(data, f"--path={server.mountpoint}")
    assert (done.returncode, done.stdout) == (0, 2 * CONTENT), done.stderr
    assert "Transport endpoint is not connected: going on without it" in said_by(done)[0]
    done = user.stoker("run", f"--path={server.mountpoint}", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7 and "running uncached" in done.stderr, done.stderr
    done = user.stoker("run", f"--path={server.mountpoint}", "--require-cache", "--", "sh", "-c", "exit 7")
    assert done.returncode == 2


def test_a_path_whose_server_hangs(server, user, data):
    """The command says after some seconds which path does not answer, and goes on without it."""
    with server.faults(hang_ns=slowfs.HOUR_NS):
        with futures.ThreadPoolExecutor() as pool:  # each waits as long
            required = pool.submit(user.stoker, "run", f"--path={server.mountpoint}", "--require-cache",
                                   "--", "sh", "-c", "exit 7")
            done, required = user.run(data, f"--path={server.mountpoint}"), required.result()
        assert (done.returncode, done.stdout) == (0, 2 * CONTENT), done.stderr
        assert f"--path {server.mountpoint}: does not answer: going on without it" in said_by(done)[0]
        assert "50.0% from the cache" in done.stderr
        assert required.returncode == 2 and "does not answer" in required.stderr, required.stderr


def test_an_argument_whose_server_hangs(server, user, data):
    with server.faults(hang_ns=slowfs.HOUR_NS):
        done = user.stoker("run", "--", "sh", "-c", "exit 7", server.mountpoint, data)
        assert done.returncode == 7 and f"stoker: caching {data}" in done.stderr, done.stderr
        assert f"{server.mountpoint}: does not answer" in done.stderr


def test_an_argument_whose_server_is_gone(server, user, data):
    """The command may not need it, and no path was named."""
    server.kill()
    gone = server.mountpoint
    command = ["sh", "-c", 'cat "$0/file" 2>/dev/null; exit 7']
    for arguments in [gone], [f"--data={gone}"], [gone, f"{gone}/below"]:
        done = user.stoker("run", "--", *command, *arguments)
        line, = said_by(done)
        assert done.returncode == 7 and "connected: running uncached" in line, done.stderr
        assert user.stoker("run", "--require-cache", "--", *command, *arguments).returncode == 2
    done = user.stoker("run", "--", *command, data, gone)
    line, = said_by(done)
    assert done.returncode == 7 and "connected: going on without it" in line, done.stderr
    assert "stoker: caching" in done.stderr


# ---- processes ----

def test_no_further_process(data, jobs):
    """The command takes this process, and nothing of the run is left. No other process is this user's."""
    alone = 20000 + os.getpid() % 20000
    script = "import os, resource, sys; os.setgroups([]); os.setresgid(*3 * [{0}]); " \
             "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)); os.setresuid(*3 * [{0}]); " \
             "os.execv(sys.argv[1], sys.argv[1:])".format(alone)

    def run(*flags):
        command = ["/bin/sh", "-c", 'echo "$LD_PRELOAD$STOKER_RUN"; trap; exit 7']
        line = [sys.executable, "-c", script, jobs.build / "stoker", "run", "--path", data, *flags, "--", *command]
        return jobs.place.run(line, env=YOUNG, check=False)

    done = run()
    assert (done.returncode, done.stdout) == (7, "\n"), done.stderr
    line, = said_by(done)
    assert "no further process can be started" in line and "running uncached" in line
    done = run("--require-cache")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert os.listdir(jobs.place.path("/dev/shm")) == []


@pytest.mark.parametrize("limit", [5, 6])
def test_no_further_file(jobs, data, limit):
    line = jobs.command_line(["sh", "-c", "exit 7"], path=data)
    done = jobs.place.run(["prlimit", f"--nofile={limit}", *line], check=False)
    assert done.returncode == 7, done.stderr
    assert re.search(r"^stoker: /dev/shm[^\n]* no further file: running uncached; [^\n]*ulimit -n", done.stderr,
                     re.M), done.stderr


def test_no_proc(user, data):
    user._jobs.place.run(["mount", "-t", "tmpfs", "none", "/proc"])
    Node(user, data).goes_on("/proc", "running uncached")


# ---- warm ----

def test_warming_what_there_is(user, data, disk):
    """`stoker warm` fills the tiers that work, as far as there is room."""
    os.chown(disk, 0, 0)
    for flags in [f"--tier={disk}:5M,/dev/shm:64M"], ["--tier=/dev/shm:500G"]:
        for more in [], ["--dry-run"]:
            done = user.stoker("warm", *flags, *more, data)
            assert done.returncode == 0 and len(said_by(done)) >= 1, done.stderr
    assert user.stoker("warm", "--tier=/dev/shm:500G", "--require-cache", data).returncode == 2


def test_warming_nothing(user, data, disk):
    os.chown(disk, 0, 0)
    for more in [], ["--dry-run"]:
        done = user.stoker("warm", f"--tier={disk}", *more, data)
        assert done.returncode == 2 and re.fullmatch(r"stoker: [^\n]*permission denied[^\n]*\n", done.stderr)


# ---- what was typed wrong ----

@pytest.mark.parametrize("verb", ["run", "env", "warm"])
def test_what_was_typed_wrong(user, data, disk, verb):
    """A wrong argument is an error at once, on every node."""
    os.chmod(disk, 0o777)
    (disk / "file").touch()
    (disk / "link").symlink_to(data)
    (disk / "theirs").mkdir()
    os.chown(disk / "theirs", OTHER, OTHER)
    (disk / "below").mkdir()
    os.chown(disk / "below", USER, USER)
    for tier in "/no/such", f"{disk}/file", f"{disk}/link", f"{disk}", f"{disk}/theirs", f"{disk}/below", \
            "/dev/shm:lots", "/dev/shm:0", "/dev/shm:60", f"/dev/shm:64M,{disk}/file":
        done = user.stoker(verb, *([data] if verb == "warm" else [f"--path={data}"]), f"--tier={tier}",
                           *(["--", "true"] if verb == "run" else []))
        assert done.returncode == 2 and re.fullmatch(r"stoker: [^\n]+\n", done.stderr), (tier, done.stderr)
    assert "stoker" not in user.sh("ls /dev/shm")


ADDRESSES = {
    "version": ["--version"],
    "run": ["run", "--path", "{data}", "--", "cat", "{data}/file"],
    "warm": ["warm", "{data}"],
}


@pytest.mark.parametrize("verb", ADDRESSES.values(), ids=ADDRESSES)
def test_little_address_space(jobs, data, verb):
    """The command and the library need a few megabytes of addresses. Below that the loader says so."""
    line = [str(jobs.build / "stoker"), *(word.format(data=data) for word in verb)]
    done = jobs.place.run(["sh", "-c", 'ulimit -v 16000; exec "$@"', "sh", *line], env=YOUNG, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
