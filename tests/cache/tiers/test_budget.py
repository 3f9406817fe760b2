"""The budget holds at every moment, is used to its end, and leaves the job its shared memory."""

import os
import random
import re
import subprocess
import sys
import threading

import pytest

import beneath
from isolated import Isolated
from jobs import HOME, Jobs, files_below, in_bytes, read_line, reading, wait_for
from origin import settle
from usage import walk_used
from volumes import mount_ext4

KIB, MIB = 1 << 10, 1 << 20


class Sampler:
    """Looks at a tier again and again while a block runs, and keeps the most it saw."""

    used = staticmethod(walk_used)
    between_s = 0.01  # without a pause it would keep a processor from the job; what is too much stays for longer

    def __init__(self, home, ask=None):
        self._home, self._ask = home, ask
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.most_bytes = self.most_inodes = self.looks = 0
        self.most_told = [0, 0]

    def _watch(self):
        while not self._stop.wait(self.between_s):
            used = self.used(self._home)
            self.most_bytes = max(self.most_bytes, used[0])
            self.most_inodes = max(self.most_inodes, used[1])
            told = self._ask() if self._ask else None
            if told:
                self.most_told = [max(self.most_told[0], told[0]), max(self.most_told[1], told[2])]
            self.looks += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


class MountSampler(Sampler):
    """Asks the file system, where nothing but the tier lies on it: a walk counts what is removed and what is made
    meanwhile, both."""

    @staticmethod
    def used(home):
        there = os.statvfs(os.path.dirname(home))
        return (there.f_blocks - there.f_bfree) * there.f_frsize, there.f_files - there.f_ffree


def mount_tmpfs(place, directory, size="64m", inodes=None):
    options = f"mode=1777,size={size}" + (f",nr_inodes={inodes}" if inodes else "")
    place.run(["mount", "-t", "tmpfs", "-o", options, "small", directory])


def shuffled_epochs(files, epochs):
    """A command that reads the files in another order in each epoch."""
    order = []
    for epoch in range(epochs):
        order += random.Random(epoch).sample(files, len(files))
    return reading(order, 1)


@pytest.fixture
def tier(place, scratch):
    """A tmpfs of its own for the tier: the catalogue lies elsewhere."""
    path = scratch / "tier"
    path.mkdir()
    mount_tmpfs(place, path)
    return path


def names_of(mount, count):
    return [mount / f"file{number:04}" for number in range(count)]


def home_in(place, directory):
    return place.path(f"{directory}/{HOME}")


def test_used_never_exceeds_the_budget_and_the_hit_rate_is_its_share(jobs, place, origin, tier):
    count, size, budget = 400, 32 * KIB, 400 * 32 * KIB // 2
    _, mount = origin.files("budget", count, size)
    with Sampler(home_in(place, tier), lambda: jobs.used(str(tier))) as sampler:
        ran = jobs.run(shuffled_epochs(names_of(mount, count), 4), path=mount,
                       tier=f"{tier}:{budget}")
    assert sampler.looks > 5
    assert 0.9 * budget < sampler.most_bytes <= budget
    assert sampler.most_told[0] <= budget * 1.01  # stoker ls rounds
    assert ran.tier["used_bytes"] <= ran.tier["budget_bytes"] == budget
    for number in (2, 3, 4):
        epoch = ran.epoch(number)
        assert epoch["opens"] == count
        assert abs(epoch["hits"] / count - 0.5) <= 0.01, epoch
    assert ran.bypassed["budget"] == ran.opens - ran.hits - ran.fills


def test_the_catalogue_s_growth_is_within_the_budget(jobs, place, scratch):
    """Where the tier and the catalogue share /dev/shm, the files are so many that it grows."""
    data = scratch / "many"
    data.mkdir()
    for number in range(9000):
        (data / str(number)).write_bytes(b"x")
    settle()
    budget = 8 * MIB
    command = ["sh", "-c", 'find "$0" -type f -print0 | xargs -0 cat >/dev/null', data]
    with MountSampler(home_in(place, "/dev/shm")) as sampler:
        ran = jobs.run(command, path=data, tier=f"/dev/shm:{budget}")
    assert ran.opens == 9000
    assert 0.9 * budget < sampler.most_bytes <= budget
    assert ran.bypassed["budget"] > 0


