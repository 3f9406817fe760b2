"""Calls the replaced functions in one way for each case, and prints the outcomes."""

import collections
import contextlib
import inspect
import io
import json
import pickle
import sys
import threading
from unittest import mock

import numpy
import saying
import torch
from PIL import Image, ImageChops, ImageOps, JpegImagePlugin
from torch.overrides import TorchFunctionMode
from torchvision import transforms as T
from torchvision.transforms import functional as F

try:
    from torchvision.transforms import v2  # noqa: F401
except ImportError:
    pass

CASES = {}
VALUES = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]


def case(function):
    CASES[function.__name__] = function
    return function


def image(mode="RGB", size=(30, 20)):
    pixels = numpy.random.RandomState(3).randint(0, 256, (size[1], size[0], 3)).astype("uint8")
    return Image.fromarray(pixels).convert(mode)


def attempt(function, *arguments, **named):
    try:
        return saying.show(function(*arguments, **named))
    except Exception as error:
        return [type(error).__name__, str(error)]


@case
def to_tensor():
    modes = [attempt(F.to_tensor, image(mode)) for mode in ("RGB", "L", "1", "RGBA", "CMYK", "P")]
    sizes = [attempt(F.to_tensor, image("RGB", size)) for size in ((1, 1), (1, 9), (9, 1), (2, 2))]
    others = [attempt(F.to_tensor, numpy.asarray(image())), attempt(F.to_tensor, 3)]
    return modes, sizes, others, attempt(F.to_tensor, pic=image())


@case
def to_tensor_with_another_default():
    torch.set_default_dtype(torch.float64)
    try:
        return F.to_tensor(image()), T.Compose([T.ToTensor(), T.Normalize(*VALUES)])(image())
    finally:
        torch.set_default_dtype(torch.float32)


@case
def normalize():
    tensors = [torch.rand(3, 9, 8), torch.rand(1, 9, 8), torch.rand(2, 3, 9, 8), torch.rand(9, 8),
               torch.rand(3, 9, 8).double(), torch.rand(9, 8, 3).permute(2, 0, 1),
               *(torch.rand(*shape).permute(2, 0, 1) for shape in ((1, 8, 3), (9, 1, 3), (1, 1, 3), (9, 8, 1), (2, 2, 2))),
               torch.rand(9, 8, 4).permute(2, 0, 1)[:3], torch.rand(9, 8, 3).permute(2, 0, 1)[:, 2:5],
               torch.rand(3, 1, 1).expand(3, 9, 8), torch.zeros(3, 4, 4, dtype=torch.uint8),
               torch.rand(3, 0, 8), numpy.zeros((3, 4, 4))]
    values = [VALUES, ([0.5], [0.25]), (0.5, 0.25), ([0.5] * 2, [0.5] * 2), ([0.5], [0]),
              (torch.tensor(VALUES[0]), torch.tensor(VALUES[1])), ([1, 2, 3], (4, 5, 6)),
              ([0.5] * 3, [0.5]), ([], [])]
    return [attempt(F.normalize, tensor, *pair) for tensor in tensors for pair in values]


@case
def normalize_in_place():
    tensor = torch.rand(3, 9, 8)
    result = F.normalize(tensor, *VALUES, inplace=True)
    kept = torch.rand(3, 9, 8)
    before = kept.clone()
    F.normalize(kept, *VALUES)
    return result is tensor, tensor, torch.equal(kept, before)


@case
def gradients():
    tensor = torch.rand(3, 4, 4, requires_grad=True)
    F.normalize(tensor, *VALUES).sum().backward()
    return tensor.grad


@case
def scripted():
    normalize = torch.jit.script(T.Normalize(*VALUES))
    crop = torch.jit.script(T.RandomResizedCrop(10, antialias=True))
    torch.manual_seed(3)
    function = torch.jit.script(F.normalize)
    return (normalize(torch.ones(3, 20, 20)), crop(torch.rand(3, 20, 20)),
            function(torch.ones(3, 20, 20), *VALUES))


@case
def traced():
    traced = torch.jit.trace(T.Normalize(*VALUES), torch.rand(3, 5, 5))
    return traced(torch.ones(3, 7, 7)), [node.kind() for node in traced.graph.nodes()]


