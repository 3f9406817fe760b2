"""The covered directory, spelled in every way: what is below it is cached by its plain path all the
same. And roots that are moved, replaced, or lie within each other."""

import os

import pytest

import matrix
import tree
from origin import settle
from volumes import mount_ext4

BELOW = ["a.bin", "sub/b.bin", "link", "dirlink/b.bin", "sub/deep/c.bin", "hard1"]


@pytest.fixture
def base(scratch):
    tree.make(scratch / "base")
    return scratch / "base"


def check(agents, plain, paths, looked_at, least=None, **run):
    """Runs twice: `looked_at` is the same as without the library, and all of it cached."""
    for _ in range(2):
        with agents.shim(paths, **run) as shim:
            for _ in range(2):
                seen, expected = shim.see_all(looked_at), plain.see_all(looked_at)
                assert seen == expected
                assert [path for path in looked_at if not seen[path].served["open"]] == []
        assert shim.summary["hits"] >= len(looked_at)


SPELLINGS = {
    "plain": "{base}/data", "slash": "{base}/data/", "slashes": "{base}//data///",
    "dots": "{base}/./data/.", "link": "{base}/alias", "link-slash": "{base}/alias/",
    "dotdot": "{base}/outside/../data", "through-link": "{base}/outside/inward",
    "link-of-links": "{base}/alias/here/sub/up",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spelled_for_the_command(agents, base, spelling):
    roots = ["data", *{"link": ["alias"], "link-slash": ["alias"],
                       "through-link": ["outside/inward"],
                       "link-of-links": ["alias/here/sub/up"]}.get(spelling, [])]
    with agents.plain() as plain:
        check(agents, plain, SPELLINGS[spelling].format(base=base),
              [base / root / name for name in BELOW for root in roots])
    matrix.record("Paths", f"root given as {SPELLINGS[spelling].format(base='')}", "",
                  f"{len(BELOW)} files, two runs", "same")


@pytest.mark.parametrize("cwd, path", [("data", "."), ("data/sub", ".."), ("", "data"),
                                       ("", "./alias/"), ("outside", "../data")])
def test_given_relative(agents, base, cwd, path):
    with agents.plain() as plain:
        check(agents, plain, path, [base / "data" / name for name in BELOW], cwd=base / cwd)


@pytest.mark.parametrize("spelling", ["plain", "slash", "slashes", "dots", "link", "link-slash"])
def test_spelled_in_the_variable(agents, base, spelling):
    """Without the command the root is not resolved: it is known by its spelling and by its real
    path."""
    looked_at = [base / "data" / name for name in BELOW]
    if "link" in spelling:
        looked_at = [base / "alias" / name for name in BELOW] + looked_at
    with agents.plain() as plain, agents.preloaded(SPELLINGS[spelling].format(base=base)) as shim:
        for _ in range(2):
            seen, expected = shim.see_all(looked_at), plain.see_all(looked_at)
            assert seen == expected
            assert all(sight.served["open"] for sight in seen.values())


def test_both_spellings_of_a_linked_root_share_their_entries(agents, base):
    with agents.preloaded(f"{base}/alias") as shim:
        shim.see(base / "alias/a.bin")
        fds = [shim.open(base / name / "a.bin", os.O_RDONLY) for name in ("alias", "data")]
        one, other = (shim.name_of(fd) for fd in fds)
        assert one == other and "/tree/" in one


def test_a_file_as_root(agents, base):
    with agents.plain() as plain:
        for name in "a.bin", "link":
            check(agents, plain, base / "data" / name, [base / "data/a.bin"])
        with agents.shim(base / "data/a.bin") as shim:
            beside = base / "data/hard1"
            assert shim.see(beside) == plain.see(beside)
            assert not shim.see(beside).served["open"]


def test_roots_within_each_other(agents, base):
    """Twice the same, one in another, and one beside whose name begins alike."""
    tree.write(base / "data.old/a.bin")
    settle()
    roots = [base / "data", base / "data/sub", base / "data/sub/deep", f"{base}/data/",
             base / "alias", base / "data.old"]
    looked_at = [base / "data" / name for name in BELOW] + [base / "data.old/a.bin"]
    with agents.plain() as plain:
        check(agents, plain, roots, looked_at)
        check(agents, plain, [base / "data/sub", base / "data"], looked_at[:-1])
        with agents.shim(base / "data") as shim:
            assert not shim.see(base / "data.old/a.bin").served["open"]


def test_a_root_that_does_not_exist_yet(agents, base):
    late = base / "late"
    with agents.preloaded(late) as shim, agents.plain() as plain:
        assert shim.see(late / "a") == plain.see(late / "a")
        shim.mkdir(str(late))
        shim.write(late / "a", b"x" * 1000)
        assert shim.see(late / "a") == plain.see(late / "a")


def test_a_bind_mount_as_root(agents, place, base):
    """Its own name for the same files; and a file bound over a file."""
    for directory in "bound", "other":
        place.run(["mkdir", base / directory])
    place.run(["mount", "--bind", base / "data", base / "bound"])
    with agents.plain() as plain:
        check(agents, plain, base / "bound", [base / "bound" / name for name in BELOW])
        both = [base / directory / name for name in BELOW for directory in ("bound", "data")]
        check(agents, plain, [base / "bound", base / "data"], both)
        with agents.shim([base / "bound", base / "data"]) as shim:
            assert all(sight.served["open"] for sight in shim.see_all(both).values())
        assert shim.summary["fills"] == 0
        place.run(["mount", "--bind", base / "data/hard1", base / "data/a.bin"])
        check(agents, plain, base / "data", [base / "data/a.bin", base / "data/hard1"])
    matrix.record("Paths", "bind mounts of directories and files", "", "root and file", "same")


def test_a_mount_below_a_root(agents, place, base, scratch):
    inner = base / "data/emptydir"
    mount_ext4(place, inner, scratch)
    place.run(["cp", "-a", base / "data/sub", base / "data/a.bin", inner])
    settle()
    with agents.plain() as plain:
        looked_at = [inner / "a.bin", inner / "sub/b.bin", base / "data/a.bin"]
        check(agents, plain, base / "data", looked_at)
        place.run(["umount", inner])
        with agents.shim(base / "data") as shim:
            assert shim.see_all(looked_at) == plain.see_all(looked_at)
            assert shim.see(inner / "a.bin")["open"] == ("errno", 2)


# ---- roots that change ----

MOVES = {
    "root-renamed": lambda agent, base: agent.rename(base / "data", base / "moved"),
    "parent-renamed": lambda agent, base: agent.rename(base, base.parent / "moved"),
    "root-replaced": lambda agent, base: (agent.rename(base / "data", base / "moved"),
                                          agent.rename(base / "outside/twin", base / "data")),
    "parent-replaced": lambda agent, base: (
        agent.rename(base, base.parent / "moved"), agent.mkdir(str(base)),
        agent.rename(base.parent / "moved/outside/twin", base / "data")),
    "root-removed": lambda agent, base: agent.rmtree(base / "data"),
    "parent-moved-by-mv": lambda agent, base: agent.spawn(
        [b"mv", os.fsencode(base), os.fsencode(base.parent / "moved")]),
    "exchanged": lambda agent, base: agent.libc(
        "renameat2", -100, os.fsencode(base / "data"), -100, os.fsencode(base / "outside/twin"), 2),
    "link-flipped": lambda agent, base: (
        agent.symlink("outside/twin", str(base / "new")),
        agent.rename(base / "new", base / "alias")),
}


@pytest.mark.parametrize("env", [{}, {"STOKER_FRESH": "never"}], ids=["run", "never"])
@pytest.mark.parametrize("move", MOVES)
def test_a_root_that_the_program_moves(agents, base, move, env):
    for name in BELOW:
        tree.write(base / "outside/twin" / name, 4000)
    settle()
    spellings = ["data", "alias"] if move == "link-flipped" else ["data"]
    looked_at = [base / spelling / name for spelling in spellings for name in BELOW]
    path = base / "alias" if move == "link-flipped" else base / "data"
    with agents.preloaded(path, env=env) as shim, agents.plain() as plain:
        shim.see_all(looked_at)
        assert all(sight.served["open"] for sight in shim.see_all(looked_at).values())
        MOVES[move](shim, base)
        for _ in range(2):
            assert shim.see_all(looked_at) == plain.see_all(looked_at)
