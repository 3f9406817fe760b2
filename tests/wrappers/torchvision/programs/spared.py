"""Prints whether each augmentation builds its magnitudes, and whether crops draw by torchvision's own functions."""

import sys

import torch
from PIL import Image
from torchvision import transforms as T

plain, built = torch.linspace, []
torch.linspace = lambda *arguments, **named: built.append(arguments) or plain(*arguments, **named)
counts = []
for kind in (T.RandAugment, T.AutoAugment, T.TrivialAugmentWide):
    for _ in range(3):
        built.clear()
        kind()(Image.new("RGB", (50, 40)))
        counts.append(len(built) > 0)
print(*counts)
drawn = []
sys.setprofile(lambda frame, *event: frame.f_code.co_name == "get_params" and drawn.append(event))
steps = [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()]
for end in [], [T.ToTensor()]:
    drawn.clear()
    T.Compose(steps + end)(Image.new("RGB", (32, 32)))
    print(len(drawn) > 0)
