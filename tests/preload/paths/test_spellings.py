"""One file by all the paths that lead to it. Bytes, errno and stat are those without the library,
when it is opened for the first time, again, and in the next run. It comes from the cache where that
knows the spelling."""

import os

import pytest

import matrix
import tree

# Path relative to BASE: whether a plain open of it is answered from the cache.
ABSOLUTE = {
    "data/a.bin": True, "data//a.bin": True, "data/./a.bin": True, "data/./sub/.//deep/c.bin": True,
    "data/link": True, "data/abslink": True, "data/viaroot": True, "data/chain": True,
    "data/chain2": True, "data/dirlink/b.bin": True, "data/sub/up/a.bin": True,
    "data/here/here/a.bin": True, "data/outfile": True, "data/outdir/o.bin": True,
    "data/outdir/deep/p.bin": True, "data/outdir/inward/a.bin": True,
    "data/hard1": True, "data/hard2": True,
    # These only look like the covered directory, or lead out of it and back.
    "data/dirlink/../a.bin": False, "data/sub/../a.bin": False, "data/outdir/../data/a.bin": False,
    "data/outdir/../a.bin": False, "data/../data/a.bin": False, "outside/../data/a.bin": False,
    "alias/a.bin": False, "outside/inward/a.bin": False, "outside/infile": False,
    "outside/o.bin": False, "outside/hard3": False, "data/..": False, "data/outdir/..": False,
    # These cannot be cached.
    "data": False, "data/": False, "data/sub": False, "data/sub/": False, "data/dirlink": False,
    "data/dirlink/": False, "data/emptydir": False, "data/empty": False, "data/fifo": False,
    "data/socket": False, "data/outdir": False, "data/here": False, "alias": False,
    # These do not exist.
    "data/nowhere": False, "data/dangling": False, "data/loop": False, "data/a.bin/": False,
    "data/a.bin/x": False, "data/link/": False, "data/nowhere/x": False, "data/sub/nowhere": False,
    "data/a.bin/../a.bin": False, "data/a.bin/.": False, "data/dangling/": False,
}

# (working directory or directory of the descriptor, path): from the cache?
RELATIVE = {
    ("data", "a.bin"): True, ("data", "./a.bin"): True, ("data", ".//sub//b.bin"): True,
    ("data", "link"): True, ("data", "sub/../a.bin"): False, ("data", "../data/a.bin"): False,
    ("data/sub", "b.bin"): True, ("data/sub/deep", "c.bin"): True, ("data/sub", "../a.bin"): False,
    ("data/sub", "up/a.bin"): True, ("data/dirlink", "b.bin"): True,
    ("data/dirlink", "../a.bin"): False, ("alias", "a.bin"): True, ("alias/sub", "b.bin"): True,
    ("outside/inward", "a.bin"): True, ("outside", "inward/a.bin"): False,
    ("outside", "o.bin"): False, ("outside", "../data/a.bin"): False, ("outside", "infile"): False,
    ("data/outdir", "o.bin"): False, ("data/outdir", "../data/a.bin"): False,
    ("", "data/a.bin"): True, ("", "data/sub/b.bin"): True, ("", "alias/a.bin"): False,
    ("", "./data//a.bin"): True, ("data", "sub"): False, ("data", "."): False, ("data", ""): False,
    ("data", "nowhere"): False, ("data", "a.bin/"): False, ("data/emptydir", "x"): False,
    ("data/sub", "."): False, ("data/sub", ".."): False,
}


@pytest.fixture
def base(scratch):
    tree.make(scratch / "base")
    return scratch / "base"


def check_all(shim, plain, look, table, may_be_served=True):
    """Compares each twice; the cases that differ, or are not served as the table says."""
    wrong = []
    for case, cached in table.items():
        expected = look(plain, case)
        for visit in "first", "second":
            seen = look(shim, case)
            if seen != expected:
                wrong.append(f"{case}, {visit}:\n{seen}\n-- without:\n{expected}")
            if seen.served["open"] != (cached and may_be_served):
                wrong.append(f"{case}, {visit}: served {seen.served}")
            if seen.served["directory"]:
                wrong.append(f"{case}, {visit}: a directory from the cache")
    assert not wrong, "\n".join(wrong)


