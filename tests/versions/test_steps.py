"""Steps of a job that have another view or other roots than its other processes. What such a step
changes is known to the run before the step's call returns."""

import os
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
    """A tree that everybody may change: two directories with a file each, links to both, a hard
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


def step(change, root, wrapper):
    """The command line of a step that makes a change, below any wrapper."""
    code = f"import os\nos.chdir({os.fspath(root)!r})\n{CHANGES[change]}"
    return [os.fsencode(one) for one in (*wrapper, PYTHON, "-S", "-E", "-c", code)]


def check(shim, plain, root):
    for name in NAMES:
        assert shim.see(root / name) == plain.see(root / name), name
    assert shim.names(root) == plain.names(root)


def check_step(agents, root, change, wrapper):
    """The run knows all names before the step, and is right about them behind it, at once and
    later."""
    with agents.shim(root) as shim, agents.plain() as plain:
        for _ in range(2):
            check(shim, plain, root)
        assert shim.see(root / "one/file").served["open"]
        shim.spawn(step(change, root, wrapper))
        check(shim, plain, root)
        settle()
        for _ in range(2):
            check(shim, plain, root)
        assert shim.see(root / "two/file").served["open"] or change == "directory replaced"


# ---- in a mount namespace of its own ----


@as_root
@pytest.mark.parametrize("change", CHANGES)
def test_a_step_in_a_mount_namespace(agents, root, change):
    check_step(agents, root, change, ["unshare", "-m"])
    matrix.record("Versions", f"a step in a mount namespace of its own: {change}", "",
                  "rewrites, names, links, directories", "same")
