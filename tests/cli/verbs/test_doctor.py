"""stoker doctor: what it finds where something is wrong, and what it says mends it."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from isolated import Isolated
from jobs import Jobs


@pytest.fixture
def doctor(jobs):
    """doctor(argument..., within=[prefix]): its findings by the check's name."""
    def run(*arguments, within=(), env=None, jobs=jobs):
        done = jobs.place.run([*within, jobs.build / "stoker", "doctor", "--json", *arguments],
                              env={"PATH": os.environ["PATH"], **(env or {})}, check=False)
        findings = {}
        for each in json.loads(done.stdout):
            findings.setdefault(each["check"], []).append(each)
        wrong = [each for all_ in findings.values() for each in all_ if each["level"] == "warning"]
        assert done.returncode == (1 if wrong else 0), done.stderr
        assert all(bool(each.get("fix")) != each["ok"] for all_ in findings.values() for each in all_)
        return findings
    return run


def warning(findings, check):
    """The check's only warning."""
    found, = (each for each in findings[check] if each["level"] == "warning")
    return found["text"], found["fix"]


def test_where_nothing_is_wrong(doctor, jobs, scratch):
    findings = doctor(scratch)
    assert {"shared memory", "control group", "descriptors", "data set", "libc", "library",
            "LD_PRELOAD", "variables", "command", "Python", "decoded copies", "GPU"} <= set(findings)
    for check in "shared memory", "data set", "library", "LD_PRELOAD", "variables", "command":
        assert all(each["ok"] for each in findings[check]), findings[check]
    assert str(jobs.build / "libstoker.so") in findings["library"][0]["text"]
    assert str(scratch) in findings["data set"][0]["text"]
    lines = jobs.stoker("doctor", scratch).stdout.splitlines()
    assert any(re.match(r"ok +shared memory +/dev/shm: 256 MiB", line) for line in lines)


def test_lines_are_broken_at_the_terminals_width(jobs, scratch):
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    subprocess.run([jobs.build / "stoker", "doctor", scratch], stdout=terminal, check=False)
    os.close(terminal)
    rows = os.read(ours, 1 << 16).decode().split("\r\n")
    os.close(ours)
    to_copy = [row for row in rows if re.match(" {24}to (change|mend) it: ", row)]
    assert all(len(row) <= 60 or row in to_copy or " " not in row[24:] for row in rows), rows
    assert any(row.startswith(" " * 24) and row not in to_copy for row in rows)


def test_a_small_shared_memory(build, scratch, doctor):
    with Isolated("64m") as place:
        text, fix = warning(doctor(jobs=Jobs(place, build, scratch)), "shared memory")
    assert "64.0 MiB" in text and ("remount,size=" in fix or "--shm-size" in fix)


def test_a_full_shared_memory(doctor, place):
    place.run(["fallocate", "-l", "240M", "/dev/shm/full"])
    text, fix = warning(doctor(), "shared memory")
    assert "only 16.0 MiB of 256 MiB" in text and fix == "stoker clear"


def test_huge_pages_for_small_files(doctor, place):
    mounted = place.run(["mount", "-o", "remount,huge=always", "/dev/shm"], check=False)
    if mounted.returncode != 0:
        pytest.skip("this kernel has no huge pages for shared memory")
    text, fix = warning(doctor(), "huge pages")
    assert "2 MiB" in text
    place.run(["sh", "-c", fix])  # the very command
    assert all(each["level"] != "warning" for each in doctor()["huge pages"])


def test_small_pages_for_large_files(doctor, place):
    """A note, not a warning: small files gain nothing by larger pages."""
    note, *_ = doctor()["huge pages"]
    assert note["level"] == "advice" and "4 KB" in note["text"]
    if place.run(["sh", "-c", note["fix"]], check=False).returncode != 0:  # the very command
        pytest.skip("this kernel has no huge pages for shared memory")
    assert not any("4 KB" in each["text"] for each in doctor()["huge pages"])


@pytest.mark.parametrize("hard, fix", [(4096, "ulimit -n 4096"), (512, "ulimit")])
def test_few_descriptors(doctor, hard, fix):
    limit = ["sh", "-c", f'ulimit -S -n 512; ulimit -H -n {hard}; exec "$@"', "sh"]
    text, said = warning(doctor(within=limit), "descriptors")
    assert "at most 512" in text and fix in said


def test_other_libraries_in_front(doctor):
    findings = doctor(env={"LD_PRELOAD": "libm.so.6"})
    assert [("libm.so.6" in each["text"], each["ok"]) for each in findings["LD_PRELOAD"]] == [(True, True)]
    text, fix = warning(doctor(env={"LD_PRELOAD": "/no/such/lib.so"}), "LD_PRELOAD")
    assert "/no/such/lib.so" in text and fix == "unset LD_PRELOAD"


