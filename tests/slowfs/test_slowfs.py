"""Tests slowfs itself: that it is a faithful, late and well-counting copy of its source.

    make test-slowfs T=NAME
"""

import concurrent.futures
import ctypes
import errno
import filecmp
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import slowfs

RENAME_NOREPLACE, RENAME_EXCHANGE, AT_FDCWD = 1, 2, -100


def rename_with_flags(old, new, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def write(path, content=b"content"):
    with open(path, "wb") as file:
        file.write(content)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def errno_of(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
    return 0


class Case(unittest.TestCase):
    """A source directory of its own for each test."""

    def setUp(self):
        self.source = tempfile.mkdtemp(prefix="slowfs test,")  # a space and a comma, on purpose
        self.addCleanup(shutil.rmtree, self.source, True)

    def mount(self, **options):
        fs = slowfs.SlowFS(self.source, **options)
        fs.__enter__()
        self.addCleanup(fs.stop)
        return fs

    def in_source(self, name):
        return os.path.join(self.source, name)


class Faithful(Case):
    def setUp(self):
        super().setUp()
        self.fs = self.mount()

    def path(self, name):
        return os.path.join(self.fs.mountpoint, name)

    def test_attributes_are_the_source_s(self):
        write(self.in_source("a"))
        os.link(self.in_source("a"), self.in_source("b"))
        os.symlink("a", self.in_source("link"))
        for name in ("a", "b", "link", "."):
            here, there = os.lstat(self.path(name)), os.lstat(self.in_source(name))
            for field in ("st_ino", "st_mode", "st_nlink", "st_uid", "st_gid", "st_size",
                          "st_mtime_ns", "st_ctime_ns", "st_blocks"):
                self.assertEqual(getattr(here, field), getattr(there, field), (name, field))

    def test_names_are_made_moved_and_removed(self):
        os.mkdir(self.path("d"))
        write(self.path("d/a"))
        os.rename(self.path("d/a"), self.path("b"))
        os.link(self.path("b"), self.path("c"))
        os.symlink("b", self.path("s"))
        self.assertEqual(os.readlink(self.path("s")), "b")
        self.assertEqual(read(self.path("s")), b"content")
        os.unlink(self.path("b"))
        os.rmdir(self.path("d"))
        self.assertEqual(sorted(os.listdir(self.path("."))), ["c", "s"])
        self.assertEqual(sorted(os.listdir(self.source)), ["c", "s"])

    def test_rename_flags(self):
        write(self.path("a"), b"A")
        write(self.path("b"), b"B")
        with self.assertRaises(FileExistsError):
            rename_with_flags(self.path("a"), self.path("b"), RENAME_NOREPLACE)
        rename_with_flags(self.path("a"), self.path("b"), RENAME_EXCHANGE)
        self.assertEqual((read(self.path("a")), read(self.path("b"))), (b"B", b"A"))

    def test_setattr(self):
        write(self.path("a"), b"0123456789")
        os.truncate(self.path("a"), 4)
        os.chmod(self.path("a"), 0o640)
        os.utime(self.path("a"), ns=(1_000_000_001, 2_000_000_002))
        there = os.stat(self.in_source("a"))
        self.assertEqual((there.st_size, there.st_mode & 0o777, there.st_mtime_ns),
                         (4, 0o640, 2_000_000_002))
        os.symlink("a", self.path("link"))
        os.utime(self.path("link"), ns=(3, 4), follow_symlinks=False)
        self.assertEqual(os.lstat(self.in_source("link")).st_mtime_ns, 4)

    def test_open_modes(self):
        write(self.path("a"), b"one")
        with open(self.path("a"), "ab") as file:
            file.write(b"two")
        self.assertEqual(read(self.in_source("a")), b"onetwo")
        with open(self.path("a"), "wb"):
            pass
        self.assertEqual(os.stat(self.in_source("a")).st_size, 0)
        with self.assertRaises(FileExistsError):
            os.open(self.path("a"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)

    def test_deleted_but_open(self):
        write(self.path("a"))
        with open(self.path("a"), "rb") as file:
            os.unlink(self.path("a"))
            self.assertEqual(file.read(), b"content")

    def test_mmap_writes_and_direct_io(self):
        write(self.path("a"), bytes(8192))
        with open(self.path("a"), "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[5000:5004] = b"here"
            memory.flush()
        self.assertEqual(read(self.in_source("a"))[5000:5004], b"here")
        fd = os.open(self.path("a"), os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, 8192)
        self.assertEqual(os.preadv(fd, [buffer], 0), 8192)
        os.close(fd)
        self.assertEqual(buffer[5000:5004], b"here")

    def test_big_file(self):
        content = os.urandom(1 << 20) * 60
        write(self.path("big"), content)
        self.assertEqual(read(self.in_source("big")), content)
        self.assertEqual(read(self.path("big")), content)

    def test_extended_attributes(self):
        write(self.path("a"))
        try:
            os.setxattr(self.in_source("a"), "user.probe", b"1")
        except OSError:
            self.skipTest("no user extended attributes on this file system")
        os.setxattr(self.path("a"), "user.name", b"value")
        self.assertEqual(os.getxattr(self.in_source("a"), "user.name"), b"value")
        self.assertEqual(sorted(os.listxattr(self.path("a"))), ["user.name", "user.probe"])
        os.removexattr(self.path("a"), "user.probe")
        self.assertEqual(os.listxattr(self.in_source("a")), ["user.name"])

    def test_large_directory(self):
        names = {"file-%05d" % i for i in range(3000)}
        for name in names:
            write(self.in_source(name), b"")
        self.assertEqual(set(os.listdir(self.path("."))), names)
        found = {entry.name: entry.inode() for entry in os.scandir(self.path("."))}
        self.assertEqual(found["file-00042"], os.stat(self.in_source("file-00042")).st_ino)

    def test_copies_are_equal(self):
        tree = os.path.dirname(os.path.abspath(__file__))
        subprocess.run(["cp", "-a", tree, self.path("copy")], check=True)
        compared = filecmp.dircmp(tree, self.path("copy"))
        self.assertEqual((compared.left_only, compared.right_only, compared.diff_files),
                         ([], [], []))

    def test_a_change_in_the_source_is_seen(self):
        write(self.in_source("a"), b"old")
        self.assertEqual(read(self.path("a")), b"old")
        write(self.in_source("a"), b"new")
        self.assertEqual(read(self.path("a")), b"new")


class Owners(Case):
    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_new_files_belong_to_their_maker(self):
        os.chmod(self.source, 0o777)
        mountpoint = tempfile.mkdtemp(prefix="slowfs-")
        self.addCleanup(os.rmdir, mountpoint)
        os.chmod(mountpoint, 0o755)
        fs = self.mount(allow_other=True, mountpoint=mountpoint)
        subprocess.run(["setpriv", "--reuid=1234", "--regid=1235", "--clear-groups", "sh", "-c",
                        "umask 027; echo > '%s/a'; mkdir '%s/d'" % (fs.mountpoint, fs.mountpoint)],
                       check=True)
        for name, mode in (("a", 0o100640), ("d", 0o040750)):
            there = os.stat(self.in_source(name))
            self.assertEqual((there.st_uid, there.st_gid, there.st_mode), (1234, 1235, mode))

    def test_readonly(self):
        fs = self.mount(readonly=True)
        with self.assertRaises(OSError):
            write(os.path.join(fs.mountpoint, "a"))


class Counted(Case):
    def setUp(self):
        super().setUp()
        write(self.in_source("a"), bytes(1000))
        os.mkdir(self.in_source("d"))

    def test_names_are_those_of_the_program(self):
        said = subprocess.run([slowfs.find_binary(), "--list-counters"], check=True,
                              stdout=subprocess.PIPE, universal_newlines=True).stdout
        self.assertEqual(tuple(said.split()), slowfs.COUNTERS)

    def test_one_read_of_one_file(self):
        fs = self.mount()
        with fs.counting() as counted:
            fd = os.open(os.path.join(fs.mountpoint, "a"), os.O_RDONLY)
            os.read(fd, 4096)
            os.close(fd)
        self.assertEqual((counted["lookup_file"], counted["open"], counted["read"],
                          counted["read_bytes"], counted.file_ops), (1, 1, 1, 1000, 3))

    def test_nothing_is_kept_between_opens(self):
        fs = self.mount()
        for _ in range(3):
            read(os.path.join(fs.mountpoint, "a"))
        self.assertEqual((fs.counts()["open"], fs.counts()["read_bytes"]), (3, 3000))

    def test_timeouts_of_zero(self):
        fs = self.mount(attr_timeout=0, entry_timeout=0)
        for name in ("a", "a", "d", "missing"):
            os.path.exists(os.path.join(fs.mountpoint, name))
        counts = fs.counts()
        self.assertEqual((counts["lookup_file"], counts["lookup_other"], counts["lookup_negative"]),
                         (2, 1, 1))

    def test_reset(self):
        fs = self.mount()
        read(os.path.join(fs.mountpoint, "a"))
        fs.reset()
        self.assertEqual(fs.file_ops(), 0)


class Late(Case):
    def setUp(self):
        super().setUp()
        for i in range(64):
            write(self.in_source(str(i)), b"x" * 1000)

    def beyond_ms(self, fs, path, latency_ms):
        """How much longer a stat takes than the latency of its operations."""
        start = time.monotonic()
        with fs.counting() as counted:
            os.stat(path)
        took_ms = (time.monotonic() - start) * 1000
        beyond = took_ms - sum(counted.counts().values()) * latency_ms
        self.assertGreaterEqual(beyond, 0)
        return beyond

    def test_latency_changes_at_run_time(self):
        fs = self.mount(attr_timeout=0, entry_timeout=0)
        path = os.path.join(fs.mountpoint, "1")
        for latency_ms in (0, 40, 5, 0):
            fs.latency_ms = latency_ms
            # Once at least: a machine that does much else is late.
            self.assertTrue(any(self.beyond_ms(fs, path, latency_ms) < 30 for _ in range(20)))

    def test_sixty_four_readers_sleep_at_once(self):
        fs = self.mount(latency_ms=100)
        paths = [os.path.join(fs.mountpoint, str(i)) for i in range(64)]
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            self.assertEqual(list(pool.map(read, paths)), [b"x" * 1000] * 64)
        # Names of one directory are looked up side by side, too; in turn it takes 6 s and more.
        self.assertLess(time.monotonic() - start, 2.0)


class Ended(Case):
    def setUp(self):
        super().setUp()
        write(self.in_source("a"))

    def test_killed_and_mounted_again(self):
        mountpoint = tempfile.mkdtemp(prefix="slowfs-")
        self.addCleanup(os.rmdir, mountpoint)
        first = self.mount(mountpoint=mountpoint)
        first.kill()
        with self.assertRaises(OSError):
            os.stat(mountpoint)
        second = self.mount(mountpoint=mountpoint)
        self.assertEqual(read(os.path.join(mountpoint, "a")), b"content")
        second.stop()

    def test_unmounted_after_an_exception_and_while_busy(self):
        with self.assertRaises(KeyError):
            with slowfs.SlowFS(self.source) as fs:
                file = open(os.path.join(fs.mountpoint, "a"), "rb")
                raise KeyError
        self.assertFalse(os.path.exists(fs.mountpoint))
        with self.assertRaises(OSError):  # the file was cut off, since slowfs is gone
            file.close()

    def test_unmounted_when_its_starter_is_killed(self):
        code = ("import os, slowfs; fs = slowfs.SlowFS(%r).start();"
                "print(fs.mountpoint, fs.pid, flush=True); os.kill(os.getpid(), 9)" % self.source)
        starter = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                 cwd=os.path.dirname(os.path.abspath(slowfs.__file__)),
                                 universal_newlines=True, check=False)
        self.assertEqual(starter.returncode, -signal.SIGKILL)
        mountpoint, pid = starter.stdout.split()
        deadline = time.monotonic() + 5
        while os.path.exists("/proc/" + pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(slowfs.is_mounted(mountpoint))
        shutil.rmtree(os.path.dirname(mountpoint))

    def test_daemon(self):
        mountpoint = tempfile.mkdtemp(prefix="slowfs-")
        self.addCleanup(os.rmdir, mountpoint)
        subprocess.run([slowfs.find_binary(), "--daemon", os.path.relpath(self.source),
                        os.path.relpath(mountpoint)], check=True)
        self.assertEqual(read(os.path.join(mountpoint, "a")), b"content")
        slowfs.unmount(mountpoint)
        self.assertEqual(os.listdir(mountpoint), [])

    def test_what_shall_go_wrong(self):
        write(self.in_source("a"), bytes(300000))
        fs = self.mount(attr_timeout=0, entry_timeout=0)
        path = os.path.join(fs.mountpoint, "a")
        for faults, call in [({"open": errno.ESTALE}, read), ({"read": errno.EIO}, read),
                             ({"getattr": errno.EPERM, "lookup": errno.EPERM}, os.stat)]:
            with fs.faults(**faults):
                self.assertIn(errno_of(call, path), faults.values())
            self.assertEqual(errno_of(call, path), 0)
        with fs.faults(open=errno.EIO, spared=1):
            self.assertEqual([errno_of(read, path) for _ in range(2)], [0, errno.EIO])
        with fs.faults(size=-1000), open(path, "rb") as file:
            self.assertEqual((os.fstat(file.fileno()).st_size, len(file.read())), (299000, 299000))
        with fs.faults(read=errno.EIO, read_from=200000), open(path, "rb", 0) as file:
            self.assertEqual(len(file.read(4096)), 4096)
            file.seek(250000)
            self.assertEqual(errno_of(file.read, 4096), errno.EIO)

    def test_short_reads_are_the_program_s_past_the_kernel_s_cache(self):
        write(self.in_source("a"), bytes(3000))
        fs = self.mount(direct_io=True)
        with open(os.path.join(fs.mountpoint, "a"), "rb", 0) as file, fs.faults(read_most=1000):
            self.assertEqual([len(file.read(4096)) for _ in range(4)], [1000, 1000, 1000, 0])

    def test_files_that_go_stale(self):
        """Reads by a descriptor that is older; a new one is good again for a while."""
        write(self.in_source("a"), bytes(300000))
        fs = self.mount(attr_timeout=0, entry_timeout=0, direct_io=True)
        path = os.path.join(fs.mountpoint, "a")
        with open(path, "rb", 0) as file, fs.faults(stale_ns=300 * 10**6):
            self.assertEqual(len(file.read(100)), 100)
            time.sleep(0.35)
            self.assertEqual(errno_of(file.read, 100), errno.ESTALE)
            self.assertEqual(len(read(path)), 300000)
        with open(path, "rb", 0) as file:
            time.sleep(0.35)
            self.assertEqual(len(file.read(100)), 100)

    def test_whole_seconds(self):
        write(self.in_source("a"))
        os.utime(self.in_source("a"), ns=(1_500_000_000, 2_500_000_000))
        fs = self.mount(attr_timeout=0, entry_timeout=0)
        with fs.faults(whole_seconds=1):
            told = os.stat(os.path.join(fs.mountpoint, "a"))
            self.assertEqual((told.st_mtime_ns, told.st_ctime_ns % 10**9), (2 * 10**9, 0))
            self.assertEqual(os.stat(fs.mountpoint).st_mtime_ns % 10**9, 0)
            write(os.path.join(fs.mountpoint, "b"))
            self.assertEqual(os.stat(os.path.join(fs.mountpoint, "b")).st_mtime_ns % 10**9, 0)
        self.assertEqual(os.stat(os.path.join(fs.mountpoint, "a")).st_mtime_ns, 2_500_000_000)

    def test_a_statvfs_that_knows_nothing(self):
        fs = self.mount()
        self.assertGreater(os.statvfs(fs.mountpoint).f_blocks, 0)
        with fs.faults(statvfs_zero=1):
            told = os.statvfs(fs.mountpoint)
            self.assertEqual((told.f_blocks, told.f_bavail, told.f_files), (0, 0, 0))

    def test_direct_reads_that_fail(self):
        fs = self.mount()
        write(self.in_source("a"), b"content")
        fd = os.open(os.path.join(fs.mountpoint, "a"), os.O_RDONLY | os.O_DIRECT)
        with fs.faults(direct=errno.EINVAL):
            self.assertEqual(errno_of(os.pread, fd, 7, 0), errno.EINVAL)
            with open(os.path.join(fs.mountpoint, "a"), "rb") as file:
                self.assertEqual(file.read(), b"content")
        self.assertEqual(os.pread(fd, 7, 0), b"content")
        os.close(fd)

    def test_writes_that_fail_at_fsync(self):
        fs = self.mount()
        with fs.faults(fsync=errno.ENOSPC):
            with open(os.path.join(fs.mountpoint, "a"), "wb", 0) as file:
                self.assertEqual(file.write(b"content"), 7)
                self.assertEqual(errno_of(os.fsync, file.fileno()), errno.ENOSPC)
                self.assertEqual(errno_of(os.fdatasync, file.fileno()), errno.ENOSPC)

    def rename_beside_another_node(self, fs):
        """If the kernel sees the name, it refuses by itself; here the name is made after its
        look."""
        old, new = (os.path.join(fs.mountpoint, name) for name in ("old", "new"))
        write(self.in_source("old"), b"old")
        before, fs.latency_ms = fs.counts()["rename"], 200
        with concurrent.futures.ThreadPoolExecutor() as pool:
            error = pool.submit(errno_of, rename_with_flags, old, new, RENAME_NOREPLACE)
            while fs.counts()["rename"] == before:
                time.sleep(0.001)
            write(self.in_source("new"), b"new")
            return error.result(timeout=20)

    def test_rename_flags_that_are_ignored(self):
        fs = self.mount(attr_timeout=0, entry_timeout=0)
        self.assertEqual(self.rename_beside_another_node(fs), errno.EEXIST)
        os.unlink(self.in_source("new"))
        with fs.faults(rename_flags=1):
            self.assertEqual(self.rename_beside_another_node(fs), 0)
        self.assertEqual(read(self.in_source("new")), b"old")

    def test_missing_names_that_are_kept(self):
        """Here a new file of another machine stays unknown for so long."""
        fs = self.mount(attr_timeout=0, entry_timeout=0)
        path = os.path.join(fs.mountpoint, "new")
        with fs.faults(negative_ns=400 * 10**6):
            self.assertFalse(os.path.exists(path))
            write(self.in_source("new"))
            self.assertEqual(errno_of(os.stat, path), errno.ENOENT)
            time.sleep(0.45)
            self.assertEqual(read(path), b"content")
        self.assertFalse(os.path.exists(path + "er"))
        write(self.in_source("newer"))
        self.assertTrue(os.path.exists(path + "er"))

    def test_hanging(self):
        """For so long, or until it is over."""
        write(self.in_source("a"))
        fs = self.mount(attr_timeout=0, entry_timeout=0)
        path = os.path.join(fs.mountpoint, "a")
        began = time.monotonic()
        with fs.faults(hang_ns=200 * 10**6):
            os.stat(path)
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            with fs.faults(hang_ns=3600 * 10**9):
                reading = pool.submit(read, path)
                time.sleep(0.3)
                self.assertFalse(reading.done())
            self.assertEqual(reading.result(timeout=20), b"content")

    def test_a_name_of_its_own(self):
        """As servers have, whose names are the same on all nodes."""
        fs = self.mount(name="server:/a,b")
        with open("/proc/self/mountinfo") as file:
            told = [line.split() for line in file if fs.mountpoint in line]
        self.assertEqual(told[0][-2], "server:/a,b")

    def test_a_source_that_is_not_there(self):
        with self.assertRaisesRegex(slowfs.SlowFSError, "No such file"):
            slowfs.SlowFS(self.in_source("missing")).__enter__()
