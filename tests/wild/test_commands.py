"""Tools of the command line and small programs in many languages. Their output, their status and
their files are the same with the cache cold, warm, known, and with entries gone."""

import pathlib
import shlex
import shutil
import subprocess

import pytest

import wildset
from commands import HITS, NEVER, STATS, Work, outcome
from matrix import record
from slices import ALL
from tools import PROGRAMS, TOOLS

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "programs"
PATIENCE_S = 300

# ---- what is run, and on what ----

BUILDS = {
    "plain": "gcc {s}/plain.c",
    "large": "gcc -D_FILE_OFFSET_BITS=64 {s}/plain.c",
    "fortified": "gcc -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 {s}/plain.c",
    "libplain.so": "gcc -DLIBRARY -fPIC -shared {s}/plain.c",
    "loading": "gcc -D_GNU_SOURCE {s}/loading.c -ldl",
    "static": "gcc -static {s}/plain.c",
    "syscall": "gcc {s}/raw.c",
    "raw": "gcc -DOWN {s}/raw.c",
    "musl": "musl-gcc {s}/plain.c",
    "streams": "g++ -std=c++17 {s}/streams.cpp",
    "rust": "rustc -O {s}/reading.rs",
    "go": "go build {s}/reading.go",
}
BIG = ("rust", "go")  # compilers that only test-all installs, and that take their time


def compile_one(name, into):
    line = shlex.split(BUILDS[name].format(s=SOURCES))
    output = ["-o", str(into / name)]
    if line[0] == "go":
        line[2:2] = output
        output = []
    subprocess.run([*line, *output], check=True, timeout=PATIENCE_S, cwd=into)


@pytest.fixture(scope="session")
def programs(session_scratch):
    """The small programs, built where anybody may run them; in it the scripts, too."""
    path = session_scratch / "programs"
    path.mkdir()
    for name, line in BUILDS.items():
        if shutil.which(line.split()[0]) and (ALL or name not in BIG):
            compile_one(name, path)
    for script in "reading.js", "reading.pl":
        shutil.copy(SOURCES / script, path)
    return path


@pytest.fixture(scope="session")
def works(session_scratch, programs):
    """Gives each user a place to work in, and a data set."""
    made = {}

    def work(user):
        if user.name not in made:
            top = session_scratch / user.name
            top.mkdir()
            wildset.make(top / "data", user.number)
            made[user.name] = top / "data", Work(top / "work", programs, user.number)
        return made[user.name]
    return work


# ---- running it in every state of the cache ----

class Trial:
    def __init__(self, command, jobs, user, data, work):
        self.command, self.jobs, self.user = command, jobs, user
        self.data, self.work = data, work

    def script(self, twice=False):
        """Returns a shell's command line: the line in the second directory, perhaps in the first
        before that."""
        line = shlex.quote(self.command.on(self.data))
        before = f"(cd {self.work.first} && sh -c {line} >/dev/null 2>&1);" if twice else ""
        return ["sh", "-c", f"umask 022; {before} cd {self.work.second} && "
                            f"exec sh -c {line} 2>{self.work.stderr}"]

    def plain(self):
        self.work.fresh()
        done = self.jobs.place.run([*self.user.become(), *self.script()], check=False,
                                   timeout=PATIENCE_S)
        return outcome(done.returncode, done.stdout, self.work)

    def cached(self, twice=False):
        self.work.fresh()
        ran = self.user.run(self.jobs, self.script(twice), self.data, check=False,
                            flags=["--keep"], timeout=PATIENCE_S)
        return outcome(ran.status, ran.stdout, self.work), ran

    def drop(self):
        """Every second entry is gone."""
        tree = pathlib.Path(self.jobs.place.path(f"{self.user.home}/tree"))
        for entry in [one for one in sorted(tree.rglob("*")) if one.is_file()
                      and one.name != ";origin"][::2]:
            entry.unlink()


def assert_part(command, twice, ran):
    """The cache had its part in a run that knew the files."""
    if command.sees == HITS:
        assert ran.hits > 0 and ran.fills == 0, ran.json
    elif command.sees == STATS:
        assert twice.stats_served > 0, twice.json
    elif command.sees == NEVER:
        assert ran.hits == ran.fills == 0, ran.json


def check(command, jobs, user, data, work, group):
    trial = Trial(command, jobs, user, data, work)
    plain = trial.plain()
    assert trial.plain() == plain, "it differs from itself, without Stoker"
    cold, _ = trial.cached()
    assert cold == plain
    warm, ran = trial.cached()
    assert warm == plain
    trial.drop()
    dropped, _ = trial.cached()
    assert dropped == plain
    twice, ran_twice = trial.cached(twice=True)
    assert twice == plain
    assert_part(command, ran_twice, ran)
    served = "from the origin" if command.sees == NEVER else "cold, warm, dropped"
    record(group, command.name, version_of(command, jobs.place),
           f"{served}: as {user.name}", "same")


def version_of(command, place):
    """Returns a program's version, without its name."""
    for option in "--version", "-version":
        said = place.run([command.needs[0], option], check=False)
        words = [word.strip(",()") for word in (said.stdout or said.stderr).split()]
        found = [word for word in words if word[:1].isdigit() and "." in word]
        if said.returncode == 0 and found:
            return found[0]
    return ""


def in_slice(commands):
    return [one for one in commands if ALL or one.main]


def run_one(command, user, jobs, works, group):
    if command.missing():
        pytest.skip(command.missing())
    data, work = works(user)
    check(command, jobs, user, data, work, group)


@pytest.mark.parametrize("tool", in_slice(TOOLS), ids=lambda tool: tool.name)
def test_tools(jobs, works, slice_user, tool):
    run_one(tool, slice_user, jobs, works, "Command-line tools")


@pytest.mark.parametrize("program", in_slice(PROGRAMS), ids=lambda program: program.name)
def test_programs(jobs, works, user, program):
    run_one(program, user, jobs, works, "Languages and ways to link")
