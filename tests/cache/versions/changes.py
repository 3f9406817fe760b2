"""The changes of a file, as the tests of versions make them: by any process, with the library or
not.

A Spot is the file with all its names, in a directory of its own:

    SPOT/dir/file   the file: what is changed
    SPOT/hard       another name of it
    SPOT/link       a symbolic link to it
    SPOT/dirlink    a symbolic link to dir
"""

import os
import pathlib
import random

NAMES = {"name": "dir/file", "hard": "hard", "link": "link", "dirlink": "dirlink/file"}
SIZE = 3000
AT_FDCWD, RENAME_EXCHANGE = -100, 2


class Spot:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.dir, self.file, self.aside = (self.path / name for name in ("dir", "dir/file",
                                                                         "aside"))

    def name(self, which):
        return self.path / NAMES[which]

    def make(self):
        self.dir.mkdir(parents=True)
        seeds = random.Random(self.path.name)
        self.file.write_bytes(seeds.randbytes(SIZE))
        self.aside.write_bytes(seeds.randbytes(SIZE + 100))
        (self.path / "twin").write_bytes(seeds.randbytes(SIZE))
        (self.path / "dir2").mkdir()
        (self.path / "dir2/file").write_bytes(seeds.randbytes(SIZE + 50))
        os.link(self.file, self.path / "hard")
        (self.path / "link").symlink_to("dir/file")
        (self.path / "dirlink").symlink_to("dir")


CHANGES = {}  # name: function of (process that does it, spot)
FD_CHANGES = {}  # name: calls on a descriptor that was opened before anybody cached the file


def change(function):
    CHANGES[function.__name__] = function
    return function


def fresh_bytes(spot, count=SIZE):
    return random.Random(f"{spot.path} anew").randbytes(count)


@change
def replaced(who, spot):
    who.rename(spot.aside, spot.file)


@change
def replaced_by_same_size_and_mtime(who, spot):
    before = who.times_of(spot.file)
    who.utime_ns(spot.path / "twin", before)
    who.rename(spot.path / "twin", spot.file)


@change
def rewritten_in_place_with_equal_size(who, spot):
    who.write(spot.file, fresh_bytes(spot), os.O_WRONLY)


@change
def rewritten_and_mtime_put_back(who, spot):
    before = who.times_of(spot.file)
    who.write(spot.file, fresh_bytes(spot), os.O_WRONLY)
    who.utime_ns(spot.file, before)


@change
def rewritten_longer(who, spot):
    who.write(spot.file, fresh_bytes(spot, 2 * SIZE))


@change
def truncated(who, spot):
    who.truncate(spot.file, 1000)


@change
def truncated_to_nothing(who, spot):
    who.truncate(spot.file, 0)


@change
def appended(who, spot):
    who.write(spot.file, b"appended", os.O_WRONLY | os.O_APPEND)


@change
def touched(who, spot):
    who.utime(spot.file, None)


@change
def mtime_set(who, spot):
    who.utime(spot.file, (1000, 1000))


@change
def mode_changed(who, spot):
    who.chmod(spot.file, 0o640)


@change
def owner_changed(who, spot):
    who.chown(spot.file, 11, 12)


@change
def attribute_set(who, spot):
    who.setxattr(spot.file, "user.versions", b"1")


@change
def linked_once_more(who, spot):
    who.link(spot.file, spot.path / "more")


@change
def deleted(who, spot):
    who.unlink(spot.file)


@change
def deleted_and_made_again(who, spot):
    who.unlink(spot.file)
    who.write(spot.file, fresh_bytes(spot))


@change
def renamed_away(who, spot):
    who.rename(spot.file, spot.path / "away")


@change
def exchanged(who, spot):
    who.libc("renameat2", AT_FDCWD, os.fsencode(spot.file), AT_FDCWD, os.fsencode(spot.aside),
             RENAME_EXCHANGE)


@change
def made_a_link(who, spot):
    who.symlink("../aside", str(spot.path / "new"))
    who.rename(spot.path / "new", spot.file)


@change
def made_a_directory(who, spot):
    who.unlink(spot.file)
    who.mkdir(spot.file)


@change
def directory_exchanged(who, spot):
    who.rename(spot.dir, spot.path / "old")
    who.rename(spot.path / "dir2", spot.dir)


@change
def directory_removed(who, spot):
    who.rmtree(spot.dir)


@change
def directory_closed_and_opened(who, spot):
    who.chmod(spot.dir, 0)
    who.chmod(spot.dir, 0o755)


for label, *calls in [
        ("appended_by_descriptor", ("lseek", "FD", 0, os.SEEK_END), ("write_some", "FD", b"more")),
        ("rewritten_by_descriptor", ("pwrite", "FD", b"rewritten", 100)),
        ("truncated_by_descriptor", ("ftruncate", "FD", 1200)),
        ("extended_by_descriptor", ("posix_fallocate", "FD", 0, 3 * SIZE)),
        ("rewritten_by_map", ("map_file", "FD"), ("change_map", "FD", 200, b"by a map")),
        ("mode_changed_by_descriptor", ("fchmod", "FD", 0o604)),
        ("mtime_set_by_descriptor", ("utime", "FD", (3000, 3000)))]:
    FD_CHANGES[label] = calls


def change_by_descriptor(who, fd, name):
    for function, *arguments in FD_CHANGES[name]:
        who.ask(function, *[fd if one == "FD" else one for one in arguments])
