"""Which version of a file a job sees, when another program changes it between runs or during
one."""

import json
import os
import re
import sys

import pytest

from jobs import read_line, wait_for
from origin import settle


@pytest.fixture
def file(origin):
    """One file at the origin, with two ways to change it behind the job's back."""
    source, mount = origin.directory("fresh")

    class File:
        path, directory = mount / "file", mount

        @staticmethod
        def replace(text):
            (source / "aside").write_text(text)
            os.rename(source / "aside", source / "file")
            settle()

        @staticmethod
        def rewrite(text):
            (source / "file").write_text(text)
            settle()

    File.replace("one")
    return File


CHANGES = ["replace", "rewrite"]


@pytest.fixture
def asking(jobs, file):
    """A started run that prints the file's content for each line it is given."""

    def start(*flags):
        loop = 'while echo ready; read line; do cat "$0"; stat -c " %s" "$0"; done'
        return jobs.started(jobs.command_line(["sh", "-c", loop, file.path], path=file.directory,
                                              flags=flags))

    return start


def ask(process):
    if not hasattr(process, "begun"):
        assert read_line(process) == "ready"
        process.begun = True
    process.stdin.write("\n")
    process.stdin.flush()
    answer = read_line(process)
    assert read_line(process) == "ready"
    return answer


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("fresh", ["run", "open"])
def test_a_file_changed_between_two_runs_is_seen(jobs, file, change, fresh):
    flags = ["--keep", f"--fresh={fresh}"]
    assert jobs.run(["cat", file.path], path=file.directory, flags=flags).stdout == "one"
    getattr(file, change)("three")
    ran = jobs.run(["cat", file.path], path=file.directory, flags=flags)
    assert (ran.stdout, ran.fills) == ("three", 1)
    ran = jobs.run(["cat", file.path], path=file.directory, flags=flags)
    assert (ran.stdout, ran.hits) == ("three", 1)


def test_the_old_version_is_removed(jobs, file, place):
    for text in ("one", "two!", "three"):
        file.replace(text)
        jobs.run(["cat", file.path], path=file.directory, flags=["--keep"])
    found = place.run(["find", "/dev/shm", "-name", "*;file"]).stdout.split()
    assert len(found) == 1
    assert place.run(["cat", found[0]]).stdout == "three"


def test_the_same_size_and_mtime_is_another_version_all_the_same(jobs, file):
    look = os.stat(file.path)
    jobs.run(["cat", file.path], path=file.directory, flags=["--keep"])
    file.replace("ONE")
    os.utime(file.path, ns=(look.st_atime_ns, look.st_mtime_ns))
    settle()
    assert jobs.run(["cat", file.path], path=file.directory).stdout == "ONE"


@pytest.mark.parametrize("change", CHANGES)
def test_fresh_run_keeps_one_version_during_a_run(asking, file, change):
    with asking() as process:
        for _ in range(2):  # the second asks itself, where the command has not looked after the fill yet
            assert ask(process) == "one 3"
        getattr(file, change)("three")
        assert ask(process) == "one 3"
    with asking() as process:
        assert ask(process) == "three 5"


@pytest.mark.parametrize("change", CHANGES)
def test_fresh_open_sees_a_change_at_the_next_open(asking, file, change):
    with asking("--fresh=open") as process:
        assert ask(process) == "one 3"
        assert ask(process) == "one 3"
        getattr(file, change)("three")
        assert ask(process) == "three 5"


@pytest.mark.parametrize("change", CHANGES)
def test_fresh_never_keeps_what_was_once_seen(asking, jobs, file, change):
    with asking("--fresh=never", "--keep") as process:
        for _ in range(2):  # the second asks itself, where the command has not looked after the fill yet
            assert ask(process) == "one 3"
        getattr(file, change)("three")
        assert ask(process) == "one 3"
    with asking("--fresh=never", "--keep") as process:
        assert ask(process) == "one 3"
    with asking("--keep") as process:
        assert ask(process) == "three 5"


