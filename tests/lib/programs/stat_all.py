"""Prints all that Python can ask about each file below a directory, twice. Prints too whether it is
the same file as its namesake below another directory. Usage: stat_all.py DIRECTORY OTHER"""

import os
import sys

FIELDS = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size", "st_mtime_ns",
          "st_ctime_ns", "st_blocks", "st_blksize", "st_rdev")


def ask(function, *arguments, **named):
    try:
        answer = function(*arguments, **named)
    except OSError as error:
        return error.errno
    return [getattr(answer, field) for field in FIELDS] if hasattr(answer, "st_mode") else answer


def opened(path):
    """Returns the descriptor's stat before and after reading, and the length of the content."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return error.errno
    try:
        before = ask(os.fstat, fd)
        size = len(os.read(fd, 1 << 20)) if before[0] & 0o170000 == 0o100000 else None
        return before, size, ask(os.fstat, fd), ask(os.stat, f"/proc/self/fd/{fd}"), \
            ask(os.stat, f"/dev/fd/{fd}")
    finally:
        os.close(fd)


def look(path, other):
    print(path, ask(os.stat, path), ask(os.lstat, path), opened(path), ask(os.stat, path),
          ask(os.access, path, os.R_OK), ask(os.access, path, os.W_OK),
          ask(os.path.samefile, path, other), ask(os.path.samefile, path, os.path.realpath(path)),
          os.path.exists(path), os.path.isfile(path), os.path.isdir(path), os.path.islink(path))


def main(directory, other):
    for _ in range(2):
        for here, directories, files in sorted(os.walk(directory)):
            for name in sorted(directories + files):
                path = os.path.join(here, name)
                look(path, os.path.join(other, os.path.relpath(path, directory)))
            for entry in sorted(os.scandir(here), key=lambda entry: entry.name):
                print(entry.name, ask(entry.stat), ask(entry.stat, follow_symlinks=False),
                      entry.inode(), ask(entry.is_file))
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    for name in sorted(os.listdir(fd)):
        print(name, ask(os.stat, name, dir_fd=fd),
              ask(os.stat, name, dir_fd=fd, follow_symlinks=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
