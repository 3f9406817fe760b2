"""The files that a case is given: a good one, and those that something is wrong with."""

import hashlib
import os
import pathlib
import re
import shutil
import warnings


def path_of(top, case, kind):
    """Where a case's file of a kind lies: in a directory of the case's own."""
    slug = re.sub(r"[^a-z0-9]+", "-", case.name.lower()).strip("-")
    return pathlib.Path(top, slug, kind + case.suffix)


def spoil_file(good, path, kind):
    if kind == "directory":
        path.mkdir()
    elif kind == "closed":
        shutil.copyfile(good, path)
    elif kind == "short":
        path.write_bytes(good.read_bytes()[:good.stat().st_size // 2])
    elif kind == "garbage":
        path.write_bytes(hashlib.shake_128(b"garbage").digest(5000))
    elif kind == "empty":
        path.write_bytes(b"")


def spoil_directory(good, path, kind):
    if kind == "closed":
        shutil.copytree(good, path, symlinks=True)
    elif kind == "empty":
        path.mkdir()


def make_case(top, case):
    good = path_of(top, case, "good")
    good.parent.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.make(good)
    for kind in case.bad:
        path = path_of(top, case, kind)
        (spoil_directory if good.is_dir() else spoil_file)(good, path, kind)
        if kind == "closed":
            path.chmod(0)
    if case.facts and not good.is_dir():
        good.chmod(0o444)  # so that there is something that its owner may not do


def make_all(top, wanted):
    """Makes the files of all cases: what is missing for a case, or which version it is."""
    said = {}
    for case in wanted:
        missing = case.missing()
        if missing:
            said[case.name] = {"missing": missing}
        else:
            make_case(top, case)
            said[case.name] = {"version": case.version(), "sees": case.sees}
    os.sync()  # so that st_blocks stays what it is
    return said
