"""stoker._gpu_core over the driver of the tests: batches of this process's memory on their way to a
device. Memory is held meanwhile, and errors become exceptions."""

import os
import subprocess
import sys

import pytest

from checkout import BUILD, ROOT

pytest.importorskip("numpy")


BEGIN = """
import gc, os, sys, threading, weakref
import numpy as np
from cuda_world import fetch, give, take, world
from stoker import _gpu_core as core

class Holder:
    pass

def make(seed, count=4, side=20):
    return np.random.RandomState(seed).randint(0, 256, (count, side, side, 3), np.uint8)

plan = core.plan(0, 0, 3, 20, 20, (.5, .4, .3), (.2, .2, .3), (0, 0, 0))

def told(memory):
    images = np.zeros((len(memory), 8), np.int32)
    images.view(np.int64)[:, 0] = memory.ctypes.data + np.arange(len(memory)) * memory[0].nbytes
    images[:, 2:5] = 20, 20, 60
    images[:, 7] = np.arange(len(memory)) % 2
    return memoryview(images).cast("B")

def batch_of(memory, out):
    return plan, told(memory), memory.ctypes.data, memory.nbytes, out, memory.nbytes * 4

def here(memory):
    out = np.zeros(memory.size, np.float32)
    core.run(batch_of(memory, out.ctypes.data), 0, len(memory))
    return out.tobytes()
"""


def run(text):
    if not (ROOT / "build/gpu/kernel.txt").exists():
        pytest.skip("no nvcc: the kernel is not built")
    env = {**os.environ, "PYTHONPATH": f"{BUILD / 'python'}:{ROOT / 'tests/lib/tensors'}",
           "LD_LIBRARY_PATH": str(BUILD / "tests/gpu")}
    done = subprocess.run([sys.executable, "-c", BEGIN + text], env=env, check=False, timeout=120,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_batches_arrive_and_are_held_until_they_are_copied():
    run("""
device = core.open(0)
assert core.name(device) == "the first"
world.late_us = 60000
outs, wanted, memories, alive = [], [], [], []
for seed in range(12):
    memory = make(seed)
    core.pin(device, memory.ctypes.data, memory.nbytes)
    outs.append(take(memory.nbytes * 4))
    wanted.append(here(memory))
    holder = Holder()
    number = core.send(device, batch_of(memory, outs[-1]), holder, None)
    assert number == seed + 1
    memories.append(memory)
    alive.append(weakref.ref(holder))
    del holder
assert core.collect(device) > 0
assert alive[-1]() is not None, "it is not copied yet"
core.follow(device, 12, 0)
core.wait(device, 12)
assert core.collect(device) == 0
assert not any(holder() for holder in alive)
for memory in memories:
    core.unpin(device, memory.ctypes.data)
assert [fetch(out, len(made)) for out, made in zip(outs, wanted)] == wanted
for out in outs:
    give(out)
""")


def test_an_end_lets_go_of_all():
    run("""
device = core.open(0)
world.late_us = 50000
memory = make(1)
core.pin(device, memory.ctypes.data, memory.nbytes)
out = take(memory.nbytes * 4)
before = sys.getrefcount(memory)
for _ in range(3):
    core.send(device, batch_of(memory, out), memory, None)
assert sys.getrefcount(memory) > before
del device
gc.collect()
assert sys.getrefcount(memory) == before
""")


def test_errors_are_exceptions_and_let_go():
    run("""
device, memory = core.open(0), make(1)
before = sys.getrefcount(memory)
def error_of(kind, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        return str(error)
    raise AssertionError("no error")
world.locked_bytes = 0
assert "RLIMIT_MEMLOCK" in error_of(MemoryError, core.pin, device, memory.ctypes.data, 4096)
out = take(memory.nbytes * 4)
world.device_bytes = 0
assert "OUT_OF_MEMORY" in error_of(MemoryError, core.send, device, batch_of(memory, out), memory,
                                   None)
assert error_of(ValueError, core.wait, device, 7) and error_of(ValueError, core.unpin, device, 1)
wrong = list(batch_of(memory, out))
wrong[3] -= 1
assert "does not lie" in error_of(ValueError, core.send, device, tuple(wrong), memory, None)
assert sys.getrefcount(memory) == before
pid = os.fork()
if pid == 0:
    assert "child" in error_of(RuntimeError, core.collect, device)
    assert "spawn" in error_of(RuntimeError, core.open, 0)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert "there is no GPU 5" in error_of(core.NoDevice, core.open, 5)
""")


def test_threads_take_turns():
    run("""
device = core.open(0)
failed = []
def work(seed):
    try:
        memory = make(seed)
        core.pin(device, memory.ctypes.data, memory.nbytes)
        out = take(memory.nbytes * 4)
        for _ in range(20):
            core.wait(device, core.send(device, batch_of(memory, out), memory, None))
            assert fetch(out, memory.nbytes * 4) == here(memory)
            core.collect(device)
        core.unpin(device, memory.ctypes.data)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
""")


def test_a_child_of_fork_does_not_wait_for_a_thread_that_it_does_not_have():
    run("""
import time
device, memory = core.open(0), make(1)
core.pin(device, memory.ctypes.data, memory.nbytes)
out = take(memory.nbytes * 4)
world.late_us = 2000000
core.send(device, batch_of(memory, out), memory, None)
waiting = threading.Thread(target=core.wait, args=(device, 1))
waiting.start()
time.sleep(0.1)
pid = os.fork()
if pid == 0:
    try:
        core.unpin(device, memory.ctypes.data)
    except RuntimeError:
        os._exit(0)
for _ in range(600):
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        break
    time.sleep(0.1)
else:
    os.kill(pid, 9)
waiting.join()
assert ended and status == 0
""")
