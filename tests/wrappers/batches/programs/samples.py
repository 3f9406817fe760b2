"""Tables of samples for default_collate, and of functions for collate_fn.

A sample is made of (number of the sample, side). Each case runs small, where a batch may travel by
value, and large, where it is worth a slot.
"""

import collections
import dataclasses

import numpy
import torch
from torch.utils.data import default_collate

SMALL, LARGE = 3, 120  # sides: a float image of three channels has 108 bytes, or 170 KB
COUNT = 6  # samples in a batch

Point = collections.namedtuple("Point", "image label")


@dataclasses.dataclass
class Record:
    image: torch.Tensor
    label: int


class Own(torch.Tensor):
    """A subclass as people write them."""


class Pair(list):
    """A sequence that is none of Python's own."""


class Fields(collections.UserDict):
    """A mapping that is none of Python's own."""


class Image:
    """A type that torch has no collate for."""


def image(number, side, dtype=torch.float32):
    generator = torch.Generator().manual_seed(number + 1)
    values = torch.randint(0, 256, (3, side, side), generator=generator)
    return (values / 255 if dtype.is_floating_point else values).to(dtype)


def array(number, side):
    return image(number, side).numpy()


def strided(number, side):
    """One that is neither contiguous nor at its storage's start."""
    return image(number, side + 2)[:, 1:-1, 1:-1].transpose(1, 2)


def sparse(number, side):
    return torch.where(image(number, side) > 0.9, 1.0, 0.0).to_sparse()


def quantized(number, side):
    return torch.quantize_per_tensor(image(number, side), 0.1, 3, torch.quint8)


def read_only(number, side):
    values = array(number, side)
    values.flags.writeable = False
    return values


def vision(name):
    """A maker of a tv_tensor, or nothing where torchvision has none."""
    try:
        from torchvision import tv_tensors
    except ImportError:
        return None
    if name == "Image":
        return lambda n, s: tv_tensors.Image(image(n, s, torch.uint8))
    if name == "Mask":
        return lambda n, s: tv_tensors.Mask(image(n, s, torch.uint8)[0])
    return lambda n, s: tv_tensors.BoundingBoxes(torch.tensor([[n, 1, 20, 30]]), format="XYXY",
                                                 canvas_size=(s, s))


def meta(number, side):
    return torch.empty(3, side, side, device="meta")


# ---- what default_collate takes, or does not ----

