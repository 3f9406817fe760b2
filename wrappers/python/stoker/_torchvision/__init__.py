"""The functions that stand in the place of torchvision's. Everything here needs torchvision."""
