"""The names that a directory shows. A change through the library, by whatever process, is seen at
once. A change behind its back is seen in the next run, or at once with fresh=open."""

import pytest

from agent import Child
from origin import settle

CHANGES = {
    "made": lambda who, top: who.write(top / "dir/new", b"new"),
    "made by another name": lambda who, top: who.write(top / "link/new", b"new"),
    "linked": lambda who, top: who.link(top / "dir/file", top / "dir/more"),
    "linked by name": lambda who, top: who.symlink("file", str(top / "dir/new")),
    "directory made": lambda who, top: who.mkdir(top / "dir/new"),
    "node made": lambda who, top: who.mkfifo(top / "dir/new"),
    "removed": lambda who, top: who.unlink(top / "dir/file"),
    "directory removed": lambda who, top: who.rmdir(top / "dir/empty"),
    "renamed": lambda who, top: who.rename(top / "dir/file", top / "dir/other"),
    "renamed away": lambda who, top: who.rename(top / "dir/file", top / "file"),
    "tree removed": lambda who, top: who.rmtree(top / "dir/full"),
    "directory replaced": lambda who, top: (who.rename(top / "dir", top / "old"),
                                            who.rename(top / "old/full", top / "dir")),
    "tree copied": lambda who, top: who.copytree(top / "dir/full", top / "dir/new"),
}


def make(top):
    (top / "dir/full/deep").mkdir(parents=True)
    (top / "dir/empty").mkdir()
    (top / "dir/file").write_text("file")
    (top / "dir/full/file").write_text("file")
    (top / "link").symlink_to("dir")


def see(who, top):
    """All the names, in their order, by both names of the directory."""
    return [(path, tuple(who.listdir(top / path)) if who.errno_of("listdir", top / path) == 0
             else None) for path in ("dir", "link", "dir/full", ".")] + [who.walk(top)]


@pytest.mark.parametrize("doer", ["self", "child", "other-run", "behind"])
@pytest.mark.parametrize("fresh", ["run", "open"])
def test_changes(agents, scratch, doer, fresh):
    """Each in a root of its own."""
    flags = ("--keep", f"--fresh={fresh}")
    kept = doer == "behind" and fresh == "run"
    tops = {name: scratch / str(number) for number, name in enumerate(CHANGES)}
    for top in tops.values():
        make(top)
    settle()
    before, now = {}, {}
    with agents.shim(tops.values(), flags) as shim, agents.plain() as plain, \
            agents.shim(tops.values(), flags) as other:
        who = {"self": shim, "child": Child(shim), "other-run": other, "behind": plain}[doer]
        for name, top in tops.items():
            before[name] = see(plain, top)
            assert see(shim, top) == see(shim, top) == before[name], name
            CHANGES[name](who, top)
            now[name] = see(plain, top)
            assert now[name] != before[name]
            for _ in range(2):
                assert see(shim, top) == (before if kept else now)[name], name
        settle()
        for name, top in tops.items():
            assert see(shim, top) == (before if kept else now)[name], name
        with agents.shim(tops.values(), flags) as later:
            for name, top in tops.items():
                assert see(later, top) == see(later, top) == now[name], name
