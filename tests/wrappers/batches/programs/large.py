"""Eight workers with batches of 150 MB. Says how many came, and how large the last was."""

import saying
import torch
from torch.utils.data import DataLoader, Dataset


class Large(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.full((15, 1000, 625), float(index))


def main():
    torch.set_num_threads(1)
    count, batch = 0, None
    for count, batch in enumerate(DataLoader(Large(), batch_size=4, num_workers=8,
                                             prefetch_factor=1, timeout=100), 1):
        assert torch.equal(batch[:, 3, -1, -1], torch.arange(4 * count - 4, 4 * count).float())
    saying.say("batches", [count, batch.numel() * batch.element_size()])


if __name__ == "__main__":
    main()