@case
def vmapped():
    functorch = getattr(torch, "func", None)
    if functorch is None:
        return None
    return functorch.vmap(lambda tensor: F.normalize(tensor, *VALUES))(torch.ones(2, 3, 4, 4))


@case
def pickled():
    return [pickle.loads(pickle.dumps(each)) is each
            for each in (F.to_tensor, F.normalize, T.Compose, T.RandomResizedCrop.get_params)]


@case
def looked_at():
    functions = F.to_tensor, F.normalize, T.Compose.__call__, T.RandomResizedCrop.get_params
    return [[each.__name__, each.__qualname__, each.__module__, str(inspect.signature(each)),
             (each.__doc__ or "")[:40]] for each in functions]


@case
def get_params():
    found = []
    for scale, ratio in (((0.1, 1), (0.5, 2)), ([0.5, 1.0], [1, 1]), ((5, 6), (1, 2)),
                         (torch.tensor([0.1, 1.0]), (0.5, 2.0)), ((0.5, 0.1), (1, 1)),
                         ((0.1, 1), (0, 1)), ((0.1,), (1, 1))):
        for subject in (image(), torch.rand(3, 20, 30), numpy.zeros((3, 3)), image("P")):
            found.append(attempt(T.RandomResizedCrop.get_params, subject, scale, ratio))
    return found


class OwnCompose(T.Compose):
    def __call__(self, picture):
        return super().__call__(picture) + 1


class OwnToTensor(T.ToTensor):
    def __call__(self, picture):
        return super().__call__(picture) * 2


@case
def classes_of_the_program():
    chain = [T.ToTensor(), T.Normalize(*VALUES)]
    return OwnCompose(chain)(image()), T.Compose([OwnToTensor(), chain[1]])(image())


@case
def hooks_of_the_program():
    normalize = T.Normalize(*VALUES)
    normalize.register_forward_hook(lambda module, inputs, output: output * 0)
    return T.Compose([T.ToTensor(), normalize])(image())


@case
def lists_that_change():
    chain = [T.Resize(10), lambda picture: chain.append(T.Normalize(*VALUES)) or picture,
             T.ToTensor()]
    return T.Compose(chain)(image()), T.Compose(iter(chain[2:]))(image()), T.Compose([])(3)


@case
def functions_of_the_program():
    found = []
    for name, value in (("to_tensor", lambda picture: torch.ones(3, 2, 2)),
                        ("normalize", lambda tensor, *_: tensor * 7)):
        plain = getattr(F, name)
        setattr(F, name, value)
        try:
            found.append(T.Compose([T.ToTensor(), T.Normalize(*VALUES)])(image()))
        finally:
            setattr(F, name, plain)
    return found


@case
def tensors_are_ordinary():
    tensor = T.Compose([T.ToTensor(), T.Normalize(*VALUES)])(image())
    state = [tensor._base is None, tensor.requires_grad, tensor.is_leaf, tensor.storage_offset(),
             tensor.is_inference(), list(vars(tensor))]
    copy = pickle.loads(pickle.dumps(tensor))
    return state, tensor.resize_(4, 4, 4).shape == (4, 4, 4), copy.sum()


@case
def inference():
    with torch.inference_mode():
        tensor = T.Compose([T.ToTensor(), T.Normalize(*VALUES)])(image())
    return tensor.is_inference(), tensor


Sample = collections.namedtuple("Sample", "picture label")


def pipelines_v2(v2):
    end = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*VALUES)]
    crop = v2.RandomResizedCrop(12, antialias=True)
    return [[crop, v2.RandomHorizontalFlip(), *end], [v2.Resize(15), v2.CenterCrop(9), *end],
            [v2.RandomHorizontalFlip()], [*end, crop], [v2.RandomCrop(50), *end], [crop, lambda *inputs: inputs, *end],
            [crop, T.ToTensor()], [crop, v2.ColorJitter(0.3), *end],
            [v2.PILToTensor(), crop, v2.ToDtype(torch.float32)]]


INPUTS = [(image(), 3), (image(), "cat", None), ((image(), 3),), ([4.5, image("L")],), ({"a": image(), "b": 7},),
          (image(), image()), (3, 4), ({"a": {"b": image()}},), (image(), torch.ones(3)), (Sample(image(), 3),),
          (image(), torch.ones(3, 8, 8)), ({},), ((),)]


