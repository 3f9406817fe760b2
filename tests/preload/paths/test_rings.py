"""No call of libc shows what a process writes by an io_uring. Other processes see it once the writer has ended."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import matrix
import ring
import tree
from origin import settle

DATA = "w" * 5000
SCRIPT = 'cat "$0" "$0" | md5sum; "$@"; cat "$0" | md5sum; cat "$0" | md5sum'
NODE = """
require("fs").promises.writeFile(process.argv[1], process.argv[2]).then(() => {
  const links = require("fs").readdirSync("/proc/self/fd").map(fd => {
    try { return require("fs").readlinkSync("/proc/self/fd/" + fd); } catch { return ""; } });
  process.exit(links.some(link => link.includes("io_uring")) ? 0 : 77);
});
"""


@pytest.fixture
def file(scratch):
    tree.write(scratch / "data/sub/file", 5000)
    settle()
    return scratch / "data/sub/file"


def sums(*contents):
    return [hashlib.md5(content).hexdigest() for content in contents]


def check(jobs, file, writer, env=None):
    """A step reads, the next one writes, the last one reads."""
    before = file.read_bytes() * 2
    ran = jobs.run(["sh", "-c", SCRIPT, file, *writer], path=file.parents[1], env=env)
    assert ran.stdout.split()[::2] == sums(before, DATA.encode(), DATA.encode())
    matrix.record("Paths", "writes by io_uring, of a step that has ended", "",
                  "a program that makes its ring by syscall(), node", "same")


OBSTACLE = ring.obstacle()
needs_rings = pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))


@needs_rings
def test_a_step_that_writes_by_a_ring(jobs, file):
    check(jobs, file, [sys.executable, "-S", "-E", "-B", pathlib.Path(ring.__file__), file, DATA])


@needs_rings
def test_node(jobs, file, scratch):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    rings = {"UV_USE_IO_URING": "1"}
    line = [node, "-e", NODE, scratch / "elsewhere", "x"]
    if subprocess.run(line, env={**os.environ, **rings}, check=False).returncode == 77:
        pytest.skip("this node makes no ring")
    check(jobs, file, [node, "-e", NODE, file, DATA], rings)