def test_the_catalogue_grows_on_when_entries_have_filled_the_budget(jobs, scratch):
    """A file that is not known would cost the origin a question at each open."""
    data = scratch / "more"
    data.mkdir()
    for number in range(150):
        (data / f"large{number}").write_bytes(bytes(512 * KIB))
    for number in range(9000):
        (data / f"small{number}").write_bytes(b"x")
    settle()
    script = 'cd "$0" && ls | grep large | xargs cat >/dev/null; ls | xargs cat >/dev/null'
    ran = jobs.run(["sh", "-c", script, data], path=data, tier=f"/dev/shm:{70 * MIB}")
    assert ran.opens == 150 + 9150
    assert ran.hits > 100
    assert ran.bypassed.get("catalogue", 0) == 0
    assert ran.bypassed["budget"] == 9000 + 300 - ran.hits - ran.fills


def test_inodes_are_a_budget_too(jobs, place, origin, scratch):
    tier = scratch / "tier"
    tier.mkdir()
    mount_tmpfs(place, tier, inodes=200)
    count = 300
    _, mount = origin.files("inodes", count, KIB)
    with Sampler(home_in(place, tier), lambda: jobs.used(str(tier))) as sampler:
        ran = jobs.run(shuffled_epochs(names_of(mount, count), 2), path=mount, tier=tier)
    assert ran.tier["budget_inodes"] <= 100
    assert 90 <= sampler.most_inodes <= ran.tier["budget_inodes"]
    assert sampler.most_told[1] <= ran.tier["budget_inodes"]
    assert ran.tier["used_inodes"] <= ran.tier["budget_inodes"]
    assert ran.epoch(2)["hits"] >= 85


@pytest.fixture
def docker_shm(place):
    """64 MiB, as Docker gives: the job needs them itself."""
    mount_tmpfs(place, "/dev/shm")


@pytest.mark.torch
@pytest.mark.parametrize("preload_alone", [False, True])
def test_a_small_shared_memory_serves_the_job(jobs, place, origin, programs, preload_alone):
    """64 MiB with 200 inodes as /dev/shm: 45 MiB of data, and 24 MiB that the job shares."""
    mount_tmpfs(place, "/dev/shm", inodes=200)
    source, mount = origin.files("shm", 300, 150 * KIB)
    command = [sys.executable, programs / "share.py", mount, source]
    ran = jobs.preloaded(command, mount) if preload_alone else jobs.run(command, path=mount)
    assert ran.stdout == "well\n"
    if not preload_alone:
        assert "has only 64.0 MiB" in ran.stderr and "running uncached" in ran.stderr
        assert os.listdir(place.path("/dev/shm")) == []


def test_a_small_shared_memory_and_a_disk(jobs, place, origin, scratch, docker_shm):
    """A place that the environment names for such things is taken, and said; any other is not."""
    _, mount = origin.files("disk", 20, 10 * KIB)
    (scratch / "disk").mkdir()
    command = reading(names_of(mount, 20), 2)
    for variable in ("TMPDIR", "SLURM_TMPDIR"):
        ran = jobs.run(command, path=mount, env={variable: str(scratch / "disk")})
        assert f"caching in {scratch}/disk ({variable})" in ran.stderr
        assert ran.hits >= 20 and ran.epoch(2)["hits"] == 20
    for nowhere in ("/dev/shm", "/no/such/directory", "relative", mount):
        ran = jobs.run(command, path=mount, env={"TMPDIR": str(nowhere)})
        assert "running uncached" in ran.stderr and ran.opens == 0


