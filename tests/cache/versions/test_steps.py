"""Steps of a job that cannot write to the run's table of changes. They are a step as another user,
a step in a mount namespace of its own, and an inner `stoker run`. The run learns of such a step's
change before the step's call returns."""

import os
import platform
import socket
import subprocess

import pytest

import matrix
from origin import settle

NOBODY = 65534
PYTHON = "/usr/bin/python3"
SIZE = 5000

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def root(scratch):
    """A tree that all users may change: two directories with a file each, links to both, a hard
    link."""
    top = scratch / "data"
    for name in "one", "two":
        (top / name).mkdir(parents=True)
        (top / name / "file").write_bytes(name[:1].encode() * SIZE)
    (top / "aside").write_bytes(b"a" * SIZE)
    os.link(top / "one/file", top / "hard")
    (top / "link").symlink_to("one")
    (top / "leaf").symlink_to("one/file")
    (top / "spare").symlink_to("two")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", top], check=True)
    subprocess.run(["chmod", "-R", "a+rwX", top], check=True)
    settle()
    return top


NAMES = ("one/file", "two/file", "hard", "link/file", "leaf", "aside", "more")

CHANGES = {
    "rewritten": "with open('one/file', 'r+b') as file: file.write(b'n' * 5000)",
    "rewritten by another name": "with open('hard', 'r+b') as file: file.write(b'n' * 5000)",
    "rewritten through a link": "with open('link/file', 'r+b') as file: file.write(b'n' * 5000)",
    "emptied and written": "with open('one/file', 'wb') as file: file.write(b'n' * 5000)",
    "appended": "with open('one/file', 'ab') as file: file.write(b'n')",
    "truncated": "os.truncate('one/file', 100)",
    "replaced": "os.replace('aside', 'one/file')",
    "removed": "os.remove('one/file')",
    "made": "with open('more', 'wb') as file: file.write(b'n' * 5000)",
    "mode": "os.chmod('one/file', 0o604)",
    "time": "os.utime('one/file', (1000, 1000))",
    "linked": "os.link('one/file', 'more')",
    "link replaced": "os.replace('spare', 'link')",
    "directory replaced": "os.rename('one', 'old'); os.rename('two', 'one')",
}


def step(change, root, wrapper, leave=""):
    """Returns the command line of a step that makes a change, run by the wrapper, after it has left its view
    of the file system."""
    code = f"import os\nos.chdir({os.fspath(root)!r})\n{leave}\n{CHANGES[change]}"
    return [os.fsencode(one) for one in (*wrapper, PYTHON, "-S", "-E", "-c", code)]


def become(user):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def check(shim, plain, root):
    for name in NAMES:
        assert shim.see(root / name) == plain.see(root / name), name
    assert shim.names(root) == plain.names(root)


def check_step(agents, root, change, wrapper, leave=""):
    """Checks that the run, which knows all names before the step, is right about them at once after it, and
    later."""
    with agents.shim(root) as shim, agents.plain() as plain:
        for _ in range(2):
            check(shim, plain, root)
        assert shim.see(root / "one/file").served["open"]
        shim.spawn(step(change, root, wrapper, leave))
        check(shim, plain, root)
        settle()
        for _ in range(2):
            check(shim, plain, root)
        assert shim.see(root / "two/file").served["open"] or change == "directory replaced"


# ---- another user's ----


@as_root
@pytest.mark.parametrize("change", CHANGES)
def test_a_step_as_another_user(agents, root, change):
    check_step(agents, root, change, become(NOBODY))
    matrix.record("Versions", f"a step as another user: {change}", "",
                  "rewrites, names, links, directories", "same")


# ---- in a mount namespace of its own ----


@as_root
@pytest.mark.parametrize("change", CHANGES)
def test_a_step_in_a_mount_namespace(agents, root, change):
    check_step(agents, root, change, ["unshare", "-m"])
    matrix.record("Versions", f"a step in a mount namespace of its own: {change}", "",
                  "rewrites, names, links, directories", "same")


# ---- of a process that leaves its view before it touches the files ----

VIEWS = {
    "chroot to the root": "os.chroot('.')\nos.chdir('/')",
    "chroot elsewhere": "os.chroot('/usr')",
    "unshare": "import ctypes\nassert ctypes.CDLL(None).unshare(0x20000) == 0",
}


