"""Lets each function of Stoker's fail once. A replaced function must give the same result as torchvision's own, call
the program's functions as often, and leave the generators in the same state. Argument: a JPEG.
"""

import io
import math
import pathlib
import sys

import numpy
import saying
import torch
from PIL import Image
from torchvision import transforms as T
from torchvision.datasets import folder
from torchvision.transforms import functional as F

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = None

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "lib/tensors"))

import failing  # noqa: E402

MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]
PIPELINE = ("exact", "inspection", "lazy_images", "lazy_tensors", "pipeline", "rng", "steps", "tensor_resize", "tensor_tail")
TORCHVISION = "normalize", "others", "replaced", "resizes", "spaces"
MODULES = [f"_pipeline.{name}" for name in PIPELINE] + [f"_torchvision.{name}" for name in TORCHVISION]
CACHES = {"_pipeline.inspection": ("_known", "_unknown"), "_torchvision.normalize": ("_constants", "_lines"), "_pipeline.pipeline": ("_chains",),
          "_pipeline.rng": ("_log_ratios",), "_pipeline.steps": ("_known",), "_pipeline.tensor_tail": ("_tails",)}
ORDINARY = Image.fromarray(numpy.random.RandomState(3).randint(0, 256, (60, 50, 3)).astype("uint8"))
JPEG = pathlib.Path(sys.argv[1]).read_bytes()
TENSOR = torch.rand(3, 20, 20)
IMAGES = {"jpeg": lambda: Image.open(io.BytesIO(JPEG)), "ordinary": lambda: ORDINARY.copy()}
calls = []


def own(thing):
    """A transform of the program's, which draws."""
    calls.append(torch.rand(1).item())
    return thing


def chains(module):
    tail = module.ToTensor(), module.Normalize(MEAN, STD)
    crop = module.RandomResizedCrop(30)
    return {
        "train": [crop, module.RandomHorizontalFlip(), *tail],
        "test": [module.Resize(40), module.CenterCrop(32), *tail],
        "own": [own, crop, own, module.RandomVerticalFlip(), own, *tail, own],
        "images": [module.RandomCrop(64, padding=20), crop],
        "error": [own, crop, math.sqrt, *tail], "late": [own, crop, tail[0], own, len, math.sqrt],
    }


def composed(chain, module=T):
    return module.Compose(chains(module)[chain])


DO = {**{chain: composed(chain) for chain in chains(T)},
      "to_tensor": F.to_tensor, "normalize": lambda image: F.normalize(TENSOR, MEAN, STD),
      "params": lambda image: T.RandomResizedCrop.get_params(image, [0.1, 1.0], [0.5, 2.0]),
      "refused": lambda image: T.RandomResizedCrop.get_params(image, [0.1, 1.0], [2.0, 0.5]),
      "crop": T.RandomResizedCrop(30), "crop of a tensor": lambda image: T.RandomResizedCrop(30, antialias=True)(
          F.pil_to_tensor(image)), "normalize pixels": lambda image: F.normalize(TENSOR.permute(1, 2, 0)[..., :3].contiguous().permute(
              2, 0, 1), MEAN, STD), "folder": lambda image: folder.pil_loader(sys.argv[1])}
if v2 is not None:
    tensors = [v2.ToImage(), v2.RandomResizedCrop(30), v2.RandomHorizontalFlip(), own, v2.Resize(20),
               v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    DO.update({"v2 tensors": v2.Compose(tensors), "v2 tensor": lambda image: v2.Compose(tensors[1:])(F.pil_to_tensor(image)),
               "v2 view": v2.Compose([v2.PILToTensor(), v2.CenterCrop(9)])})
    DO.update({f"v2 {chain}": composed(chain, v2) for chain in chains(v2)}, **{"v2 crop": v2.RandomResizedCrop(30),
        "v2 crop of a tensor": lambda image: v2.RandomResizedCrop(30)(v2.functional.to_image(image)),
        "v2 label": lambda image: composed("train", v2)(image, 3), "v2 refused": lambda image: composed("own", v2)({"a": image})})


def module_of(name):
    return sys.modules[f"{saying.package().__name__}.{name}"]


def forget():
    """As before the first image."""
    for module, names in CACHES.items():
        for name in names:
            getattr(module_of(module), name).clear()


def outcome(image, do):
    forget()
    saying.seed(5)
    calls.clear()
    return saying.outcome(lambda: DO[do](IMAGES[image]())), list(calls)


# Functions that torchvision calls in the place of its own.
BOUNDS = {"_pil_loader", "_to_tensor", "_normalize_tensor", "_get_params", "_make_params", "_compose", "_compose_v2",
          "run", "_at_once", "as_one", "install", "install_v2", "install_loader", "_replace"}


def main():
    modules = list(map(module_of, MODULES))
    ways = [(image, do) for image in IMAGES for do in DO]
    failing.compare(failing.subjects(modules, module_of("_core"), BOUNDS), ways, outcome)


main()
