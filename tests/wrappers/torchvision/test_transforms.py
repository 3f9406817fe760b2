"""stoker.transforms against torchvision: the same tensors, of the same classes and strides, and the
generator left the same."""

import concurrent.futures
import gc
import io
import random
import re
import subprocess
import weakref

import numpy
import pytest
import torch
from PIL import Image
from torchvision import transforms as T

import pictures
import stoker
from matrix import record
from slices import ALL
from stoker import transforms as S
from stoker._pipeline import colours

try:
    from torchvision.transforms import v2
    MODULES = [T, v2] if hasattr(v2, "ToImage") else [T]
except ImportError:
    MODULES = [T]

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pil(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def beginnings(M, dice):
    """Geometry, with parameters that differ each time."""
    side, p = dice.choice([32, 33, 64]), dice.choice([0.5, 0.3, 1.0])
    flip = M.RandomHorizontalFlip(p)
    mode = dice.choice([T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC,
                        T.InterpolationMode.LANCZOS, T.InterpolationMode.BOX,
                        T.InterpolationMode.NEAREST])
    fill = dice.choice([0, 7, (1, 2, 3)])
    return {
        "RandomResizedCrop": [M.RandomResizedCrop(side, interpolation=mode), flip],
        "RandomResizedCrop wide": [M.RandomResizedCrop((side, 50), (0.3, 0.9), (0.1, 9)), flip],
        "CenterCrop": [M.Resize(side + 7, mode), M.CenterCrop(side)],
        "CenterCrop beyond": [M.CenterCrop((side * 3, side))],
        "Resize": [M.Resize([side, 40]), M.RandomVerticalFlip(p)],
        "Resize [one]": [M.Resize([side]), flip],
        "Resize max": [M.Resize(side, max_size=80), flip],
        "RandomCrop": [M.Resize((256, 256)), M.RandomCrop(224), flip],
        "RandomCrop padding": [M.RandomCrop(32, padding=4, fill=fill), flip],
        "RandomCrop edges": [M.RandomCrop((32, 20), padding=[1, 2, 3, 4]), flip],
        "RandomCrop reflect": [M.RandomCrop(32, padding=3, padding_mode="reflect")],
        "RandomCrop needed": [M.RandomCrop(300, pad_if_needed=True)],
        "RandomCrop one way": [M.Resize((40, 41)), M.RandomCrop((40, 30)), M.RandomCrop((9, 30))],
        "RandomCrop no way": [M.CenterCrop(30), M.RandomCrop(30), M.RandomCrop((30, 29)), flip],
        "windows": [M.Resize((60, 70)), M.CenterCrop(50), M.RandomCrop(45), M.CenterCrop((20, 44))],
        "flips first": [flip, M.RandomVerticalFlip(), M.RandomCrop(30), M.Resize(20)],
        "in between": [M.Resize(60), M.ColorJitter(0.3), M.RandomCrop(32), flip],
        "a function": [M.Resize(60), lambda image: image.rotate(3), M.CenterCrop(32)],
        "crops": [M.CenterCrop(36), M.RandomCrop(34), M.RandomCrop(32), M.Resize(50)],
        "nothing": [],
    }


def ends(M):
    found = {
        "ToTensor": [T.ToTensor()],
        "Normalize": [T.ToTensor(), M.Normalize(*IMAGENET)],
        "PILToTensor": [M.PILToTensor()],
        "ConvertImageDtype": [M.PILToTensor(), M.ConvertImageDtype(torch.float32),
                              M.Normalize(*IMAGENET)],
        "in place": [T.ToTensor(), M.Normalize([0.5], [0.25], inplace=True)],
        "twice": [T.ToTensor(), M.Normalize([0.5] * 3, [0.5] * 3), M.Normalize(*IMAGENET)],
        "image": [],
    }
    if M is not T:
        scale = M.ToDtype(torch.float32, scale=True)
        found["ToImage"] = [M.ToImage(), scale, M.Normalize(*IMAGENET)]
        found["ToPureTensor"] = [M.ToImage(), scale, M.Normalize(*IMAGENET), M.ToPureTensor()]
        found["ToDtype"] = [M.ToImage(), M.ToDtype(torch.float32)]
    return found


def assert_same(x, y, case):
    assert type(x) is type(y), case
    if isinstance(x, Image.Image):
        assert (x.mode, x.size) == (y.mode, y.size) and x.tobytes() == y.tobytes(), case
        return
    assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride()), case
    assert torch.equal(x, y) and x.is_contiguous() == y.is_contiguous(), case


