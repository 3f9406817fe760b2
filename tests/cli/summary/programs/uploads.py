"""Trains with stoker.Loader on the GPU of the tests (tests/wrappers/loader/programs/fake.py).

    uploads.py DIRECTORY bytes|floats MB_S SECONDS_OF_A_STEP SECONDS_OF_A_SAMPLE [epochs=N] [pin=0] [stay=1]

How fast copies are, how long a step takes once its batch is there, and the making of each sample. With
stay=1 it waits for a line when it has trained.
"""

import os
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "wrappers/loader/programs"))

import fake  # noqa: E402
import torch  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

import stoker  # noqa: E402

SHAPE = 3, 64, 64


class Images(Dataset):
    """Each file holds the pixels of one."""

    def __init__(self, directory, dtype, seconds):
        self.paths = sorted(os.path.join(directory, name) for name in os.listdir(directory))
        self.dtype, self.seconds = dtype, seconds

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            data = bytearray(file.read())
        time.sleep(self.seconds)
        return torch.frombuffer(data, dtype=torch.uint8).reshape(SHAPE).to(self.dtype), index


def main():
    directory, kind, (speed, step_s, sample_s) = *sys.argv[1:3], map(float, sys.argv[3:6])
    more = dict(word.split("=") for word in sys.argv[6:])
    fake.install(fake.Timed)
    fake.world.late_us, fake.world.copy_mb_s = 0, int(speed)
    images = Images(directory, torch.uint8 if kind == "bytes" else torch.float32, sample_s)
    loader = stoker.Loader(DataLoader(images, batch_size=8, num_workers=2, persistent_workers=True),
                           device="cuda:0", pin=more.get("pin") != "0",
                           **({"mean": 0.5} if kind == "bytes" else {}))
    for _ in range(int(more.get("epochs", 2))):
        for _ in loader:
            loader._sink._place.handed_over.synchronize()
            time.sleep(step_s)
    print("trained", flush=True)
    if more.get("stay") == "1":
        sys.stdin.readline()
    del loader
    os._exit(0)


if __name__ == "__main__":
    main()
