"""The command remembers things only in directories whose path belongs to the user and root."""

import os

import pytest

STRANGER = 65534

pytestmark = pytest.mark.usefixtures("as_root")


@pytest.fixture
def data(session_origin):
    return session_origin.files("state", 2, 1000)[1]


@pytest.fixture
def disk(scratch):
    """A tier that is remembered."""
    (scratch / "disk").mkdir()
    return scratch / "disk"


@pytest.fixture
def home(scratch):
    """The home of another user, which this one has after `sudo -E`."""
    path = scratch / "home"
    (path / ".local").mkdir(parents=True)
    return path


@pytest.fixture
def precious(scratch):
    """A directory of this user's, in which no new file may appear."""
    path = scratch / "precious"
    path.mkdir()
    return path


def give_away(home):
    for path in (home, *home.rglob("*")):
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


def below(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def run(jobs, data, disk, home, *words, **env):
    return jobs.run(words or ["cat", data / "file0000"], path=data, tier=f"{disk}:64M",
                    env={"XDG_STATE_HOME": "", "HOME": home, **env})


def test_nothing_goes_through_links_of_another_user(jobs, data, disk, home, precious):
    (home / ".local/state").symlink_to(precious)
    give_away(home)
    ran = run(jobs, data, disk, home)
    assert below(precious) == [] and below(home) == [".local", ".local/state"]
    assert ran.fills == 1 and "another user" in ran.said


def test_a_link_of_another_user_to_the_last_directory(jobs, data, disk, home, precious):
    (home / ".local/state").mkdir()
    (home / ".local/state/stoker").symlink_to(precious)
    give_away(home)
    run(jobs, data, disk, home)
    assert below(precious) == []


def test_a_directory_that_is_ours_below_another_users(jobs, data, disk, home):
    """The owner of a directory above may put a link in its place at any time."""
    (home / ".local/state/stoker").mkdir(parents=True)
    give_away(home)
    os.chown(home / ".local/state/stoker", 0, 0)
    run(jobs, data, disk, home)
    assert below(home / ".local/state/stoker") == []


def test_what_another_user_wrote_is_not_read(jobs, data, disk, home, scratch):
    """`clear` does not look at a tier that the home's owner noted."""
    run(jobs, data, disk, scratch / "own", XDG_STATE_HOME=scratch / "own")
    (home / ".local/state").symlink_to(scratch / "own")
    give_away(home)
    theirs = {"XDG_STATE_HOME": "", "HOME": home}
    assert jobs.stoker("ls", env=theirs).stdout == "nothing is cached\n"
    assert "another user" in jobs.stoker("report", "--list", env=theirs).stderr
    assert str(disk) in jobs.stoker("ls", env={"XDG_STATE_HOME": scratch / "own"}).stdout


def test_links_of_this_users_are_followed(jobs, data, disk, home, precious):
    """A home may lie on a server, and its state on a disk."""
    (home / ".local/state").symlink_to(precious)
    ran = run(jobs, data, disk, home)
    assert {"stoker", "stoker/tiers", "stoker/sizes", "stoker/runs"} < set(below(precious))
    assert "remembered" not in ran.said and "record" not in ran.said


def test_a_directory_that_all_may_change_is_no_place(jobs, data, disk, home):
    home.chmod(0o777)
    ran = run(jobs, data, disk, home)
    assert below(home) == [".local"] and "another user" in ran.said
    home.chmod(0o1777)
    run(jobs, data, disk, home)
    assert ".local/state/stoker/tiers" in below(home)


def test_files_that_lie_there_already(jobs, data, disk, home, precious):
    """Files of another user's are not read, and links in the place of files are replaced."""
    state = home / ".local/state/stoker"
    run(jobs, data, disk, home)
    (precious / "kept").write_text("kept")
    (state / "tiers").unlink()
    (state / "tiers").symlink_to(precious / "kept")
    run(jobs, data, disk, home)
    assert (precious / "kept").read_text() == "kept" and not (state / "tiers").is_symlink()
    assert (state / "tiers").read_text() == f"{disk}/stoker-0\n"
    os.chown(state / "tiers", STRANGER, STRANGER)
    assert jobs.stoker("ls", env={"XDG_STATE_HOME": "", "HOME": home}).stdout == "nothing is cached\n"
