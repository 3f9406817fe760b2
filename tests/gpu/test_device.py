"""Runs the program of `make test-gpu` without a device: over the driver of the tests, which does
all of it but fast. Runs it too where there is no driver, or no kernel was built."""

import os
import shutil
import subprocess

import pytest

from checkout import BUILD, ROOT


DEVICE = BUILD / "tests/device"


def run(program, *arguments, **env):
    return subprocess.run([program, *arguments], env={**os.environ, **env}, timeout=300, check=False,
                          capture_output=True, text=True)


def without_nvcc(tmp_path):
    """Builds the program as where there is no nvcc."""
    subprocess.run([ROOT / "gpu/image.sh", tmp_path / "kernel"], env={**os.environ, "NVCC": ""},
                   check=True)
    objects = [BUILD / "obj/tests/gpu/device.o", *(BUILD / "obj/base").glob("**/*.o")]
    subprocess.run(["gcc", "-fno-lto", f"-I{ROOT}", tmp_path / "kernel.image.c", *objects,
                    BUILD / "libstokergpu.a", "-o", tmp_path / "device", "-lm", "-ldl", "-pthread"],
                   check=True)
    return tmp_path / "device"


def test_all_of_it_runs_over_the_driver_of_the_tests():
    if not (ROOT / "build/gpu/kernel.txt").exists():
        pytest.skip("no nvcc: the kernel is not built")
    done = run(DEVICE, "--dry", LD_LIBRARY_PATH=str(BUILD / "tests/gpu"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", all equal" in done.stdout
    assert done.stdout.count("wanted") == 8, done.stdout


def test_no_driver_is_said_and_skipped(tmp_path):
    if not (ROOT / "build/gpu/kernel.txt").exists():
        pytest.skip("no nvcc: the kernel is not built")
    (tmp_path / "libcuda.so.1").write_bytes(b"no library")
    done = run(DEVICE, LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 77
    assert done.stdout.startswith("skipped: no")


def test_no_kernel_is_said_and_skipped(tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    done = run(without_nvcc(tmp_path), LD_LIBRARY_PATH=str(BUILD / "tests/gpu"))
    assert done.returncode == 77
    assert done.stdout == "skipped: not built: there was no nvcc, so there is no kernel for a GPU\n"


def test_a_compiler_that_cannot_is_said_and_left_alone(tmp_path):
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("#!/bin/sh\necho 'nvcc fatal   : no such architecture' >&2\nexit 1\n")
    nvcc.chmod(0o755)
    made = subprocess.run([ROOT / "gpu/image.sh", tmp_path / "kernel", "80"], check=True,
                          env={**os.environ, "NVCC": str(nvcc)}, capture_output=True, text=True)
    assert made.stderr == (f"make: {nvcc} makes no kernel for a GPU, so there will be none: "
                           "nvcc fatal   : no such architecture\n")
    assert "stk_gpu_fatbin[]" in (tmp_path / "kernel.image.c").read_text()
