"""torchvision's transforms: the same bits, sooner. Everything here needs torchvision."""
