"""Random image processors of transformers, and random images. Prints the outcomes, and how many calls Stoker served.
Arguments: the number of cases, and the first one.
"""

import contextlib
import io
import json
import random
import sys

import numpy
import saying
import torch
from huggingface_hub import dataclasses
from PIL import Image
from transformers.feature_extraction_utils import BatchFeature
from transformers.image_processing_backends import PilBackend, TorchvisionBackend
from transformers.models.clip.image_processing_clip import CLIPImageProcessor
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil
from transformers.models.vit.image_processing_vit import ViTImageProcessor

SIZES = (1, 1), (5, 1), (2, 2), (31, 40), (64, 48), (50, 33), (7, 90), (120, 99)
WANTED = ({"height": 24, "width": 24}, {"height": 40, "width": 17}, {"shortest_edge": 20}, {"shortest_edge": 33},
          {"height": 1, "width": 5}, {"shortest_edge": 20, "longest_edge": 30}, {"max_height": 30, "max_width": 20}, 24)
CROPS = {"height": 16, "width": 16}, {"height": 20, "width": 9}, {"height": 60, "width": 16}, 12
served = {"served": 0, "stacked": 0}


class Resizing(ViTImageProcessor):
    """A program's own resize."""

    def resize(self, image, size, **named):
        return super().resize(image, size, **{**named, "antialias": False})


class Scaling(ViTImageProcessorPil):
    def rescale(self, image, scale, **named):
        return super().rescale(image, scale / 2, **named)


KINDS = (ViTImageProcessor, ViTImageProcessorPil, CLIPImageProcessor, CLIPImageProcessorPil, TorchvisionBackend, PilBackend,
         Resizing, Scaling)


def jpeg(image, mode="RGB"):
    out = io.BytesIO()
    image.convert(mode).resize((image.size[0] * 2 + 8, image.size[1] * 2 + 8)).save(out, "JPEG")
    return Image.open(out)


def picture(choose):
    width, height = choose.choice(SIZES)
    pixels = numpy.random.RandomState(choose.randrange(50)).randint(0, 256, (height, width, 3)).astype("uint8")
    image = Image.fromarray(pixels)
    made = choose.choice(("image", "L", "RGBA", "array", "tensor", "grey", "resized", "cropped", "turned", *["jpeg"] * 6))
    return {"image": lambda: image, "L": lambda: image.convert("L"), "RGBA": lambda: image.convert("RGBA"),
            "array": lambda: pixels, "tensor": lambda: torch.from_numpy(pixels).permute(2, 0, 1),
            "grey": lambda: jpeg(image, "L"), "resized": lambda: jpeg(image).resize((40, 30)),
            "cropped": lambda: jpeg(image).crop((2, 2, 9, 8)), "turned": lambda: jpeg(image).transpose(2),
            "jpeg": lambda: jpeg(image)}[made]()


def options(choose, kind):
    """Returns the arguments of a processor's class."""
    is_bare = kind in (TorchvisionBackend, PilBackend)
    values = {"size": lambda: choose.choice(WANTED), "resample": lambda: choose.choice((0, 1, 2, 3, 4, 5)),
              "image_mean": lambda: choose.choice(([.4, .5, .6], (.1, .2, .3), .5)),
              "image_std": lambda: choose.choice(([.4, .5, .6], .5)), "rescale_factor": lambda: 1 / 127.5,
              "disable_grouping": lambda: choose.random() < .5}
    given = {name: value() for name, value in values.items() if choose.random() < .3 or (is_bare and name[:5] == "image")}
    if choose.random() < .4:
        given.update(do_center_crop=True, crop_size=choose.choice(CROPS))
    if choose.random() < .1:
        given.update(do_pad=True, pad_size={"height": 64, "width": 64})
    for name in ("do_resize", "do_rescale", "do_normalize", "do_convert_rgb"):
        if is_bare or choose.random() < .3:
            given[name] = choose.random() < .8
    return given


def call(choose):
    """Returns the arguments of a processor's call beside the images."""
    values = {"return_tensors": lambda: choose.choice(("pt", "np")), "size": lambda: choose.choice(WANTED),
              "do_resize": lambda: choose.random() < .5, "do_normalize": lambda: False, "device": lambda: "cpu",
              "input_data_format": lambda: choose.choice(("channels_first", "channels_last"))}
    given = {name: value() for name, value in values.items() if choose.random() < (.7 if name == "return_tensors" else .1)}
    if choose.random() < .1:
        given[choose.choice(("do_rescale", "return_tensors", "resample", "another"))] = choose.choice((1, True, "yes", None, [2]))
    return given


@contextlib.contextmanager
def other_results(are_wanted):
    """Lets the program's own code run for each result."""
    plain = BatchFeature.convert_to_tensors

    def converted(self, *arguments, **named):
        self[str(named)] = "seen"
        return plain(self, *arguments, **named)
    BatchFeature.convert_to_tensors = converted if are_wanted else plain
    try:
        yield
    finally:
        BatchFeature.convert_to_tensors = plain


def outcome(case):
    choose = random.Random(case)
    kind = choose.choice(KINDS)
    more, named = options(choose, kind), call(choose)
    images = [picture(choose) for _ in range(choose.choice((1, 1, 2, 3)))]
    images = images[0] if len(images) == 1 and choose.random() < .7 else images
    saying.seed(case)
    has_others = choose.random() < .05

    def run():
        with other_results(has_others):
            result = kind(**more)(images, **named)
        values = result["pixel_values"]
        return type(result).__name__, list(result), list(vars(result)), whole(values), [seen(each) for each in values], images
    return saying.outcome(run)


def whole(values):
    """Returns what an outcome shows of images together."""
    return type(values).__name__, *((values.stride(), values.is_inference()) if isinstance(values, torch.Tensor) else ())


def with_another_validator():
    """Calls a processor with arguments that were valid before the program replaced a function."""
    def refuse(name, value, expected_type):
        raise TypeError(name)
    processor, image = ViTImageProcessor(), Image.new("RGB", (50, 40))
    processor(image, return_tensors="pt")
    plain, dataclasses.type_validator = dataclasses.type_validator, refuse
    try:
        return saying.outcome(lambda: processor(image, return_tensors="pt")["pixel_values"])
    finally:
        dataclasses.type_validator = plain


def seen(value):
    """Returns what an outcome shows of an array or a tensor."""
    if not isinstance(value, numpy.ndarray) or value.dtype == object:
        return value
    return str(value.dtype), value.shape, value.strides, saying.digest(value.tobytes())


def count_served():
    package = saying.package()
    module = package and sys.modules.get(package.__name__ + "._transformers.processors")
    if not module:
        return
    plain = module._finished

    def finished(*arguments):
        served["served"] += 1
        served["stacked"] += arguments[-1] is None
        return plain(*arguments)
    module._finished = finished


def main():
    count_served()
    first, count = int(sys.argv[2]), int(sys.argv[1])
    outcomes = {case: outcome(case) for case in range(first, first + count)}
    outcomes["another validator"] = with_another_validator()
    package = saying.package()
    module = package and sys.modules.get(package.__name__ + "._transformers.arguments")
    print(json.dumps({"outcomes": outcomes, **served, "remembered": len(module._valid) if module else 0}))


main()
