"""Ordinary programs do with covered files just what they do without: cold, warm, and by any name.

The tree has every kind of file (tests/lib/storage/dataset.py). Each program runs three times on a copy of
its own: without the library, cold, and warm. Its output and its files must be the same.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import dataset
from origin import settle
from slices import crossed

KINDS = ("without", "cold", "warm")
Paths = collections.namedtuple("Paths", "data link bind plain")


@pytest.fixture(scope="module")
def master(session_scratch):
    path = session_scratch / "master"
    path.mkdir()
    dataset.make(path)
    shutil.rmtree(path / "data" / "sym")
    shutil.rmtree(path / "data" / "hard")
    for number in range(20, dataset.POOL):
        (path / "data" / "pool" / str(number)).unlink()
    for number in range(10, dataset.OWN):
        (path / "data" / "own" / str(number)).unlink()
    dataset.age(path)  # rsync leaves the time of a copy that was made in the original's second
    return path


@pytest.fixture
def world(jobs, origin, master, scratch):
    """A covered directory at the slow origin, a symbolic link and a bind mount that lead to it."""
    source, mount = origin.directory("transparent")
    shutil.rmtree(source)
    subprocess.run(["cp", "-a", master, source], check=True)
    settle()
    (scratch / "link").symlink_to(mount / "data")
    (scratch / "bind").mkdir()
    jobs.place.run(["mount", "--bind", mount / "data", scratch / "bind"])
    return Paths(mount / "data", scratch / "link", scratch / "bind", source / "data")


class Thrice:
    """Runs one script without, cold and warm; "$out" is a directory of each one's own."""

    def __init__(self, jobs, world, scratch):
        self._jobs, self._world, self._scratch = jobs, world, scratch
        self.out = {kind: scratch / f"out-{kind}" for kind in KINDS}

    def run(self, script, covered=None, warm=True):
        for kind in KINDS:
            self.out[kind].mkdir(exist_ok=True)
        covered = covered or [self._world.data]
        said = {"without": self._once(script, "without", {})}
        # --keep: all that is warm afterwards is what the cold one has left.
        for kind in ("cold", "warm"):
            ran = self._jobs.run(self._command(script, kind), path=covered, env=self._env(kind),
                                 flags=["--keep"], check=False)
            said[kind] = (ran.status, ran.stdout, without_ours(ran.stderr))
        if warm:
            assert ran.hits > 0, ran.stderr
        for kind in ("cold", "warm"):
            assert said[kind] == said["without"]
        return said["without"]

    def _command(self, script, kind):
        return ["bash", "-c", f"cd {self.out[kind]}; {script}", "bash", *map(str, self._world)]

    def _env(self, kind):
        return {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
                "GIT_OPTIONAL_LOCKS": "0"}

    def _once(self, script, kind, env):
        done = self._jobs.place.run(self._command(script, kind), env=self._env(kind), check=False)
        return done.returncode, done.stdout, done.stderr

    def assert_same_trees(self, times=True):
        trees = [describe(self.out[kind], times) for kind in KINDS]
        assert trees[0]
        assert trees[1] == trees[0]
        assert trees[2] == trees[0]


def without_ours(stderr):
    """The program's own messages: those of stoker are its first line, and the table at the end."""
    lines = stderr.splitlines(keepends=True)
    ours = [i for i, line in enumerate(lines) if line.startswith("stoker: ")]
    return "".join(lines[ours[0] + 1:ours[-1]])


def describe(top, times):
    """All that a copy may get wrong: content and metadata of everything below a directory."""
    tree, seen = {}, {}
    for directory, directories, files in os.walk(top):
        for name in directories + files:
            path = pathlib.Path(directory, name)
            look = path.lstat()
            what = os.readlink(path) if path.is_symlink() else (
                path.read_bytes() if path.is_file() else None)
            twin = seen.setdefault((look.st_dev, look.st_ino), str(path.relative_to(top)))
            tree[str(path.relative_to(top))] = (
                what, look.st_mode, look.st_uid, look.st_gid, look.st_nlink, twin,
                None if path.is_dir() and not path.is_symlink() else look.st_size,
                look.st_mtime_ns if times else None,
                sorted((key, os.getxattr(path, key, follow_symlinks=False))
                       for key in os.listxattr(path, follow_symlinks=False)))
    return tree


@pytest.fixture
def thrice(jobs, world, scratch):
    return Thrice(jobs, world, scratch)


# $1 the covered directory, $2 a link and $3 a bind mount that lead to it, $4 behind the origin.
WAYS = {"itself": "$1", "link": "$2", "bind": "$3"}