def test_more_files_than_a_small_shared_memory_can_know(jobs, place, scratch):
    """A /dev/shm with room for the index of some 4,000 files, and a disk: all 8,000 are served. A kept index loses
    what it knew beyond /dev/shm. A later run finds the entries all the same, and replaces it."""
    mount_tmpfs(place, "/dev/shm", size="36m")
    data, disk = scratch / "many", scratch / "disk"
    data.mkdir()
    disk.mkdir()
    for number in range(8000):
        (data / str(number)).write_bytes(b"x")
    settle()
    command = ["sh", "-c", 'for epoch in 1 2; do find "$0" -type f -print0 | xargs -0 cat; done >/dev/null', data]
    for flags in (["--keep"], []):
        ran = jobs.run(command, path=data, tier=str(disk), flags=flags, env={"STOKER_AHEAD": "off"})
        assert "the index of the cache" not in ran.stderr
        assert ran.epoch(2)["opens"] == 8000 and ran.epoch(2)["hits"] == 8000
        if flags:
            room = place.run(["sh", "-c", "df -B1 --output=avail /dev/shm | tail -1"])
            assert int(room.stdout) > 32 * MIB
    assert ran.fills == 0


@pytest.mark.parametrize("where, size, is_said", [("memory", 1, True), ("memory", 64 * KIB, False), ("disk", 1, False)])
def test_what_the_kernel_keeps_for_small_files_is_said(jobs, place, scratch, where, size, is_said):
    """Some 900 bytes for each file, which are much beside a page, and little beside 64 KiB."""
    data, disk = scratch / "data", scratch / "disk"
    data.mkdir()
    disk.mkdir()
    for number in range(1500):
        (data / str(number)).write_bytes(b"x" * size)
    settle()
    tier = "/dev/shm:200M" if where == "memory" else f"{disk}:200M"
    ran = jobs.run(["sh", "-c", 'cat "$0"/* >/dev/null', data], path=data, tier=tier, flags=["--keep"])
    listed = jobs.stoker("ls").stdout
    for text in (ran.said, " ".join(listed.split())):
        said = re.search(r"and some (\S+ \S+) of the kernel's for the files", text)
        assert bool(said) == is_said, text
        assert not said or 1.2 * MIB < in_bytes(said[1]) < 1.4 * MIB


@pytest.mark.parametrize("how", ["budget", "preload", "preload with a budget"])
def test_a_named_budget_leaves_the_job_its_shared_memory(jobs, origin, programs, docker_shm, how):
    """40 MiB of 64 for the job, whatever was allowed to us."""
    _, mount = origin.files("named", 300, 150 * KIB)
    command = [sys.executable, programs / "hold.py", mount, 40]
    if how == "budget":
        done = jobs.run(command, path=mount, tier="/dev/shm:32M")
        assert done.bypassed["memory"] > 0
    else:
        tier = "/dev/shm:32M" if "budget" in how else None
        done = jobs.preloaded(command, mount, tier=tier)
    assert done.stdout == "well\n"


def test_entries_go_when_the_job_wants_their_shared_memory(jobs, place, origin):
    """400 MiB, of which entries take 150; the job takes 300, step by step."""
    mount_tmpfs(place, "/dev/shm", size="400m")
    _, mount = origin.files("wanted", 150, MIB)
    step = 'i=0; while [ $i -lt 30 ]; do head -c 10m /dev/zero >>/dev/shm/own || exit 1; ' \
           'sleep 0.1; i=$((i + 1)); done'
    ran = jobs.run(["sh", "-c", f'cat "$0"/* >/dev/null; {step}; cat "$0"/* >/dev/null', mount],
                   path=mount, tier="/dev/shm:180M", env={"STOKER_AHEAD": "off"})  # which fills, too
    assert ran.fills >= 150
    assert ran.tier["given_back_bytes"] > 50 * MIB
    assert ran.epoch(2)["hits"] < 150


@pytest.fixture(scope="module")
def pictures(session_origin, programs):
    """A folder for loader.py at the origin."""
    source, mount = session_origin.directory("images")
    subprocess.run([sys.executable, programs / "loader.py", "make", source], check=True)
    settle()
    return mount


