"""Processes of root's runs that become another user: their cache in memory goes with the run."""

import os
import pathlib

import pytest

from jobs import YOUNG, wait_for
from origin import CONTENT, truth_in

USER = 15001
HOME = f"/dev/shm/stoker-{USER}"
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
READ = 'cat "$0/file" "$0/file"'

pytestmark = pytest.mark.usefixtures("as_root")


@pytest.fixture
def data(scratch):
    return truth_in(scratch)


@pytest.fixture
def names(jobs):
    """Lists /dev/shm."""
    return lambda: sorted(os.listdir(jobs.place.path("/dev/shm")))


@pytest.fixture
def inside(jobs):
    return lambda path: pathlib.Path(jobs.place.path(path))


@pytest.fixture
def as_user(jobs):
    """Runs a program as the other user, outside of root's runs."""
    def run(*argv, env=None):
        return jobs.place.run([*AS_USER, *argv], env={**YOUNG, **(env or {})}, check=False)
    return run


def run(jobs, data, *flags, script=READ):
    return jobs.run([*AS_USER, "sh", "-c", script, data], path=data, flags=flags)


def test_it_goes_with_the_run(jobs, data, names):
    ran = run(jobs, data)
    assert ran.stdout == 2 * CONTENT
    assert names() == [], ran.stderr
    assert "NOTHING WAS SERVED" not in ran.said and "Is the path right" not in ran.said
    assert f"user {USER}, which has a cache of its own: 2 opens, 50.0% from it" in ran.said
    assert "gone now" in ran.said


def test_a_root_that_reads_too(jobs, data, names):
    script = f"{READ}; {' '.join(AS_USER)} sh -c '{READ}' \"$0\""
    ran = jobs.run(["sh", "-c", script, data], path=data)
    assert ran.stdout == 4 * CONTENT and ran.opens == 2 and names() == []
    assert "2 opens of 1 file, 50.0%" in ran.said and f"user {USER}, which" in ran.said


def test_a_user_who_is_root_in_a_namespace(jobs, data, names):
    """Its cache is named for the user that it is there."""
    ran = run(jobs, data, script=f"unshare --user --map-root-user sh -c '{READ}' \"$0\"")
    assert ran.stdout == 2 * CONTENT and names() == [], ran.said


def test_two_users(jobs, data, names):
    other = " ".join(AS_USER).replace(str(USER), "15002")
    script = f"{' '.join(AS_USER)} cat \"$0/file\"; {other} cat \"$0/file\""
    ran = jobs.run(["sh", "-c", script, data], path=data)
    assert "user 15001, which" in ran.said and "user 15002, which" in ran.said and names() == []


@pytest.mark.parametrize("count, beyond", [(12, 0), (34, 2)])
def test_many_users(jobs, data, names, count, beyond):
    """The caches of so many go with the run. It is said of those that stay."""
    script = 'user=15001; while [ $user -lt $1 ]; do setpriv --reuid=$user --regid=$user --clear-groups ' \
             'cat "$0/file"; user=$((user + 1)); done'
    ran = jobs.run(["sh", "-c", script, data, 15001 + count], path=data)
    assert ran.stdout == count * CONTENT
    assert len(names()) == beyond, ran.said
    assert ("became more than 32 users: 2 of their caches stay" in ran.said) == (beyond == 2), ran.said


def test_a_user_with_many_homes(jobs, data, names):
    """A user can make any number of homes that look like a user's. Those of other users go all the same."""
    other = " ".join(AS_USER).replace(str(USER), "15002")
    crowd = (f'{READ}; for i in $(seq 40); do mkdir -m 700 /dev/shm/stoker-x$i; '
             'cp --sparse=always /dev/shm/stoker-15002/catalogue /dev/shm/stoker-x$i/; done')
    ran = jobs.run(["sh", "-c", f"{' '.join(AS_USER)} sh -c '{READ}' \"$0\"; {other} sh -c '{crowd}' \"$0\"", data],
                   path=data)
    assert ran.stdout == 4 * CONTENT
    assert f"stoker-{USER}" not in names() and f"user {USER}, which" in ran.said, ran.said
    assert "became more than" not in ran.said and ran.said.count("user 15002") <= 2, ran.said


