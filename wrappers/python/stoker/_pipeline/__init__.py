"""A row of torchvision's transforms as one pass: the same bits, sooner. Everything here needs torchvision."""
