"""The sample store of `stoker run`: where it lies, how much of the tier it may take, when it goes."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import ENV, PROGRAMS, python
from jobs import HOME, in_bytes, wait_for

MB = 1 << 20
BYTES = 60000


def keep(first=0, count=20, *more):
    return python(PROGRAMS / "keep.py", first, count, BYTES, *more)


def said(text):
    return json.loads(text.splitlines()[-1])


class Keeper:
    """A run whose job goes on until it is let go."""

    def __init__(self, jobs, line, env):
        self._context = jobs.started(line, env)
        self.process = self._context.__enter__()

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        out = self.process.communicate(timeout=60)
        self._context.__exit__(None, None, None)
        return out


@pytest.fixture
def keeper(jobs, data):
    made = []

    def start(*command, flags=(), tier="/dev/shm:64M"):
        line = jobs.command_line(command or keep(0, 20, "wait"), path=data, tier=tier, flags=flags)
        made.append(Keeper(jobs, line, ENV))
        return made[-1]
    yield start
    for one in made:
        if one.process.poll() is None:
            one.end()


@pytest.fixture
def in_group():
    """Makes a command line that runs in a control group with 400 MiB of memory."""
    v1, v2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
    parent, limit = (v1, "memory.limit_in_bytes") if v1.exists() else (v2, "memory.max")
    group = parent / f"stoker-samples-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(400 * MB))
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    script = f'echo $$ >"{group}/cgroup.procs" && exec "$@"'
    yield lambda line: ["sh", "-c", script, "sh", *line]
    group.rmdir()


def home(jobs, tier="/dev/shm"):
    return pathlib.Path(jobs.place.path(f"{tier}/{HOME}"))


def store_bytes(home):
    return sum(path.lstat().st_blocks * 512 for path in (home / "samples").rglob("*"))


def whole_bytes(home):
    return sum(path.lstat().st_blocks * 512 for path in home.rglob("*"))


# ---- where it lies, and how long ----

def test_by_default_it_lies_in_the_tier_and_goes_with_the_run(jobs, data):
    ran = jobs.run(keep(), path=data, env=ENV)
    told = said(ran.stdout)
    assert told["setting"] == f"/dev/shm/{HOME}/samples:0"
    assert (told["before"], told["kept"], told["there"], told["refused"]) == (0, 20, 20, 0)
    assert ran.samples["setting"] == told["setting"]
    assert 0 < ran.samples["used_bytes"] <= ran.samples["budget_bytes"] + MB
    assert not home(jobs).exists()


def test_it_is_kept_with_the_files(jobs, data):
    first = said(jobs.run(keep(), path=data, env=ENV, flags=["--keep"]).stdout)
    second = said(jobs.run(keep(), path=data, env=ENV).stdout)
    assert (first["before"], second["before"]) == (0, 20)
    listed = jobs.stoker("ls").stdout
    assert "MiB" in listed.split("  decoded copies ")[1]
    assert jobs.stoker("clear").stdout.startswith("removed ")
    assert not home(jobs).exists()
    assert said(jobs.run(keep(), path=data, env=ENV).stdout)["before"] == 0


def test_on_a_disk_it_stays(jobs, data, scratch):
    (scratch / "disk").mkdir()
    tier = f"{scratch}/disk:64M"
    first = said(jobs.run(keep(), path=data, tier=tier, env=ENV).stdout)
    second = said(jobs.run(keep(), path=data, tier=tier, env=ENV).stdout)
    assert (first["before"], second["before"]) == (0, 20)
    assert store_bytes(scratch / "disk" / HOME) > 20 * BYTES // 2
    jobs.run(keep(), path=data, tier=tier, env=ENV, flags=["--keep"])
    jobs.stoker("clear")
    assert not (scratch / "disk" / HOME).exists()


def test_programs_that_keep_nothing_cost_nothing(jobs, data):
    ran = jobs.run(["sh", "-c", "cat $0; sleep 0.6", data / "file"], path=data, flags=["--keep"])
    assert ran.samples["budget_bytes"] == ran.samples["used_bytes"] == 0
    assert not (home(jobs) / "samples").exists()
    ran = jobs.run(python("-c", "from stoker._store import samples; samples.store().get(bytes(16))"),
                   path=data, env=ENV)
    assert ran.samples["budget_bytes"] == 0


@pytest.mark.parametrize("flags, env, setting", [
    (["--decoded=0"], {}, "0"), (["--samples=0"], {}, "0"), ([], {"STOKER_DECODED": "0"}, "0"),
    ([], {"STOKER_SAMPLES": "0"}, "0"),
    (["--decoded", "0"], {"STOKER_DECODED": "/dev/shm/other:1M"}, "0")])
def test_off(jobs, data, flags, env, setting):
    ran = jobs.run(keep(), path=data, flags=[*flags, "--keep"], env={**ENV, **env})
    assert said(ran.stdout) == {"setting": setting, "kept": None}
    assert not (home(jobs) / "samples").exists()


@pytest.mark.parametrize("flags, env", [
    ([], {"STOKER_DECODED": "/dev/shm/own:8M"}), (["--decoded=/dev/shm/own:8M"], {}),
    ([], {"STOKER_SAMPLES": "/dev/shm/own:8M"}), (["--samples=/dev/shm/own:8M"], {}),
    (["--decoded=/dev/shm/own:8M"], {"STOKER_SAMPLES": "/dev/shm/other:1M"}),
    (["--decoded=/dev/shm/own:8M"], {"STOKER_DECODED": "/dev/shm/other:1M"})])
def test_a_directory_of_the_users_own(jobs, data, flags, env):
    for before in 0, 20:
        ran = jobs.run(keep(), path=data, tier="/dev/shm:64M", flags=flags, env={**ENV, **env})
        told = said(ran.stdout)
        assert (told["setting"], told["before"], told["there"]) == ("/dev/shm/own:8M", before, 20)
        assert ran.samples["budget_bytes"] == 0
    assert not home(jobs).exists()
    full = said(jobs.run(keep(100, 400), path=data, flags=flags, env={**ENV, **env}).stdout)
    assert 0 < full["there"] < 400 and full["used_bytes"] <= 8 * MB


# ---- how much ----

def test_a_size(jobs, data):
    ran = jobs.run(keep(0, 400), path=data, tier="/dev/shm:64M", flags=["--decoded=8M"], env=ENV)
    told = said(ran.stdout)
    assert told["setting"] == f"/dev/shm/{HOME}/samples:{8 * MB}"
    assert 100 < told["there"] == told["kept"] < 400
    assert 7 * MB < told["used_bytes"] <= 8 * MB == ran.samples["budget_bytes"]
    assert ", 8.0 MiB of it for decoded copies" in ran.stderr.splitlines()[0]


def test_entries_and_samples_share_the_budget(jobs, scratch):
    """In whichever order, they take together what the tier has, and not more."""
    files = scratch / "files"
    files.mkdir()
    for number in range(40):
        (files / f"{number:04}").write_bytes(os.urandom(500000))
    time.sleep(0.2)
    read = f"cat {files}/* >/dev/null"
    write = " ".join(map(str, keep(0, 600)))
    look = f"du -sB1 /dev/shm/{HOME}"
    there = []
    for script in f"{read}; {write}; {look}", f"{write}; {read}; {look}":
        ran = jobs.run(["sh", "-c", script], path=files, tier="/dev/shm:24M", env=ENV)
        told, used = ran.stdout.splitlines()
        assert int(used.split()[0]) <= ran.tier["used_bytes"] <= ran.tier["budget_bytes"] == 24 * MB
        assert int(used.split()[0]) > 20 * MB
        assert ran.bypassed.get("budget", 0) + ran.fills == 40
        there.append(json.loads(told)["there"])
    assert there[0] < 40 < 200 < there[1]


def test_a_size_is_set_aside(jobs, scratch):
    """Entries leave it alone, though nothing is kept yet."""
    files = scratch / "files"
    files.mkdir()
    for number in range(40):
        (files / f"{number:04}").write_bytes(os.urandom(500000))
    time.sleep(0.2)
    script = f"cat {files}/* >/dev/null; " + " ".join(map(str, keep(0, 300)))
    ran = jobs.run(["sh", "-c", script], path=files, tier="/dev/shm:20M", env=ENV,
                   flags=["--decoded=10M"])
    assert 10 < ran.fills < 21
    assert 9 * MB < said(ran.stdout)["used_bytes"] <= 10 * MB
    assert ran.tier["used_bytes"] <= 20 * MB


def test_more_than_the_tier_has(jobs, data):
    """The node's room may limit the tier's budget: an error only with --require-cache."""
    flags = [f"--path={data}", "--tier=/dev/shm:20M", "--decoded=21M"]
    for more, status in ([], 0), (["--require-cache"], 2):
        done = jobs.stoker("run", *flags, *more, "--", "true")
        assert done.returncode == status
        assert "--decoded 21M is more than the tier's budget of 20.0 MiB" in done.stderr


@pytest.mark.parametrize("value", ["", "x", "10Q", "-1M", "dir:1M", "/dev/shm/x:", "/dev/shm/x:1Q"])
def test_what_is_no_size(jobs, data, value):
    done = jobs.stoker("run", f"--path={data}", f"--decoded={value}", "--", "true")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"stoker: --decoded {value}: write a size, such as 20G" in done.stderr


def test_env(jobs, data):
    done = jobs.stoker("env", f"--path={data}", "--decoded=/dev/shm/x:5M")
    assert "export STOKER_DECODED='/dev/shm/x:5M'\n" in done.stdout
    assert "STOKER_DECODED" not in jobs.stoker("env", f"--path={data}").stdout
    done = jobs.stoker("env", f"--path={data}", "--decoded=5M")
    assert done.returncode == 2 and "--decoded DIR:SIZE" in done.stderr


# ---- several runs, and killed ones ----

def test_two_runs_share_one_store_and_its_grant(jobs, data, keeper):
    first = keeper()
    assert first.hear()["kept"] == 20
    ran = jobs.run(keep(0, 400), path=data, tier="/dev/shm:64M", env=ENV)
    told = said(ran.stdout)
    assert told["before"] == 20 and told["there"] > 60
    assert whole_bytes(home(jobs)) - os.path.getsize(home(jobs) / "catalogue") < 64 * MB
    assert store_bytes(home(jobs)) <= ran.samples["budget_bytes"] + MB
    first.end()
    assert not home(jobs).exists()


def test_the_command_is_killed(jobs, data, keeper):
    """Its job goes on within what was granted; the next run begins anew."""
    first = keeper(*python("-c", JOB, PROGRAMS / "keep.py", BYTES))
    assert first.hear()["there"] == 20
    os.kill(stoker_of(first.process.pid), signal.SIGKILL)
    first.process.wait(60)
    first.process.stdin.write("go on\n")
    first.process.stdin.flush()
    orphan = first.hear()
    assert orphan["before"] == 20 and 20 < orphan["there"] < 2000
    ran = jobs.run(keep(), path=data, tier="/dev/shm:64M", env=ENV)
    assert said(ran.stdout)["there"] == 20
    first.end()
    # The output of a process ends before the process, and then it still has the catalogue.
    wait_for(lambda: jobs.stoker("clear", "--dead") and not home(jobs).exists())


JOB = """
import subprocess, sys
keep = [sys.executable, "-B", sys.argv[1]]
subprocess.run([*keep, "0", "20", sys.argv[2]])
sys.stdin.readline()
subprocess.run([*keep, "0", "2000", sys.argv[2]])
sys.stdin.readline()
"""


def stoker_of(pid):
    """The process itself: nsenter and env have become it."""
    wait_for(lambda: b"stoker\0run" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
    return pid


def test_what_outlives_its_run_gets_no_more(jobs, data, keeper):
    """The store is gone with the run, or is the next run's: no command reserves for this
    process."""
    line = "import os, sys\nif os.fork() == 0:\n  os.setsid()\n  sys.stdin.readline()\n" \
           "  os.execv(sys.executable, [sys.executable, '-B', *sys.argv[1:]])\n"
    holder = keeper(flags=["--keep"])
    holder.hear()
    other = jobs.command_line(python("-c", line, PROGRAMS / "keep.py", 5000, 100, BYTES), path=data,
                              tier="/dev/shm:64M")
    with jobs.started(other, ENV) as process:
        process.wait(60)
        process.stdin.write("go\n")
        process.stdin.flush()
        told = said(process.stdout.read())
    assert told["setting"].endswith("samples:0") and told["kept"] == 0
    holder.end()


def test_memory_is_short(jobs, data, in_group):
    """No more is granted, and what was granted and is not used is taken back. The command looks now and
    then, and on a busy machine less often."""
    script = """