COPIES = [
    ("cp", 'cp -r "{}" copy', False),
    ("cp-a", 'cp -a "{}/." copy', True),
    ("cp-p", 'cp -p "{}"/sub/* .', True),
    ("install", 'install -m 640 "{}"/a.bin "{}"/sub/b.bin .', False),
    ("tar", 'tar -C "{}" -cf - . | tee >(sha256sum) | tar -xf -', True),
    ("rsync", 'rsync -aHX "{0}/" copy; rsync -aHXi --checksum "{0}/" copy', True),
    ("cat", 'cat "{}"/a.bin "{}"/pool/* >copy; wc -c "{}"/pool/*; md5sum "{}"/own/*', False),
]


@pytest.mark.parametrize("copy, way", crossed(COPIES, WAYS), ids=lambda one: one if isinstance(one, str) else one[0])
def test_copies(thrice, world, copy, way):
    _, script, times = copy
    source = WAYS[way]
    thrice.run(script.replace("{0}", source).replace("{}", source),
               covered=[world.data, world.bind] if way == "bind" else None, warm=way != "link")
    thrice.assert_same_trees(times)


def test_shutil(thrice, programs):
    thrice.run(f'{sys.executable} -S -E {programs}/shutil_all.py "$1" .; '
               f'{sys.executable} -S -E {programs}/shutil_all.py "$2/sub" link; '
               'find */copy2 -printf "%p %T@\\n" | sort')
    thrice.assert_same_trees(times=False)


def test_attributes_and_acls_are_copied(thrice, world, as_root):
    # slowfs shows extended attributes of its source; the list is the source's own.
    os.setxattr(world.plain / "a.bin", "user.note", b"kept")
    subprocess.run(["setfacl", "-m", "u:1:r", world.plain / "sub" / "b.bin"], check=True)
    settle()
    said = thrice.run('cp -a "$1/a.bin" "$1/sub/b.bin" .; getfattr -d --absolute-names "$1/a.bin"; '
                      'getfacl -p "$1/sub/b.bin"; getfattr -d *; getfacl *')
    assert said[1].count("kept") == 2 and said[1].count("user:daemon:r--") == 2
    thrice.assert_same_trees()


ONTO_ITSELF = ['cp {0}/a.bin {1}/a.bin', 'cp -a {0}/a.bin {1}/', 'cp -f {0}/a.bin {1}/a.bin',
               'cp --remove-destination {0}/hard1 {1}/hard2', 'cp -l {0}/a.bin {1}/a.bin',
               'install {0}/a.bin {1}/a.bin', 'cat {0}/a.bin >>{1}/a.bin', 'mv {0}/a.bin {1}/a.bin',
               'mv {0}/hard1 {1}/hard2', 'dd if={0}/a.bin of={1}/a.bin conv=notrunc status=none']


@pytest.mark.parametrize("ways", ["12", "21", "13", "31", "11"])
def test_a_file_copied_onto_itself(jobs, world, master, ways):
    """By two names; the source must never be emptied. All in one run, on a file each."""
    script = "; ".join(f"({line.format(f'${ways[0]}/{i}', f'${ways[1]}/{i}')}); echo {i} $?; "
                       f"wc -c <$4/{i}/a.bin; stat -c '%n %i %h' $4/{i}/*"
                       for i, line in enumerate(ONTO_ITSELF))

    def refresh():
        for i in range(len(ONTO_ITSELF)):
            shutil.rmtree(world.plain / str(i), ignore_errors=True)
            (world.plain / str(i)).mkdir()
            subprocess.run(f"cp -a a.bin hard1 hard2 {world.plain}/{i}/", shell=True, check=True,
                           cwd=master / "data")
        settle()

    def told(output):
        """Inode numbers by the order in which they come: each copy has others."""
        numbers = {}
        return [[numbers.setdefault(word, len(numbers)) if len(word) > 5 and word.isdigit()
                 else word for word in line.split()] for line in output.splitlines()]

    refresh()
    command = ["bash", "-c", script, "bash", *map(str, world)]
    without = jobs.place.run(command, check=False)
    for warm in ("", 'cat "$1"/[0-9]/* "$3"/[0-9]/* >/dev/null; '):
        refresh()
        command[2] = warm + script
        ran = jobs.run(command, path=[world.data, world.bind], flags=["--keep"], check=False)
        assert told(ran.stdout) == told(without.stdout)
        assert without_ours(ran.stderr) == without.stderr
        assert ran.stats_served > 0 and (ran.fills > 0 or not warm)


STAT = "stat -c '%n %d %i %f %h %u %g %s %b %o %Y %y %z %W'"


def test_stat_of_every_kind_of_file(thrice, world):
    """coreutils' stat asks with statx; twice, since the second is answered from memory."""
    script = (f'cd "$1"; for i in 1 2; do find . | sort | xargs -d "\\n" {STAT}; '
              f'find . | sort | xargs -d "\\n" {STAT} -L; cat sub/* own/* pool/* | md5sum; done')
    assert len(thrice.run(script)[1]) > 10000


