"""Each printed statement is true: its numbers are read back, and compared with --json."""

import json
import pathlib
import re
import shutil
import sys

import pytest

from job_fixtures import PROGRAMS
from jobs import Jobs
from origin import settle
from skipping import isolated_or_skip

HERE = pathlib.Path(__file__).parent
FILES = 9


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("words", FILES, 1000)[1]


def lines_of(ran):
    """The summary, whatever is broken over lines put together again."""
    said = ran.stderr[ran.stderr.index("\nstoker: ") + 1:]
    return re.sub(r"\n {4}(?=\S)", " ", said).splitlines()


def size(text):
    number, unit = text.split()
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)


# ---- its form ----

def test_the_line_at_the_start(jobs, data, scratch):
    """What, where, how large; and until when it is there."""
    def first(*flags, tier=None):
        return jobs.run(["true"], path=data, tier=tier, flags=flags).stderr.splitlines()[0]
    start = rf"stoker: caching {re.escape(str(data))} in "
    assert re.fullmatch(start + r"/dev/shm/stoker-0, at most [\d.]+ [MG]iB; "
                        r"removed at the end unless --keep", first())
    assert first("--keep").endswith("; stays until `stoker clear`")
    (scratch / "disk").mkdir()
    assert re.fullmatch(start + r"\S+/disk/stoker-0, at most 64.0 MiB; stays for the next run",
                        first(tier=f"{scratch}/disk:64M"))


def test_whatever_a_directory_is_called(jobs, scratch):
    """The line stays one line, and holds no command to a terminal."""
    path = scratch / "a\n\x1b[31mb"
    path.mkdir()
    ran = jobs.run(["true"], path=path)
    assert "\x1b" not in ran.stderr and f"{scratch}/a??[31mb" in ran.said
    assert ran.stderr.splitlines()[0].startswith(f"stoker: caching {scratch}/a??[31mb in /dev/shm/")


def test_twelve_lines_of_eighty_columns(jobs, origin):
    """Even where there is more to say; that it is left out is said."""
    source, mount = origin.directory("ten")
    (source / "empty").touch()
    (source / "written").write_bytes(b"x")
    (source / "database").write_bytes(b"SQLite format 3\0" + bytes(100))
    for number in range(3):
        (source / f"big{number}").write_bytes(bytes(3000))
    settle()
    (source / "young").write_bytes(b"x")
    origin.fs.latency_ms = 5  # enough for a line of the summary, on any machine
    script = """
import mmap, os, sys, time
os.chdir(sys.argv[1])
open("written", "a").close()
for name in "empty", "database", "young", "written":
    open(name).read()
for name in "big0", "big1", "big2":
    with open(name, "rb") as file:
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
import io
from PIL import Image
for mode, named in ("L", {}), ("RGB", {"progressive": True}), ("RGB", {}):
    file = io.BytesIO()
    Image.frombytes(mode, (200, 200), os.urandom(40000 * len(mode))).save(file, "JPEG", **named)
    Image.open(file).load()
"""
    ran = jobs.run([sys.executable, "-c", script, mount], path=mount,
                   env={"STOKER_MAX_FILE": "2000", "STOKER_MIN_AGE": "100", "STOKER_BLOCK": "0",
                        "STOKER_COMPLETE": "off"})
    summary = ran.stderr.splitlines()[1:]
    assert all(len(line) <= 80 or str(mount) in line for line in summary), summary
    assert len(summary) == 12 and "did not fit" not in ran.stderr, summary  # tests/unit/cli/test_lines.c: longer ones


# ---- epochs ----

@pytest.fixture(scope="module")
def trained(data, session_scratch, build):
    """A run of three epochs of two workers, each of whose samples opens its file twice and takes a while."""
    with isolated_or_skip() as place:
        return Jobs(place, build, session_scratch).run(
            [sys.executable, PROGRAMS / "passes.py", data, "3", "2", "2", "0.02"], path=data, timeout=120)