SAMPLES = {
    "tensor": image,
    **{str(dtype)[6:]: lambda n, s, dtype=dtype: image(n, s, dtype)
       for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8,
                     torch.int16, torch.int32, torch.int64, torch.bool)},
    "complex64": lambda n, s: torch.complex(image(n, s), image(n + 1, s)),
    "complex128": lambda n, s: torch.complex(image(n, s).double(), image(n + 1, s).double()),
    "conjugate": lambda n, s: torch.complex(image(n, s), image(n + 1, s)).conj(),
    "imaginary part": lambda n, s: torch.complex(image(n, s), image(n + 1, s)).conj().imag,
    "tuple": lambda n, s: (image(n, s), n),
    "list": lambda n, s: [image(n, s), n],
    "dict": lambda n, s: {"image": image(n, s), "label": n, "path": f"{n}.jpg"},
    "ordered dict": lambda n, s: collections.OrderedDict(b=image(n, s), a=n),
    "user dict": lambda n, s: Fields(image=image(n, s), label=n),
    "user list": lambda n, s: Pair([image(n, s), n]),
    "named tuple": lambda n, s: Point(image(n, s), n),
    "data class": lambda n, s: Record(image(n, s), n),
    "nested": lambda n, s: {"a": [(image(n, s), Point(n, float(n)))], "b": {"c": image(-n, s)}},
    "deep": lambda n, s: [[[[{"x": (image(n, s),)}]]]],
    "two views": lambda n, s: [image(n, s), image(-n, s)],
    "the same twice": lambda n, s: (lambda one: [one, one])(image(n, s)),
    "strings": lambda n, s: "x" * n * s,
    "bytes": lambda n, s: bytes(n * s),
    "int": lambda n, s: n,
    "large int": lambda n, s: 1 << 40,
    "float": lambda n, s: n / 3,
    "bool": lambda n, s: n % 2 == 0,
    "many floats": lambda n, s: [float(i + n) for i in range(s)],
    "range": lambda n, s: range(n, n + 4),
    "none": lambda n, s: None,
    "with none": lambda n, s: (image(n, s), None),
    "object": lambda n, s: Image(),
    "ragged": lambda n, s: image(n, s)[:, n:],
    "ragged in the last": lambda n, s: image(n, s + (n == COUNT - 1)),
    "ragged list": lambda n, s: [image(n, s)] * (n + 1),
    "ragged dict": lambda n, s: {f"{n // 3}": image(n, s)},
    "another type": lambda n, s: image(n, s) if n < 3 else n,
    "another dtype": lambda n, s: image(n, s, torch.float32 if n < 3 else torch.float64),
    "another layout": lambda n, s: image(n, s) if n < 3 else image(n, s).to_sparse(),
    "array": array,
    "array of uint8": lambda n, s: image(n, s, torch.uint8).numpy(),
    "array of bool": lambda n, s: array(n, s) > 0.5,
    "array of uint16": lambda n, s: (array(n, s) * 9999).astype("uint16"),
    "array of strings": lambda n, s: numpy.array(["a", "b"]),
    "array of objects": lambda n, s: numpy.array([n, None]),
    "array in Fortran's order": lambda n, s: numpy.asfortranarray(array(n, s)),
    "array backwards": lambda n, s: array(n, s)[:, ::-1],
    "array that is read-only": read_only,
    "array of the other end": lambda n, s: array(n, s).astype(">f4"),
    "numpy scalar": lambda n, s: numpy.float32(n / 7),
    "sparse": sparse,
    "sparse rows": lambda n, s: sparse(n, s)[0].to_dense().to_sparse_csr(),
    "quantized": quantized,
    "meta": meta,
    "requires grad": lambda n, s: image(n, s).requires_grad_(),
    "no leaf": lambda n, s: image(n, s).requires_grad_() * 2,
    "one requires grad": lambda n, s: image(n, s).requires_grad_(n == 4),
    "parameter": lambda n, s: torch.nn.Parameter(image(n, s)),
    "buffer": lambda n, s: torch.nn.Parameter(image(n, s), requires_grad=False),
    "names": lambda n, s: image(n, s).rename("C", "H", "W"),
    "subclass": lambda n, s: image(n, s).as_subclass(Own),
    "attribute": lambda n, s: (lambda one: (setattr(one, "path", "x"), one)[1])(image(n, s)),
    "zero-size": lambda n, s: torch.empty(0, s),
    "zero-size somewhere": lambda n, s: [image(n, s), torch.empty(3, 0, 2)],
    "one element": lambda n, s: torch.tensor([n * s]),
    "no dimension": lambda n, s: torch.tensor(n / s),
    "non-contiguous": strided,
    "permuted": lambda n, s: image(n, s).permute(1, 2, 0),
    "channels last": lambda n, s: image(n, s)[None].contiguous(
        memory_format=torch.channels_last)[0],
    "expanded": lambda n, s: image(n, s)[:1].expand(3, s, s),
    "row of a storage": lambda n, s: torch.arange(10 * s * s).view(10, s, s)[n],
    "shared": lambda n, s: image(n, s).share_memory_(),
    "five dimensions": lambda n, s: image(n, s)[None, None],
    "thousand small": lambda n, s: [torch.tensor(n + i) for i in range(8 * s)],
    "large and small": lambda n, s: (image(n, s), torch.tensor(n), image(n, 2), image(n, s)),
    "draws": lambda n, s: torch.rand(3, s, s),
    **{f"tv_tensors {name}": maker for name in ("Image", "Mask", "BoundingBoxes")
       if (maker := vision(name))},
}

# ---- collate functions as people write them ----


def fast_collate(samples):
    """timm's, in its main case: uint8 arrays into one tensor."""
    out = torch.zeros((len(samples), *samples[0].shape), dtype=torch.uint8)
    for i, sample in enumerate(samples):
        out[i] += (sample * 255).to(torch.uint8)
    return out, torch.arange(len(samples))


def mixup(samples):
    images = default_collate(samples)
    images.mul_(0.7).add_(images.flip(0), alpha=0.3)
    return images


def mixup_from_the_middle(samples):
    images = default_collate(samples)
    images[2:4] = images[3:5].clone()
    images[0].fill_(7)
    return images


def views(samples):
    whole = torch.stack(samples)
    return {"whole": whole, "first": whole[:2], "last": whole[-1], "twisted": whole.transpose(1, 3)}