@pytest.mark.torch
@pytest.mark.parametrize("how", ["command", "torch's own batches", "preload"])
def test_an_ordinary_loader_in_a_small_shared_memory(jobs, pictures, programs, docker_shm, how):
    """Four workers and batches of 32, all but those of the command through shared memory."""
    mount = pictures
    line, tier = [sys.executable, programs / "loader.py", "read", mount], "/dev/shm:32M"
    if how == "preload":
        ran = jobs.preloaded(line, mount, tier=tier)
    elif how == "command":
        ran = jobs.run(line, path=mount)
    else:
        ran = jobs.run(line, path=mount, tier=tier, flags=["--no-batches"])
    assert ran.stdout == "well\n"


def fill_up(place, directory):
    """Leaves not a byte, and not an inode."""
    place.run(["sh", "-c", 'cat /dev/zero >"$0/zeroes"; i=0; '
               'while mkdir "$0/$i"; do i=$((i + 1)); done; true', directory])


@pytest.mark.parametrize("where", ["/dev/shm", "tier"])
def test_a_full_tier_is_no_error_in_the_program(jobs, place, origin, scratch, where):
    directory = scratch / "tier" if where == "tier" else "/dev/shm"
    (scratch / "tier").mkdir()
    mount_tmpfs(place, directory, size="4m", inodes=50)
    fill_up(place, directory)
    source, mount = origin.files("full", 20, 10 * KIB)
    done = jobs.preloaded(["diff", "-r", mount, source], mount, tier=str(directory))
    assert (done.stdout, done.stderr) == ("", "")


def test_a_tier_that_fills_up_during_the_run(jobs, place, origin, tier):
    """Another program takes the rest: that is no error, and no wrong byte. Entries that are there
    are served."""
    source, mount = origin.files("filling", 60, 100 * KIB)
    script = ('cat "$1"/file000? >/dev/null; cat /dev/zero >"$3/zeroes" 2>/dev/null; '
              'diff -r "$1" "$2" && diff -r "$1" "$2"')
    ran = jobs.run(["sh", "-c", script, "sh", mount, source, tier], path=mount, tier=tier,
                   env={"STOKER_AHEAD": "off"})  # which may have filled all of them by then
    assert ran.stdout == ""
    assert ran.bypassed["tier"] > 0
    assert ran.hits >= 20


def test_what_is_cleared_during_a_run_is_filled_anew_within_the_budget(jobs, place, origin, tier):
    source, mount = origin.files("again", 40, 100 * KIB)
    budget = 45 * 100 * KIB
    script = 'for i in 1 2 3; do diff -r "$1" "$2" || exit 1; "$3" clear "$1" >/dev/null; done'
    with Sampler(home_in(place, tier)) as sampler:
        ran = jobs.run(["sh", "-c", script, "sh", mount, source, jobs.build / "stoker"],
                       path=mount, tier=f"{tier}:{budget}", env={"STOKER_AHEAD": "off"})  # which fills, too
    assert ran.fills == 3 * 40
    assert sampler.most_bytes <= budget
    assert ran.tier["used_bytes"] <= budget


@pytest.fixture
def nearby(place, scratch):
    """200 files of 64 KiB where no server is asked for their sizes."""
    path = scratch / "nearby"
    path.mkdir()
    mount_ext4(place, path, scratch, size="32M")
    place.run(["sh", "-c", 'for i in $(seq -w 0 199); do head -c 65536 /dev/urandom '
               '>"$0/file0$i" || exit 1; done', path])
    settle()
    return path


def test_what_is_foretold_of_one_tier_is_what_comes(jobs, nearby, tier):
    """Data twice the budget: the share of opens that is said beforehand is the one said afterwards."""
    files = names_of(nearby, 200)
    ran = jobs.run(shuffled_epochs(files, 4), path=nearby, tier=f"{tier}:{100 * 64 * KIB}")
    told = re.search(rf"the data set holds 12\.5 MiB in 200 files: once filled, about (\d+)% of its "
                     rf"opens from {tier}/{HOME}, (\d+)% from {nearby} itself", ran.said)
    assert told and int(told[1]) + int(told[2]) == 100 and 47 <= int(told[1]) <= 50, ran.stderr
    came = re.search(rf"once filled, ([0-9.]+)% of the opens came from {tier}/{HOME}", ran.said)
    assert came and abs(float(came[1]) - int(told[1])) <= 2, ran.stderr
    later = [ran.epoch(number) for number in (2, 3, 4)]
    share = sum(epoch["hits"] for epoch in later) / sum(epoch["opens"] for epoch in later)
    assert abs(float(came[1]) - 100 * share) < 0.1