@pytest.mark.torch
def test_epochs_are_passes_of_the_data_loader(trained):
    """The opens of a sample make no difference, nor an earlier look at a batch."""
    ran, told = trained, trained.json
    assert told["epochs_by"] == "passes" and told["compared"]["epochs"] == 3 and told["upload"]["cuda"] == 0
    assert [(one["loader"], one["pass"], one["samples"], one["batches"], one["workers"])
            for one in told["passes"]] == [(1, number, FILES, 5, 2) for number in (1, 2, 3)]
    first, later = told["compared"]["first"], told["compared"]["later"]
    assert (first["count"], later["count"]) == (FILES, 2 * FILES)
    said = {name: numbers for name, *numbers in re.findall(
        r"^  (epochs? [\d-]+): (\d+) samples in ([\d.]+) s, (\d+)/s.*, ([\d.]+) s waiting for data",
        "\n".join(lines_of(ran)), re.M)}
    assert list(said) == ["epoch 1", "epochs 2-3"]
    for numbers, stretch in zip(said.values(), (first, later)):
        assert numbers[0] == str(stretch["count"])
        assert float(numbers[1]) == pytest.approx(stretch["seconds"], abs=0.0501)
        assert float(numbers[2]) == pytest.approx(stretch["count"] / stretch["seconds"], rel=0.001,
                                                  abs=0.501)
        assert float(numbers[3]) == pytest.approx(stretch["waited_s"], abs=0.0501)
        assert stretch["waited_s"] <= stretch["seconds"] <= told["seconds"]


@pytest.mark.torch
def test_samples_and_epochs_of_unusual_loaders(jobs, data):
    """The data set makes the batches, or the sampler does not end with the epoch."""
    ran = jobs.run([sys.executable, HERE / "programs/loader_kinds.py"], path=data, timeout=120)
    assert [(one["loader"], one["pass"], one["samples"], one["batches"]) for one in ran.json["passes"]] == [
        (loader, number, samples, 5)
        for loader, samples in enumerate((40, 5, 40, 40), 1) for number in (1, 2)]


@pytest.mark.torch
def test_ranks_are_in_the_same_epoch(jobs, data, scratch):
    """At the same time: samples of both, seconds of the wall, and never more of waiting than these."""
    (scratch / "ready").mkdir()
    ran = jobs.run([sys.executable, PROGRAMS / "passes.py", data, "2", "1", "0", "0.1", scratch / "ready"], path=data,
                   timeout=120)
    lines = [[float(word) for word in line.split()] for line in ran.stdout.splitlines()]
    assert len(ran.json["passes"]) == 2
    for told in ran.json["passes"]:
        assert (told["samples"], told["processes"], told["workers"]) == (2 * FILES, 2, 0)
        begun, ended = zip(*[line[2:] for line in lines if line[0] == told["pass"]])
        wall, lasted = max(ended) - min(begun), sum(ended) - sum(begun)
        assert told["seconds"] == pytest.approx(min(wall, lasted), abs=0.4)
        assert told["waited_s"] <= told["seconds"]


