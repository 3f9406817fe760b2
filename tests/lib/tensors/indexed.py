"""A data set of whatever a test wants, for the programs that tests run."""

from torch.utils.data import Dataset


class Of(Dataset):
    """A data set that maps a function over its indices."""

    def __init__(self, function, count=12):
        self.function = function
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.function(i)