import keep
from stoker._store import samples
store = samples.store()
def put(first):
    kept = 0
    for number in range(first, first + 300):
        kept += store.put(store.key(b"%d" % number), bytes(30000))
        time.sleep(0.001)
    return kept
def put_until(is_wanted, first):
    for number in range(first, first + 60000, 1000):
        time.sleep(1)
        kept = put(number)
        if is_wanted(kept):
            break
    return kept, number
kept = [put(0)]
hog = bytearray(b"x") * (330 << 20)
kept.append(put_until(lambda kept: kept < 60, 1000)[0])
del hog
more, number = put_until(lambda kept: kept > 250, 100000)
kept += [more, put(number)]
print(json.dumps(kept))
"""
    line = jobs.command_line(python("-c", "import json, time" + script), path=data,
                             tier="/dev/shm:150M")
    env = {**ENV, "PYTHONPATH": f"{ENV['PYTHONPATH']}:{PROGRAMS}"}
    kept = said(jobs.place.run(in_group(line), env=env).stdout)
    assert kept[0] == kept[3] == 300 and kept[1] < 60 < 250 < kept[2], kept


def test_what_has_the_store_open_and_outlives_its_run(jobs, data, keeper):
    script = """
import os, sys
import keep
from stoker._store import samples
store = samples.store()
def put(first, count):
    return sum(store.put(store.key(b"%d" % n), bytes(30000)) for n in range(first, first + count))
