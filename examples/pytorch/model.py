"""A small transformer, and what the scripts beside it share."""
import hashlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """A layer whose projections have the names that tensor parallelism shards."""

    def __init__(self, width, heads):
        super().__init__()
        self.width_of_head = width // heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (p(h).unflatten(-1, (-1, self.width_of_head)).transpose(1, 2) for p in (self.q, self.k, self.v))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(h)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words=8192, width=1024, heads=16, layers=8):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


class Tokens(torch.utils.data.Dataset):
    """Random sequences, the same in every run."""

    def __init__(self, count, length, words=8192, seed=0):
        self.count, self.length, self.words, self.seed = count, length, words, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1000003 + i)
        return torch.randint(self.words, (self.length + 1,), generator=g)


def begin():
    """Joins the job that torchrun started, and returns this rank, the ranks and the device."""
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(0)
    return dist.get_rank(), dist.get_world_size(), device


def digest(tensors):
    """The SHA-256 of the bits of some tensors."""
    h = hashlib.sha256()
    for t in tensors:
        h.update(t.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes())
    return h.hexdigest()[:16]


def same_everywhere(text):
    """Whether all ranks have the same text."""
    all_texts = [None] * dist.get_world_size()
    dist.all_gather_object(all_texts, text)
    return len(set(all_texts)) == 1
