"""Every transform of torchvision, v1 and v2, on images of several kinds: what came of it.

Arguments: a JPEG, a grey JPEG, a PNG. Classes are found in the modules; one that needs arguments
and is not listed here ends the program.
"""

import inspect
import json
import sys

import saying
import torch
from PIL import Image
from torchvision import transforms as T

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = None

ARGUMENTS = {
    "CenterCrop": (30,), "FiveCrop": (20,), "TenCrop": (20,),
    "ColorJitter": (0.4, 0.4, 0.4, 0.2), "GaussianBlur": (3,),
    "LinearTransformation": (torch.eye(12), torch.zeros(12)), "Normalize": ([0.5], [0.25]),
    "Pad": (5,), "RandomAffine": (30,), "RandomCrop": (24,), "RandomPosterize": (3, 1.0),
    "RandomResizedCrop": (28,), "RandomRotation": (40,), "RandomSolarize": (100, 1.0),
    "RandomAdjustSharpness": (2.0, 1.0), "Resize": (33,), "ConvertImageDtype": (torch.float32,),
    "RandomHorizontalFlip": (1.0,), "ToDtype": (torch.float32, True),
    "RandomVerticalFlip": (1.0,), "ScaleJitter": ((50, 40),), "RandomShortestSize": (30,),
    "RandomResize": (20, 40), "UniformTemporalSubsample": (2,),
    "ConvertBoundingBoxFormat": ("XYXY",), "JPEG": ((30, 60),), "SetClampingMode": ("soft",),
}
NESTED = {"Compose": lambda M: ([M.RandomCrop(20), M.Resize(30)],),
          "RandomApply": lambda M: ([M.RandomCrop(20)],),
          "RandomChoice": lambda M: ([M.RandomCrop(20), M.Resize(30)],),
          "RandomOrder": lambda M: ([M.RandomCrop(20), M.Resize(30)],),
          "Lambda": lambda M: (lambda image: image,)}


def classes(module):
    for name, kind in sorted(vars(module).items()):
        if not inspect.isclass(kind) or not kind.__module__.startswith(module.__name__):
            continue
        if name != "Transform" and (hasattr(kind, "forward") or "__call__" in vars(kind)):
            yield name, kind


def made(name, kind, module):
    if name in NESTED:
        return kind(*NESTED[name](module))
    return kind(*ARGUMENTS.get(name, ()))


def tensor_end(module):
    return [T.ToTensor(), module.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4))]


def pipelines(name, transform, module):
    """The transform alone, behind a crop, and in front of what makes a tensor."""
    yield name, transform
    crop = module.RandomResizedCrop(40)
    yield f"{name} cropped", module.Compose([crop, transform])
    yield f"{name} to tensor", module.Compose([crop, transform] + tensor_end(module))
    if module is v2 and hasattr(v2, "ToImage"):
        yield f"{name} to image", v2.Compose([
            transform, v2.ToImage(), v2.ToDtype(torch.float32, scale=True), tensor_end(v2)[1]])
        yield f"{name} of a sample", lambda image: v2.Compose([crop, transform])(image, {"a": 3})


def main():
    outcomes = {}
    saying.count_tensors()
    for module in [T] + ([v2] if v2 else []):
        for name, kind in classes(module):
            transform = made(name, kind, module)
            for case, pipeline in pipelines(name, transform, module):
                for number, path in enumerate(sys.argv[1:]):
                    saying.seed(number)
                    image = Image.open(path)
                    outcomes[f"{module.__name__} {case} {number}"] = saying.outcome(
                        lambda: pipeline(image))
    print(json.dumps({"outcomes": outcomes, "counts": saying.counts()}))


main()
