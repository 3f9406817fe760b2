"""Images of the plan and of the kernel's grid beside torchvision's own ToTensor and Normalize. They
are equal to the last bit; in types other than float they are rounded once."""

import pytest

from conftest import Image, Plan

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
transforms = pytest.importorskip("torchvision.transforms")
PIL = pytest.importorskip("PIL.Image")

TYPES = [torch.float32, torch.float16, torch.bfloat16]
BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
SHARES = [([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), ([0.5] * 3, [0.5] * 3),
          ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
          ([0.1307, 0.0, 1 / 3], [0.3081, 1.0, 1 / 255])]
MADE = ["test_run", "test_walk"]


def bits(tensor):
    return tensor.contiguous().view(BITS[tensor.dtype])


def run(library, name, images, dtype, channels_last, mean, std, windows=None, size=None):
    """The batch of these arrays (HWC), each with (left, top, flip)."""
    height, width = size or images[0].shape[:2]
    channels = images[0].shape[2]
    plan = Plan(TYPES.index(dtype), int(channels_last), channels, width, height)
    plan.mean[:channels], plan.std[:channels] = mean[:channels], std[:channels]
    assert library.test_plan(plan) is None
    shape = (len(images), height, width, channels) if channels_last else (
        len(images), channels, height, width)
    out = torch.full(shape, float("nan"), dtype=dtype)
    told = (Image * len(images))(*(
        Image(image.ctypes.data, image.shape[1], image.shape[0], image.strides[0], *window)
        for image, window in zip(images, windows or [(0, 0, 0)] * len(images))))
    getattr(library, name)(plan, told, len(images), out.data_ptr())
    return out.permute(0, 3, 1, 2) if channels_last else out


def of_torch(images, mean, std, *more):
    channels = images[0].shape[2]
    steps = transforms.Compose([*more, transforms.ToTensor(),
                                transforms.Normalize(mean[:channels], std[:channels])])
    return torch.stack([steps(PIL.fromarray(image.squeeze())) for image in images])


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mean, std", SHARES)
@pytest.mark.parametrize("channels", [1, 3])
def test_all_bytes_are_torch_s(library, name, channels_last, dtype, mean, std, channels):
    every = numpy.arange(256, dtype=numpy.uint8)[:, None].repeat(channels, 1)
    images = [every.reshape(16, 16, channels), every[::-1].reshape(16, 16, channels).copy()]
    ours = run(library, name, images, dtype, channels_last, mean, std)
    theirs = of_torch(images, mean, std).to(dtype)
    assert torch.equal(bits(ours), bits(theirs))


@pytest.mark.parametrize("name", MADE)
def test_other_shares_are_torch_s(library, name):
    random = numpy.random.RandomState(0)
    every = numpy.arange(256, dtype=numpy.uint8)[:, None].repeat(3, 1).reshape(16, 16, 3)
    for _ in range(300):
        mean, std = random.rand(3).tolist(), (random.rand(3) + 1e-3).tolist()
        ours = run(library, name, [every], torch.float32, False, mean, std)
        assert torch.equal(bits(ours), bits(of_torch([every], mean, std)))


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("dtype", TYPES)
def test_padded_crops_and_flips_are_torchvision_s(library, name, dtype):
    random = numpy.random.RandomState(1)
    images = [random.randint(0, 256, (32, 32, 3), dtype=numpy.uint8) for _ in range(64)]
    windows, theirs = [], []
    functional = transforms.functional
    mean, std = SHARES[2]
    for image in images:
        left, top, flip = (int(random.randint(-4, 5)), int(random.randint(-4, 5)),
                           int(random.randint(2)))
        windows.append((left, top, flip))
        padded = functional.pad(PIL.fromarray(image), 4)
        crop = functional.crop(padded, top + 4, left + 4, 32, 32)
        crop = functional.hflip(crop) if flip else crop
        theirs.append(functional.normalize(functional.to_tensor(crop), mean, std))
    ours = run(library, name, images, dtype, False, mean, std, windows)
    assert torch.equal(bits(ours), bits(torch.stack(theirs).to(dtype)))