assert put(0, 10) == 10
if os.fork() == 0:
    os.setsid()
    assert put(100, 10) == 10
    sys.stdin.readline()
    print(put(1000, 20), store.get(store.key(b"5")) is not None)
"""
    holder = keeper(flags=["--keep"])
    holder.hear()
    env = {**ENV, "PYTHONPATH": f"{ENV['PYTHONPATH']}:{PROGRAMS}"}
    line = jobs.command_line(python("-c", script), path=data, tier="/dev/shm:64M")
    with jobs.started(line, env) as process:
        process.wait(60)
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.read() == "0 True\n"
    holder.end()


def test_a_grant_ends_with_the_last_run(jobs, data):
    """A reservation that was not used is the entries' again, and a later run reserves anew."""
    first = jobs.run(keep(), path=data, tier="/dev/shm:64M", env=ENV,
                     flags=["--keep", "--decoded=32M"])
    assert first.samples["budget_bytes"] == 32 * MB and 32 * MB > first.tier["set_aside_bytes"] > 30 * MB
    second = jobs.run(keep(), path=data, tier="/dev/shm:64M", env=ENV, flags=["--keep"])
    assert said(second.stdout)["before"] == 20
    assert 0 < second.samples["budget_bytes"] < 12 * MB > second.tier["used_bytes"] - 2 * MB


