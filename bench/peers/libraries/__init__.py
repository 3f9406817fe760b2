"""How each library is used, as its own documentation has it."""

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class OneByOne:
    """A library that takes one photograph at a time: a job is a method of that name."""

    def begin(self):
        """Before each pass."""

    def run(self, job, photos):
        return map(getattr(self, job), photos)


class Torch(OneByOne):
    """One that draws its crops from torch: the same ones in each pass."""

    def begin(self):
        import torch
        torch.manual_seed(0)
        torch.set_num_threads(1)