def run(pipeline, source, seed):
    """(the result, or what was raised; the generator's state)"""
    torch.manual_seed(seed)
    try:
        result = pipeline(source)
    except (ValueError, TypeError, RuntimeError) as error:
        result = type(error).__name__ + str(error)
    return result, torch.get_rng_state()


def compare(M, transforms, data, seed, case):
    image = pil(data)
    expected, state = run((M if transforms else T).Compose(transforms), image, seed)
    for source in (data, image, numpy.asarray(image)):
        result, state_after = run(S.Compose(transforms), source, seed)
        where = case, seed, type(source).__name__
        if type(expected) is str:
            assert result == expected, where
        else:
            assert_same(expected, result, where)
        assert torch.equal(state, state_after), where
    return type(expected) is not str


@pytest.mark.parametrize("M", MODULES, ids=lambda M: M.__name__)
def test_pipelines(M, version):
    dice = random.Random(7)
    before = stoker.counts()["images"]
    cases = good = 0
    for round_ in range(60 if ALL else 3):
        for beginning, geometry in beginnings(M, dice).items():
            any_size = dice.randint(30, 400), dice.randint(30, 400)
            width, height = dice.choice([(32, 32), (100, 81), any_size])
            data = pictures.jpeg(pictures.image(width, height, dice.randrange(99)),
                                 quality=dice.randint(20, 98), subsampling=dice.randrange(3))
            for end, chain in ends(M).items():
                case = beginning, end, width, height
                good += compare(M, geometry + chain, data, dice.randrange(1 << 30), case)
                cases += 1
    assert good > cases / 2
    assert stoker.counts()["images"] - before > cases / 2
    record("torchvision", f"stoker.transforms.Compose ({M.__name__})", version,
           f"{cases} pipelines from bytes, image and array", "same")


PRESETS = [
    (S.RandomResizedCropFlip(40), [T.RandomResizedCrop(40), T.RandomHorizontalFlip()], IMAGENET),
    (S.ResizeCenterCrop(50, 40), [T.Resize(50), T.CenterCrop(40)], IMAGENET),
    (S.ResizeRandomCropFlip((50, 50), 40),
     [T.Resize((50, 50)), T.RandomCrop(40), T.RandomHorizontalFlip()], IMAGENET),
    (S.PadRandomCropFlip(), [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()],
     (S.CIFAR10_MEAN, S.CIFAR10_STD)),
]


@pytest.mark.parametrize("preset, geometry, values", PRESETS,
                         ids=[type(each[0]).__name__ for each in PRESETS])
def test_presets(preset, geometry, values, tmp_path):
    plain = T.Compose(geometry + [T.ToTensor(), T.Normalize(*values)])
    path = tmp_path / "image.jpg"
    for seed in range(200 if ALL else 20):
        picture = pictures.image(32 + seed, 90, seed)
        picture.save(path, quality=90)
        expected, state = run(plain, Image.open(path).convert("RGB"), seed)
        for source in (path, str(path), path.read_bytes(), memoryview(path.read_bytes())):
            result, state_after = run(preset, source, seed)
            assert_same(expected, result, seed)
            assert torch.equal(state, state_after)