def test_stat_by_python(thrice, programs):
    for way, covered in (("$1", ["data"]), ("$2", ["data"]), ("$3", ["data", "bind"])):
        thrice.run(f'{sys.executable} -S -E {programs}/stat_all.py "{way}" "$1"',
                   covered=[getattr(thrice._world, name) for name in covered], warm=way != "$2")


def test_git(thrice, world):
    """A repository below the covered path: nothing seems changed, and what is changed is seen."""
    repository = world.plain / "repository"
    shutil.copytree(world.plain / "pool", repository)
    for line in (["init", "-q"], ["add", "."],
                 ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", repository, *line], check=True)
    (repository / "3").write_bytes(b"changed")
    (repository / "new").write_bytes(b"new")
    settle()
    script = ('for way in "$1" "$2" "$3"; do cd "$way/repository"; git status --porcelain; '
              'git diff --stat; git log --oneline; git fsck; cat * | md5sum; done')
    status, stdout, _ = thrice.run(script, covered=[world.data, world.bind])
    assert status == 0
    assert stdout.count(" M 3\n") == 3 and stdout.count("?? new\n") == 3


def test_git_commits_and_checks_out(jobs, world, scratch):
    """Programs that write through the shim see what they wrote."""
    repository = world.data / "work"
    script = """set -e
        git init -q "$0"; cd "$0"
        git config user.name A; git config user.email a@b
        cp ../pool/* .; git add .; git commit -qm one
        echo changed >3; git commit -qam two; cat 3
        git checkout -q HEAD~1; cmp 3 ../pool/3; git checkout -q -; cat 3
        git status --porcelain; git gc -q; git fsck; git log --format=%s"""
    env = {"GIT_CONFIG_GLOBAL": "/dev/null"}
    ran = jobs.run(["sh", "-c", script, repository], path=world.data, env=env)
    assert ran.stdout == "changed\nchanged\ntwo\none\n"


AT_ONCE = """
import errno, os, sys
for path in sys.argv[1:]:
    fd, place = os.open(path, os.O_RDONLY), bytearray(6)
    os.pread(fd, 9, 0)
    try:
        print(os.preadv(fd, [place], 3, os.RWF_NOWAIT), place)
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


def test_a_read_that_does_not_wait(jobs, scratch):
    """A tmpfs refuses the flag, and the cached file lies on one. A program's own file there is refused."""
    covered = scratch / "covered"
    covered.mkdir()
    (covered / "file").write_bytes(b"0123456789")
    os.sync()
    settle()
    argv = ["sh", "-c", 'umask 377; echo 0123456789 > /dev/shm/own; exec /usr/bin/python3 -c "$0" "$@"', AT_ONCE,
            covered / "file", "/dev/shm/own"]
    said = [jobs.place.run(argv).stdout, *(jobs.preloaded(argv, covered).stdout for _ in range(2))]
    if said[0].count("ENOTSUP") != 1:
        pytest.skip("no file system here reads without waiting: nothing to compare with")
    assert said[1:] == said[:1] * 2


def test_holes(jobs, scratch):
    """Data and holes lie where they do without Stoker: such files are left to their file system."""
    data = scratch / "data"
    data.mkdir()
    for name, spots in (("front", [300_000]), ("behind", [0]), ("between", [0, 300_000])):
        with open(data / name, "wb") as file:
            file.truncate(400_000)
            for spot in spots:
                file.seek(spot)
                file.write(b"d" * 50_000)
    (data / "zeros").write_bytes(bytes(400_000))
    settle()
    script = ("import os, sys\n"
              "def seek(fd, spot, whence):\n"
              "    try:\n"
              "        return os.lseek(fd, spot, whence)\n"
              "    except OSError as error:\n"
              "        return error.strerror\n"
              "for name in sys.argv[1:]:\n"
              "    fd = os.open(name, os.O_RDONLY)\n"
              "    spots = [seek(fd, 0, os.SEEK_CUR)]\n"
              "    for spot in range(0, 400_000, 40_000):\n"
              "        spots += [seek(fd, spot, os.SEEK_DATA), seek(fd, spot, os.SEEK_HOLE)]\n"
              "    print(os.path.basename(name), spots, os.fstat(fd).st_blocks)\n")
    files = sorted(data.iterdir())
    program = [sys.executable, "-c", script, *files, *files]
    plain = jobs.place.run(program).stdout
    assert len({line.split(" ", 1)[1] for line in plain.splitlines()}) == 4, plain
    ran = jobs.run(program, path=data)
    assert ran.stdout == plain
    assert (ran.bypassed, ran.fills, ran.hits) == ({"sparse": 6}, 1, 1)
    assert "files with holes" in ran.stderr