def collated_views(samples):
    whole = default_collate(samples)
    return whole[1:], whole, whole[:, 0], whole.view(-1)[::2], whole.unbind()


def with_grad(samples):
    return torch.stack(samples).requires_grad_()


def sub_batches(samples):
    """Several batches from default_collate at once."""
    return [default_collate(samples[:3]), default_collate(samples[3:]), default_collate(samples)]


def thrown_away(samples):
    default_collate(samples)
    return default_collate(samples[::-1])


def reduced(samples):
    return default_collate(samples).mean((1, 2, 3))


def padded(samples):
    return torch.nn.utils.rnn.pad_sequence([one[0, :i + 1] for i, one in enumerate(samples)], True)


def packed(samples):
    return torch.nn.utils.rnn.pack_sequence([one[0, :i + 1] for i, one in enumerate(samples)],
                                            enforce_sorted=False)


def nested_tensor(samples):
    return torch.nested.nested_tensor([one[0, :i + 1] for i, one in enumerate(samples)])


def grown(samples):
    """One whose storage is larger than the tensor."""
    batch = torch.empty(3, 900, 900)
    return batch.resize_(1, 3).fill_(len(samples))


def cyclic(samples):
    batch = {"images": torch.stack(samples)}
    batch["self"] = [batch["images"]]
    return batch


def failing(samples):
    default_collate(samples)
    raise ValueError("the collate function's own")


def by_storage(samples):
    storage = torch.stack(samples).storage()
    return storage if hasattr(storage, "dtype") else None


COLLATES = {
    "identity": lambda samples: samples,
    "stack": torch.stack,
    "stack of uint8": lambda samples: (torch.stack(samples) * 255).to(torch.uint8),
    "cat": torch.cat,
    "tuple": lambda samples: (torch.stack(samples), len(samples)),
    "named tuple": lambda samples: Point(torch.stack(samples), ["a", "b"]),
    "data class": lambda samples: Record(torch.stack(samples), 3),
    "nested lists": lambda samples: [[{"x": [torch.stack(samples), (samples[0],)]}]],
    "numpy batch": lambda samples: numpy.stack([one.numpy() for one in samples]),
    "from numpy": lambda samples: torch.from_numpy(numpy.stack([one.numpy() for one in samples])),
    "from a buffer": lambda samples: torch.frombuffer(
        bytearray(torch.stack(samples).numpy().tobytes()), dtype=torch.float32),
    "channels last": lambda samples: torch.stack(samples).contiguous(
        memory_format=torch.channels_last),
    "permuted": lambda samples: torch.stack(samples).permute(0, 2, 3, 1),
    "permuted default": lambda samples: default_collate(samples).permute(0, 2, 3, 1),
    "slice of default": lambda samples: default_collate(samples)[1:-1],
    "half of default": lambda samples: default_collate(samples).half(),
    "expanded": lambda samples: samples[0][None].expand(6, -1, -1, -1),
    "rows of default": lambda samples: list(default_collate(samples)),
    "the same twice": lambda samples: (lambda one: {"x": one, "y": one})(torch.stack(samples)),
    "parameter": lambda samples: torch.nn.Parameter(torch.stack(samples)),
    "subclass": lambda samples: torch.stack(samples).as_subclass(Own),
    "names": lambda samples: torch.stack(samples).rename("N", "C", "H", "W"),
    "conjugate": lambda samples: torch.stack(samples).to(torch.complex64).conj(),
    "negative": lambda samples: torch.stack(samples).to(torch.complex64).conj().imag,
    "sparse": lambda samples: torch.stack(samples).to_sparse(),
    "empty": lambda samples: torch.empty(0, 3, 4),
    "nothing": lambda samples: None,
    "shared": lambda samples: torch.stack(samples).share_memory_(),
    "bfloat16": lambda samples: torch.stack(samples).bfloat16(),
    "quantized": lambda samples: torch.quantize_per_tensor(torch.stack(samples), 0.1, 3,
                                                           torch.quint8),
    **{function.__name__: function for function in (
        fast_collate, mixup, mixup_from_the_middle, views, collated_views, with_grad, sub_batches,
        thrown_away, reduced, padded, packed, nested_tensor, grown, cyclic, failing, by_storage)},
}

# This torch cannot put these into a queue, or not take them out again: it waits in vain.
if torch.__version__.startswith("1."):
    for name in "parameter", "subclass":
        del SAMPLES[name]
    for name in "names", "sparse", "nested_tensor", "subclass":
        del COLLATES[name]
