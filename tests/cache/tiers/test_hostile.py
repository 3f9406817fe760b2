"""Other users of the machine, with user numbers of their own, put things in the way of a cache.
They get, change and hinder nothing of another user's."""

import os
import pathlib
import signal
import time

import pytest

from jobs import YOUNG, wait_for
from origin import CONTENT, settle, truth_in
from slices import ALL
from user import User

VICTIM, ATTACKER = 15001, 15002
HOME = f"/dev/shm/stoker-{VICTIM}"

pytestmark = pytest.mark.usefixtures("as_root")


@pytest.fixture
def victim(jobs):
    return User(jobs, VICTIM)


@pytest.fixture
def attacker(jobs):
    return User(jobs, ATTACKER)


@pytest.fixture
def data(scratch):
    return truth_in(scratch)


def inside(jobs, path):
    return pathlib.Path(jobs.place.path(str(path)))


def names(jobs):
    return sorted(os.listdir(inside(jobs, "/dev/shm")))


# ---- names that somebody else has taken ----

SQUATS = {
    "directory": "mkdir {0}",
    "open directory": "mkdir {0}; chmod 777 {0}",
    "furnished": "mkdir -p {0}/tree {0}/fill {0}/runs; : >{0}/catalogue; chmod -R 777 {0}",
    "link": "mkdir /dev/shm/trap; chmod 777 /dev/shm/trap; ln -s /dev/shm/trap {0}",
    "dangling link": "ln -s /dev/shm/trap {0}",
    "file": ": >{0}; chmod 666 {0}",
    "fifo": "mkfifo {0}; chmod 666 {0}",
}


@pytest.mark.parametrize("squat", SQUATS)
def test_a_name_that_is_taken(jobs, victim, attacker, data, squat):
    """The next one is ours, which is said once; nothing is put into the other's."""
    tier = ["--tier=/dev/shm:64M"] if len(squat) % 2 else []
    attacker.sh(SQUATS[squat].format(HOME))
    before = attacker.sh("cd /dev/shm; find . -name 'stoker-*' -o -name trap | sort; "
                         "find . -type f | sort")
    done = victim.run(data, "--keep", *tier)
    assert (done.returncode, done.stdout) == (0, 2 * CONTENT)
    assert done.stderr.count("somebody else's") == 1
    assert f"caching {data} in {HOME}.1," in done.stderr and " 50.0% from the cache" in done.stderr
    left = attacker.sh("cd /dev/shm; find . -path ./stoker-*.1 -prune -o -name 'stoker-*' -print "
                       "-o -name trap -print | sort; "
                       "find . -path './stoker-*.1' -prune -o -type f -print | sort")
    assert left == before
    assert victim.preloaded(data).stdout == 2 * CONTENT
    assert "1 file " in victim.stoker("ls").stdout
    assert victim.stoker("verify").stdout.startswith("1 copy right")
    assert victim.stoker("clear").stdout.startswith("removed ")
    assert f"stoker-{VICTIM}.1" not in names(jobs) and f"stoker-{VICTIM}" in names(jobs)


def test_a_name_with_a_file_of_ours(jobs, victim, data):
    """By a hard link, which a kernel may let others make."""
    (data / "precious").write_text("precious")
    precious = inside(jobs, "/dev/shm/precious")
    precious.write_text("precious")
    os.chown(precious, VICTIM, VICTIM)
    os.link(precious, inside(jobs, HOME))
    done = victim.run(data)
    assert (done.returncode, done.stdout) == (0, 2 * CONTENT)
    assert f"in {HOME}.1," in done.stderr and precious.read_text() == "precious"


def test_nine_names_that_are_taken(victim, attacker, data):
    attacker.sh(f"mkdir {HOME}; for i in 1 2 3 4 5 6 7 8; do mkdir {HOME}.$i; done")
    done = victim.run(data)
    assert done.returncode == 0 and f"in {HOME}.9," in done.stderr
    assert done.stderr.count("somebody else's") == 1


