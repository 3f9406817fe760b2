"""The advice on copies to a GPU: by stoker.Loader on the driver of the tests, whose copies are as
slow as wanted. It covers jobs that copy by themselves, too. tests/unit/cli/test_advice.c has what else may be
the bound, of counters made up; tests/wrappers/loader/test_uploads.py has the counters."""

import json
import pathlib
import re
import sys

import pytest

from jobs import read_line

PROGRAM = pathlib.Path(__file__).parent / "programs/uploads.py"
IMAGES, BATCH, PIXELS = 160, 8, 3 * 64 * 64
BYTES = IMAGES * (PIXELS + 8)  # of an epoch, with its labels


@pytest.fixture(scope="module")
def data(session_origin, repository):
    if not (repository / "build/gpu/kernel.txt").exists():
        pytest.skip("no nvcc: the kernel is not built")
    return session_origin.files("uploads", IMAGES, PIXELS)[1]


def line(data, *arguments):
    return [sys.executable, PROGRAM, data, *map(str, arguments)]


@pytest.fixture
def train(jobs, build, data):
    def train(*arguments, **more):
        return jobs.run(line(data, *arguments), path=data, timeout=300,
                        env={"LD_LIBRARY_PATH": build / "tests/gpu"}, **more)
    return train


@pytest.mark.torch
def test_a_job_whose_copies_take_longest_is_upload_bound(train):
    """A copy takes four times as long as a step; and the figures say so."""
    ran = train("bytes", 2, 0.012, 0)
    told, epochs = ran.json["upload"], ran.json["compared"]
    assert (told["batches"], told["bytes"], told["float_bytes"]) == (2 * IMAGES // BATCH, 2 * BYTES, 0)
    assert told["unlocked_bytes"] == 2 * IMAGES * 8  # labels
    assert told["stalled_s"] > 0.5 * (epochs["first"]["seconds"] + epochs["later"]["seconds"])
    assert ran.json["bound"] == "upload"
    advice = re.fullmatch(r"upload-bound: steps waited for copies to the GPU for (\d+)% of the later epochs; "
                          r".* were sent, as bytes from locked memory: .*", ran.json["advice"])
    assert advice and int(advice[1]) > 50
    assert f" in {told['batches']} batches, {told['sending_s'] + told['stalled_s']:.1f} s waiting" in ran.said


@pytest.mark.torch
def test_everybody_is_told(jobs, build, data, scratch):
    """While it runs, and afterwards."""
    env = {"LD_LIBRARY_PATH": build / "tests/gpu", "XDG_STATE_HOME": scratch}
    with jobs.started(jobs.command_line(line(data, "bytes", 2, 0, 0, "stay=1"), path=data), env=env) as process:
        assert read_line(process) == "trained"
        run, = json.loads(jobs.stoker("top", "--once", "--json").stdout)["runs"]
        page = jobs.stoker("top", "--once").stdout
        metrics = jobs.stoker("top", "--prometheus").stdout
        process.communicate("go\n", timeout=60)
    told = run["upload"]
    assert run["bound"] == "upload" and told["bytes"] == 2 * BYTES
    waited = told["sending_s"] + told["stalled_s"]
    assert f" in {told['batches']} batches, steps waited {waited:.1f} s for them" in page
    for name, value in (("uploads_total", told["batches"]), ("upload_bytes_total", told["bytes"]),
                        ("upload_wait_seconds_total", waited)):
        found = re.search(rf"^stoker_{name}{{.*}} (\S+)$", metrics, re.M)
        assert float(found[1]) == pytest.approx(value)
    def recorded(*words):
        return jobs.stoker(*words, env=env).stdout
    assert "  advice: upload-bound: " in recorded("last")
    assert json.loads(recorded("report", "--json"))["upload"]["bytes"] == 2 * BYTES


# ---- copies that the job begins by itself ----

ORDINARY = """
import sys, time, torch
from torch.utils.data import DataLoader, Dataset
class Files(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, index):
        return len(open(sys.argv[1], "rb").read())
torch.cuda._initialized = sys.argv[2] == "cuda"
for _ in range(2):
    for _ in DataLoader(Files(), batch_size=2):
        time.sleep(0.2)  # beside which a busy machine's delays are little
"""


@pytest.mark.torch
@pytest.mark.parametrize("where", ["cuda", "cpu"])
def test_what_nobody_has_seen_is_not_judged(jobs, session_origin, where):
    """With CUDA the rest may be either, and the advice distinguishes them; without, neither."""
    data = session_origin.files("ordinary", 1, 1000)[1]
    ran = jobs.run([sys.executable, "-c", ORDINARY, data / "file0000", where], path=data, timeout=120)
    assert ran.json["bound"] == "none" and ran.json["upload"]["batches"] == 0
    assert ran.json["upload"]["cuda"] == (where == "cuda")
    assert ("GPU-bound, or upload-bound if nvidia-smi shows" in ran.json["advice"]) == (where == "cuda")
    assert "GPU" in ran.json["advice"] if where == "cuda" else "GPU" not in ran.json["advice"]
