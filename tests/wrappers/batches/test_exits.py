"""The interpreter's end is silent, whichever objects of torch's and Pillow's still live, and in whichever order it
takes modules apart."""

import importlib.util
import itertools
import subprocess
import sys

import pytest
from direct import HERE, environment
from slices import ALL

GROUPS = [
    ["persistent"], ["persistent_under_way", "without_workers"], ["under_way", "under_way_and_ended"],
    ["spawned"], ["in_a_cycle", "in_builtins"], ["in_a_thread"], ["stateful"], ["feed", "sending", "images"]]
OF_THE_PROGRAM = ["image_used_late", "transform_used_late", "fork_late"]
QUICK = [("kept", ["persistent", "under_way", "under_way_and_ended", *OF_THE_PROGRAM]),
         ("usual", ["in_a_cycle", "in_builtins", "feed", "sending", "images"])]
ORDERS = ["usual", "kept", "cleared"]


def end(order, cases):
    if "stateful" in cases and not importlib.util.find_spec("torchdata"):
        pytest.skip("no torchdata")
    done = subprocess.run([sys.executable, "-W", "ignore", "-B", HERE / "programs/exits.py", order, *cases],
                          env=environment(True), text=True, timeout=300, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("order, cases", itertools.product(ORDERS, GROUPS) if ALL else QUICK, ids=str)
def test_the_end_is_silent(order, cases):
    end(order, cases)


@pytest.mark.skipif(not ALL, reason="among the cases of the test above")
@pytest.mark.parametrize("order", ORDERS[:2])
def test_what_a_program_does_at_its_end_is_silent(order):
    end(order, OF_THE_PROGRAM)
