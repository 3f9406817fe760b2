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


@pytest.mark.torch
def test_a_job_whose_copies_take_longest_is_upload_bound(jobs, build, data, scratch):
    """A copy takes four times as long as a step. The figures say so while it runs, and afterwards."""
    env = {"LD_LIBRARY_PATH": build / "tests/gpu", "XDG_STATE_HOME": scratch}
    command = jobs.command_line(line(data, "bytes", 1, 0.024, 0, "stay=1"), path=data, flags=[f"--json={scratch}/summary"])
    with jobs.started(command, env=env) as process:
        assert read_line(process) == "trained"
        run, = json.loads(jobs.stoker("top", "--once", "--json").stdout)["runs"]
        page = jobs.stoker("top", "--once").stdout
        metrics = jobs.stoker("top", "--prometheus").stdout
        said = " ".join(process.communicate("go\n", timeout=60)[1].split())
    check_live(run["upload"], page, metrics)
    check_summary(json.loads((scratch / "summary").read_text()), said)
    assert run["bound"] == "upload"
    def recorded(*words):
        return jobs.stoker(*words, env=env).stdout
    assert "  advice: upload-bound: " in recorded("last")
    assert json.loads(recorded("report", "--json"))["upload"]["bytes"] == 2 * BYTES


def check_summary(summary, said):
    told, epochs = summary["upload"], summary["compared"]
    assert (told["batches"], told["bytes"], told["float_bytes"]) == (2 * IMAGES // BATCH, 2 * BYTES, 0)
    assert told["unlocked_bytes"] == 2 * IMAGES * 8  # labels
    assert told["stalled_s"] > 0.5 * (epochs["first"]["seconds"] + epochs["later"]["seconds"])
    assert summary["bound"] == "upload"
    advice = re.fullmatch(r"upload-bound: steps waited for copies to the GPU for (\d+)% of the later epochs; "
                          r".* were sent, as bytes from locked memory: .*", summary["advice"])
    assert advice and int(advice[1]) > 50
    assert f" in {told['batches']} batches, {told['sending_s'] + told['stalled_s']:.1f} s waiting" in said


def check_live(told, page, metrics):
    assert told["bytes"] == 2 * BYTES
    waited = told["sending_s"] + told["stalled_s"]
    assert f" in {told['batches']} batches, steps waited {waited:.1f} s for them" in page
    for name, value in (("uploads_total", told["batches"]), ("upload_bytes_total", told["bytes"]),
                        ("upload_wait_seconds_total", waited)):
        found = re.search(rf"^stoker_{name}{{.*}} (\S+)$", metrics, re.M)
        assert float(found[1]) == pytest.approx(value)


# ---- copies that the job begins by itself ----

ORDINARY = """
import sys, time, torch
from torch.utils.data import DataLoader, Dataset
class Files(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, index):
        return len(open(sys.argv[1], "rb").read())
torch.cuda._initialized = True
for _ in range(2):
    for _ in DataLoader(Files(), batch_size=2):
        time.sleep(0.2)  # beside which a busy machine's delays are little
"""


@pytest.mark.torch
def test_what_nobody_has_seen_is_not_judged(jobs, session_origin):
    """With CUDA the rest may be either, and the advice distinguishes them."""
    data = session_origin.files("ordinary", 1, 1000)[1]
    ran = jobs.run([sys.executable, "-c", ORDINARY, data / "file0000"], path=data, timeout=120)
    assert ran.json["bound"] == "none" and ran.json["upload"]["batches"] == 0
    assert ran.json["upload"]["cuda"] == 1
    assert "GPU-bound, or upload-bound if nvidia-smi shows" in ran.json["advice"]
