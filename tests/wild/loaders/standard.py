"""Python's own ways to read files."""

import bz2
import csv
import ctypes
import dbm.dumb
import filecmp
import gzip
import hashlib
import importlib.util
import io
import json
import linecache
import lzma
import mmap
import os
import pathlib
import pickle
import shelve
import shutil
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import wave
import zipfile
import zipimport
import zlib

from .case import BAD_DIRECTORIES, NEVER, OPENS, STATS, case, make_bytes, some_bytes


# ---- open() and pathlib ----

@case("open().read")
def open_read(path):
    with open(path, "rb") as file:
        return file.read()


@case("open(buffering=0).readinto")
def open_unbuffered(path):
    with open(path, "rb", buffering=0) as file:
        block = bytearray(10000)
        return [bytes(block[:count]) for count in iter(lambda: file.readinto(block), 0)]


def make_text(path):
    path.write_text("".join(f"line {n}\tof the text\n" for n in range(1000)))


@case("open() of text, by line", suffix=".txt", make=make_text, but=["garbage"])
def open_lines(path):
    with open(path, encoding="latin-1", newline=None) as file:
        return list(file)


@case("open().seek and tell")
def open_seek(path):
    with open(path, "rb") as file:
        file.seek(-100, os.SEEK_END)
        end = file.read()
        file.seek(5000)
        return end, file.read(10), file.tell(), file.seek(0, os.SEEK_END), file.isatty()


@case("pathlib.Path.read_bytes")
def path_read(path):
    return pathlib.Path(path).read_bytes()


@case("io.open_code")
def open_code(path):
    with io.open_code(str(path)) as file:
        return file.read()


@case("open() with an opener")
def open_opener(path):
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as file:
        return file.read()


@case("open('r+b')", sees=NEVER, facts=False)
def open_update(path):
    with open(path, "r+b") as file:
        return file.read()


# ---- os ----

def reading(path, use, **more):
    fd = os.open(path, os.O_RDONLY, **more)
    try:
        return use(fd)
    finally:
        os.close(fd)


@case("os.open, read")
def os_read(path):
    return reading(path, lambda fd: [os.read(fd, 7000), os.read(fd, 1 << 20), os.read(fd, 1)])


@case("os.pread")
def os_pread(path):
    return reading(path, lambda fd: [os.pread(fd, 100, at) for at in (0, 4095, 59990, 70000)])


def vectors(call):
    parts = [bytearray(1000), bytearray(5000)]
    return call(parts), parts


@case("os.readv, preadv")
def os_readv(path):
    return reading(path, lambda fd: [vectors(lambda parts: os.readv(fd, parts)),
                                     vectors(lambda parts: os.preadv(fd, parts, 30000)),
                                     vectors(lambda parts: os.preadv(fd, parts, 50000, 0))])


@case("os.open(dir_fd)")
def os_openat(path):
    top = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        return reading(os.path.basename(path), lambda fd: os.read(fd, 1 << 20), dir_fd=top)
    finally:
        os.close(top)


@case("os.dup, dup2, fdopen")
def os_dup(path):
    def use(fd):
        start = os.read(fd, 100)
        with os.fdopen(os.dup(fd), "rb") as one, os.fdopen(os.dup2(fd, os.dup(fd)), "rb") as two:
            return start, one.tell(), two.tell(), one.read()
    return reading(path, use)


@case("os.lseek, posix_fadvise, fcntl")
def os_lseek(path):
    import fcntl

    return reading(path, lambda fd: [
        os.lseek(fd, 0, os.SEEK_END), os.lseek(fd, 100, os.SEEK_SET), os.read(fd, 10),
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED), fcntl.fcntl(fd, fcntl.F_GETFL),
        fcntl.fcntl(fd, fcntl.F_GETFD), fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)])


@case("os.sendfile")
def os_sendfile(path):
    def use(fd):
        with tempfile.TemporaryFile() as copy:
            sent = os.sendfile(copy.fileno(), fd, 0, 1 << 20)
            return sent, os.pread(copy.fileno(), 1 << 20, 0)
    return reading(path, use)


@case("os.splice, to a pipe")
def os_splice(path):
    def use(fd):
        source, sink = os.pipe()
        try:
            return os.read(source, 1 << 16) if os.splice(fd, sink, 4096) else b""
        finally:
            os.close(source)
            os.close(sink)
    return reading(path, use)


@case("os.open of /dev/fd/N")
def os_dev_fd(path):
    def use(fd):
        with open(f"/dev/fd/{fd}", "rb") as again:
            return again.read()
    return reading(path, use)


@case("a descriptor over a socket")
def os_scm_rights(path):
    def use(fd):
        left, right = socket.socketpair()
        with left, right:
            socket.send_fds(left, [b"x"], [fd])
            _, (received,), _, _ = socket.recv_fds(right, 1, 1)
        with os.fdopen(received, "rb") as file:
            return file.read()
    return reading(path, use)


@case("os.getxattr, listxattr")
def os_xattr(path):
    return reading(path, lambda fd: [os.listxattr(path), os.listxattr(fd), os.read(fd, 10)])