def test_variables_that_do_not_exist(doctor):
    text, fix = warning(doctor(env={"STOKER_TEIRS": "/x"}), "variables")
    assert "STOKER_TEIRS is no variable of Stoker's" in text and fix == "unset STOKER_TEIRS, and set STOKER_TIERS"
    found, = doctor(env={"STOKER_KEEP": "on"})["variables"]
    assert found["level"] == "advice" and "STOKER_KEEP is no variable" in found["text"]
    assert "`stoker help environment`" in found["fix"]


def test_programs_that_cannot_be_served(doctor, scratch):
    program = scratch / "static"
    made = subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", program], text=True,
                          input="int main(void) { return 0; }", capture_output=True)
    if made.returncode != 0:
        pytest.skip("no static libc")
    text, _ = warning(doctor("--", program), "command")
    assert str(program) in text and "static program" in text
    text, _ = warning(doctor("--", "/no/such/program"), "command")
    assert "not there" in text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a setuid program of root's")
def test_a_setuid_program(doctor, place):
    program = "/dev/shm/setuid"
    place.run(["install", "-m", "4755", "/bin/true", program])
    user = ["setpriv", "--reuid=65534", "--clear-groups", "--regid=65534"]
    text, _ = warning(doctor("--", program, within=user), "command")
    assert "setuid program" in text


def test_data_sets_that_are_not_there_or_in_memory(doctor, scratch):
    assert "No such file" in warning(doctor(scratch / "nothing"), "data set")[0]
    assert "are not cached" in warning(doctor("/dev/shm"), "data set")[0]


def test_data_on_fuse(doctor, origin):
    findings = doctor(origin.files("doctor", 1, 100)[1])
    assert "fuse" in findings["data set"][0]["text"]


def test_what_a_first_epoch_costs(doctor, origin):
    """Twenty files, whose opens take as long as the file system makes them."""
    _, mount = origin.files("cost", 20, 100)
    with origin.fs.faults(hang_ns=5 * 10**6):
        _, opens, epoch = (each["text"] for each in doctor(mount)["data set"])
    open_ms, tier_ms = (float(each) for each in re.findall(r"([\d.]+) ms", opens))
    assert open_ms >= 5 and tier_ms < open_ms / 4
    first_s = float(re.search(r"20 files: opens of a first epoch wait some ([\d.]+) s", epoch)[1])
    assert abs(first_s - 20 * open_ms / 1000) < 0.1


def test_what_hangs_is_not_waited_for(doctor, origin):
    """Neither the data's file system nor the one that the command lies on; its Python is not asked then."""
    source, mount = origin.directory("dead")
    (source / "python3").symlink_to(sys.executable)
    with origin.fs.faults(hang_ns=600 * 10**9):
        findings = doctor(mount / "images", "--", mount / "python3")
    assert warning(findings, "data set")[0] == f"{mount}/images: no answer for 5 s"
    assert warning(findings, "command")[0] == f"{mount}/python3: no answer for 5 s from where it lies"
    assert [each["text"] for each in findings["Python"]] == ["not asked, as the command did not answer either"]


def test_data_of_the_environment(doctor, scratch):
    findings = doctor(env={"STOKER_PATHS": f"{scratch}"})
    assert str(scratch) in findings["data set"][0]["text"]


def test_python_and_what_is_hooked(doctor, build):
    if not (build / "python/stoker/_core.abi3.so").exists():
        pytest.skip("the package is not built: python3-dev")
    import PIL
    found = [each["text"] for each in doctor("--", sys.executable)["Python"]]
    assert sys.executable in found[0] and sys.version.split()[0] in found[0]
    assert f"Pillow {PIL.__version__} is hooked" in found[1]
    text, _ = warning(doctor("--", sys.executable, env={"STOKER_DECODE": "off"}), "Python")
    assert f"Pillow {PIL.__version__} is not hooked" in text


OLD = """#!/bin/sh
echo python 3.9.2 "$0"
echo Pillow 8.1.2
echo hook off
"""
WITH_TORCH = """#!/bin/sh
echo python 3.11.2 "$0"
echo Pillow 9.4.0
echo torch 1.13.0
echo torchvision 0.14.1
echo hook on
"""


def saying(scratch, text):
    """A Python that says so of itself."""
    program = scratch / "python3"
    program.write_text(text)
    program.chmod(0o755)
    return program


def test_torch_and_torchvision(doctor, build, scratch):
    if not (build / "python/stoker/_core.abi3.so").exists():
        pytest.skip("the package is not built: python3-dev")
    found = [each["text"].partition(":")[0] for each in doctor("--", saying(scratch, WITH_TORCH))["Python"]]
    assert found[-2:] == ["torch 1.13.0", "torchvision 0.14.1"]


def test_an_old_python(doctor, scratch):
    text, fix = warning(doctor("--", saying(scratch, OLD)), "Python")
    assert "3.9.2" in text and "3.11" in fix


def test_it_changes_nothing(doctor, place):
    doctor()
    assert os.listdir(place.path("/dev/shm")) == []


def test_what_cannot_be_asked(jobs):
    done = jobs.stoker("doctor", "--nonsense")
    assert done.returncode == 2 and "--nonsense" in done.stderr and "doctor --help" in done.stderr