def test_cifar_arrays():
    """32 x 32 arrays, as CIFAR10 holds them, with a fill and without."""
    for fill in (0, 128, (9, 8, 7)):
        preset = S.PadRandomCropFlip(fill=fill)
        plain = T.Compose(preset.transforms)
        for seed in range(100):
            array = pictures.array(32, 32, seed)
            before = array.copy()
            expected, state = run(plain, Image.fromarray(array), seed)
            result, state_after = run(preset, array, seed)
            assert_same(expected, result, seed)
            assert torch.equal(state, state_after) and (array == before).all()


@pytest.mark.parametrize("ends_as_image", [True, False])
def test_the_upper_left_corner_of_an_array(ends_as_image):
    """A crop that begins at the first pixel is noted like any other."""
    array = numpy.asarray(pictures.image(41, 33))
    chain = [T.CenterCrop((32, 40))] + ([] if ends_as_image else [T.Pad(1), T.ToTensor()])
    expected, found = T.Compose(chain)(Image.fromarray(array)), S.Compose(chain)(array)
    assert numpy.array_equal(numpy.asarray(expected), numpy.asarray(found))



def test_other_modes_and_files(folder, version):
    """Paths of every kind, and images that are not fused."""
    pipeline = [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()]
    paths = sorted(folder.glob("*/*.*"))
    for seed, path in enumerate(paths):
        expected, state = run(T.Compose(pipeline), Image.open(path).convert("RGB"), seed)
        result, state_after = run(S.Compose(pipeline), path, seed)
        assert_same(expected, result, path)
        assert torch.equal(state, state_after)
    for mode in ("L", "P", "RGBA", "CMYK", "1", "I", "F", "LA", "YCbCr"):
        image = pictures.image(60, 50).convert("L").convert(mode) if mode in "IF" else (
            pictures.image(60, 50).convert(mode))
        for seed in range(4):
            expected, _ = run(T.Compose(pipeline), image, seed)
            assert_same(expected, run(S.Compose(pipeline), image, seed)[0], mode)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 1), (2, 2)])
def test_thin_images(size):
    for mode in ("RGB", "L"):
        image = pictures.image(*size).convert(mode)
        for chain in ([T.ToTensor()], [T.PILToTensor()], [T.ToTensor(), T.Normalize([.5], [.2])]):
            assert_same(T.Compose(chain)(image), S.Compose(chain)(image), (size, mode))


def test_damaged_files(tmp_path):
    """Pillow's own errors."""
    data = pictures.jpeg(pictures.image(200, 200))
    pipeline = S.ResizeCenterCrop(50, 40)
    for cut in range(0, len(data), len(data) // 40):
        broken = data[:cut]
        with pytest.raises(Exception) as expected:
            pil(broken)
        with pytest.raises(type(expected.value)) as found:
            pipeline(broken)
        assert str(found.value)[:30] == str(expected.value)[:30]
    with pytest.raises(FileNotFoundError):
        pipeline(tmp_path / "none.jpg")


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), re.sub("0x[0-9a-f]+", "0x", str(error))


def assert_same_outcome(data, pipeline, case):
    """Compares Pillow's error or its pixels. Returns whether there were pixels."""
    expected = outcome(lambda: pipeline(pil(data)))
    found = outcome(S.Compose(pipeline.transforms), data)
    if type(expected) is tuple:
        assert found == expected, case
        return False
    assert_same(expected, found, case)
    return True


def test_changed_bytes():
    data = pictures.jpeg(pictures.image(120, 110))
    pipeline = T.Compose([T.Resize(50), T.CenterCrop(40), T.ToTensor()])
    before, outcomes = stoker.counts()["images"], set()
    for seed in range(2000 if ALL else 200):
        dice = random.Random(seed)
        changed = bytearray(data)
        for _ in range(dice.randint(1, 3)):
            changed[dice.randrange(2, len(data) if seed % 2 else 640)] = dice.randrange(256)
        outcomes.add(assert_same_outcome(bytes(changed), pipeline, seed))
    assert outcomes == {True, False} and stoker.counts()["images"] > before + 20