@case
def among_other_values():
    """v2.Compose of an image and its label, in each way that data sets give them."""
    v2 = sys.modules.get("torchvision.transforms.v2")
    if v2 is None:
        return None
    found = []
    for chain in pipelines_v2(v2):
        for inputs in INPUTS:
            found.append(attempt(v2.Compose(chain), *inputs))
            found.append(torch.rand(1).item())
    kept = {"a": image(), "b": 7}
    same = [v2.Compose([v2.RandomHorizontalFlip(0)])(kept) is kept, v2.Compose([v2.ToImage()])(kept) is kept]
    kinds = [type(v2.Compose([v2.ToImage()])(*inputs)).__name__ for inputs in INPUTS[:5]]
    return found, same, kinds, list(v2.Compose([v2.ToImage()])({"z": 1, "a": image()}))


@case
def automatic_augmentations():
    """The magnitudes are built for other sizes and bins, by derived classes, and with another default type."""
    class Derived(T.RandAugment):
        pass

    found = []
    for kind in (T.RandAugment, T.AutoAugment, T.TrivialAugmentWide, Derived):
        for size in ((30, 20), (20, 30), (30, 20)):
            found += [kind()(image("RGB", size)) for _ in range(10)]
    torch.set_default_dtype(torch.float64)
    try:
        return found, [T.TrivialAugmentWide(num_magnitude_bins=7)(image()) for _ in range(10)]
    finally:
        torch.set_default_dtype(torch.float32)


@case
def what_a_program_does_with_magnitudes():
    space = T.TrivialAugmentWide()._augmentation_space(31)
    space["ShearX"] = None
    again = T.TrivialAugmentWide()._augmentation_space(31)
    return again["ShearX"][0], list(again), attempt(T.RandAugment()._augmentation_space, 9)


@case
def images_in_memory():
    found = []
    for mode in ("RGB", "L", "RGBA", "P"):
        end = [T.ToTensor(), *([T.Normalize(*VALUES)] if mode == "RGB" else [])]
        for crop in (T.RandomCrop(20, padding=4), T.RandomCrop((9, 30), padding=(1, 2), fill=7), T.RandomCrop(40), T.Resize(12)):
            for size in ((30, 20), (32, 32), (1, 1), (300, 200)):
                transform = T.Compose([crop, T.RandomHorizontalFlip(), *end])
                found += [attempt(transform, image(mode, size)) for _ in range(3)]
                found.append(attempt(T.Compose([crop, T.RandomHorizontalFlip()]), image(mode, size)))
    return found


def whole_pipelines():
    """The results of some pipelines, of an image in memory and one in a JPEG."""
    end = [T.ToTensor(), T.Normalize(*VALUES)]
    file = io.BytesIO()
    image("RGB", (90, 80)).save(file, "JPEG")
    found = []
    for transforms in ([T.RandomResizedCrop(40), T.RandomHorizontalFlip(1), *end], [T.RandomCrop(60, padding=30), *end],
                       [T.Resize(50), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomGrayscale(1), *end]):
        for picture in (image("RGB", (90, 80)), Image.open(file).convert("RGB")):
            found.append(T.Compose(transforms)(picture))
    return found


def inverted(plain):
    def function(*arguments, **named):
        result = plain(*arguments, **named)
        return result[::-1] if type(result) is bytes else ImageChops.invert(result)
    return function


@case
def functions_of_pillow_that_a_program_replaces():
    found, usual = [], whole_pipelines()
    for owner, name in ((Image.Image, "resize"), (Image.Image, "crop"), (Image.Image, "transpose"),
                        (Image.Image, "tobytes"), (JpegImagePlugin.JpegImageFile, "convert"), (Image, "blend"),
                        (ImageOps, "expand")):
        saying.seed(1)
        with mock.patch.object(owner, name, inverted(getattr(owner, name))):
            found.append((name, whole_pipelines()))
    saying.seed(1)
    return [saying.show(each) != saying.show(usual) for _, each in found], found, whole_pipelines()


@case
def another_default_generator():
    with mock.patch.object(torch, "default_generator", torch.Generator().manual_seed(5)):
        return whole_pipelines(), torch.rand(1).item(), torch.default_generator.initial_seed()


