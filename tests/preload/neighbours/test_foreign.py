"""Programs that ours does not fit into, or that take us along unawares."""

import os
import shutil
import stat
import subprocess

import pytest

from checkout import ROOT
from matrix import record
from pair import COUNT, version_of

SOURCES = ["reader.c", "files.c"]


@pytest.fixture
def compiled(programs, scratch):
    """Compiles the reader with another compiler or other flags."""
    program, smallest = scratch / "other-reader", scratch / "smallest.c"
    smallest.write_text("int main(void) { return 0; }")

    def compile_with(*compiler):
        if shutil.which(compiler[0]) is None:
            pytest.skip(f"no {compiler[0]}")
        able = subprocess.run([*compiler, smallest, "-o", program], stderr=subprocess.PIPE, text=True, check=False)
        if able.returncode != 0:
            pytest.skip(f"{' '.join(compiler)}: {able.stderr}")
        subprocess.run([*compiler, "-std=gnu11", "-D_GNU_SOURCE", "-I", ROOT,
                        *(ROOT / "tests/preload/neighbours" / name for name in SOURCES), "-o", program], check=True)
        return program
    return compile_with


def note(name, cases, result="same", version=""):
    record("Neighbours", name, version, cases, result)


@pytest.mark.parametrize("compiler", [["cc", "-static"], ["cc", "-static-pie"],
                                      ["musl-gcc", "-static"]], ids=" ".join)
def test_a_static_program_reads_the_origin(pair, compiled, compiler):
    line = [compiled(*compiler), pair.data, COUNT, 2]
    plain = pair.plain(line)
    for _ in range(2):
        ran = pair.shim(line)
        assert (ran.status, ran.stdout, ran.opens) == (*plain, 0)
    note("static programs", "glibc and musl, static and static-pie", "same (reads the origin)")


def test_a_program_of_musl(pair, compiled):
    """Its loader takes our libc.so.6 for its own, and finds all of our imports there."""
    pair.check([compiled("musl-gcc"), pair.data, COUNT, 2], hits=COUNT)
    note("dynamic musl programs", "cold and warm", "same, and cached", version_of("musl"))


def test_what_one_import_of_glibc_would_do_to_musl(pair, compiled, scratch):
    """Why tests/preload/symbols/test_abi.py counts our imports: a program of musl would not start."""
    source, library = scratch / "one.c", scratch / "one.so"
    source.write_text("const char *gnu_get_libc_version(void);"
                      "const char *one(void) { return gnu_get_libc_version(); }")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    program = compiled("musl-gcc")
    status, said = pair.plain(["env", f"LD_PRELOAD={library}", program, pair.data, COUNT])
    assert (status, "gnu_get_libc_version: symbol not found" in said) == (127, True)


@pytest.mark.parametrize("sanitizer", ["undefined", "address", "thread", "leak"])
def test_a_sanitised_program(pair, compiled, sanitizer):
    """As with any preload: the runtime of the address sanitizer wants to be the first."""
    program = compiled("cc", "-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all")
    env = {}
    if sanitizer == "address":
        env["LD_PRELOAD"] = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True,
                                           stdout=subprocess.PIPE, text=True).stdout.strip()
    # The thread sanitizer's runtime cannot take addresses that are too random.
    line = ["setarch", "-R", program, pair.data, COUNT, 3]
    status, said = pair.plain(line, env)
    if status != 0:
        pytest.skip(f"does not run by itself: {said[-200:]}")
    assert "Sanitizer" not in pair.check(line, env, hits=2 * COUNT)[1]
    note(f"-fsanitize={sanitizer}", "cold and warm" +
         (", its runtime first in LD_PRELOAD" if env else ""), version=version_of("gcc"))


def test_the_address_sanitizer_in_the_wrong_place(pair, compiled):
    """It refuses to start behind any preload, and says what to do."""
    program = compiled("cc", "-fsanitize=address")
    line = [program, pair.data, COUNT, 2]
    ran = pair.shim(line)
    assert ran.status != 0 and "ASan runtime does not come first" in ran.stdout
    pair.check(line, {"ASAN_OPTIONS": "verify_asan_link_order=0"}, hits=COUNT)
    note("-fsanitize=address, started without its runtime in LD_PRELOAD", "as it is, and with "
         "verify_asan_link_order=0", "refuses to start, as with any preload; same with the option")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make and to start such a program")
def test_a_setuid_program_reads_the_origin(pair, compiled):
    program = compiled("cc")
    program.chmod(0o4755 | stat.S_ISUID)
    line = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, pair.data,
            COUNT, 2]
    plain = pair.plain(line)
    ran = pair.shim(line)
    assert (ran.status, ran.stdout) == plain
    assert ran.opens == 0
    note("setuid programs", "of root, started by another user", "same (reads the origin)")