@pytest.mark.parametrize("size,fails", [((90, 80), False), ((640, 480), True)])
def test_arithmetic_coding(size, fails):
    """Pillow fails at those that it does not read in one piece, and so do we."""
    ppm = io.BytesIO()
    pictures.image(*size).save(ppm, "PPM")
    data = subprocess.run(["cjpeg", "-arithmetic", "-quality", "98"], input=ppm.getvalue(),
                          check=True, capture_output=True).stdout
    pipeline = T.Compose([T.Resize(50), T.ToTensor()])
    assert assert_same_outcome(data, pipeline, size) != fails


def test_every_value_by_many_means():
    """A table is exact for each of the 256 values."""
    dice = random.Random(3)
    values = numpy.arange(256, dtype=numpy.uint8).repeat(3).reshape(8, 32, 3)
    image = Image.fromarray(values)
    for _ in range(3000 if ALL else 300):
        mean = [dice.choice([dice.random(), 0, 0.5, dice.uniform(-300, 300)]) for _ in range(3)]
        std = [dice.choice([dice.random() + 1e-6, 1, 255, 1e-30]) for _ in range(3)]
        for M in MODULES:
            chain = [T.ToTensor(), M.Normalize(mean, std)]
            if M is not T:
                chain[:1] = [M.ToImage(), M.ToDtype(torch.float32, scale=True)]
            assert_same(M.Compose(chain)(image), S.Compose(chain)(image), (mean, std))


# ---- what must not be fused ----

class OwnToTensor(T.ToTensor):
    def __call__(self, image):
        return super().__call__(image) + 1


class OwnCrop(T.RandomCrop):
    @staticmethod
    def get_params(image, size):
        return (0, 0) + tuple(size)


class OwnRandomCrop(T.RandomResizedCrop):
    def forward(self, image):
        return image.crop((1, 2, 31, 32))


def assert_own_ways_are_kept(transforms):
    image = pictures.image(60, 50)
    for seed in range(5):
        expected, state = run(T.Compose(transforms), image, seed)
        result, state_after = run(S.Compose(transforms), image, seed)
        assert_same(expected, result, transforms)
        assert torch.equal(state, state_after)
    return result


def test_subclasses():
    assert assert_own_ways_are_kept([OwnToTensor()]).min() >= 1
    assert_own_ways_are_kept([OwnCrop(20), T.ToTensor()])


def test_hooks():
    normalize = T.Normalize([0.5], [0.5])
    normalize.register_forward_hook(lambda module, inputs, output: output * 0)
    assert not assert_own_ways_are_kept([T.ToTensor(), normalize]).any()


def test_global_hooks():
    seen = []
    handle = torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, inputs: seen.append(module))
    try:
        S.Compose([T.Resize(20), T.ToTensor()])(pictures.image(60, 50))
    finally:
        handle.remove()
    assert [type(module) for module in seen] == [T.Resize]


def test_methods_of_an_instance():
    resize = T.Resize(20)
    resize.forward = lambda image: image.resize((3, 3))
    assert assert_own_ways_are_kept([resize, T.ToTensor()]).shape == (3, 3, 3)


@pytest.mark.parametrize("owner, name, value", [
    (T.functional, "to_tensor", lambda image: torch.ones(1, 2, 2)),
    (T.functional, "normalize", lambda tensor, *_: tensor * 0),
    (T.functional, "resize", lambda image, *_: image.resize((3, 3))),
    (T.Resize, "forward", lambda self, image: image.resize((4, 4))),
    (torch.nn.Module, "__call__", lambda self, image: image),
    (T.Normalize, "__call__", lambda self, tensor: tensor * 0),
])
def test_replaced_functions(monkeypatch, owner, name, value):
    transforms = [T.Resize(20), T.ToTensor(), T.Normalize([0.5], [0.5])]
    usual = assert_own_ways_are_kept(transforms)
    monkeypatch.setattr(owner, name, value)
    assert not torch.equal(assert_own_ways_are_kept(transforms), usual)