def test_the_forecast_of_a_small_tier_in_memory_leaves_the_index_its_room(jobs, nearby):
    """The first records take an eighth of it."""
    files = names_of(nearby, 200)
    ran = jobs.run(shuffled_epochs(files, 4), path=nearby, tier=f"/dev/shm:{4 * MIB}")
    told = re.search(r"once filled, about (\d+)% of its opens", ran.said)
    came = re.search(r"once filled, ([0-9.]+)% of the opens came from", ran.said)
    assert told and came and abs(float(came[1]) - int(told[1])) <= 1.5, ran.stderr


def test_of_one_tier_that_holds_all_nothing_is_foretold(jobs, nearby, tier):
    """Half the budget; also in a second run, when the tier holds all of it already."""
    files = names_of(nearby, 200)
    for budget in f"{400 * 64 * KIB}", f"{210 * 64 * KIB}":
        ran = jobs.run(reading(files, 2), path=nearby, tier=f"{tier}:{budget}", flags=["--keep"])
        assert "the data set holds" not in ran.said and "once filled" not in ran.said, ran.stderr
        assert ran.epoch(2)["hits"] == 200


def test_what_the_index_cannot_know_is_said(jobs, scratch):
    """Nor is a share said at the end: later opens of files without a record count as first ones."""
    data = scratch / "unknown"
    data.mkdir()
    for number in range(9000):
        (data / f"file{number}").write_bytes(b"x")
    settle()
    script = 'cd "$0" && for epoch in 1 2 3; do ls | xargs cat >/dev/null; done'
    for _ in range(20):  # half a second may be too short to see 4096 files on a busy machine
        ran = jobs.run(["sh", "-c", script, data], path=data, tier=f"/dev/shm:{8 * MIB}")
        if "(after a short look)" not in ran.said:
            break
    told = re.search(r"the index of the cache, in \S+, has room for about (\d+) of the (more than )?"
                     r"(\d+) files", ran.said)
    assert told and 4096 <= int(told[1]) < int(told[3]) <= 9000, ran.stderr
    assert ran.bypassed["catalogue"] > 0 and ran.bypassed["budget"] > 0
    assert "once filled" not in ran.said, ran.stderr


def test_no_share_is_said_of_big_files(jobs, place, nearby, tier):
    """A big file's reads are served without hits: the share of opens would leave them out."""
    big = nearby / "file0big"
    place.run(["sh", "-c", 'head -c 2000000 /dev/urandom >"$0"', big])
    settle()
    files = [*names_of(nearby, 200)[:150], big]
    ran = jobs.run(shuffled_epochs(files, 4), path=nearby, tier=f"{tier}:{100 * 64 * KIB}",
                   env={"STOKER_MAX_FILE": "1000000"})
    assert ran.bypassed["budget"] > 0
    assert not re.search("once filled, [0-9.]+% of the opens came", ran.said), ran.stderr


def test_of_one_tier_no_server_is_asked_what_it_holds(jobs, state, origin, tier):
    """The files of the last run are known, though, and the forecast is that of a look."""
    source, mount = origin.files("unasked", 60, 100 * KIB)
    budget = 20 * 100 * KIB
    said = []
    for command in ["true"], shuffled_epochs(names_of(mount, 60), 3), ["true"]:
        with origin.fs.counting() as ops:
            ran = jobs.run(command, path=mount, tier=f"{tier}:{budget}", env=state)
        said.append(ran.said)
        assert ops["readdir"] == 0
    assert not any("once filled, about" in each for each in said[:2]), said
    told = re.search(rf"the last run opened 5\.9 MiB in 60 files: once filled, about (\d+)% of its opens "
                     rf"from {tier}/{HOME}, (\d+)% from {mount} itself", said[2])
    came = re.search(r"once filled, ([0-9.]+)% of the opens came from", said[1])
    assert told and came and abs(float(came[1]) - int(told[1])) <= 4, said
    ran = jobs.run(["true"], path=mount, tier=f"{tier}:{4 * budget}", env=state)
    assert "the last run opened" not in ran.said  # it fits


