"""A program whose tensors are made on another device by default (torch.set_default_device, which
torch has from 2.0 on). That device has no memory, so code that counts on it fails."""

import torch
from torch.overrides import TorchFunctionMode

_MAKERS = {torch.arange, torch.as_tensor, torch.empty, torch.full, torch.ones, torch.rand, torch.randint, torch.tensor,
           torch.zeros}


class Elsewhere(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        named = dict(named or {})
        if function in _MAKERS and named.get("device") is None:
            named["device"] = "meta"
        return function(*arguments, **named)
