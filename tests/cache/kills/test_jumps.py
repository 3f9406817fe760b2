"""After a signal handler has jumped out of an open, the thread is served as before."""

import os
import pathlib
import subprocess

import pytest

from origin import settle

FILES, OPENS = 40, 6


@pytest.fixture(scope="session")
def jumper(session_scratch):
    program = session_scratch / "jumper"
    source = pathlib.Path(__file__).resolve().parent / "jumper.c"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", source, "-o", program], check=True)
    return program


@pytest.mark.parametrize("stack", ["its own stack", "another stack"])
def test_a_thread_is_served_after_a_jump_out_of_an_open(jobs, origin, jumper, stack):
    source, mount = origin.directory(f"jumps-{len(stack)}")
    for name in ["hit", *map(str, range(FILES))]:
        (source / name).write_bytes(os.urandom(3000))
    settle()
    origin.fs.latency_ms = 3
    files = [mount / str(number) for number in range(FILES)]
    env = {"ON_ANOTHER_STACK": "1"} if stack == "another stack" else {}
    ran = jobs.run(["sh", "-c", 'cat "$1" "$1" >/dev/null && shift && "$@"', "sh", mount / "hit",
                    jumper, mount / "hit", OPENS, *files], path=mount, env=env)
    assert int(ran.stdout) > 0
    # A guard that a jump left on the stack may look in use to the next open, until it is written over.
    assert ran.hits >= FILES * (OPENS - 1)