@case
def a_tensor_that_grows_later():
    v2 = sys.modules.get("torchvision.transforms.v2")
    tensor = torch.ones(20, 30, 3, dtype=torch.uint8).permute(2, 0, 1)
    made = None if v2 is None else v2.Compose([v2.CenterCrop(9), v2.ToDtype(torch.float32, scale=True)])(tensor)
    return made, tensor.resize_(3, 50, 60).shape


@case
def boxes_of_odd_strides_and_canvases():
    """A canvas of numpy's numbers gives other bits, one of floats an error; a transposed tensor keeps its strides."""
    v2 = sys.modules.get("torchvision.transforms.v2")
    if v2 is None:
        return None
    tv_tensors, found = sys.modules["torchvision.tv_tensors"], []
    rows = torch.tensor([[1, 2, 30, 40], [10.5, 20.25, 33.3, 70.7], [0, 0, 97, 71], [5, 5, 5, 5]])
    chain = [v2.Resize((41, 64), antialias=True), v2.RandomHorizontalFlip(1), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    transforms = v2.Compose(chain), v2.Compose(chain[1:])
    height, width = image().size[::-1]
    canvases = [(height, width), (numpy.int64(height), numpy.int64(width)), (float(height), float(width)), (height, numpy.float32(width))]
    tensors = [rows, rows.T.contiguous().T, rows[:1].T.contiguous().T, torch.cat([rows, rows], 1)[:, :4], torch.cat([rows, rows], 1)[:1, :4]]
    for canvas in canvases:
        for numbers in tensors + [each.long() for each in tensors]:
            boxes = tv_tensors.BoundingBoxes(numbers, format="XYXY", canvas_size=canvas)
            found += [attempt(transform, image(), boxes) for transform in transforms]
    return found


@case
def a_deep_sample_in_a_thread_with_a_small_stack():
    v2, limit, size, found = sys.modules.get("torchvision.transforms.v2"), sys.getrecursionlimit(), 256 << 10, []
    sample = 7
    for _ in range(5000):
        sample = [sample]
    thread = threading.Thread(target=lambda: found.append(v2 and v2.Identity()(sample)))
    sys.setrecursionlimit(50_000)
    before = threading.stack_size(size)
    try:
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
        sys.setrecursionlimit(limit)
    depth, inner = 0, found[0]
    while type(inner) is list:
        depth, inner = depth + 1, inner[0]
    return depth, inner


class Halves(TorchFunctionMode):
    """Gives half of each number that is made by a division or a draw."""

    def __torch_function__(self, function, types, arguments=(), named=None):
        made = function(*arguments, **named or {})
        halved = getattr(function, "__name__", "") in ("div", "div_", "uniform_") and made.is_floating_point()
        return made.mul_(0.5) if halved else made


@case
def functions_in_a_mode():
    """Nothing of it stays behind, in numbers that were not seen before."""
    if not hasattr(torch._C, "_len_torch_function_stack"):
        return None
    values = [0.11, 0.12, 0.13], [0.21, 0.22, 0.23]
    pipelines = [T.ToTensor(), T.Normalize(*values), T.Compose([T.RandomResizedCrop(9), T.ToTensor(), T.Normalize(*values)])]
    inputs = [image(), torch.rand(3, 9, 8), image()]
    outcomes = []
    for mode in Halves, contextlib.nullcontext:
        torch.manual_seed(4)
        with mode():
            outcomes += [each(value) for each, value in zip(pipelines, inputs)]
    return outcomes


@case
def compiled_pipelines():
    """As one graph, as torch.compile's fullgraph wants."""
    v2, tensor = sys.modules.get("torchvision.transforms.v2"), torch.ones(3, 20, 30)
    if v2 is None or not hasattr(torch, "compile"):
        return None
    pipelines = (T.Compose([T.Resize(9, antialias=True), T.CenterCrop(5)]),
                 v2.Compose([v2.Resize(9, antialias=True), v2.Normalize(*VALUES)]))
    return [attempt(torch.compile(each, backend="eager", fullgraph=True), tensor) for each in pipelines]


def main():
    saying.count_tensors()
    outcomes = {}
    for name, function in CASES.items():
        saying.seed(1)
        outcomes[name] = saying.outcome(function)
    replaced = [hasattr(each, "__wrapped__") for each in (
        F.to_tensor, F.normalize, T.Compose.__call__, T.RandomResizedCrop.get_params)]
    print(json.dumps({"outcomes": outcomes, "counts": saying.counts(), "replaced": replaced}))


main()