def test_threads():
    """Each with values of its own, so that what is remembered comes and goes."""
    image = pictures.image(40, 30)

    def work(number):
        for i in range(60):
            values = [number + 0.5], [i + 0.25]
            chain = [T.Resize(20), T.ToTensor(), T.Normalize(*values)]
            assert_same(T.Compose(chain)(image), S.Compose(chain)(image), values)
        return number

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))


def test_double_precision():
    torch.set_default_dtype(torch.float64)
    try:
        transforms = [T.RandomResizedCrop(20), T.RandomHorizontalFlip(0.7), T.ToTensor()]
        assert assert_own_ways_are_kept(transforms).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_parameters_may_change():
    normalize = T.Normalize([0.5], [0.5])
    pipeline = S.Compose([T.ToTensor(), normalize])
    image = pictures.image(20, 20)
    first = pipeline(image)
    normalize.mean = [0.25]
    assert not torch.equal(pipeline(image), first)
    assert torch.equal(pipeline(image), T.Compose(pipeline.transforms)(image))


CHANGES = {
    "an item of a list": lambda crop, flip, normalize: normalize.mean.__setitem__(0, 0.1),
    "a list": lambda crop, flip, normalize: setattr(normalize, "std", [0.3, 0.3, 0.3]),
    "the length of a list": lambda crop, flip, normalize: normalize.mean.pop(),
    "an item of a size": lambda crop, flip, normalize: crop.size.__setitem__(1, 31),
    "a number": lambda crop, flip, normalize: setattr(flip, "p", 1.0),
    "a method": lambda crop, flip, normalize: setattr(normalize, "forward", lambda tensor: tensor * 0),
    "a hook": lambda crop, flip, normalize: normalize.register_forward_hook(
        lambda module, inputs, output: output * 0),
    "all attributes": lambda crop, flip, normalize: setattr(
        crop, "__dict__", {**vars(crop), "size": (9, 9)}),
    "the class": lambda crop, flip, normalize: setattr(crop, "__class__", OwnRandomCrop),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_of_transforms_that_were_used(change):
    crop, flip = T.RandomResizedCrop(24, (0.5, 1.0)), T.RandomHorizontalFlip(0.0)
    crop.size = [24, 24]
    normalize = T.Normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])
    transforms = [crop, flip, T.ToTensor(), normalize]
    usual = assert_own_ways_are_kept(transforms)
    CHANGES[change](crop, flip, normalize)
    if len(normalize.mean) == 2:
        with pytest.raises(RuntimeError):
            S.Compose(transforms)(pictures.image(60, 50))
        return
    changed = assert_own_ways_are_kept(transforms)
    assert changed.shape != usual.shape or not torch.equal(changed, usual)


@pytest.mark.parametrize("size", [(50, 60), 50, (50,)], ids=str)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_resize_to_the_size_that_an_image_has(size, mode):
    image = pictures.image(60, 50).convert(mode)
    transforms = [T.Resize(size)]
    expected, result = T.Compose(transforms)(image), S.Compose(transforms)(image)
    assert (expected is image) == (result is image)
    assert expected.tobytes() == result.tobytes()


TENSOR_CHANGES = {
    "in place": lambda tensor: tensor.mul_(2),
    "its data": lambda tensor: tensor.data.mul_(2),
    "other data": lambda tensor: setattr(tensor, "data", torch.tensor([0.1, 0.2, 0.3])),
    "by numpy": lambda tensor: tensor.numpy().__setitem__(1, 0.25),
    "a gradient": lambda tensor: tensor.requires_grad_(),
}


@pytest.mark.parametrize("change", TENSOR_CHANGES)
def test_what_changes_of_tensors_of_means(change):
    normalize = T.Normalize(torch.tensor([0.5, 0.5, 0.5]), torch.tensor([0.5, 0.5, 0.5]))
    transforms = [T.CenterCrop(20), T.ToTensor(), normalize]
    assert_own_ways_are_kept(transforms)
    TENSOR_CHANGES[change](normalize.mean)
    changed = assert_own_ways_are_kept(transforms)
    assert changed.requires_grad == normalize.mean.requires_grad