def test_all_names_are_taken(jobs, victim, attacker, data):
    """The job runs uncached, and the command says so; without the command nothing is said."""
    attacker.sh(f"mkdir {HOME}; for i in 1 2 3 4 5 6 7 8 9; do mkdir {HOME}.$i; done")
    done = victim.run(data)
    assert (done.returncode, done.stdout) == (0, 2 * CONTENT)
    assert "belongs to another user: running uncached" in done.stderr
    done = victim.preloaded(data)
    assert (done.returncode, done.stdout, done.stderr) == (0, 2 * CONTENT, "")
    assert len(names(jobs)) == 10


def test_what_is_ours_stays_ours(victim, attacker, data):
    """Whatever happens to the names before it."""
    attacker.sh(f"mkdir {HOME}")
    victim.run(data, "--keep")
    attacker.sh(f"rmdir {HOME}")
    done = victim.run(data, "--keep")
    assert " 100.0% from the cache" in done.stderr and f"in {HOME}.1," in done.stderr
    attacker.sh(f"mkdir {HOME}")
    assert " 100.0% from the cache" in victim.run(data, "--keep").stderr


def test_nothing_is_said_where_nothing_is_in_the_way(victim, data):
    done = victim.run(data)
    assert "somebody else's" not in done.stderr and f"in {HOME}," in done.stderr


# ---- homes and tiers that are not safe ----

@pytest.fixture
def spoilt(jobs, victim, data):
    """Makes a cache whose entry is wrong: a process that serves it gives another text."""
    assert victim.run(data, "--keep").returncode == 0
    entry, = (path for path in inside(jobs, HOME).glob("tree/**/*;file"))
    entry.write_text(CONTENT.upper())
    assert victim.preloaded(data).stdout == 2 * CONTENT.upper()
    return inside(jobs, HOME)


