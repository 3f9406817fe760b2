"""scripts/test.sh repeats the tests that fail, one after the other, when all parts have ended, and
names them. A test that fails twice fails. The parts here are small ones."""

import os
import subprocess
import sys

import pytest

from checkout import ROOT

# In the place of make. A part of Python's tests, one of unit tests, and parts that pass; each notes when it runs.
MAKE = """#!/bin/bash
part=${@: -1}
echo "begin $part" >>"$NOTES/parts"
case $part in
test-store) "$PYTHON" -m pytest -q -rfEs -c /dev/null --rootdir "$NOTES" ${ALONE:+-p no:xdist} "$NOTES/test_some.py" ;;
test-unit) "$ROOT/tests/unit/run.sh" "$NOTES/unit" ;;
test-docs) sleep 1 ;;
esac
status=$?
echo "end $part" >>"$NOTES/parts"
exit $status
"""

# Fails so often: its argument's count of earlier runs.
SOME = """
import os
import pathlib
import pytest
NOTES = pathlib.Path(os.environ["NOTES"])

@pytest.mark.parametrize("name", ["good", "once", "always"])
def test_it(name):
    with open(NOTES / "ran", "a") as file:
        file.write(name + "\\n")
    ran = (NOTES / "ran").read_text().split().count(name)
    assert ran > int(os.environ["FAILS"].partition(name + "=")[2][:1] or 0)
"""

UNIT = """#!/bin/bash
[ "$1" != --cases ] || { printf '%s\\n' fine shaky; exit; }
echo "$1" >>"$NOTES/cases"
[ "$1" = fine ] || [ "$(grep -c shaky "$NOTES/cases")" -gt "${FAILS##*shaky=}" ] || exit 1
echo "100%: Checks: 1, Failures: 0, Errors: 0"
"""


@pytest.fixture
def repeat(scratch):
    for name, text in (("make", MAKE), ("test_some.py", SOME), ("unit", UNIT)):
        (scratch / name).write_text(text)
        (scratch / name).chmod(0o755)

    def run(fails):
        env = {**os.environ, "MAKE": str(scratch / "make"), "NOTES": str(scratch), "ROOT": str(ROOT),
               "PYTHON": sys.executable, "FAILS": fails}
        done = subprocess.run([ROOT / "scripts/test.sh"], env=env, capture_output=True, text=True)
        return done, {name: (scratch / name).read_text().split("\n")[:-1] for name in ("parts", "ran", "cases")}
    return run


def test_what_passes_alone_is_named(repeat):
    done, notes = repeat("once=1 shaky=1")
    assert done.returncode == 0 and "test: all passed" in done.stdout
    assert sorted(notes["ran"]) == ["always", "good", "once", "once"]
    assert sorted(notes["cases"]) == ["fine", "shaky", "shaky"]
    said = done.stdout.partition("test: failed beside others, passed alone: test-store; at first:")[2]
    assert "test_some.py::test_it[once]" in said and "[good]" not in said
    said = done.stdout.partition("test: failed beside others, passed alone: test-unit; at first:")[2]
    assert said.splitlines()[1].split() == ["shaky:", "failed"]
    # The repeats come when all parts have ended, one behind the other.
    last = notes["parts"][-4:]
    assert last in ([f"{what} {part}" for part in parts for what in ("begin", "end")]
                    for parts in (("test-store", "test-unit"), ("test-unit", "test-store")))


def test_what_fails_twice_fails(repeat):
    done, notes = repeat("once=1 always=2 shaky=0")
    assert done.returncode == 1 and "test: all passed" not in done.stdout
    assert done.stderr.splitlines()[-1].split() == ["test:", "failed:", "test-store"]
    assert sorted(notes["ran"]) == ["always", "always", "good", "once", "once"]
    said = done.stdout.partition("test: failed twice: test-store; at first:")[2]
    assert "[once]" in said and "[always]" in said and "[good]" not in said