@as_root
@pytest.mark.parametrize("change", ["rewritten", "replaced", "truncated", "mode", "link replaced",
                                    "directory replaced"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_step_that_leaves_its_view(agents, root, view, change):
    check_step(agents, root, change, [], VIEWS[view])
    matrix.record("Versions", f"a step that leaves its view, then: {change}", "chroot, unshare",
                  "rewrites, names, links, directories", "same")


CHROOT, PIVOT_ROOT = {"x86_64": (161, 155), "aarch64": (51, 41)}[platform.machine()]
NAMESPACE = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /mnt && mkdir /mnt/old && exec "$@"', "sh"]


@as_root
@pytest.mark.parametrize("wrapper, call", [([], f"{CHROOT}, my $a = '/usr'"),
                                           (NAMESPACE, f"{PIVOT_ROOT}, my $a = '/mnt', my $b = '/mnt/old'")],
                         ids=["chroot", "pivot_root"])
def test_a_step_that_leaves_its_view_by_syscall(agents, root, wrapper, call):
    """A program of few calls: nothing else sets up what it knows of the run."""
    code = (f"chdir '{root}' or die; syscall({call}) == 0 or die $!;"
            "open my $file, '+<', 'one/file' or die $!; print $file 'n' x 5000;")
    with agents.shim(root) as shim, agents.plain() as plain:
        for _ in range(2):
            check(shim, plain, root)
        assert shim.see(root / "one/file").served["open"]
        shim.spawn([os.fsencode(one) for one in (*wrapper, "perl", "-e", code)])
        check(shim, plain, root)


# ---- in a run inside the run ----


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("covers", ["the same", "another directory", "another file system"])
def test_a_step_in_a_run_inside(agents, jobs, place, scratch, root, covers, change):
    """The inner run has the same catalogue, and other roots."""
    (scratch / "other").mkdir()
    place.run(["mkdir", "/dev/shm/other"])
    path = {"the same": root, "another directory": scratch / "other",
            "another file system": "/dev/shm/other"}[covers]
    check_step(agents, root, change, jobs.command_line([], path))
    matrix.record("Versions", f"a step in a `stoker run` inside: {change}", covers,
                  "rewrites, names, links, directories", "same")


@as_root
@pytest.mark.parametrize("change", ["rewritten", "replaced", "link replaced"])
def test_a_run_of_another_user_inside(agents, jobs, place, root, change):
    place.run(["install", "-d", "-o", str(NOBODY), "/dev/shm/other"])
    check_step(agents, root, change,
               [*become(NOBODY), *jobs.command_line([], "/dev/shm/other")])


# ---- the other way round ----


# Runs commands from the first pipe and answers in the second, beside another user's program.
BESIDE = """
while read -r change; do sh -c "$change"; echo done >"$2"; done <>"$1" &
beside=$! user=$3; shift 3
setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
kill $beside
"""


@as_root
@pytest.mark.parametrize("change", ["printf %05000d 1 >{0}/one/file", "mv {0}/aside {0}/one/file",
                                    "ln -sfn two {0}/link", "chmod 600 {0}/one/file",
                                    "mv {0}/one {0}/old; mv {0}/two {0}/one"])
def test_a_program_of_another_user_sees_the_runs_changes(agents, jobs, scratch, root, change):
    pipes = [scratch / "change", scratch / "done"]
    for pipe in pipes:
        os.mkfifo(pipe, 0o666)
        pipe.chmod(0o666)
    line = jobs.command_line(["sh", "-c", BESIDE, "sh", *pipes, NOBODY, *agents.line()], root)
    with agents.start(line) as other, agents.plain(become(NOBODY)) as plain:
        for _ in range(2):
            check(other, plain, root)
        assert other.see(root / "one/file").served["open"]
        other.write(pipes[0], change.format(root).encode() + b"\n", os.O_WRONLY)
        assert other.text(pipes[1]) == b"done\n"
        for _ in range(2):
            check(other, plain, root)
            settle()
        other.process.stdin.close()
        other.process.wait(60)
        other.process.stdin = None


# ---- what others may send ----


def sockets():
    """Returns the names of the abstract sockets of all users' runs."""
    lines = open("/proc/net/unix").read().split("\n")
    return {line.rsplit(" ", 1)[1] for line in lines if " @stoker-" in line}


@as_root
def test_what_is_no_notice(agents, root):
    """The command ignores other datagrams, and notes a step's change all the same."""
    before = sockets()
    with agents.shim(root) as shim, agents.plain() as plain:
        new = sockets() - before
        assert new
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            for name in new:
                for data in b"", b"x", b"x" * 48, b"\0" * 48, b"x" * 5000:
                    sender.sendto(data, b"\0" + name[1:].encode())
        check(shim, plain, root)
        shim.spawn(step("rewritten", root, become(NOBODY)))
        check(shim, plain, root)