CLOSING = """
import os, sys
data, out, how = sys.argv[1:]
def read_all():
    return [open(f"{data}/{number}", "rb").read() for number in range(12)]
first = read_all()
def close_all():
    if how == "closerange":
        os.closerange(3, 65536)
    elif how == "one by one":
        for fd in range(3, 4096):
            try:
                os.close(fd)
            except OSError:
                pass
    elif how == "standard streams":
        os.closerange(0, 4096)
def finish():
    fds = sorted(set(os.listdir("/proc/self/fd")))
    same = read_all() == first and read_all() == first
    text = f"{same} {fds} {[os.open(f'{data}/1', os.O_RDONLY) for _ in range(3)]}"
    fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, text.encode())
    os.close(fd)
if how == "daemon":
    end_r, end_w = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.closerange(0, end_w)
            os.closerange(end_w + 1, 4096)
            for fd in range(3):
                os.open("/dev/null", os.O_RDWR)
            finish()
        os._exit(0)
    os.close(end_w)
    os.wait()
    os.read(end_r, 1)
else:
    close_all()
    finish()
"""


@pytest.mark.parametrize("how", ["closerange", "one by one", "standard streams", "daemon"])
def test_programs_that_close_everything(pair, scratch, how):
    out = scratch / "out"
    line = ["/usr/bin/python3", "-S", "-E", "-c", CLOSING, pair.data, out, how]
    assert pair.plain(line) == (0, "")
    without = out.read_text()
    assert without.startswith("True ")
    for _ in range(3):
        out.unlink()
        ran = pair.shim(line)
        assert (ran.status, ran.stdout, out.read_text()) == (0, "", without)
    assert ran.hits > 3 * COUNT
    note("closing all descriptors", "closerange, one by one, 0-2 as well, a daemon; cold and warm")


CHANGING = """
import os, subprocess, sys
data, tracer, how = sys.argv[1:]
env = dict(os.environ)
if how == "unset":
    env.pop("LD_PRELOAD", None)
elif how == "another":
    env["LD_PRELOAD"] = tracer
elif how == "added":
    env["LD_PRELOAD"] = tracer + (":" + env["LD_PRELOAD"] if "LD_PRELOAD" in env else "")
elif how == "empty":
    env = {}
elif how == "in this process":
    os.environ.pop("LD_PRELOAD", None)
    env = None
for _ in range(2):
    print(subprocess.run(["/usr/bin/md5sum"] + [f"{data}/{number}" for number in range(12)],
                         env=env, stdout=subprocess.PIPE).stdout.decode())
    for number in range(12):
        open(f"{data}/{number}").read if how == "nothing" else open(f"{data}/{number}", "rb").read()
"""


@pytest.mark.parametrize("how", ["unset", "another", "added", "empty", "in this process"])
def test_programs_that_change_the_preloads(pair, programs, how):
    line = ["/usr/bin/python3", "-S", "-E", "-c", CHANGING, pair.data, programs / "libtracer.so",
            how]
    pair.check(line, hits=2 * COUNT)
    opens = pair.shim(line).opens
    assert opens == (4 * COUNT if how == "added" else 2 * COUNT)
    note("programs that set LD_PRELOAD", "unset, another library, one more, an empty environment",
         "same; children without us read the origin")


CHROOT = """
import os, sys
jail, data = sys.argv[1:]
def read_all(top):
    return [open(f"{top}/{number}", "rb").read() for number in range(12)]
outside = read_all(data)
pid = os.fork()
if pid == 0:
    os.chroot(jail)
    os.chdir("/")
    inside = read_all(data)
    os._exit(0 if inside == [b"jail %d" % number for number in range(12)] else 1)
print("child", os.waitpid(pid, 0)[1], read_all(data) == outside)
"""


def test_a_child_in_a_chroot(pair, scratch):
    jail = scratch / "jail"
    below = jail / str(pair.data).lstrip("/")
    below.mkdir(parents=True)
    for number in range(COUNT):
        (below / str(number)).write_bytes(b"jail %d" % number)
    line = ["/usr/bin/python3", "-S", "-E", "-c", CHROOT, jail, pair.data]
    assert pair.check(line, hits=COUNT) == (0, "child 0 True\n")
    note("chroot", "a forked child in another root directory with other files of the same names")


def test_a_program_with_a_sandbox_of_its_own(pair):
    if not os.path.exists("/usr/bin/file"):
        pytest.skip("no file")
    pair.check(["/usr/bin/file", "-b", *(pair.data / str(number) for number in range(COUNT))],
               hits=COUNT)
    note("file", "which confines itself with seccomp where it was built so", "same",
         version_of("file"))
