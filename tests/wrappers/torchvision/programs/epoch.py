"""Two epochs of an ImageFolder: the batches. Arguments: the folder, workers, "v1" or "v2"."""

import json
import sys

import saying
import torch
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

FOLDER, WORKERS, VERSION = sys.argv[1], int(sys.argv[2]), sys.argv[3]
VALUES = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Counted(ImageFolder):
    """Says with each image how many its process has decoded by Stoker, and without reading."""

    def __getitem__(self, index):
        counts = saying.counts() or {"images": -1, "unread": -1}
        return super().__getitem__(index) + (counts["images"], counts["unread"])


def pipeline():
    if VERSION == "v1":
        return T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor(),
                          T.Normalize(*VALUES)])
    from torchvision.transforms import v2
    return v2.Compose([v2.RandomResizedCrop(64), v2.RandomHorizontalFlip(), v2.ToImage(),
                       v2.ToDtype(torch.float32, scale=True), v2.Normalize(*VALUES)])


def main():
    saying.seed(5)
    loader = torch.utils.data.DataLoader(
        Counted(FOLDER, pipeline()), batch_size=7, shuffle=True, num_workers=WORKERS,
        persistent_workers=WORKERS > 0)
    saying.count_tensors()
    batches, most, unread = [], -1, -1
    for _ in range(2):
        for images, labels, counted, not_read in loader:
            batches.append(saying.show([images, labels]))
            most, unread = max(most, int(counted.max())), max(unread, int(not_read.max()))
    print(json.dumps({"batches": batches, "state": saying.state(), "most": most,
                      "unread": unread,                      "tensors": saying.made["tensors"]}))


main()