def test_du_agrees_with_what_the_catalogue_counts(jobs, place, origin, tier):
    """The used blocks and inodes of the report are those that lie there."""
    _, mount = origin.files("agree", 50, 5 * KIB)
    ran = jobs.run(reading(names_of(mount, 50), 2), path=mount, tier=tier, flags=["--keep"])
    used, inodes = walk_used(home_in(place, tier))
    assert (ran.tier["used_bytes"], ran.tier["used_inodes"]) == (used, inodes)
    du = subprocess.run(["du", "-s", "--block-size=1", home_in(place, tier)], check=True, text=True,
                        stdout=subprocess.PIPE).stdout
    assert int(du.split()[0]) == used


# ---- a tier that several catalogues share ----

def test_two_places_share_a_disk_tier_within_its_budget(jobs, build, origin, scratch):
    """Each has a /dev/shm of its own, and so a catalogue; both fill at the same time."""
    disk = scratch / "disk"
    disk.mkdir()
    count, size, budget = 150, 200 * KIB, 20 * MIB
    script = 'echo ready; read x; for i in 1 2; do cat "$0"/* >/dev/null; done; echo $?; read y'
    with Isolated() as second:
        runs = []
        for place in (jobs.place, second):
            _, mount = origin.files("shared", count, size)
            line = Jobs(place, build, scratch).command_line(["sh", "-c", script, mount], path=mount,
                                                            tier=f"{disk}:{budget}")
            runs.append(subprocess.Popen(place.command(line, {"STOKER_MIN_AGE": "0.05"}), text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE))
        with Sampler(disk / HOME) as sampler:
            for step in ("ready", "0"):
                for run in runs:
                    assert read_line(run) == step
                    run.stdin.write("go\n")
                    run.stdin.flush()
            ends = [run.communicate(timeout=60)[1] for run in runs]
    assert all("beyond the tier's budget" in end for end in ends)
    assert 0.9 * budget < sampler.most_bytes <= budget


def test_drafts_of_another_pid_namespace_are_left_to_it(jobs, origin, scratch):
    """A process number there means another process here, or none."""
    source, mount = origin.directory("drafts")
    (source / "file").write_bytes(os.urandom(32 * MIB))
    (source / "other").write_bytes(b"x")
    settle()
    disk = scratch / "disk"
    disk.mkdir()
    origin.fs.latency_ms = 100
    line = ["unshare", "-p", "-f", "--mount-proc", "cmp", mount / "file", source / "file"]
    slow = {**jobs.preload_env(mount, disk), "STOKER_MAX_FILE": "64M"}
    with jobs.started(line, env=slow) as filler:
        drafts = wait_for(lambda: files_below(disk / HOME / "fill"))
        assert len(drafts) == 1
        with Isolated() as second:
            Jobs(second, jobs.build, scratch).run(["cat", mount / "other"], path=mount, tier=disk)
        assert filler.poll() is None and files_below(disk / HOME / "fill") == drafts
        origin.fs.latency_ms = 0
        assert filler.wait(60) == 0
    assert files_below(disk / HOME / "fill") == []
    # A draft without a write for long belongs to no process.
    old = drafts[0].with_name("1-2.0123456789abcdef")
    old.touch()
    os.utime(old, (1, 1))
    jobs.run(["cmp", mount / "file", source / "file"], path=mount, tier=disk)
    assert not old.exists()


# ---- a tier with so many entries that counting them takes long ----

