"""Runs recipes of the measurements, and prints for each what Stoker did for its images; and what its self-tests asked in
this process, and what they found different.

    working.py DIRECTORY RECIPE...
"""

import importlib
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "bench/scripts"))

import recipes_script
import saying

COUNTERS = "images", "pngs", "resized", "operations", "left_to_pillow"
made = {"tensors": 0, "of tensors": 0, "parts": 0}
asked, different = [], []


def part(name):
    return importlib.import_module(f"{saying.package().__name__}.{name}")


def count(place, name, key):
    """Counts the calls of a function, by a key of `made`, that return anything."""
    plain = getattr(place, name)

    def counting(*arguments):
        result = plain(*arguments)
        made[key] += result is not None
        return result
    setattr(place, name, counting)


def watch_proofs():
    answers = part("_proof.answers")
    plain = answers.proven

    def proven(make_name, kinds, holds):
        kinds = list(kinds)
        place = holds.__module__.split(".", 1)[1]

        def asking(kind):
            asked.append(place)
            return holds(kind)
        found = plain(make_name, kinds, asking)
        different.extend(f"{place}: {kind}" for kind in kinds if kind not in found)
        return found
    answers.proven = proven


def counts():
    every = saying.package().counts()
    return {**{name: every[name] for name in COUNTERS}, **made}


def difference(before, after):
    return {name: after[name] - before[name] if type(after[name]) is int else after[name]
            for name in after if after[name] != before[name]}


def run(sample, files):
    saying.seed(7)
    for file in files:
        sample(file)


def main():
    files = sorted(map(str, pathlib.Path(sys.argv[1]).glob("*.jpg")))
    watch_proofs()
    count(part("_pipeline.tensor_tail").TensorTail, "finished", "tensors")
    count(part("_pipeline.lazy_tensors").LazyTensor, "tensor", "of tensors")
    count(part("_torchvision.boxed"), "run", "parts")
    told = {}
    for name in sys.argv[2:]:
        try:
            sample = recipes_script.RECIPES[name]()
        except (ImportError, AttributeError):
            continue  # this machine lacks it
        run(sample, files)  # with the self-tests
        before = counts()
        run(sample, files)
        told[name] = difference(before, counts())
    print(json.dumps({"told": told, "asked": sorted(set(asked)), "different": different}))


if __name__ == "__main__":
    main()
