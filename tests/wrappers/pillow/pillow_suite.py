"""Pillow's own tests, without the hook, with it, and with a sample store, too: the same ones pass
and fail.

    python3 tests/wrappers/pillow/pillow_suite.py [NAME]...

It runs the tests of the version that this interpreter has, or those of some files, such as
test_image_resize. They are from its source distribution, which pip fetches into build/pillow-tests.
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as xml

import PIL

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / os.environ.get("STOKER_BUILD", "build")
SOURCES = BUILD / "pillow-tests"

sys.path.insert(0, str(HERE.parents[1] / "lib"))

from matrix import record  # noqa: E402


def fetch(version):
    """The source tree of this version of Pillow."""
    tree = SOURCES / version
    if not tree.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-binary", "pillow",
                        "--no-deps", "-d", SOURCES, f"pillow=={version}"], check=True)
        archive, = (path for path in SOURCES.iterdir() if path.name.lower() in
                    (f"pillow-{version}.tar.gz".lower(),))
        with tarfile.open(archive) as packed:
            packed.extractall(SOURCES)
        next(path for path in SOURCES.iterdir() if path.is_dir() and
             path.name.lower() == f"pillow-{version}").rename(tree)
    return tree


def outcomes(tree, way, names, store=""):
    """{test: passed, failed, error or skipped}, and what was decoded."""
    hooked = way != "plain"
    report, counts = tree / f"report-{way}.xml", tree / f"counts-{way}.json"
    env = {**os.environ, "STOKER_COUNTS": str(counts), "PYTHONHASHSEED": "0",
           "STOKER_DECODED": store}
    env["PYTHONPATH"] = f"{BUILD / 'python'}:{HERE / 'plugins'}"
    files = [f"Tests/{name}.py" for name in names] or ["Tests"]
    plugin = ["-p", "stoker_hooked"] if hooked else []
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "--maxfail=100000", "--tb=no",
                    "-p", "no:cacheprovider", *plugin, f"--junitxml={report}", *files],
                   cwd=tree, env=env, stdout=subprocess.DEVNULL)
    found = {}
    for case in xml.parse(report).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
    return found, json.loads(counts.read_text()) if hooked else {}


def compare(plain, way, tree, names, store=""):
    """Runs them one way, and says what differs; whether nothing does, and something was decoded."""
    found, counts = outcomes(tree, way, names, store)
    different = {name: (plain.get(name), found.get(name)) for name in plain.keys() | found.keys()
                 if plain.get(name) != found.get(name)}
    for name, (before, after) in sorted(different.items()):
        print(f"{name}: {before} without, {after} {way}")
    passed = sum(outcome == "passed" for outcome in plain.values())
    print(f"Pillow {PIL.__version__}: {len(plain)} tests, {passed} pass without the hook; {way}: "
          f"{len(different)} differ; {counts['images']} images decoded, "
          f"{counts['from_forms']} from forms, {counts['unread']} unread")
    record("Pillow under the hook", "its own tests" + (", with a store" if store else ""),
           PIL.__version__, f"{len(plain)} tests",
           "same" if not different else f"{len(different)} differ")
    return not different and counts["from_forms" if store else "images"] > 0


def main():
    tree, names = fetch(PIL.__version__), sys.argv[1:]
    plain, _ = outcomes(tree, "plain", names)
    good = compare(plain, "hooked", tree, names)
    if (BUILD / "python/stoker/_samples_core.abi3.so").exists():
        with tempfile.TemporaryDirectory() as directory:
            good = compare(plain, "with a store", tree, names, f"{directory}/samples:2G") and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
