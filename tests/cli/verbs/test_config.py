"""Options that are typed once, in the machine's file and in the user's."""

import os

import pytest

from origin import settle

pytestmark = pytest.mark.usefixtures("as_root")


@pytest.fixture
def configured(jobs, scratch, place):
    """configured(line..., machine=lines, env=None): what a run says, with these lines in the user's file."""
    (scratch / "set").mkdir()
    (scratch / "set/file").write_text("x")
    settle()
    (scratch / "config").mkdir()
    own = scratch / "config/stoker.conf"

    def run(*lines, machine=(), env=None, prepare=lambda path: None):
        own.write_text("\n".join(lines) + "\n")
        prepare(own)
        line = [jobs.build / "stoker", "run", "--", "sh", "-c", 'echo "$STOKER_MIN_AGE"; cat "$0"', scratch / "set/file"]
        script = 'exec "$@"'
        if machine:
            (scratch / "etc").mkdir(exist_ok=True)
            (scratch / "etc/stoker.conf").write_text("\n".join(machine) + "\n")
            script = f'mount -t overlay overlay -o lowerdir={scratch}/etc:/etc /etc && {script}'
        return place.run(["unshare", "-m", "sh", "-c", script, "sh", *line], check=False,
                         env={"XDG_CONFIG_HOME": scratch / "config", **(env or {})})
    return run


def test_the_user_s_file_is_read(configured, scratch):
    done = configured("# mine", "", f" STOKER_PATHS = {scratch}/set ", "STOKER_MIN_AGE=0.05")
    assert done.stdout == "0.05\nx" and f"stoker: caching {scratch}/set in " in done.stderr


def test_the_environment_goes_first_and_the_machine_s_file_last(configured, scratch):
    machine = [f"STOKER_PATHS={scratch}/set", "STOKER_MIN_AGE=0.07"]
    done = configured("STOKER_MIN_AGE=0.05", machine=machine)
    if "mount:" in done.stderr:
        pytest.skip("no overlay can be mounted")
    assert done.stdout == "0.05\nx" and f"stoker: caching {scratch}/set in " in done.stderr
    assert configured(machine=machine).stdout == "0.07\nx"
    assert configured("STOKER_MIN_AGE=0.05", machine=machine, env={"STOKER_MIN_AGE": "0.06"}).stdout == "0.06\nx"


def test_what_is_wrong_is_said_and_passed_over(configured, scratch):
    done = configured(f"STOKER_PATHS={scratch}/set", "STOKER_TEIRS=/x", "hello", "STOKER_RUN=/x", "LD_PRELOAD=/x")
    said = " ".join(done.stderr.split())
    assert "STOKER_TEIRS is no option: did you mean STOKER_TIERS?" in said
    assert "stoker.conf: hello: write NAME=VALUE" in said
    assert "LD_PRELOAD is no option: `stoker help environment` lists them" in said and "STOKER_RUN is no option" in said
    assert done.stdout == "\nx"
    assert "tier is no option: did you mean STOKER_TIERS?" in configured("tier=/x").stderr
    done = configured(f"STOKER_PATHS={scratch}/none", "STOKER_MIN_AGE=never")
    assert done.returncode == 2 and "STOKER_MIN_AGE=never: " in done.stderr


def test_that_a_file_cannot_be_opened_is_said(configured, scratch):
    def turn_in_circles(path):
        path.unlink()
        path.symlink_to(path)
    assert "stoker.conf is not read: Too many levels" in configured(prepare=turn_in_circles).stderr


@pytest.mark.parametrize("make, kind", [(os.mkdir, "a directory"), (os.mkfifo, "no regular file")])
def test_what_is_no_file_is_called_so(configured, make, kind):
    def put_there(path):
        path.unlink()
        make(path)
    done = configured(prepare=put_there)
    assert f"stoker.conf is not read: it is {kind}" in done.stderr and "another user" not in done.stderr


@pytest.mark.parametrize("prepare", [lambda path: path.chmod(0o666), lambda path: os.chown(path, 65534, 65534)])
def test_a_file_that_others_could_change_is_not_read(configured, scratch, prepare):
    done = configured(f"STOKER_PATHS={scratch}/set", prepare=prepare)
    assert done.returncode == 2 and "is not read: another user could change it" in done.stderr


def test_a_directory_that_is_closed_to_the_user_is_no_file(jobs, scratch, place):
    (scratch / "closed").mkdir(mode=0o700)
    done = place.run(["setpriv", "--reuid=65534", "--clear-groups", jobs.build / "stoker", "ls"], check=False,
                     env={"XDG_CONFIG_HOME": scratch / "closed"})
    assert done.stderr == "" and done.stdout == "nothing is cached\n"
