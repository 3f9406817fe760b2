"""The process at the other end of tests/lib/places/agent.py: makes the calls of its input, one a line, and
prints each result. A line is (name, arguments), as marshal writes it, in hexadecimal digits. So is the answer, which is
("ok", value) or ("errno", number). Paths are bytes. Python takes ten times as long to evaluate a literal.

Two of these start in most tests of paths and of versions: so a module that takes long to import is imported where few
agents come. `signal` and `hashlib` take as long as all others together, and the C modules behind them nothing."""

import _md5
import _signal
import ctypes
import fcntl
import marshal
import mmap
import os
import select
import stat
import sys

from beneath import name_of

STAT_FIELDS = ("mode", "ino", "dev", "nlink", "uid", "gid", "size", "mtime_ns", "ctime_ns",
               "blksize", "rdev")
libc_functions = ctypes.CDLL(None, use_errno=True)
mappings = {}


def facts(found):
    """A stat result without the access time, which reading changes, and the blocks, which a disk
    allocates some time after the writing."""
    return tuple(getattr(found, "st_" + field) for field in STAT_FIELDS)


def outcome(call, *arguments, **named):
    try:
        return call(*arguments, **named)
    except OSError as error:
        return ("errno", error.errno)


def content(fd):
    """Returns the content of a descriptor: a digest of the bytes, or the names in a directory."""
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        return ("directory", tuple(sorted(map(os.fsencode, os.listdir(fd)))))
    digest, size = _md5.md5(), 0
    while chunk := os.read(fd, 1 << 20):
        digest.update(chunk)
        size += len(chunk)
    return ("file", size, digest.hexdigest())


def is_served(fd):
    """Returns true if the descriptor is that of an entry. A path may be too long to be known."""
    return "/tree/" in name_of(fd)


def read(path, at=None, flags=0):
    """Opens it and reads it all: content, fstat, flags, and whether it came from the cache."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags, dir_fd=at)
    try:
        return (content(fd), facts(os.fstat(fd)), is_served(fd))
    finally:
        os.close(fd)


def text(path, at=None):
    """The bytes of a small file."""
    fd = os.open(path, os.O_RDONLY, dir_fd=at)
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)


def look_opening(path, at):
    return {"open": outcome(read, path, at),
            "nofollow": outcome(read, path, at, os.O_NOFOLLOW),
            "directory": outcome(read, path, at, os.O_DIRECTORY)}


def look_asking(path, at):
    said = {"stat": outcome(lambda: facts(os.stat(path, dir_fd=at))),
            "lstat": outcome(lambda: facts(os.stat(path, dir_fd=at, follow_symlinks=False))),
            "readlink": outcome(os.readlink, path, dir_fd=at)}
    for name, mode in ("exists", os.F_OK), ("readable", os.R_OK), ("writable", os.W_OK):
        said[name] = os.access(path, mode, dir_fd=at)
    return said


def look(path, at=None, asking_first=False):
    """Everything there is to see of a path, in two orders: an open fills, a stat only learns."""
    parts = [look_opening, look_asking]
    said = {}
    for part in reversed(parts) if asking_first else parts:
        said.update(part(path, at))
    return said


def look_all(paths):
    return [look(path) for path in paths]


def write(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC, at=None):
    fd = os.open(path, flags, 0o644, dir_fd=at)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def libc(name, *arguments):
    """Calls a function of libc, as a program linked with it does."""
    result = getattr(libc_functions, name)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result


def readlink_at(at, path):
    return os.readlink(path, dir_fd=at)


def true_path(path):
    """As Python finds it: by lstat and readlink."""
    return os.path.realpath(path)


def statx(at, path, flags, mask):
    """(mask, attributes, attributes_mask, mode, size) of a statx."""
    out = (ctypes.c_uint64 * 32)()
    libc("statx", at, path, flags, mask, ctypes.byref(out))
    words = bytes(out)

    def number(offset, size):
        return int.from_bytes(words[offset:offset + size], "little")

    return (number(0, 4), number(8, 8), number(56, 8), number(28, 2), number(40, 8))


def map_file(fd):
    """Maps a file opened for reading and writing, and keeps the map."""
    mappings[fd] = mmap.mmap(fd, 0)


def map_for_reading(fd, flags):
    """Maps a file, with mmap.MAP_SHARED or MAP_PRIVATE; the map outlives the descriptor."""
    mappings[fd] = mmap.mmap(fd, 0, flags=flags, prot=mmap.PROT_READ)


def read_map(fd):
    return bytes(mappings[fd])


def change_map(fd, offset, data):
    mappings[fd][offset:offset + len(data)] = data


def served(fd):
    return is_served(fd)


def fd_facts(fd):
    return facts(os.fstat(fd))


def confine(path, no_new_privs):
    """Puts this process under Landlock that denies a path."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import landlock  # here, since few agents need it
    landlock.confine(path, no_new_privs)


def times_of(path):
    """The times of a file, for utime_ns."""
    found = os.stat(path)
    return (found.st_atime_ns, found.st_mtime_ns)


def utime_ns(path, times):
    os.utime(path, ns=times)


def attributes(path):
    """All extended attributes of a file."""
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


def nlink(path):
    return os.stat(path).st_nlink


def lock(fd, kind):
    """A POSIX lock on the whole file."""
    fcntl.lockf(fd, fcntl.LOCK_EX if kind == "exclusive" else fcntl.LOCK_SH)


def read_some(fd, count):
    return os.read(fd, count)


def write_some(fd, data):
    return os.write(fd, data)


def names(path):
    return tuple(sorted(os.listdir(path)))


def walk(path):
    return tuple((top, tuple(sorted(directories)), tuple(sorted(files)))
                 for top, directories, files in sorted(os.walk(path)))


def rmtree(path):
    import shutil
    shutil.rmtree(path)


def copytree(source, target):
    import shutil
    shutil.copytree(source, target, symlinks=True)


def copy_files(source, target):
    """Copies each file of a directory into another one, which is there."""
    import shutil
    for name in os.listdir(source):
        shutil.copyfile(os.path.join(source, name), os.path.join(target, name))


def unlink_files(directory):
    for name in os.listdir(directory):
        os.unlink(os.path.join(directory, name))


def sendfile_whole(to, fd, count):
    return os.sendfile(to, fd, 0, count)


def spawn(argv):
    """Runs a program to its end: its output."""
    import subprocess
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout


def in_child(name, *arguments):
    """Makes a call in a forked child."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, bytes.fromhex(answer(name, arguments)))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = marshal.load(pipe)
    os.waitpid(pid, 0)
    if said[0] == "errno":
        raise OSError(said[1], name)
    return said[1]


def pass_fd(fd):
    """The descriptor after a trip over a socket."""
    import socket
    left, right = socket.socketpair()
    socket.send_fds(left, [b"x"], [fd])
    _, fds, _, _ = socket.recv_fds(right, 1, 1)
    left.close()
    right.close()
    return fds[0]


def find(name):
    return globals().get(name) or getattr(os, name)


def answer(name, arguments):
    try:
        return marshal.dumps(("ok", find(name)(*arguments))).hex()
    except OSError as error:
        return marshal.dumps(("errno", error.errno)).hex()


def main():
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    print(marshal.dumps(("ok", "ready")).hex(), flush=True)
    while select.select([0], [], []) and (line := sys.stdin.readline()):
        name, arguments = marshal.loads(bytes.fromhex(line))
        print(answer(name, arguments), flush=True)


if __name__ == "__main__":
    main()
