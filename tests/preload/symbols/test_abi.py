"""The library as the loader sees it: the symbols that it gives and takes. Programs that cannot use
it are not harmed by it."""

import platform
import re
import shutil
import subprocess

import pytest

from isolated import CLEAN, Isolated
from matrix import record

NEWEST_GLIBC = (2, 17)

# All that is taken from libc. musl has every one of these, under any name of a version.
TAKEN = {"__errno_location", "dl_iterate_phdr", "getenv", "fileno", "memcmp", "memcpy",
         "memmove", "memset", "strchr", "strcmp", "strcspn", "strlen", "strncmp", "strrchr", "strspn", "strstr",
         "memchr", "chmod", "chown", "utimensat", "utimes", "setxattr", "getxattr", "listxattr",
         "removexattr",
         # The result of scandir is the program's to free, and sorted as libc sorts.
         "malloc", "realloc", "free", "qsort"}
# Given by the compiler's start files, each weak: may be missing.
START_FILES = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
               "_ITM_registerTMCloneTable"}


def output_of(*argv, **more):
    return subprocess.run(list(map(str, argv)), check=True, capture_output=True, text=True,
                          **more).stdout


def dynamic_symbols(library):
    """(name, version, defined, binding) of each dynamic symbol."""
    for line in output_of("readelf", "-W", "--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit():
            name, _, version = fields[7].partition("@")
            yield name, version.lstrip("@").split()[0] if version else "", fields[6] != "UND", \
                fields[4]


def test_exports_are_the_list(library, symbols):
    exported = {name for name, _, defined, _ in dynamic_symbols(library) if defined}
    assert exported == {*symbols, "stoker_identity_api"}  # base/identity_api.h


def test_the_list_names_each_once(symbols):
    assert len(symbols) == len(set(symbols))


def test_needs_only_libc(library):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", library))
    assert set(needed) == {"libc.so.6"}


def test_needs_no_new_libc(library):
    versions = re.findall(r"Name: GLIBC_([\d.]+)", output_of("readelf", "-V", library))
    assert versions
    assert [v for v in versions if tuple(map(int, v.split("."))) > NEWEST_GLIBC] == []


def test_takes_only_what_every_libc_has(library):
    taken = {name for name, _, defined, _ in dynamic_symbols(library) if not defined and name}
    assert taken - START_FILES <= TAKEN
    weak = {name for name, _, _, binding in dynamic_symbols(library) if binding == "WEAK"}
    assert taken & START_FILES <= weak


def test_base_and_cache_allocate_nothing(build):
    """So their unit tests are spared the search for leaks (tests/unit/run.sh)."""
    objects = [one for folder in ("base", "cache") for one in (build / "obj" / folder).rglob("*.o")]
    taken = set(re.findall(r" UND (\w+)", output_of("readelf", "-W", "--syms", *objects)))
    assert "memcpy" in taken
    assert taken & {"malloc", "calloc", "realloc", "reallocarray", "strdup", "strndup", "asprintf", "fopen",
                    "fdopen", "opendir", "getline", "open_memstream", "posix_memalign"} == set()


def test_has_no_helpers_of_hardening(library):
    names = {name for name, _, defined, _ in dynamic_symbols(library) if not defined}
    assert [n for n in names if n.startswith("__stack_chk") or n.endswith("_chk")] == []


def test_thread_locals_need_no_call(library):
    assert "__tls_get_addr" not in {name for name, *_ in dynamic_symbols(library)}
    assert "STATIC_TLS" in output_of("readelf", "-d", library)


def test_has_nothing_executable_and_one_constructor(library):
    segments = output_of("readelf", "-W", "-l", library)
    stack = next(line for line in segments.splitlines() if "GNU_STACK" in line)
    assert "RWE" not in stack
    assert "(TEXTREL)" not in output_of("readelf", "-d", library)
    # The look-up of the next symbols, and frame_dummy, which is the compiler's own.
    sizes = re.findall(r"INIT_ARRAYSZ\)\s+(\d+)", output_of("readelf", "-d", library))
    assert sizes in (["8"], ["16"])


# ---- programs that cannot use it ----

READER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char line[64] = "";
    FILE *file = fopen(argv[argc - 1], "r");
    printf("%s", file != NULL ? fgets(line, sizeof line, file) : "nothing");
    printf("%d\n", access(argv[argc - 1], R_OK));
    return 0;
}
"""


def compile_reader(tmp_path, *compiler):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]}")
    source, program = tmp_path / "reader.c", tmp_path / "reader"
    source.write_text(READER)
    made = subprocess.run([*compiler, str(source), "-o", str(program)], capture_output=True,
                          text=True)
    if made.returncode != 0:
        pytest.skip(made.stderr)
    return program


@pytest.fixture
def data(tmp_path):
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "file").write_text("a line\n")
    return directory


@pytest.mark.parametrize("compiler", [
    ["musl-gcc"], ["musl-gcc", "-static"], ["cc", "-static"], ["cc", "-static-pie"], ["cc"],
    ["cc", "-m32"]], ids=" ".join)
def test_programs_of_all_kinds_run(tmp_path, data, library, compiler):
    program = compile_reader(tmp_path, *compiler)
    env = {"LD_PRELOAD": str(library), "STOKER_PATHS": str(data)}
    with Isolated() as place:
        for _ in range(2):
            run = place.run([program, data / "file"], env)
            assert run.stdout == "a line\n0\n"
            # glibc says that it cannot load a library of another architecture, and goes on.
            assert run.stderr == "" or "-m32" in compiler


def test_a_sanitised_program_runs(tmp_path, data, library):
    program = compile_reader(tmp_path, "cc", "-fsanitize=address")
    asan = output_of("cc", "-print-file-name=libasan.so").strip()
    env = {"LD_PRELOAD": f"{asan}:{library}", "STOKER_PATHS": str(data),
           "ASAN_OPTIONS": "detect_leaks=0"}
    with Isolated() as place:
        run = place.run([program, data / "file"], env)
    assert (run.stdout, run.stderr) == ("a line\n0\n", "")


def test_a_fortified_program_runs(tmp_path, data, library):
    program = compile_reader(tmp_path, "cc", "-O2", "-D_FORTIFY_SOURCE=2")
    env = {"LD_PRELOAD": str(library), "STOKER_PATHS": str(data)}
    with Isolated() as place:
        assert place.run([program, data / "file"], env).stdout == "a line\n0\n"


# ---- what it costs those who do not use it ----


def system_calls(trace, *argv, **env):
    """The names of the calls that argv makes after the loader has started the program."""
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    words = [f"-E{key}={value}" for key, value in env.items()]
    subprocess.run(["strace", "-f", "-o", str(trace), *words, *argv], check=True, env=CLEAN,
                   capture_output=True)
    return [re.sub(r"^\d+ +", "", line) for line in trace.read_text().splitlines()]


def without_loading(calls, library):
    """Drops the calls by which the loader opens, reads and maps the library itself."""
    kept, mine = [], None
    for call in calls:
        opened = re.match(r"openat\(.*\) = (\d+)$", call)
        if opened and str(library) in call:
            mine = opened[1]
        elif mine is not None and re.search(rf"\b{mine}\b", call.split("=")[0]):
            mine = None if call.startswith("close(") else mine
        elif str(library) not in call:
            kept.append(re.match(r"\w+|.", call)[0])
    return [name for name in kept if name not in ("mmap", "munmap", "mprotect", "brk")]


@pytest.mark.parametrize("paths", [None, "", "/nonexistent/data", "relative"])
@pytest.mark.parametrize("argv", [["true"], ["cat", "/etc/hostname"], ["ls", "/usr"]],
                         ids=lambda argv: argv[0])
def test_costs_no_system_call(tmp_path, library, argv, paths):
    variables = {} if paths is None else {"STOKER_PATHS": paths}
    stub = tmp_path / "stub.so"  # a library that does nothing
    subprocess.run(["cc", "-shared", "-o", str(stub), "-x", "c", "/dev/null"], check=True)
    plain = system_calls(tmp_path / "plain", *argv, LD_PRELOAD=stub, **variables)
    ours = system_calls(tmp_path / "ours", *argv, LD_PRELOAD=library, **variables)
    if paths == "/nonexistent/data" and argv[0] == "ls":
        pytest.skip("ls asks for relative names, which need the working directory")
    assert without_loading(ours, library) == without_loading(plain, stub)
    record("Neighbours", "programs that use nothing covered", "", "system calls of true, cat, ls, "
           "beside those that load the library", "same")


def test_is_for_this_machine(library):
    machine = {"x86_64": "X86-64", "aarch64": "AArch64"}[platform.machine()]
    assert machine in output_of("readelf", "-h", library)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 instructions")
def test_a_symbol_itself_needs_little_stack(library, symbols):
    """A call outside the covered paths takes little stack, as threads may have small ones."""
    listing = output_of("objdump", "-d", "--no-show-raw-insn", library)
    bodies = dict(re.findall(r"^[0-9a-f]+ <(\w+)>:\n((?:.+\n)+)", listing, re.M))
    taken = {name: sum(int(size, 16) for size in re.findall(r"sub +\$0x(\w+),%rsp", bodies[name]))
             for name in symbols}
    assert {name: size for name, size in taken.items() if size > 1024} == {}
    assert max(taken.values()) > 100  # the pattern still fits what the compiler writes