def test_fresh_by_the_environment(jobs, file):
    env = {"STOKER_FRESH": "never"}
    # The end of a short run can come before the command has looked at the original again.
    wait_for(lambda: jobs.run(["cat", file.path], path=file.directory, flags=["--keep"], env=env).hits)
    file.replace("three")
    assert jobs.run(["cat", file.path], path=file.directory, env=env).stdout == "one"


def test_a_run_that_starts_later_does_not_disturb_the_earlier(asking, jobs, file):
    """The later one sees the new version; the earlier may see either, but whole."""
    with asking() as process:
        assert ask(process) == "one 3"
        file.replace("three")
        assert jobs.run(["cat", file.path], path=file.directory).stdout == "three"
        assert ask(process) in ("one 3", "three 5")


def test_each_start_of_a_script_is_a_run_of_its_own(jobs, file):
    """Under LD_PRELOAD alone a run is what one topmost process of a program has started."""
    assert jobs.preloaded(["cat", file.path], file.directory).stdout == "one"
    file.replace("three")
    assert jobs.preloaded(["cat", file.path], file.directory).stdout == "three"


SERVER = """
import json, os, subprocess, sys
more = json.loads(sys.argv[2])
env = {**os.environ, **more.pop("env", {})}
look = "import sys; print(open(sys.argv[1]).read())"
for line in sys.stdin:
    subprocess.run([sys.executable, "-c", look, sys.argv[1]], env=env, check=True, **more)
"""
STARTS = {
    "of-its-settings": ({}, True),  # as the workers of a loader
    "of-other-settings": ({"env": {"STOKER_MAX_FILE": "63M"}}, False),
    "in-a-session": ({"start_new_session": True}, False),  # as a notebook's kernels
    "in-a-group": ({"process_group": 0}, False),  # as a shell's jobs
}


def one_after_another(jobs, file, env, more):
    """Yields what two processes see that a long-lived Python starts, before a change and after
    it."""
    line = [sys.executable, "-c", SERVER, file.path, json.dumps(more)]
    with jobs.started(["sh", "-c", '"$@"; exit $?', "sh", *line], env) as process:
        for change in (None, "three"):
            if change:
                file.replace(change)
            process.stdin.write("\n")
            process.stdin.flush()
            yield read_line(process)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="process_group")
@pytest.mark.parametrize("start", STARTS)
def test_what_a_server_starts(jobs, file, start):
    """A run is what a process of the same program, group and settings has started."""
    more, shares = STARTS[start]
    seen = one_after_another(jobs, file, jobs.preload_env(file.directory), more)
    assert list(seen) == ["one", "one" if shares else "three"]


def test_what_a_server_without_us_starts(jobs, file):
    env = {key: str(value) for key, value in jobs.preload_env(file.directory).items()}
    assert list(one_after_another(jobs, file, {}, {"env": env})) == ["one", "three"]


def test_stages_of_one_script_see_what_came_between(jobs, file, origin):
    """The shell stays the same, but each cat is a program of its own."""
    source = origin.source / file.directory.name
    script = 'cat "$0/file"; echo three >"$1/aside"; mv "$1/aside" "$1/file"; cat "$0/file"'
    done = jobs.preloaded(["sh", "-c", script, file.directory, source], file.directory)
    assert done.stdout == "onethree\n"


def test_a_job_sees_what_it_writes(jobs, file):
    script = ('cd "$0"; cat file; echo two >file; cat file; echo three >>file; cat file; '
              'echo four >aside; mv aside file; cat file; wc -c <file; rm file; cat file; '
              'mkdir file; stat -c %F file')
    ran = jobs.run(["sh", "-c", script, file.directory], path=file.directory)
    assert ran.stdout == "onetwo\ntwo\nthree\nfour\n5\ndirectory\n"
    assert re.search("cat: file: No such file", ran.stderr)


def test_a_young_file_is_not_kept(jobs, origin):
    source, mount = origin.directory("young")
    (source / "file").write_text("x")
    script = 'cat "$0" "$0"; sleep 3.1; cat "$0" "$0"'
    ran = jobs.run(["sh", "-c", script, mount / "file"], path=mount, env={"STOKER_MIN_AGE": "3"})
    assert (ran.opens, ran.fills, ran.hits, ran.bypassed) == (4, 1, 1, {"young": 2})
