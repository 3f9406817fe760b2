"""PyTorch, torchvision and formats for weights."""

from .case import NEVER, case, some_bytes
from .images import save_picture


def make_tensors(path):
    import torch

    torch.manual_seed(1)
    torch.save({"weight": torch.randn(100, 100), "step": 7}, path)


@case("torch.load", "torch", ".pt", make_tensors)
def load(path):
    import torch

    return torch.load(path)


@case("torch.load of a file object", "torch", ".pt", make_tensors)
def load_file(path):
    import torch

    with open(path, "rb") as file:
        return torch.load(file, map_location="cpu")


@case("torch.load(mmap=True)", "torch", ".pt", make_tensors)
def load_mapped(path):
    import torch

    return torch.load(path, **({"mmap": True} if torch.__version__ >= "2.1" else {}))


def make_script(path):
    import torch

    torch.manual_seed(1)
    torch.jit.save(torch.jit.script(torch.nn.Linear(50, 50)), str(path))


@case("torch.jit.load", "torch", ".pt", make_script)
def jit(path):
    import torch

    return list(torch.jit.load(str(path)).parameters())


@case("torch._C.PyTorchFileReader", "torch", ".pt", make_tensors)
def archive(path):
    import torch

    found = torch._C.PyTorchFileReader(str(path))
    return [(name, found.get_record(name)) for name in sorted(found.get_all_records())]


# Beyond the end of the file it is a bus error, Stoker or not.
@case("torch.from_file", "torch", bad=("missing", "closed", "directory"))
def from_file(path):
    import torch

    return torch.from_file(str(path), shared=False, size=50000, dtype=torch.uint8)


@case("torch.from_file(shared=True)", "torch", bad=("closed", "directory"), sees=NEVER,
      facts=False)
def from_file_shared(path):
    import torch

    return torch.from_file(str(path), shared=True, size=50000, dtype=torch.uint8)


@case("torchvision.io.read_file", "torchvision")
def read_file(path):
    import torchvision.io

    return torchvision.io.read_file(str(path))


@case("torchvision.io.read_image of .png", "torchvision PIL numpy", ".png", save_picture)
def read_image(path):
    import torchvision.io

    return torchvision.io.read_image(str(path))


@case("torchvision.io.read_image of .jpg", "torchvision PIL numpy", ".jpg", save_picture)
def read_jpeg(path):
    import torchvision.io

    return torchvision.io.read_image(str(path))


def make_safetensors(path):
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(1)
    save_file({"weight": torch.randn(100, 100)}, path)


@case("safetensors.safe_open", "safetensors torch", ".safetensors", make_safetensors, main=False)
def safe_open(path):
    import safetensors

    with safetensors.safe_open(path, "pt") as found:
        return {name: found.get_tensor(name) for name in found.keys()}


def make_archive(path):
    import io
    import tarfile

    with tarfile.open(path, "w") as found:
        for number in range(4):
            member = tarfile.TarInfo(f"{number}.bin")
            member.size = 10000
            found.addfile(member, io.BytesIO(some_bytes(10000)))


@case("webdataset.WebDataset", "webdataset torch", ".tar", make_archive, main=False,
      bad=("missing", "closed"))
def web(path):
    import webdataset

    return [(one["__key__"], one["bin"]) for one in
            webdataset.WebDataset(str(path), shardshuffle=False)]