class OwnJitter(T.ColorJitter):
    def forward(self, image):
        return image.rotate(90)


COLOUR_CHANGES = {
    "a range": lambda apply, jitter: setattr(jitter, "brightness", (0.1, 0.1)),
    "an item of a range": lambda apply, jitter: jitter.contrast.__setitem__(slice(2), [0.1, 0.1]),
    "a range that torch refuses": lambda apply, jitter: jitter.contrast.__setitem__(0, 9),
    "no range": lambda apply, jitter: [setattr(jitter, name, None) for name in ("brightness", "contrast")],
    "another transform": lambda apply, jitter: apply.transforms.__setitem__(0, T.ColorJitter(saturation=(0, 0))),
    "a transform of the program's": lambda apply, jitter: apply.transforms.__setitem__(0, OwnJitter()),
    "one more": lambda apply, jitter: apply.transforms.append(OwnJitter()),
    "none": lambda apply, jitter: apply.transforms.clear(),
    "a tuple": lambda apply, jitter: setattr(apply, "transforms", (OwnJitter(),)),
    "the chance": lambda apply, jitter: setattr(apply, "p", 0.0),
    "a chance of the program's": lambda apply, jitter: setattr(apply, "p", torch.tensor(0.0)),
    "a hook": lambda apply, jitter: jitter.register_forward_hook(lambda module, inputs, output: output.rotate(180)),
    "a hook of the outer one": lambda apply, jitter: apply.register_forward_pre_hook(lambda module, inputs: inputs[0].rotate(180)),
    "a method": lambda apply, jitter: setattr(jitter, "forward", lambda image: image.rotate(180)),
    "all attributes": lambda apply, jitter: setattr(jitter, "__dict__", {**vars(jitter), "brightness": (0.1, 0.1)}),
    "the class": lambda apply, jitter: setattr(jitter, "__class__", OwnJitter),
}


@pytest.mark.parametrize("change", COLOUR_CHANGES)
def test_what_changes_of_colours_that_were_used(change, monkeypatch):
    monkeypatch.setattr(colours, "_makers", {})
    colours.know(T)
    done = []
    plain = colours.changed
    monkeypatch.setattr(colours, "changed", lambda *arguments: done.append(plain(*arguments)) or done[-1])
    jitter = T.ColorJitter((0.5, 0.5), (0.7, 0.7))
    jitter.contrast = list(jitter.contrast)
    apply = T.RandomApply([jitter], 1.0)
    transforms = [T.CenterCrop(40), apply, T.ToTensor()]
    usual = assert_own_ways_are_kept(transforms)
    assert len(done) == 5 and None not in done
    COLOUR_CHANGES[change](apply, jitter)
    if "refuses" in change:
        with pytest.raises(RuntimeError):
            S.Compose(transforms)(pictures.image(60, 50))
        return
    assert not torch.equal(assert_own_ways_are_kept(transforms), usual)


def test_transforms_end():
    """An Inspection holds no transform, but the one inside a RandomApply, and no object that a program's transform refers to."""
    transforms = [T.Resize(20), T.ToTensor(), T.Normalize([0.5], [0.5])]
    transforms[2].all = transforms
    S.Compose(transforms)(pictures.image(60, 50))
    ends = [weakref.ref(transform) for transform in transforms]
    del transforms
    gc.collect()
    assert not any(end() for end in ends)


def test_errors_are_torchvisions():
    image = pictures.image(20, 20)
    for transforms, text in (([T.RandomCrop(21)], "larger than"),
                             ([T.ToTensor(), T.Normalize([0.5], [0])], "zero"),
                             ([T.Normalize([0.5], [0.5])], "Tensor"),
                             ([T.ToTensor(), T.Normalize([0.5] * 2, [0.5] * 2)], "size")):
        with pytest.raises(Exception) as expected:
            T.Compose(transforms)(image)
        with pytest.raises(type(expected.value), match=text) as found:
            S.Compose(transforms)(image)
        assert str(found.value) == str(expected.value)