# ---- copies and maps ----

def copied(copy, path):
    with tempfile.TemporaryDirectory() as top:
        target = os.path.join(top, "copy")
        copy(path, target)
        with open(target, "rb") as file:
            found = os.stat(target)
            return found.st_mode, found.st_size, file.read()


@case("shutil.copy")
def shutil_copy(path):
    return copied(shutil.copy, path)


@case("shutil.copy2")
def shutil_copy2(path):
    return copied(shutil.copy2, path)


def make_tree(path):
    for name in ("a/one.bin", "a/two.bin", "b/deep/three.bin"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        make_bytes(path / name)
    (path / "link").symlink_to("a/one.bin")


def listing(top):
    return [(os.path.relpath(where, top), sorted(directories), sorted(files))
            for where, directories, files in sorted(os.walk(top))]


@case("shutil.copytree", suffix="", make=make_tree, bad=BAD_DIRECTORIES)
def shutil_copytree(path):
    with tempfile.TemporaryDirectory() as top:
        target = os.path.join(top, "copy")
        shutil.copytree(path, target, symlinks=True)
        return listing(target), filecmp.dircmp(path, target).same_files


@case("mmap")
def map_whole(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        return memory.size(), memory[:]


@case("mmap, private and changed")
def map_private(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as memory:
        memory[:5] = b"other"
        return memory[:]


# ---- names and metadata ----

@case("os.stat, lstat, exists, access", sees=STATS)
def os_stat(path):
    return (os.stat(path), os.lstat(path), os.path.exists(path), os.path.getsize(path),
            os.access(path, os.R_OK), os.stat(path, follow_symlinks=False),
            pathlib.Path(path).stat(), os.path.samefile(path, path), os.path.isfile(path))


@case("os.stat(dir_fd)", sees=STATS)
def os_fstatat(path):
    top = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        return os.stat(os.path.basename(path), dir_fd=top)
    finally:
        os.close(top)


@case("os.scandir", suffix="", make=make_tree, bad=BAD_DIRECTORIES, sees=NEVER)
def os_scandir(path):
    with os.scandir(path) as entries:
        return sorted((one.name, one.is_dir(), one.is_symlink(), one.inode()) for one in entries)


@case("os.walk, listdir, stat of each", suffix="", make=make_tree, bad=BAD_DIRECTORIES, sees=STATS)
def os_walk(path):
    names = [os.path.join(top, name) for top, _, files in sorted(os.walk(path))
             for name in sorted(files)]
    return (sorted(os.listdir(path)), listing(path),
            [(os.stat(name), os.lstat(name)) for name in names])


@case("glob, Path.rglob", suffix="", make=make_tree, bad=BAD_DIRECTORIES, sees=STATS)
def globbing(path):
    import glob

    names = sorted(glob.glob(f"{path}/**/*.bin", recursive=True))
    return names, sorted(map(str, pathlib.Path(path).rglob("*"))), [os.stat(one) for one in names]


@case("filecmp.cmp")
def compare(path):
    filecmp.clear_cache()
    return filecmp.cmp(path, __file__, shallow=False), filecmp.cmp(path, path, shallow=False)


# ---- formats of the standard library ----

def make_pickle(path):
    path.write_bytes(pickle.dumps({"data": some_bytes(), "labels": list(range(1000))}))


@case("pickle.load", suffix=".pkl", make=make_pickle)
def pickle_load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def make_gzip(path):
    path.write_bytes(gzip.compress(some_bytes(), mtime=0))


@case("gzip.open", suffix=".gz", make=make_gzip)
def gzip_open(path):
    with gzip.open(path) as file:
        return file.read()


@case("bz2.open", suffix=".bz2", make=lambda path: path.write_bytes(bz2.compress(some_bytes())))
def bz2_open(path):
    with bz2.open(path) as file:
        return file.read()


@case("lzma.open", suffix=".xz", make=lambda path: path.write_bytes(lzma.compress(some_bytes())))
def lzma_open(path):
    with lzma.open(path) as file:
        return file.read()


def make_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("one.bin", some_bytes())
        archive.writestr("module.py", "ANSWER = 42\n")


@case("zipfile.ZipFile", suffix=".zip", make=make_zip)
def zip_read(path):
    with zipfile.ZipFile(path) as archive:
        return archive.namelist(), archive.read("one.bin"), archive.testzip()


@case("zipimport", suffix=".zip", make=make_zip)
def zip_import(path):
    zipimport._zip_directory_cache.clear()
    importer = zipimport.zipimporter(str(path))
    return importer.get_data(f"{path}/one.bin"), importer.get_source("module")


def make_tar(path):
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name in ("one.bin", "two.bin"):
            member = tarfile.TarInfo(name)
            member.size = 60000
            archive.addfile(member, io.BytesIO(some_bytes()))


@case("tarfile.open", suffix=".tar", make=make_tar)
def tar_read(path):
    with tarfile.open(path) as archive:
        return [(one.name, archive.extractfile(one).read()) for one in archive]


@case("tarfile.open of .tar.gz, as a stream", suffix=".tar.gz", make=make_tar)
def tar_stream(path):
    with tarfile.open(path, "r|*") as archive:
        return [(one.name, archive.extractfile(one).read()) for one in archive]


@case("tarfile.extractall", suffix=".tar", make=make_tar)
def tar_extract(path):
    with tarfile.open(path) as archive, tempfile.TemporaryDirectory() as top:
        archive.extractall(top)
        return listing(top), pathlib.Path(top, "two.bin").read_bytes()


def make_wave(path):
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(some_bytes(20000))


@case("wave.open", suffix=".wav", make=make_wave)
def wave_open(path):
    with wave.open(str(path)) as sound:
        return sound.getparams(), sound.readframes(20000)


@case("json.load", suffix=".json",
      make=lambda path: path.write_text(json.dumps({str(n): [n] for n in range(2000)})))
def json_load(path):
    with open(path) as file:
        return json.load(file)


@case("csv.reader", suffix=".csv", make=make_text)
def csv_reader(path):
    with open(path, newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


@case("linecache", suffix=".txt", make=make_text)
def line_cache(path):
    linecache.clearcache()
    return linecache.getlines(str(path))


@case("hashlib.file_digest")
def file_digest(path):
    with open(path, "rb") as file:
        if hasattr(hashlib, "file_digest"):
            return hashlib.file_digest(file, "sha256").hexdigest()
        return hashlib.sha256(file.read()).hexdigest()


@case("importing a module", suffix=".py", make=lambda path: path.write_text("ANSWER = 'x' * 99\n"))
def import_module(path):
    spec = importlib.util.spec_from_file_location("wild_module", str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ANSWER, spec.loader.get_source("wild_module")


def make_shelf(path):
    path.mkdir()
    with shelve.Shelf(dbm.dumb.open(str(path / "shelf"), "c")) as shelf:
        shelf["key"] = some_bytes()


@case("shelve over dbm.dumb", suffix="", make=make_shelf, bad=BAD_DIRECTORIES)
def shelf_read(path):
    with shelve.Shelf(dbm.dumb.open(os.path.join(path, "shelf"), "r")) as shelf:
        return dict(shelf)


def make_sqlite(path):
    with sqlite3.connect(path) as base:
        base.execute("create table samples (number integer, data blob)")
        base.executemany("insert into samples values (?, ?)",
                         [(n, some_bytes(1000)) for n in range(50)])
    base.close()


@case("sqlite3", suffix=".db", make=make_sqlite, sees=NEVER, facts=False)
def sqlite_read(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return base.execute("select * from samples order by number").fetchall()
    finally:
        base.close()


@case("a SQLite database through open()", suffix=".db", make=make_sqlite, sees=OPENS,
      but=["short", "garbage"])
def sqlite_bytes(path):
    with open(path, "rb") as file:
        return file.read()


# ---- children, and ways around the library ----

@case("subprocess with the file as its input")
def subprocess_stdin(path):
    with open(path, "rb") as file:
        return subprocess.run(["md5sum"], stdin=file, stdout=subprocess.PIPE).stdout


@case("subprocess that opens it")
def subprocess_opens(path):
    done = subprocess.run(["cat", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


@case("subprocess without an environment", sees=NEVER)
def subprocess_bare(path):
    done = subprocess.run(["/bin/cat", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={})
    return done.returncode, done.stdout, done.stderr


@case("os.posix_spawn")
def posix_spawn(path):
    source, sink = os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn("/usr/bin/md5sum", ["md5sum", os.fspath(path)], os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    os.close(sink)
    os.close(null)
    with os.fdopen(source, "rb") as said:
        text = said.read()
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def by_ctypes(library, path):
    library.open.argtypes = [ctypes.c_char_p, ctypes.c_int]
    fd = library.open(os.fsencode(path), os.O_RDONLY | os.O_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open")
    with os.fdopen(fd, "rb") as file:
        return file.read()


@case("ctypes.CDLL(None).open")
def ctypes_global(path):
    return by_ctypes(ctypes.CDLL(None, use_errno=True), path)


@case("ctypes.CDLL('libc.so.6').open", sees=NEVER)
def ctypes_libc(path):
    return by_ctypes(ctypes.CDLL("libc.so.6", use_errno=True), path)


@case("ctypes.CDLL(None).syscall(SYS_open)")
def ctypes_syscall(path):
    if os.uname().machine != "x86_64":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(2, ctypes.c_char_p(os.fsencode(path)), os.O_RDONLY | os.O_CLOEXEC, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open")
    with os.fdopen(fd, "rb") as file:
        return file.read()


@case("checksums by a pool of threads")
def thread_pool(path):
    from concurrent.futures import ThreadPoolExecutor

    def checksum(_):
        with open(path, "rb") as file:
            return zlib.crc32(file.read())

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(checksum, range(16)))


assert sys.version_info >= (3, 9), "os.waitstatus_to_exitcode"