def check_runs(agents, base, look, table, orders=(False, True)):
    """In a run that finds nothing, in the next ones, asking or opening first."""
    hits = 0
    for asking_first in (*orders, False):
        with agents.shim(base / "data") as shim, agents.plain() as plain:
            check_all(shim, plain, lambda agent, case: look(agent, case, asking_first), table)
        hits += shim.summary["hits"]
    assert hits >= 3 * sum(table.values())
    return hits


def test_absolute_paths(agents, base):
    check_runs(agents, base, lambda agent, case, order: agent.see(f"{base}/{case}", None, order),
               ABSOLUTE)
    matrix.record("Paths", "absolute paths through links, dots, slashes", "",
                  f"{len(ABSOLUTE)} spellings, cold, warm and in new runs", "same")


def test_relative_paths_after_chdir(agents, base):
    def look(agent, case, order):
        directory, path = case
        agent.chdir(base / directory)
        return agent.see(path, None, order)

    check_runs(agents, base, look, RELATIVE)


def test_relative_paths_after_fchdir(agents, base):
    def look(agent, case, order):
        directory, path = case
        fd = agent.open(base / directory, os.O_RDONLY | os.O_DIRECTORY)
        agent.fchdir(fd)
        agent.close(fd)
        return agent.see(path, None, order)

    check_runs(agents, base, look, RELATIVE)
    matrix.record("Paths", "relative paths after chdir and fchdir", "",
                  f"{len(RELATIVE)} spellings each, cold, warm and in new runs", "same")


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_PATH], ids=["readonly", "path"])
def test_paths_below_a_descriptor(agents, base, flags):
    def look(agent, case, order):
        directory, path = case
        fd = agent.open(base / directory, flags | os.O_DIRECTORY)
        seen = agent.see(path, fd, order)
        agent.close(fd)
        return seen

    check_runs(agents, base, look, RELATIVE)
    matrix.record("Paths", "openat, fstatat, faccessat, readlinkat below a descriptor", "",
                  f"{len(RELATIVE)} spellings, of O_RDONLY and O_PATH descriptors", "same")


def test_names_of_every_kind(agents, base):
    """Names that do not fit with the hash are read from the origin; all others are cached."""
    table = {name: len(name) <= len(tree.LONGEST_CACHED) for name in tree.ODD_NAMES}
    directory = os.fsencode(base / "data/odd")

    def absolute(agent, name, order):
        return agent.see(directory + b"/" + name, None, order)

    def relative(agent, name, order):
        agent.chdir(directory)
        return agent.see(name, None, order)

    check_runs(agents, base, absolute, table)
    check_runs(agents, base, relative, table)
    matrix.record("Paths", "names with newline, not UTF-8, of 242, 243 and 255 bytes", "",
                  f"{len(table)} names", "same")


def test_a_name_of_256_bytes(agents, base):
    with agents.shim(base / "data") as shim, agents.plain() as plain:
        for name in b"n" * 256, b"sub/" + b"n" * 300:
            path = os.fsencode(base / "data") + b"/" + name
            assert shim.see(path) == plain.see(path)
            assert shim.see(path)["open"] == ("errno", 36)  # ENAMETOOLONG


def test_an_empty_path_and_none(agents, base):
    with agents.shim(base / "data") as shim, agents.plain() as plain:
        for agent in shim, plain:
            agent.chdir(base / "data")
        assert shim.see(b"") == plain.see(b"")
        for name in "open", "stat", "access", "unlink", "rename", "chmod":
            arguments = {"open": (None, 0), "access": (None, 0), "rename": (None, None),
                         "chmod": (None, 0o600), "stat": (None, None)}.get(name, (None,))
            if name == "stat":
                continue
            assert shim.errno_of("libc", name, *arguments) == plain.errno_of(
                "libc", name, *arguments) != 0, name


def test_islink_and_lstat_after_caching(agents, base):
    """Each kind of link, looked at before and after its file is in the cache."""
    links = ["link", "abslink", "chain", "chain2", "dirlink", "outfile", "outdir", "dangling",
             "loop", "viaroot", "here", "sub/up"]
    with agents.shim(base / "data") as shim, agents.plain() as plain:
        for name in [*links, *links, "a.bin", "a.bin", "sub", "sub"]:
            path = os.fsencode(base / "data" / name)
            expected = plain.see(path)
            assert shim.see(path, None, True) == expected
            assert shim.see(path) == expected
            assert (expected["readlink"][0] != "errno") == (name in links)
    assert shim.summary["hits"] > 0
