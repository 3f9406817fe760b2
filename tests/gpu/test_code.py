"""The code that nvcc made of the kernel, and the driver's calls beside CUDA's own header: where
there is nvcc, and CUDA's header."""

import pathlib
import re
import subprocess

import pytest

from checkout import ROOT


BUILD = ROOT / "build/gpu"
CUDA = pathlib.Path("/usr/local/cuda")
ENTRIES = re.findall(r"^ENTRY\((\w+),", (ROOT / "gpu/entries.def").read_text(), re.M)


def calls_of(table):
    """(our name, symbol, parameters) of all that a table of calls has."""
    return re.findall(r"^CALL\((\w+), (\w+),\s*\((.*?)\)\)$", (ROOT / table).read_text(), re.M | re.S)


CALLS = calls_of("gpu/calls.def")
DEVICES = ["sm_80", "sm_90", "sm_100"]
MOST_REGISTERS = 64  # half of the threads that a multiprocessor can have
# calls.def has these in the place of CUDA's own types.
TYPES = {"CUcontext|CUmodule|CUfunction|CUstream|CUevent": "void *",
         "CUdevice_attribute|CUdevice|CUresult": "int", "CUdeviceptr": "unsigned long long"}


def made(name):
    if not (BUILD / name).exists():
        pytest.skip("no nvcc: the kernel is not built")
    return (BUILD / name).read_text()


def cuda(name):
    if not (CUDA / name).exists():
        pytest.skip(f"no {CUDA / name}")
    return CUDA / name


@pytest.mark.parametrize("device", DEVICES)
def test_no_register_is_spilled(device):
    if device not in made("kernel.txt"):
        pytest.skip(f"this nvcc knows no {device}")
    said = re.findall(rf"Compiling entry function '(\w+)' for '{device}'.*?(\d+) bytes stack frame, "
                      r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
                      made("kernel.txt"), re.S)
    assert sorted(name for name, *_ in said) == sorted(ENTRIES)
    for name, *spilled, registers in said:
        assert spilled == ["0", "0", "0"], name
        assert int(registers) <= MOST_REGISTERS, name


def test_ptx_stores_sixteen_bytes_at_once_and_has_no_local_memory():
    text = made("kernel.ptx")
    assert re.search(r"^\.version 6\.3$", text, re.M) and re.search(r"^\.target sm_75$", text, re.M)
    bodies = dict(zip(ENTRIES, re.split(r"^\.visible \.entry ", text, flags=re.M)[1:]))
    for name, body in bodies.items():
        assert body.startswith(name)
        assert re.search(r"st\.global\.v4\.[bu]32", body), name
        assert "ld.global.nc.u32" in body, name
        assert ".local" not in body, name


def plain(parameter, types=TYPES):
    """The type of a parameter, as calls.def has it."""
    words = re.sub(r"\bunsigned int\b", "unsigned", parameter)
    for theirs, ours in types.items():
        words = re.sub(rf"\b({theirs})\b", ours, words)
    words = words.replace("*", " * ").split()
    return words if words[-1] == "*" else words[:-1]


@pytest.mark.parametrize("symbol, parameters", [call[1:] for call in CALLS])
def test_calls_are_as_in_cuda_s_header(symbol, parameters):
    header = cuda("include/cuda.h").read_text()
    name = re.sub(r"_v2$", "", symbol)
    theirs = re.search(rf"CUresult CUDAAPI {name}\(([^)]*)\);", header).group(1)
    assert [plain(one) for one in parameters.split(",")] == [plain(one) for one in theirs.split(",")]
    newer = re.search(rf"^ *#define +{name} +(?:__CUDA_API_PT[DS][SZ]\()?(\w+)", header, re.M)
    assert symbol == (newer.group(1) if newer else name)


def symbols_of(library):
    listed = subprocess.run(["nm", "-D", library], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" T (\w+)", listed))


def test_calls_are_the_driver_s():
    assert {symbol for _, symbol, _ in CALLS} <= symbols_of(cuda("lib64/stubs/libcuda.so"))