HARMS = {
    "writable by the group": lambda home: home.chmod(0o770),
    "writable by all": lambda home: home.chmod(0o707),
    "somebody else's": lambda home: os.chown(home, ATTACKER, ATTACKER),
    "a link": lambda home: (home.rename(f"{home}-away"), home.symlink_to(f"{home.name}-away")),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_home_that_others_could_have_written(victim, data, spoilt, harm):
    HARMS[harm](spoilt)
    done = victim.preloaded(data)
    assert (done.stdout, done.stderr) == (2 * CONTENT, "")
    assert CONTENT.upper() not in victim.run(data).stdout


@pytest.mark.parametrize("room", ["tree", "fill"])
@pytest.mark.parametrize("harm", ["writable by the group", "writable by all", "a link"])
def test_a_room_that_others_could_have_written(jobs, victim, data, spoilt, room, harm):
    HARMS[harm](spoilt / room)
    victim.stoker("clear", data)  # what is in the catalogue is asked for again
    (spoilt / "catalogue").unlink()
    for path in spoilt.glob("tree/**/*;file"):
        path.write_text(CONTENT.upper())
    assert victim.preloaded(data).stdout == 2 * CONTENT
    assert CONTENT.upper() not in victim.run(data).stdout


def test_a_directory_above_the_tier_that_all_may_change(victim, data, scratch):
    """There anybody could put another tier in its place while it is in use."""
    for name in ("open", "open/mine"):
        (scratch / name).mkdir()
        (scratch / name).chmod(0o755)
        os.chown(scratch / name, VICTIM, VICTIM)
    tier = scratch / "open" / "mine"
    assert victim.run(data, f"--tier={tier}").returncode == 0
    (scratch / "open").chmod(0o777)
    done = victim.run(data, f"--tier={tier}")
    assert done.returncode == 2 and "writable by others" in done.stderr
    assert "hit" not in victim.preloaded(data, STOKER_TIERS=str(tier)).stderr
    (scratch / "open").chmod(0o1777)  # as /tmp
    assert victim.run(data, f"--tier={tier}").returncode == 0


PROJECT = 15100


@pytest.fixture
def project(scratch):
    """A group's directory, as on most clusters, with a directory of the victim's in it."""
    (scratch / "project").mkdir()
    mine = scratch / "project" / "mine"
    mine.mkdir()
    os.chown(mine, VICTIM, PROJECT)
    mine.chmod(0o755)
    os.chown(scratch / "project", 0, PROJECT)
    (scratch / "project").chmod(0o2775)
    return mine


def test_a_tier_below_a_directory_that_a_group_may_change(jobs, victim, data, project):
    """A member of the group could replace the tier: it is used only once no member can."""
    swap = f"cp -r '{project}' '{project}2' && mv '{project}' '{project}1' && mv '{project}2' '{project}'"
    member = ["setpriv", f"--reuid={ATTACKER}", f"--regid={PROJECT}", "--clear-groups", "sh", "-c", swap]
    done = victim.run(data, f"--tier={project}", "--keep")
    assert done.returncode == 2 and f"chmod +t {project.parent}" in done.stderr
    assert victim.stoker("env", f"--tier={project}", "--path", data).returncode == 2
    victim.preloaded(data, STOKER_TIERS=str(project))
    assert list(project.iterdir()) == []
    assert jobs.place.run(member, check=False).returncode == 0
    assert project.stat().st_uid == ATTACKER
    done = victim.run(data, f"--tier={project}")
    assert done.returncode == 2 and "another user" in done.stderr
    project.rename(project.with_name("theirs"))
    project.with_name("mine1").rename(project)
    project.parent.chmod(0o3775)
    assert jobs.place.run(member, check=False).returncode != 0
    assert victim.run(data, f"--tier={project}").returncode == 0


def test_a_tier_below_a_directory_of_another_user(victim, data, project):
    os.chown(project.parent, ATTACKER, PROJECT)
    project.parent.chmod(0o755)
    done = victim.run(data, f"--tier={project}")
    assert done.returncode == 2 and f"{project.parent}, above it, belongs to another user" in done.stderr


def test_a_tier_in_a_directory_of_another_user(victim, attacker, data, scratch):
    (scratch / "theirs").mkdir()
    (scratch / "theirs").chmod(0o777)
    os.chown(scratch / "theirs", ATTACKER, ATTACKER)
    done = victim.run(data, f"--tier={scratch}/theirs")
    assert done.returncode == 2 and "another user" in done.stderr
    assert os.listdir(scratch / "theirs") == []


# ---- what lies in the place of our files ----

def to_precious(home, path):
    path.symlink_to(home / "precious")


CATALOGUES = {
    "fifo": lambda home, path: os.mkfifo(path, 0o600),
    "link": to_precious,
    "hard link": lambda home, path: os.link(home / "precious", path),
    "directory": lambda home, path: path.mkdir(),
    "device": lambda home, path: os.mknod(path, 0o20600, os.makedev(1, 5)),
    "socket": lambda home, path: os.mknod(path, 0o140600),
    "empty": lambda home, path: path.touch(),
}


@pytest.mark.parametrize("kind, owner", [
    (kind, owner) for number, kind in enumerate(CATALOGUES) for owner in (VICTIM, ATTACKER)
    if ALL or (owner == VICTIM) == (number % 2 == 0)])
def test_a_catalogue_that_is_none(jobs, victim, data, kind, owner):
    home = inside(jobs, HOME)
    assert victim.preloaded(data).stdout == 2 * CONTENT
    (home / "precious").write_text("p" * (1 << 20))
    (home / "catalogue").unlink()
    CATALOGUES[kind](home, home / "catalogue")
    for path in (home / "precious", home / "catalogue"):
        os.chown(path, owner, owner, follow_symlinks=False)
    assert victim.preloaded(data).stdout == 2 * CONTENT
    done = victim.run(data)
    assert done.returncode == 2 or done.stdout == 2 * CONTENT
    assert (home / "precious").read_text() == "p" * (1 << 20)


def test_an_entry_that_is_a_link(jobs, victim, data):
    """Or lies behind one: links are not followed."""
    assert victim.preloaded(data).stdout == 2 * CONTENT
    entry, = inside(jobs, HOME).glob("tree/**/*;file")
    entry.rename(f"{entry}-away")
    pathlib.Path(f"{entry}-away").write_text("a lie")
    entry.symlink_to(f"{entry.name}-away")
    assert victim.preloaded(data).stdout == 2 * CONTENT
    entry.unlink()
    pathlib.Path(f"{entry}-away").rename(entry)
    entry.parent.rename(f"{entry.parent}-away")
    entry.parent.symlink_to(f"{entry.parent.name}-away")
    assert victim.preloaded(data).stdout == 2 * CONTENT


def lie(path, owner=VICTIM):
    """As long as the truth, with an entry's mode."""
    path.write_text(CONTENT.upper())
    path.chmod(0o400)
    os.chown(path, owner, owner)


ENTRIES = {
    "fifo": lambda entry: os.mkfifo(entry, 0o400),
    "device": lambda entry: os.mknod(entry, 0o20400, os.makedev(1, 5)),
    "socket": lambda entry: os.mknod(entry, 0o140400),
    "directory": lambda entry: entry.mkdir(0o700),
    "hard link": lambda entry: (lie(entry.parent / "other"), os.link(entry.parent / "other", entry)),
    "somebody else's": lambda entry: lie(entry, ATTACKER),
}


@pytest.mark.parametrize("kind", ENTRIES)
@pytest.mark.parametrize("name", ["file", ""], ids=["entry", "listing"])
def test_what_is_found_in_the_place_of_an_entry(jobs, victim, data, kind, name):
    """By one whose catalogue was lost, as after a restart: it goes, or is passed over."""
    script = 'ls "$1"; cat "$1/file"'
    said = "file\n" + CONTENT
    assert victim.preloaded(data, script=script).stdout == said
    entry, = inside(jobs, HOME).glob(f"tree/**/*;{name}")
    (inside(jobs, HOME) / "catalogue").unlink()
    entry.unlink()
    ENTRIES[kind](entry)
    if kind not in ("hard link", "somebody else's"):
        os.chown(entry, VICTIM, VICTIM)
    for _ in range(2):
        assert victim.preloaded(data, script=script).stdout == said
    assert kind in ("directory", "socket") or (entry.is_file() and entry.lstat().st_nlink == 1)


# ---- two users of one machine ----

def test_others_get_nothing(jobs, victim, attacker, data):
    """Another user sees no name, no byte, no catalogue, and can put nothing there, or take it
    away."""
    (data / "file").chmod(0o600)
    os.chown(data / "file", VICTIM, VICTIM)
    settle()
    assert victim.run(data, "--keep").stdout == 2 * CONTENT
    entry, = inside(jobs, HOME).glob("tree/**/*;file")
    path = f"{HOME}/{entry.relative_to(inside(jobs, HOME))}"
    for attempt in (f"ls {HOME}", f"ls {HOME}/tree", f"cat '{path}'", f"cat {HOME}/catalogue",
                    f": >'{path}'", f": >{HOME}/fill/x", f"rm -f '{path}'", f"rm -rf {HOME}",
                    f"mv {HOME} /dev/shm/mine", f"flock -n {HOME}/lock true",
                    f"ln '{path}' /dev/shm/mine"):
        assert attacker.do("sh", "-c", attempt).returncode != 0, attempt
    assert attacker.preloaded(data).stdout == ""  # its origin is closed to him
    assert "Permission denied" in attacker.preloaded(data).stderr
    assert attacker.stoker("ls").stdout.count("stoker-15001") == 0
    assert attacker.stoker("verify", "--tier", "/dev/shm").stdout.startswith("0 copies right")
    attacker.stoker("clear", data)
    attacker.stoker("clear")
    attacker.stoker("clear", "--tier", "/dev/shm")
    assert " 100.0% from the cache" in victim.run(data, "--keep").stderr
    for path in inside(jobs, HOME).rglob("*"):
        assert path.lstat().st_mode & 0o077 == 0, path
        assert path.lstat().st_uid == VICTIM
    assert inside(jobs, HOME).stat().st_mode & 0o777 == 0o700


def test_each_has_a_cache(jobs, victim, attacker, data):
    """Two users cache the same files: if one drops, spoils or changes an entry, the other's stays
    as it was."""
    for user in (victim, attacker):
        assert user.run(data, "--keep").stdout == 2 * CONTENT
    entry, = inside(jobs, f"/dev/shm/stoker-{ATTACKER}").glob("tree/**/*;file")
    entry.write_text("a lie")
    assert attacker.preloaded(data).stdout == 2 * "a lie"
    assert victim.preloaded(data).stdout == 2 * CONTENT
    assert attacker.stoker("clear").stdout.startswith("removed ")
    assert " 100.0% from the cache" in victim.run(data, "--keep").stderr


@pytest.mark.parametrize("squat", ["mkdir {0}", "mkdir {0}; chmod 777 {0}", ": >{0}",
                                   "mkfifo {0}; chmod 666 {0}", "ln -s /dev/shm/trap {0}"])
def test_the_name_that_a_home_goes_by(jobs, victim, attacker, data, squat):
    """Taken by another, it keeps no home from going, nor the next from coming."""
    attacker.sh(squat.format(f"{HOME}.gone"))
    for _ in range(2):
        assert victim.run(data).stdout == 2 * CONTENT
        assert f"stoker-{VICTIM}" not in names(jobs)
    assert victim.run(data, "--keep").stdout == 2 * CONTENT
    assert victim.stoker("clear").stdout.startswith("removed ")
    assert names(jobs).count(f"stoker-{VICTIM}.gone") == 1


def test_a_run_of_another_user_is_not_joined(jobs, victim, attacker, data):
    """Not by its name, which anybody may put into the environment."""
    script = 'cat "$1/file"; printenv STOKER_RUN'
    said = victim.run(data, "--keep", script=script).stdout
    run = said[len(CONTENT):].strip()
    assert run.startswith(HOME)
    done = attacker.preloaded(data, STOKER_RUN=run)
    assert (done.stdout, done.stderr) == (2 * CONTENT, "")
    trap = f"/dev/shm/stoker-{ATTACKER}/runs/outside"
    attacker.sh(f"chmod -R a+rwX /dev/shm/stoker-{ATTACKER}")
    done = victim.preloaded(data, STOKER_RUN=trap)
    assert (done.stdout, done.stderr) == (2 * CONTENT, "")


REVOCATIONS = {"of the file": ("file", 0o600), "of its directory": (".", 0o700)}


@pytest.mark.parametrize("what", REVOCATIONS)
def test_a_right_that_was_taken_away(victim, attacker, data, what):
    """It is gone with the next run, where the origin's open fails: its owner was asked before."""
    for path in (data, data / "file"):
        os.chown(path, ATTACKER, ATTACKER)
    settle()
    assert victim.run(data, "--keep").stdout == 2 * CONTENT
    assert " 100.0% from the cache" in victim.run(data, "--keep").stderr
    name, mode = REVOCATIONS[what]
    (data / name).chmod(mode)
    done = victim.run(data, "--keep")
    assert done.stdout == "" and done.stderr.count("Permission denied") == 2
    assert victim.preloaded(data).stdout == ""
    assert attacker.preloaded(data).stdout == 2 * CONTENT


WEAK_ROOT = "--clear-groups --bounding-set=-dac_override,-dac_read_search"
RIGHTS = {  # what a run has, and the next one has not
    "a group": ("--reuid=15001 --regid=15001 --groups=15003",
                "--reuid=15001 --regid=15001 --clear-groups"),
    "the group that it runs in": ("--reuid=15001 --regid=15003 --clear-groups",
                                  "--reuid=15001 --regid=15001 --clear-groups"),
    "root's": ("--clear-groups", WEAK_ROOT),
}


@pytest.fixture
def for_a_group(data):
    """The file, and a big one, can be read by their group alone."""
    (data / "big").write_bytes(bytes(9 << 20))
    for name in ("file", "big"):
        os.chown(data / name, ATTACKER, 15003)
        (data / name).chmod(0o640)
    settle()
    return data


READ_BOTH = 'cat "$1/file"; cat "$1/file"; head -c 9 "$1/big" | wc -c; cat "$1/big" | wc -c'


@pytest.mark.parametrize("right", RIGHTS)
def test_a_right_that_the_next_run_has_not(jobs, for_a_group, right):
    """No time of the file shows the change of rights: after a look with that right, a reader
    without it is refused."""
    said = []
    for rights in (RIGHTS[right][0], RIGHTS[right][0], RIGHTS[right][1]):
        done = jobs.place.run(["setpriv", *rights.split(), jobs.build / "stoker", "run", "--keep",
                               "--path", for_a_group, "--", "sh", "-c", READ_BOTH, "sh",
                               for_a_group], env=YOUNG)
        said.append((done.stdout, done.stderr))
    assert said[0][0] == said[1][0] == 2 * CONTENT + f"9\n{9 << 20}\n"
    assert " 100.0% from the cache" in said[1][1]
    assert said[2][0] == "0\n0\n" and said[2][1].count("Permission denied") == 4


def test_a_right_that_a_process_of_the_run_has_not(jobs, for_a_group):
    lacking = f"setpriv {WEAK_ROOT} "
    script = f'{READ_BOTH}; exec {lacking} sh -c "$2" sh "$1"'
    done = jobs.place.run([jobs.build / "stoker", "run", "--path", for_a_group, "--", "sh", "-c",
                           script, "sh", for_a_group, READ_BOTH], env=YOUNG)
    assert done.stdout == 2 * CONTENT + f"9\n{9 << 20}\n" + "0\n0\n"


def test_what_a_process_with_other_rights_changes(jobs, data):
    """The directory above the files is renamed: that is noted for all users."""
    for name in ("one", "two"):
        (data / name).mkdir()
        (data / name / "file").write_text(name)
    settle()
    script = ('cat "$1/one/file"; cat "$1/one/file"; setpriv $2 '
              'sh -c "cat $1/two/file; mv $1/one $1/old; mv $1/two $1/one"; cat "$1/one/file"')
    done = jobs.place.run([jobs.build / "stoker", "run", "--path", data, "--", "sh", "-c", script,
                           "sh", data, WEAK_ROOT], env=YOUNG)
    assert done.stdout == "oneone" + "two" + "two"


def test_what_root_has_cached_is_root_s(jobs, victim, data):
    """A process that was root in the same run is no exception."""
    (data / "file").chmod(0o600)
    (data / "public").write_text("for all\n")
    settle()
    become = " ".join(victim.line([]))
    script = f'cat "$1/file" "$1/public" >/dev/null; {become} cat "$1/public" "$1/file"'
    done = jobs.stoker("run", "--path", data, "--", "sh", "-c", script, "sh", data)
    assert done.stdout == "for all\n" and "Permission denied" in done.stderr


# ---- forms and listings ----

DECODE = """
import hashlib, sys, stoker
for _ in range(2):
    try:
        print(hashlib.sha1(stoker.decode(sys.argv[1])).hexdigest())
    except OSError as error:
        print(error.strerror)
"""


@pytest.fixture
def picture(data):
    image = pytest.importorskip("PIL.Image")
    image.effect_noise((90, 60), 80).convert("RGB").save(data / "picture.jpg")
    settle()
    return data / "picture.jpg"


@pytest.fixture
def decodes(jobs, build, picture):
    """decodes(user, STOKER_DECODED): returns the output of a user's program that decodes the
    picture twice, without the command."""
    def decodes(user, samples):
        env = {"PYTHONPATH": f"{build}/python", "STOKER_DECODED": samples,
               "PATH": "/usr/bin:/bin"}
        return user.do("python3", "-c", DECODE, picture, env=env).stdout.split("\n")[:2]
    return decodes


def test_others_get_no_form(jobs, victim, attacker, decodes, picture):
    """The attacker names the victim's store, gets no form of it, and puts none there."""
    victim.sh("mkdir -m 700 /dev/shm/mine")
    right = decodes(victim, "/dev/shm/mine:20M")
    assert len(set(right)) == 1 and len(right[0]) == 40
    before = {path: path.stat().st_mtime_ns for path in inside(jobs, "/dev/shm/mine").rglob("*")}
    assert any(path.name == "data.mdb" for path in before)
    for path in before:
        assert path.lstat().st_mode & 0o077 == 0 and path.lstat().st_uid == VICTIM, path
    assert decodes(attacker, "/dev/shm/mine:20M") == right  # from the file, which the attacker may
                                                            # read
    done = attacker.do(jobs.build / "stoker", "verify", picture,
                       env={"STOKER_DECODED": "/dev/shm/mine:20M"})
    assert "decoded copies right" not in done.stdout
    after = {path: path.stat().st_mtime_ns for path in inside(jobs, "/dev/shm/mine").rglob("*")}
    assert after == before


def test_a_store_that_others_could_have_written(jobs, victim, attacker, decodes):
    """Is not used, by whomever it is named."""
    attacker.sh("mkdir -m 777 /dev/shm/theirs; chmod 777 /dev/shm/theirs")
    right = decodes(victim, "/dev/shm/theirs:20M")
    assert len(set(right)) == 1 and len(right[0]) == 40
    assert list(inside(jobs, "/dev/shm/theirs").iterdir()) == []


def test_a_form_is_nobody_s_who_may_not_open_the_file(victim, decodes, picture):
    """The owner of a form does not get it after its right to the file was taken away."""
    os.chown(picture, ATTACKER, ATTACKER)
    settle()
    victim.sh("mkdir -m 700 /dev/shm/mine")
    assert len(decodes(victim, "/dev/shm/mine:20M")[1]) == 40
    picture.chmod(0o600)
    assert decodes(victim, "/dev/shm/mine:20M") == 2 * ["Permission denied"]


def test_a_listing_whose_right_was_taken_away(victim, data):
    """It is gone with the next run; names and stats as well."""
    os.chown(data, ATTACKER, ATTACKER)
    settle()
    script = 'ls "$1"; stat -c %s "$1/file"; cat "$1/file" | wc -c'
    said = f"file\n{len(CONTENT)}\n{len(CONTENT)}\n"
    for _ in range(2):
        assert victim.run(data, "--keep", script=script).stdout == said
    data.chmod(0o711)
    done = victim.run(data, "--keep", script=script)
    assert done.stdout == said[5:] and "cannot open directory" in done.stderr
    data.chmod(0o700)
    assert victim.run(data, "--keep", script=script).stdout == "0\n"


def took_s(far, jobs, victim, attacker, name):
    """Returns the seconds that one user takes to read a file while its filler, another user's, is
    stopped."""
    far.latency_ms = 200
    before = far.counts()["read"]
    path = f"{far.mountpoint}/{name}"
    with jobs.started(attacker.line(["cat", path]), env=jobs.preload_env(far.mountpoint)) as filler:
        wait_for(lambda: far.counts()["read"] > before)
        filler.send_signal(signal.SIGSTOP)
        far.latency_ms = 0
        began = time.monotonic()
        done = victim.preloaded(far.mountpoint, f'cat "$1/{name}" "$1/{name}"')
        took = time.monotonic() - began
        assert done.stdout == 2 * CONTENT
        filler.send_signal(signal.SIGCONT)
        assert filler.communicate(timeout=60)[0] == CONTENT
    return took


def test_others_delay_nothing(far, data, jobs, victim, attacker):
    """A wait for another user's fill would take two seconds each time. On a busy machine programs
    may take as long by themselves."""
    for number in range(10):
        (data / f"file{number}").write_text(CONTENT)
    settle()
    assert any(took_s(far, jobs, victim, attacker, f"file{number}") < 1.9 for number in range(10))
