"""Three epochs over a folder of images, with the loaders of many libraries. Usage: frameworks.py
NAME DIRECTORY SCRATCH."""

import os
import pathlib
import subprocess
import sys

EPOCHS, BATCH, WORKERS = 3, 8, 2

os.environ.update(HF_HUB_OFFLINE="1", NO_ALBUMENTATIONS_UPDATE="1", TOKENIZERS_PARALLELISM="false",
                  HF_HUB_DISABLE_PROGRESS_BARS="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")


def files_of(directory):
    return sorted(str(path) for path in pathlib.Path(directory).rglob("*.jpg"))


def tensors():
    from torchvision import transforms
    return transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])


def folder(directory):
    from torchvision.datasets import ImageFolder
    return ImageFolder(directory, tensors())


def loop(loader):
    for _ in range(EPOCHS):
        for _ in loader:
            pass


def loader_of(dataset, **options):
    from torch.utils.data import DataLoader
    return DataLoader(dataset, batch_size=BATCH, num_workers=WORKERS, **options)


def torchvision(directory, _):
    loop(loader_of(folder(directory), shuffle=True))


def timm(directory, _):
    from timm.data import create_dataset, create_loader
    loop(create_loader(create_dataset("", directory), input_size=(3, 32, 32), batch_size=BATCH,
                       is_training=True, use_prefetcher=False, num_workers=WORKERS))


def albumentations(directory, _):
    """Each file is looked at before it is read, by which it is opened twice."""
    import albumentations as A
    import numpy as np
    from PIL import Image
    from torch.utils.data import Dataset
    change = A.Compose([A.RandomResizedCrop((32, 32)), A.HorizontalFlip()])

    class Images(Dataset):
        files = files_of(directory)

        def __len__(self):
            return len(self.files)

        def __getitem__(self, index):
            with open(self.files[index], "rb") as file:
                assert file.read(2) == b"\xff\xd8"
            return change(image=np.array(Image.open(self.files[index])))["image"]
    loop(loader_of(Images(), shuffle=True))


def with_tensors(rows):
    change = tensors()
    return {"image": [change(image) for image in rows["image"]]}


def imagefolder(directory, scratch):
    """Trains from a folder by Hugging Face's `datasets`."""
    import datasets
    rows = datasets.load_dataset("imagefolder", data_dir=directory, split="train", cache_dir=scratch)
    loop(loader_of(rows.with_transform(with_tensors), shuffle=True))


def rows(directory, scratch):
    """Makes the file of `parquet`."""
    import datasets
    images = [{"image": {"bytes": pathlib.Path(file).read_bytes(), "path": None}}
              for file in files_of(directory)]
    made = datasets.Dataset.from_list(images, features=datasets.Features({"image": datasets.Image()}))
    made.to_parquet(f"{scratch}/rows.parquet")


def parquet(_, scratch):
    """Trains from a file by Hugging Face's `datasets`: the images are in one file outside
    DIRECTORY."""
    import datasets
    rows = datasets.load_dataset("parquet", data_files=f"{scratch}/rows.parquet", split="train",
                                 cache_dir=scratch)
    loop(loader_of(rows.with_transform(with_tensors), shuffle=True))


def webdataset(directory, _):
    """Shards, one for each worker; DIRECTORY has them."""
    import webdataset
    change = tensors()
    shards = sorted(map(str, pathlib.Path(directory).glob("*.tar")))
    rows = webdataset.WebDataset(shards, shardshuffle=False).decode("pil").to_tuple("jpg").map_tuple(change)
    loop(loader_of(rows))


def shard_batches(directory, _):
    """webdataset's standard use: its workers make the batches. DIRECTORY has shards."""
    import webdataset
    change = tensors()
    shards = sorted(map(str, pathlib.Path(directory).glob("*.tar")))
    rows = webdataset.WebDataset(shards, shardshuffle=False).decode("pil").to_tuple("jpg", "__key__").map_tuple(change)
    loop(webdataset.WebLoader(rows.batched(BATCH), batch_size=None, num_workers=WORKERS))


def ultralytics(directory, scratch):
    """Its loader keeps one iterator for all epochs."""
    os.environ["YOLO_CONFIG_DIR"] = scratch
    from ultralytics.data.build import InfiniteDataLoader
    loop(InfiniteDataLoader(folder(directory), batch_size=BATCH, num_workers=WORKERS, shuffle=True))


def stateful(directory, _):
    from torchdata.stateful_dataloader import StatefulDataLoader
    loop(StatefulDataLoader(folder(directory), batch_size=BATCH, num_workers=WORKERS, shuffle=True))


def transformers(directory, _):
    from torchvision.datasets import ImageFolder
    from transformers import ViTImageProcessor
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    loop(loader_of(ImageFolder(directory, lambda image: processor(image, return_tensors="pt")["pixel_values"][0])))


def lightning(directory, scratch):
    import logging
    import warnings
    import lightning
    import torch
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3 * 32 * 32, 2)

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.layer(batch[0].flatten(1)), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)
    lightning.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False,
                      default_root_dir=scratch).fit(Model(), loader_of(folder(directory), shuffle=True))


def rank(directory, _):
    import torch.distributed
    from torch.utils.data import DistributedSampler
    torch.distributed.init_process_group("gloo")
    rows = folder(directory)
    sampler = DistributedSampler(rows)
    loader = loader_of(rows, sampler=sampler)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for _ in loader:
            pass
    torch.distributed.destroy_process_group()


def torchrun(directory, scratch):
    subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
                    __file__, "rank", directory, scratch], check=True)


def fastai(directory, _):
    from fastai.vision.all import ImageDataLoaders, Resize
    loaders = ImageDataLoaders.from_folder(directory, valid_pct=0.25, seed=1, item_tfms=Resize(32), bs=BATCH,
                                           num_workers=WORKERS, device="cpu")
    for _ in range(EPOCHS):
        for part in loaders.train, loaders.valid:
            for _ in part:
                pass


def notebook(directory, scratch):
    """A cell makes the data set, another is run three times."""
    import nbclient
    import nbformat
    make = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            f"import frameworks; loader = frameworks.loader_of(frameworks.folder({directory!r}), shuffle=True)")
    cells = [make] + ["for _ in loader: pass"] * EPOCHS
    book = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    nbclient.NotebookClient(book, timeout=100, kernel_name="python3").execute(cwd=scratch)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:4])
