"""Goes through images by a Feed until their forms are kept, and then has their files handed out.

    encoded.py PATH...

Prints of each batch whether the bytes are those of its files, also where there are forms. Prints
too whether an image made of them here equals the Feed's own. The last number is that of forms.
"""

import ctypes
import json
import sys

import torch

import stoker
from stoker import transforms
from stoker._feed import Feed


def main():
    paths = sys.argv[1:]
    torch.set_num_threads(1)

    def batches(encoded):
        return list(Feed(paths, paths, transform=transforms.RandomResizedCropFlip(48), batch_size=7,
                         generator=3, threads=2, encoded=encoded))
    for _ in range(2):
        batches(False)
    before, plain_batches, said = stoker.counts(), batches(False), []
    forms = stoker.counts()["from_forms"] - before["from_forms"]
    for (plain, names), (images, same_names) in zip(plain_batches, batches(True)):
        held = [ctypes.string_at(*place[:2]) for place in images.places]
        said.append([names == same_names, held == [open(name, "rb").read() for name in names],
                     torch.equal(images.to("cpu"), plain)])
    print(json.dumps([said, forms]))


main()
