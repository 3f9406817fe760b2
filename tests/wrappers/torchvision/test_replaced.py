"""Whatever a program does with torchvision's functions, it sees what it would without the hook."""

import sys

import pytest
from covered import build, jobs, place, scratch, session_scratch  # noqa: F401
from matrix import record
from slices import ALL

LOOK = """
import sys
from torchvision import transforms as T
from PIL import Image
image = Image.open(sys.argv[1]).convert("RGB")
replaced = {hasattr(each, "__wrapped__") for each in (
    T.functional.to_tensor, T.functional.normalize, T.Compose.__call__, T.RandomResizedCrop.get_params)}
print(*replaced, T.ToTensor()(image).sum().item())
"""


def test_replaced_functions(tell, version):
    plain = tell("plainly", "replaced.py")
    hooked = tell("hooked", "replaced.py")
    assert plain["replaced"] == [False] * 4 and hooked["replaced"] == [True] * 4
    different = [f"{name}: {each} / {hooked['outcomes'][name]}"
                 for name, each in plain["outcomes"].items() if each != hooked["outcomes"][name]]
    assert not different, "\n".join(different)
    raised = [name for name, each in plain["outcomes"].items() if each[0] == "raised"]
    assert not raised
    has_v2 = plain["outcomes"]["among_other_values"][1] is not None
    assert hooked["counts"]["tensors"] > (30 if has_v2 else 5)
    record("torchvision", "replaced functions", version, f"{len(plain['outcomes'])} cases", "same")


# The best kernels of this processor are mostly those for AVX2.
@pytest.mark.parametrize("simd", ["c", *["avx2"] * ALL, ""])
def test_colours(tell, version, simd):
    count = 10_000 if ALL else 600
    env = {"STOKER_SIMD": simd} if simd else {}
    plain, hooked = tell("plainly", "colours.py", 0, count), tell("hooked", "colours.py", 0, count, env=env)
    different = [f"seed {seed}: {each} / {hooked['outcomes'][seed]}"
                 for seed, each in plain["outcomes"].items() if each != hooked["outcomes"][seed]]
    assert not different, "\n".join(different)
    raised = sum(each[0] == "raised" for each in plain["outcomes"].values())
    assert 0 < raised < count / 3
    assert hooked["calls"] > count / 4
    record("torchvision", "changes of colours", version, f"{count} cases", "same")


def test_flags(jobs, scratch, folder):  # noqa: F811
    """In `stoker run`: as it is, or without all."""
    script = scratch / "look.py"
    script.write_text(LOOK)
    photo = next(folder.glob("*/0.jpg"))

    def run(*flags, **options):
        ran = jobs.run([sys.executable, script, photo], path=folder, flags=flags, timeout=600,
                       **options)
        replaced, total = ran.stdout.split()  # all of them, or none
        return replaced == "True", ran.json["decode"]["images"], total

    replaced, images, total = run()
    assert (replaced, images) == (True, 1)
    assert run("--no-decode") == (False, 0, total)


def test_a_variable_as_its_flag(jobs, folder):  # noqa: F811
    """A job has the same environment by either. test_every_transform_decoding_only has one in such an environment."""
    def environment(*flags, **options):
        lines = jobs.run(["env"], path=folder, flags=flags, **options).stdout.splitlines()
        return [line for line in sorted(lines) if not line.startswith(("STOKER_RUN=", "STOKER_ORDERS="))]

    by_flag = environment("--no-torchvision")
    assert "STOKER_TORCHVISION=off" in by_flag
    assert environment(env={"STOKER_TORCHVISION": "off"}) == by_flag


def test_a_function_of_ours_that_fails_is_as_if_nothing_had_been_tried(tell, version, folder):
    *different, failed = tell("hooked", "faults.py", next(folder.glob("*/0.jpg")), lines=True)
    assert not different, "\n".join(different[:20]) + f"\n{len(different)} differences"
    assert int(failed.split()[0]) > 60
    record("torchvision", "functions of ours that fail", version, failed, "same")


def test_what_need_not_be_done_again(tell):
    """Magnitudes are built once. Crops and flips of an image in memory are noted."""
    built, *drawn = tell("hooked", "spared.py", lines=True)
    assert built.split() == ["True", "False", "False"] * 3
    assert drawn == ["False", "False"]


def test_an_error_of_another_thread_is_the_programs(tell, folder):
    """Whatever its class, and wherever it comes. Only an error within a file's finalizer is dropped, by Python."""
    seen, rounds = tell("hooked", "interrupted.py", next(folder.glob("*/0.jpg")))
    assert seen >= rounds - 2
