"""Resizes a file's tensor of bytes, and prints the filters that are proven then. Usage: resizes.py v1|v2 FILE."""

import importlib
import json
import sys

from PIL import Image
from torchvision.transforms import functional

from stoker._pipeline import tensor_resize

kind, file = sys.argv[1:]
T = importlib.import_module("torchvision.transforms" + (".v2" if kind == "v2" else ""))
tensor = functional.pil_to_tensor(Image.open(file).convert("RGB"))
T.Resize((20, 30), antialias=True)(tensor)
print(json.dumps({"proven": sorted(tensor_resize.proven()), "has v2": "torchvision.transforms.v2" in sys.modules}))