def test_what_was_set_aside_on_a_disk_is_not_taken_in_a_run_beside_another(jobs, data, scratch,
                                                                           keeper):
    """The account of the tier outlives the catalogue, and only a run that begins alone counts."""
    (scratch / "disk").mkdir()
    tier = f"{scratch / 'disk'}:64M"
    jobs.run(keep(), path=data, tier=tier, env=ENV, flags=["--decoded=32M"])
    other = keeper()
    other.hear()
    ran = jobs.run(["true"], path=data, tier=tier, env=ENV)
    there = whole_bytes(home(jobs, scratch / "disk"))
    assert there <= ran.tier["used_bytes"] < there + 2 * MB < 8 * MB
    other.end()


SIZE = r"([0-9.]+ [KMGi]*B)"


def test_what_is_set_aside_is_not_said_to_be_used(jobs, data, scratch):
    """Each account of the tier shows its use, and beside it the reserve."""
    looks = [f"{jobs.build / 'stoker'} {verb}" for verb in ("ls", "top", "top --prometheus",
                                                            "top --json")]
    script = "; ".join(['"$@" >/dev/null', f"cat {data}/* >/dev/null", f"du -sB1 /dev/shm/{HOME}",
                        *looks])
    env = {**ENV, "XDG_STATE_HOME": str(scratch / "state")}
    ran = jobs.run(["sh", "-c", script, "sh", *keep()], path=data, tier="/dev/shm:64M", env=env,
                   flags=["--decoded=32M"])
    there = int(ran.stdout.split()[0])
    aside = ran.tier["set_aside_bytes"]
    assert 28 * MB < aside < 32 * MB
    assert there <= ran.tier["used_bytes"] <= there + MB < 8 * MB, (there, ran.tier)
    ls = re.search(f"{HOME}: {SIZE} of 64.0 MiB used, {SIZE} set aside for decoded copies, ", ran.stdout)
    page = re.search(rf"; set aside {SIZE}\n +\[.*\] {SIZE} of 64.0 MiB, decoded copies \(-\) {SIZE}", ran.stdout)
    report = jobs.stoker("report", "-o", "-", env=env).stdout
    report = re.search(f"{HOME}, {SIZE} of 64.0 MiB used, {SIZE} set aside for decoded copies", report)
    told = [ls[1], page[2], report[1], re.search(f"cache: {SIZE} in", ran.stderr)[1]]
    assert all(there <= in_bytes(size) + MB // 16 < there + MB for size in told), (there, told)
    assert all(abs(in_bytes(size) - aside) < MB for size in (ls[2], page[1], report[2]))
    metrics = dict(re.findall(r"^stoker_tier_(\w+)_bytes\{.*\} (\d+)$", ran.stdout, re.M))
    top = json.loads(ran.stdout[ran.stdout.rindex('\n{\n  "version"'):])["tiers"][0]
    for name in "used", "set_aside":
        assert abs(int(metrics[name]) - ran.tier[f"{name}_bytes"]) < MB
        assert top[f"{name}_bytes"] == int(metrics[name])


# ---- other namespaces ----

def test_another_pid_namespace_has_nothing_granted(jobs, data):
    """Its store would be another one, for which nothing is reserved."""
    inner = subprocess.list2cmdline(list(map(str, keep())))
    ran = jobs.run(["unshare", "-fp", "--mount-proc", "sh", "-c", inner], path=data, env=ENV,
                   check=False)
    if ran.status != 0:
        pytest.skip("no pid namespace of its own")
    assert said(ran.stdout)["kept"] == 0
