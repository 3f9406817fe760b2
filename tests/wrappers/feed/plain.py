"""The data set and loader that people write without Stoker."""

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    """Files as images, and their labels."""

    def __init__(self, paths, labels, transform):
        self.paths, self.labels, self.transform = paths, labels, transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with Image.open(self.paths[i]) as file:
            image = file.convert("RGB")
        return self.transform(image), self.labels[i]


def epochs(loader, count=1):
    """All batches of so many epochs."""
    return [list(loader) for _ in range(count)]


def loader(paths, labels, transform, num_workers=1, **options):
    """Its worker is a process that was forked, with a random state of its own."""
    return DataLoader(Files(paths, labels, transform), num_workers=num_workers, **options)


def assert_same(expected, given):
    """Epochs of batches, in all that one can see of a tensor."""
    assert [len(epoch) for epoch in expected] == [len(epoch) for epoch in given]
    for one, other in zip(sum(expected, []), sum(given, [])):
        for tensor, ours in zip(one, other):
            assert type(ours) is type(tensor)
            if isinstance(tensor, torch.Tensor):
                assert (ours.dtype, ours.shape, ours.stride()) == (
                    tensor.dtype, tensor.shape, tensor.stride())
                assert torch.equal(ours, tensor)
                assert ours._base is None and not ours.requires_grad
            else:
                assert ours == tensor