def test_with_keep_it_stays(jobs, data, names, as_user):
    ran = run(jobs, data, "--keep")
    assert f"stoker-{USER}" in names() and "stays until" in ran.said
    assert as_user(jobs.build / "stoker", "clear").stdout.startswith("removed ")
    assert f"stoker-{USER}" not in names()


def test_what_the_user_kept_before_stays(jobs, data, names, as_user):
    as_user("sh", "-c", READ, data, env=jobs.preload_env(data))
    assert names() == [f"stoker-{USER}"]
    assert f"user {USER}, which" in run(jobs, data).said
    assert names() == [f"stoker-{USER}"]
    assert as_user("sh", "-c", READ, data, env=jobs.preload_env(data)).stdout == 2 * CONTENT


def test_what_the_user_keeps_afterwards_stays(jobs, data, names):
    """The user's processes use the cache outside of the run while the run goes on."""
    cat = f"{' '.join(AS_USER)} cat \"$0/file\""
    ran = jobs.run(["sh", "-c", f"{cat}; env -u STOKER_RUN {cat}", data], path=data)
    assert ran.stdout == 2 * CONTENT and names() == [f"stoker-{USER}"]


def test_a_run_of_the_users_own_goes_on(jobs, data, names):
    """The catalogue goes with the user's own run, and not before."""
    waiting = jobs.command_line(["sh", "-c", f"{READ}; echo; read line", data], data)
    line = [*AS_USER, *map(str, waiting)]
    with jobs.started(line) as own:
        own.stdout.readline()
        assert names() == [f"stoker-{USER}"]
        ran = run(jobs, data)
        assert names() == [f"stoker-{USER}"] and "still use it" in ran.said
        own.stdin.write("\n")
        own.stdin.flush()
        own.wait(60)
    assert names() == []


def test_a_process_that_is_left_behind(jobs, data, names, as_user, scratch):
    go_on = scratch / "go on"
    wait = f"while [ ! -e '{go_on}' ]; do sleep 0.1; done"
    script = f'{READ}; exec 3<"$0/file"; ({wait}) </dev/null >/dev/null 2>&1 &'
    ran = run(jobs, data, script=script)
    try:
        assert "still use it" in ran.said and names() == [f"stoker-{USER}"]
    finally:
        go_on.touch()
    wait_for(lambda: as_user(jobs.build / "stoker", "clear").stdout.endswith(f"stoker-{USER}\n"))
    assert names() == []


def test_a_umask_that_takes_everything(jobs, data, inside, as_user):
    """All that the program makes is the cache of the user's next programs, too."""
    def modes():
        return {str(path): path.stat().st_mode & 0o777 for path in inside(HOME).rglob("*")}

    def read(mask):
        env = jobs.preload_env(data)
        assert as_user("sh", "-c", f"umask {mask}; {READ}", data, env=env).stdout == 2 * CONTENT
    read("777")
    after = modes()
    entry, = [path for path in after if path.endswith("file")]
    assert {*after.values()} == {0o400, 0o600, 0o700} and after[entry] == 0o400
    before = os.stat(entry)
    read("022")
    assert modes() == after and os.stat(entry).st_ino == before.st_ino


def test_a_user_who_is_hostile(jobs, data, names, inside, as_user, scratch):
    """Root's run follows no link of the user's, and waits for nothing."""
    precious = inside("/dev/shm/precious")
    precious.mkdir()
    (precious / "file").write_text("precious")
    traps = {
        "link": f"ln -s /dev/shm/precious {HOME}",
        "fifo": f"mkdir -m 700 {HOME}; mkfifo {HOME}/catalogue",
        "linked": f"mkdir -m 700 {HOME}; ln -s /dev/shm/precious/file {HOME}/catalogue",
        "empty": f"mkdir -m 700 {HOME}; : >{HOME}/catalogue",
    }
    for trap in traps.values():
        assert as_user("sh", "-c", trap).returncode == 0
        assert run(jobs, data).stdout == 2 * CONTENT
        assert (precious / "file").read_text() == "precious"
        jobs.place.run(["sh", "-c", f"rm -rf {HOME} {HOME}.*"])
    swap = (f"{READ}; rm -rf {HOME}/tree {HOME}/runs; ln -s /dev/shm/precious {HOME}/tree; "
            f"ln -s /dev/shm/precious {HOME}/runs")
    run(jobs, data, script=swap)
    assert (precious / "file").read_text() == "precious" and names() == ["precious"]
