"""An ordinary torchvision loader: `loader.py make DIRECTORY`, `loader.py read DIRECTORY`.

Makes a folder of JPEGs of two classes, or reads it twice in batches of 32, and prints "well". Four
workers read, each with two batches in shared memory.
"""

import os
import random
import sys
import time

COUNT, SIDE = 320, 112  # ten batches an epoch, of which workers hold eight
FILE_BYTES = 110000     # 35 MB in all: most of a file lies behind its image, which is quickly decoded


def make(directory):
    from PIL import Image
    dice = random.Random(1)
    for number in range(COUNT):
        folder = os.path.join(directory, f"class{number % 2}")
        os.makedirs(folder, exist_ok=True)
        image = Image.frombytes("RGB", (130, 130), dice.randbytes(130 * 130 * 3))
        with open(os.path.join(folder, f"{number}.jpeg"), "wb") as file:
            image.save(file, "jpeg", quality=95)
            file.write(bytes(FILE_BYTES - file.tell()))


def read(directory):
    import torch
    from torchvision import datasets, transforms
    steps = [transforms.Resize(SIDE), transforms.CenterCrop(SIDE), transforms.ToTensor()]
    data = datasets.ImageFolder(directory, transforms.Compose(steps))
    loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=4, shuffle=True)
    for _ in range(2):
        for images, _ in loader:
            assert images.shape == (32, 3, SIDE, SIDE)
            time.sleep(0.2)  # a training step: the workers are ahead
    print("well")


if __name__ == "__main__":
    {"make": make, "read": read}[sys.argv[1]](sys.argv[2])