@pytest.fixture
def endless(jobs, place, origin, scratch):
    """A tier with a directory that takes minutes to look through; (tier, files, directory)."""
    _, mount = origin.files("few", 3, 2000)
    source, slow = origin.directory("slow")
    for number in range(300):
        (source / str(number)).write_bytes(b"x")
    settle()
    disk = scratch / "disk"
    disk.mkdir()
    jobs.run(reading(names_of(mount, 3), 1), path=mount, tier=f"{disk}:64M", flags=["--keep"])
    inside = disk / HOME / "tree" / "ext4@0123456789abcdef" / "endless"
    inside.mkdir(parents=True)
    place.run(["mount", "--bind", slow, inside])
    yield f"{disk}:64M", mount, inside
    origin.fs.latency_ms = 0
    place.run(["umount", inside])


def test_a_start_does_not_wait_until_all_is_counted(jobs, place, origin, endless):
    tier, mount, _ = endless
    origin.fs.latency_ms = 1000
    done = jobs.place.run(jobs.command_line(["true"], path=mount, tier=tier, flags=["--keep"]),
                          timeout=60)
    assert "caching" in done.stderr


def test_the_first_open_without_the_command_does_not_count_for_long(jobs, place, origin, endless):
    """Nothing is known of the tier: neither a catalogue nor its account is left."""
    tier, mount, _ = endless
    place.run(["rm", "-r", f"/dev/shm/{HOME}", f"{tier.split(':')[0]}/{HOME}/account"])
    origin.fs.latency_ms = 1000
    done = jobs.preloaded(["wc", "-c", mount / "file0000"], mount, tier=tier, timeout=60)
    assert done.stdout.startswith("2000 ")
    origin.fs.latency_ms = 0
    # As far as is known, the whole file system is in use.
    used = jobs.stoker("ls").stdout.splitlines()[0]
    assert re.search(r" of 64\.0 MiB used", used)


def test_counting_goes_on_beside_the_job(jobs, place, origin, endless):
    """If a killed process has left blocks in the account, they are gone some time after the
    start."""
    tier, mount, inside = endless
    before = jobs.used(tier.split(":")[0])
    (inside.parent / "stray").write_bytes(bytes(4 * MIB))
    script = 'read x; exec cmp "$0" "$0"'
    line = jobs.command_line(["sh", "-c", script, mount / "file0001"], path=mount, tier=tier)
    with jobs.started(line) as process:
        wait_for(lambda: jobs.used(tier.split(":")[0])[0] >= before[0] + 4 * MIB)
        process.communicate("go\n", timeout=60)
    assert process.returncode == 0


READ_UNTIL_SERVED = beneath.SOURCE + """
import os, sys, time
give_up = time.monotonic() + 60
served = 0
while served < len(sys.argv) - 1 and time.monotonic() < give_up:
    fds = [os.open(path, os.O_RDONLY) for path in sys.argv[1:]]
    served = sum("/tree/" in name_of(fd) for fd in fds)
    for fd in fds:
        os.close(fd)
    time.sleep(0.05)
print(served)
"""


def test_old_versions_of_a_lost_catalogue_make_room(jobs, origin, place, scratch):
    """A tier on a disk is full of them. A file that this run has not asked for stays."""
    source, mount = origin.directory("versions")
    names = [f"file{number}" for number in range(10)]
    for name in [*names, "unasked"]:
        (source / name).write_bytes(os.urandom(100000))
    settle()
    tier = f"{scratch}:1200K"
    reading_all = [sys.executable, "-c", READ_UNTIL_SERVED, mount / "unasked",
                   *[mount / name for name in names]]
    assert jobs.run(reading_all, path=mount, tier=tier).stdout == "11\n"
    assert os.listdir(place.path("/dev/shm")) == []
    for name in names:
        (source / name).write_bytes(os.urandom(100000))
    settle()
    ran = jobs.run([sys.executable, "-c", READ_UNTIL_SERVED, *[mount / name for name in names]],
                   path=mount, tier=tier)
    assert ran.stdout == "10\n", ran.stderr
    assert ran.bypassed["budget"] > 0
    entries = [path.name.partition(";")[2] for path in scratch.rglob("????????????;*")]
    assert sorted(entries) == sorted([*names, "unasked"])
    assert jobs.run(["cat", mount / "unasked"], path=mount, tier=tier).hits == 1