@pytest.mark.torch
def test_each_rank_has_its_figures(jobs, data, torchrun):
    """As the ranks themselves have counted them; and the line names the rank that waited."""
    ran = jobs.run([*torchrun, PROGRAMS / "ranks.py", data, "2", "2", "0.3"], path=data, timeout=120,
                   env={"STOKER_AHEAD": "off"})
    own = sorted((json.loads(line) for line in ran.stdout.splitlines()), key=lambda rank: rank["rank"])
    assert [rank["samples"] for rank in own] == [10, 8]
    assert [rank["rank"] for rank in ran.ranks] == [0, 1] and ran.json["rank"] is None
    for rank, told in zip(own, ran.ranks):
        assert (told["samples"], told["batches"]) == (rank["samples"], rank["batches"])
        assert (told["opens"], told["fills"], told["hits"]) == (rank["samples"], *[rank["samples"] // 2] * 2)
        assert told["bytes_cache"] == told["bytes_origin"] == rank["bytes"] // 2
        assert told["waited_s"] == pytest.approx(rank["waited_s"], abs=0.3)
    for name in "opens", "hits", "fills", "bytes_cache", "bytes_origin":
        assert sum(told[name] for told in ran.ranks) == ran.json[name]
    usual, longest = (told["waited_s"] for told in ran.ranks)
    assert f"  rank 1 waited longest for data: {longest:.1f} s (median of 2 ranks: {usual:.1f} s)" in ran.stderr


@pytest.mark.torch
def test_more_ranks_than_are_counted(jobs, data):
    """Sixteen are counted. A rank with one half of its figures is left out. All wait alike, which has no line."""
    ran = jobs.run([sys.executable, PROGRAMS / "many_ranks.py", data], path=data, timeout=120)
    assert [rank["rank"] for rank in ran.ranks] == list(range(4, 16))
    assert all((rank["samples"], rank["opens"]) == (FILES, 2 * FILES) for rank in ran.ranks)
    assert "waited longest" not in ran.stderr


def test_one_rank_is_the_run(jobs, data):
    ran = jobs.run(["sh", "-c", 'RANK=3 cat "$0"/*', data], path=data)
    assert ran.opens == FILES and "ranks" not in ran.json


@pytest.mark.torch
def test_the_times_add_up(trained):
    ran, time = trained, trained.json["time"]
    assert time["fetch_s"] > 3 * FILES * 0.02 and time["origin_s"] == ran.json["origin_wait_s"]
    assert time["other_s"] == pytest.approx(max(0, time["fetch_s"] - sum(
        time[name] for name in ("origin_s", "decode_s", "resize_s", "batches_s", "cache_s"))), abs=1e-4)
    line, = [line for line in lines_of(ran) if line.startswith("  time summed over processes: ")]
    for name, key in (("storage", "origin_s"), ("cache about", "cache_s"), ("the job's transforms", "other_s")):
        said = re.search(rf"\b{name} ([\d.]+) s", line)
        assert (said and said[1]) == (f"{time[key]:.1f}" if time[key] >= 0.05 else None)


def test_without_a_data_loader_opens_are_called_opens(jobs, data):
    files = [data / f"file000{number}" for number in range(4)]
    ran = jobs.run(["sh", "-c", "cat $0 $0 $1 >/dev/null", *files[:2]], path=data, stdin=None)
    assert ran.json["epochs_by"] == "opens" and ran.json["passes"] == []
    assert "  first, second, ... open of a file: 2, 1" in ran.stderr
    once = jobs.run(["cat", files[0]], path=data)
    assert "  first open of a file: 1\n" in once.stderr
    assert "epoch" not in ran.stderr


def test_files_that_nobody_told_apart_are_not_numbered(jobs, origin):
    """A file without a record, as a young one, may have been opened before."""
    source, mount = origin.directory("apart")
    for name in "one", "two":
        (source / name).write_bytes(b"x")
    settle()
    for name in "young", "new":
        (source / name).write_bytes(b"x")
    def run(*names):
        line = ["sh", "-c", "cd $0; for i in 1 2 3; do cat $* >/dev/null; done", mount, *names]
        age = "100" if names[0] == "new" else "0.05"
        ran = jobs.run(line, path=mount, env={"STOKER_MIN_AGE": age})
        return ran.json["files"], ran.json["unnumbered"], lines_of(ran)[:2]
    assert run("one", "two") == (2, 0, [
        "stoker: 6 opens of 2 files, 66.7% from the cache",
        "  first, second, ... open of a file: 2, 2, 2"])
    files, unnumbered, said = run("new", "young")
    assert (files, unnumbered) == (0, 6)
    assert said[0] == "stoker: 6 opens, 0.0% from the cache" and "open of a file" not in said[1]


def test_files_of_which_some_were_told_apart(jobs, origin):
    source, mount = origin.directory("some")
    for name in "one", "written":
        (source / name).write_bytes(b"x")
    settle()
    ran = jobs.run(["sh", "-c", "cd $0; echo >>written; for i in 1 2 3; do cat one written; done",
                    mount], path=mount)
    assert (ran.files, ran.json["unnumbered"]) == (1, 3)
    assert lines_of(ran)[:2] == ["stoker: 6 opens of at least 1 file, 33.3% from the cache",
                                 "  first, second, ... open of a file: 1, 1, 1"]


def test_how_fast_opens_were_is_said_of_what_lasted(jobs, data):
    script = 'for i in 1 2 3 4; do cat "$0"; sleep 0.4; done; for i in 1 2 3; do cat "$0"; done'
    ran = jobs.run(["sh", "-c", f"({script}) >/dev/null", data / "file0000"], path=data, stdin=None)
    seconds = ran.json["compared"]["later"]["seconds"]
    assert seconds >= 1
    assert f"  2nd and later opens of a file: 6 in {seconds:.1f} s, " in ran.stderr


# ---- what was not served ----

def test_what_was_bypassed_has_its_size_and_setting(jobs, origin):
    source, mount = origin.directory("sizes")
    for number in range(3):
        (source / f"big{number}").write_bytes(bytes(300000))
    settle()
    ran = jobs.run(["sh", "-c", 'cat "$0"/* "$0"/* >/dev/null', mount], path=mount, stdin=None,
                   env={"STOKER_MAX_FILE": "2000", "STOKER_BLOCK": "0"})
    assert (ran.bypassed, ran.json["bypassed_bytes"]) == ({"large": 6}, {"large": 900000})
    line, = [line for line in lines_of(ran) if "not cached" in line]
    said = re.fullmatch(r"  not cached: 6 large, (.*) \(above STOKER_MAX_FILE; would change it: "
                        r"STOKER_BLOCK above 0, or a larger STOKER_MAX_FILE\)", line)
    assert size(said[1]) == pytest.approx(900000, rel=0.001)


def test_a_big_file_that_is_read_by_blocks_is_not_bypassed(jobs, origin):
    source, mount = origin.directory("blocks")
    (source / "big").write_bytes(bytes(300000))
    settle()
    ran = jobs.run(["cat", mount / "big"], path=mount, env={"STOKER_MAX_FILE": "2000"})
    assert ran.bypassed == {"large": 1} and ran.json["bypassed_bytes"] == {"large": 0}
    assert "not cached" not in ran.stderr
    reads = ran.json["blocks"]["reads"]
    assert reads > 0 and f"  big files: {reads} reads answered from blocks (" in ran.stderr


def test_the_advice_says_how_much_did_not_fit(jobs, origin):
    source, mount = origin.directory("more")
    for number in range(8):
        (source / f"file{number}").write_bytes(bytes(1 << 20))
    settle()
    ran = jobs.run(["sh", "-c", 'cat "$0"/* >/dev/null', mount], path=mount, stdin=None,
                   tier="/dev/shm:5M")
    lost = ran.json["bypassed_bytes"]
    assert sum(lost.values()) >= 1 << 20 and set(lost) <= {"budget", "tier", "memory"}
    advice, = [line for line in lines_of(ran) if line.startswith("  advice: ")]
    said = re.match(r"  advice: (.*iB) found no room in the 5.0 MiB of the cache(?:, and (.*iB) no free memory)?: ",
                    advice)
    assert size(said[1]) == pytest.approx(lost.get("budget", 0) + lost.get("tier", 0), rel=0.02)
    assert (size(said[2]) if said[2] else 0) == pytest.approx(lost.get("memory", 0), rel=0.02)
    assert advice == "  advice: " + ran.json["advice"]


# ---- nothing was served, or was it? ----

def test_scripts_that_are_run_are_no_data(jobs, data, scratch):
    """Such as those that find a Python, of pyenv and conda."""
    script = scratch / "python"
    script.write_text("#!/bin/bash\nsleep 3\n")
    script.chmod(0o755)
    ran = jobs.run([script], path=data)
    assert "NOTHING WAS SERVED" in ran.said and "Files were open" not in ran.said


def test_files_that_were_open_elsewhere_are_named(jobs, data, scratch):
    """In two classes of one data set: what they have in common is named."""
    for name in "cat", "dog":
        (scratch / "photos" / name).mkdir(parents=True)
        (scratch / "photos" / name / "1.jpg").write_bytes(b"x")
    script = "import sys, time; files = [open(name) for name in sys.argv[1:]]; time.sleep(3)"
    ran = jobs.run([sys.executable, "-c", script, *sorted(scratch.glob("photos/*/*"))], path=data)
    place = f"{scratch}/photos"
    assert f"  Files were open in {place}: try --path {place}" in lines_of(ran)
    assert [one["directory"] for one in ran.json["elsewhere"]] == [place]
    assert "Is the path right?" not in ran.stderr and "srun" not in ran.stderr


def test_another_name_of_what_is_covered_is_named(jobs, data, scratch):
    (scratch / "link").symlink_to(data)
    for argument in f"{scratch}/link", f"--data={scratch}/link":
        ran = jobs.run(["sh", "-c", 'cat "${0#--data=}/file0000"', argument], path=data, stdin=None)
        assert ran.opens == 0
        assert (f"  {scratch}/link is another name of what --path names: try --path {scratch}/link"
                in lines_of(ran))
    assert jobs.run(["cat", scratch / "link" / "file0000"], path=scratch / "link").opens == 1


def test_a_run_inside_another_has_served(jobs, data, scratch):
    inner = jobs.command_line(["cat", data / "file0000", data / "file0000"], path=data,
                              flags=[f"--json={scratch}/inner"])
    ran = jobs.run(["sh", "-c", '"$@"; "$@"', "sh", *inner], path=data, stdin=None)
    assert ran.json["inner"] == {"runs": 2, "opens": 4, "hits": 3}
    assert "NOTHING WAS SERVED" not in ran.stderr
    assert "stoker: served by 2 inner runs of stoker: 4 opens, 75.0% from the cache" in ran.stderr
    assert "stays while other runs last" in ran.stderr


def photograph(path):
    image = pytest.importorskip("PIL.Image")
    image.effect_mandelbrot((320, 240), (-2, -1.5, 1, 1.5), 50).convert("RGB").save(path)
    return path


def test_images_that_came_from_elsewhere(jobs, data, scratch):
    """As those of a table do: nothing went wrong, and nothing was cached."""
    photograph(scratch / "one.jpg")
    script = ("import io, sys; from PIL import Image\n"
              "for _ in range(3): Image.open(io.BytesIO(open(sys.argv[1], 'rb').read())).tobytes()")
    ran = jobs.run([sys.executable, "-c", script, scratch / "one.jpg"], path=data, timeout=60)
    assert ran.json["decode"]["images"] == 3
    assert "NOTHING WAS SERVED" not in ran.stderr and "Is the path right?" not in ran.stderr
    assert (f"stoker: no file below {data} was opened; the images came from elsewhere"
            in lines_of(ran))
    assert re.search(r"^  3 images decoded", ran.stderr, re.M)


def test_results_of_cached_functions_were_served(jobs, data, scratch, state):
    """The only use of Stoker: no file is opened, no image decoded, and nothing went wrong."""
    (scratch / "results.py").write_text("""
import stoker
@stoker.cached
def double(number):
    return 2 * number
@stoker.cached
def fail(number):
    raise ValueError
assert [double(number) for number in [*range(5)] * 3] == [0, 2, 4, 6, 8] * 3
try:
    fail(1)
except ValueError:
    pass
""")
    def run(*flags):
        ran = jobs.run([sys.executable, scratch / "results.py"], path=data, timeout=60, flags=flags,
                       env=state)
        return ran, lines_of(ran)
    ran, said = run()
    assert ran.json["results"] == {"found": 10, "made": 5, "kept": 5}
    assert f"stoker: no file below {data} was opened; results of functions were kept" in said
    assert "  15 results of stoker.cached: 10 found, 5 made" in said
    assert "NOTHING WAS SERVED" not in ran.stderr and "Is the path right?" not in ran.stderr
    ran, said = run("--decoded=0")
    assert ran.json["results"] == {"found": 0, "made": 15, "kept": 0}
    assert "  15 results of stoker.cached: 0 found, 15 made, 15 not kept" in said
    assert "NOTHING WAS SERVED" in ran.stderr


def test_nothing_saved_is_not_said(jobs, scratch):
    directory = scratch / "photographs"
    directory.mkdir()
    photograph(directory / "one.jpg")
    settle()
    script = "import sys; from PIL import Image\nfor _ in range(4): Image.open(sys.argv[1]).tobytes()"
    ran = jobs.run([sys.executable, "-c", script, directory / "one.jpg"], path=directory, timeout=60)
    told = ran.samples
    said = re.search(r"^  4 images decoded, (\d+) from decoded copies \((\d+) kept, (.*)\)(.*)$",
                     "\n".join(lines_of(ran)), re.M)
    assert (int(said[1]), int(said[2])) == (told["hits"], told["kept"]) and told["hits"] > 0
    assert size(said[3]) == pytest.approx(told["kept_bytes"], rel=0.05)
    assert said[4] == ("" if told["saved_s"] < 0.05 else f", {told['saved_s']:.1f} s saved")


@pytest.mark.parametrize("flags, none", [([], True), (["--decoded=0"], False), (["--decoded=1M"], False)])
def test_no_room_for_samples(jobs, scratch, flags, none):
    """In a small cache entries would have little room, so the store is not begun, unless it is
    asked for."""
    directory = scratch / "photographs"
    directory.mkdir()
    photograph(directory / "one.jpg")
    settle()
    script = "import sys; from PIL import Image\nfor _ in range(4): Image.open(sys.argv[1]).tobytes()"
    ran = jobs.run([sys.executable, "-c", script, directory / "one.jpg"], path=directory, timeout=60,
                   tier="/dev/shm:4M", flags=flags)
    said = ("4 images decoded, no decoded copies kept: no room in the cache; --tier DIR:SIZE, or --decoded SIZE, "
            "makes some")
    assert (said in ran.said) == none and (ran.samples["kept"] > 0) == (flags == ["--decoded=1M"])


# ---- what is missing ----

def test_a_python_that_is_too_old_is_said_once(jobs, data):
    """Such a Python may not be here. The module that runs at the start of each gets another
    version."""
    script = ("import runpy, sys, os\n"
              "place = [p for p in os.environ['PYTHONPATH'].split(':') if p.endswith('site.zip')][0]\n"
              "import zipfile\n"
              "code = zipfile.ZipFile(place).read('sitecustomize.py')\n"
              "sys.version_info = (3, 9, 2, 'final', 0)\n"
              "sys.modules['sitecustomize'] = sys\n"
              "sys.modules.pop('_stoker_waiting', None)\n"
              "exec(compile(code, place + '/sitecustomize.py', 'exec'), "
              "{'__name__': 'sitecustomize', '__file__': place + '/sitecustomize.py'})\n"
              "open(sys.argv[1], 'rb').read()")
    ran = jobs.run([sys.executable, "-c", script, data / "file0000"], path=data)
    assert ran.json["refused_python"] == 309
    assert sum("Python 3.9: images and batches are left as they are" in line
               for line in lines_of(ran)) == 1
    assert "Python" not in jobs.run([sys.executable, "-c", "open('/dev/null')"], path=data).stderr


@pytest.mark.parametrize("kept", [[], ["python/stoker/site.zip"]], ids=["nothing", "what does not decode"])
def test_a_package_that_is_not_there_is_said(jobs, place, data, scratch, kept):
    """The second is what a Python before 3.11 is given."""
    for name in "stoker", "libstoker.so", *kept:
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(jobs.build / name, scratch / name)
    alone = Jobs(place, scratch, scratch)
    line = "images and batches are left as they are: the Python package is not installed beside"
    assert line in alone.run([sys.executable, "-c", "pass"], path=data).said
    assert line not in alone.run(["true"], path=data).said
    assert line not in alone.run([sys.executable, "-c", "pass"], path=data,
                                 flags=["--no-decode", "--no-batches"]).said


@pytest.mark.torch
def test_opencv_is_said_to_decode_itself_where_it_does(jobs, scratch):
    pytest.importorskip("cv2")
    directory = scratch / "photographs"
    directory.mkdir()
    for number in range(3):
        photograph(directory / f"{number}.jpg")
    settle()
    script = ("import sys, glob, cv2; from torch.utils.data import DataLoader\n"
              "names = glob.glob(sys.argv[1] + '/*')\n"
              "for _ in DataLoader(names, batch_size=1, collate_fn=lambda n: cv2.imread(n[0])): pass")
    for flags, images in ([], 3), (["--no-decode"], 0):
        ran = jobs.run([sys.executable, "-c", script, directory], path=directory, flags=flags, timeout=120)
        assert ran.files == 3 and ran.json["opencv"] == 1 and ran.json["decode"]["images"] == images
        assert any("OpenCV (cv2) was seen: files that it reads are cached" in line
                   for line in lines_of(ran)) == (images == 0)
        assert ran.opens == (3 if images else 6)


def test_operations_of_pillow_are_counted(jobs, scratch):
    """Those that were done here; all else would be Pillow's own work."""
    directory = scratch / "photographs"
    directory.mkdir()
    photograph(directory / "1.jpg")
    settle()
    script = ("import sys; from PIL import Image, ImageEnhance\n"
              "image = Image.open(sys.argv[1]).convert('RGB')\n"
              "for amount in 0.5, 1.5, 2: ImageEnhance.Brightness(image).enhance(amount).tobytes()")
    ran = jobs.run([sys.executable, "-c", script, directory / "1.jpg"], path=directory, flags=["--verbose"])
    count = ran.json["decode"]["operations"]
    assert count >= 3
    assert f"  {count} operations of Pillow's done here (blends, colours, blurs, warps)" in lines_of(ran)
