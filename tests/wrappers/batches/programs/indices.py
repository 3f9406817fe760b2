"""Prints the batches of indices that can only be iterated over."""

import json

import torch
from torch.utils.data import DataLoader

INDICES = [map(int, (0, 1)), map(int, (2, 3)), map(int, (3, 0)), map(int, (1, 2))]

print(json.dumps([batch.tolist() for batch in DataLoader(torch.arange(4), batch_sampler=INDICES)]))
