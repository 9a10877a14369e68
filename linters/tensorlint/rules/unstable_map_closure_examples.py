"""The examples of TSR401."""

from __future__ import annotations

from tensorlint.rules.rule import Example

# The rows that every example works on.
_ROWS = """import os
from datasets import Dataset
ds = Dataset.from_dict({"text": ["alpha beta", "gamma"], "label": ["pos", "neg"], "n": [1, 2]})
"""

FLAGGED = (
    Example(
        _ROWS
        + """import torch
g = torch.Generator()
g.seed()
out = ds.map(lambda ex: {"t": torch.rand(1, generator=g).tolist()})
""",
        note="a generator of torch that seeds itself",
    ),
    Example(
        _ROWS
        + """import argparse

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-len", type=int, default=4)
    parser.add_argument("--output-dir", default=os.environ.get("RUN_DIR", "runs/0"))
    return parser.parse_args([])

def main(args):
    def cut(ex):
        return {"t": ex["text"][: args.max_len]}
    return ds.map(cut)

out = main(parse())
""",
        note="argparse namespace in a nested function",
    ),
    Example(
        _ROWS
        + """import argparse
import functools
args = argparse.Namespace(max_len=4, out=os.environ.get("RUN_DIR", "a"))

def cut(ex, args):
    return {"t": ex["text"][: args.max_len]}

out = ds.map(functools.partial(cut, args=args))
""",
        note="namespace handed over by partial",
    ),
    Example(
        _ROWS
        + """import argparse
args = argparse.Namespace(max_len=4, out=os.environ.get("RUN_DIR", "a"))

def cut(ex, opts):
    return {"t": ex["text"][: opts.max_len]}

out = ds.map(cut, fn_kwargs={"opts": args})
""",
        note="namespace handed over in fn_kwargs",
    ),
    Example(
        _ROWS
        + """from dataclasses import dataclass, field

@dataclass
class TrainConfig:
    max_len: int = 4
    output_dir: str = field(default_factory=lambda: os.environ.get("RUN_DIR", "runs/0"))

config = TrainConfig()
out = ds.map(lambda ex: {"t": ex["text"][: config.max_len]})
""",
        note="dataclass configuration",
    ),
    Example(
        _ROWS
        + """class Pipeline:
    def __init__(self, max_len, out_dir):
        self.max_len = max_len
        self.out_dir = out_dir

    def cut(self, ex):
        return {"t": ex["text"][: self.max_len]}

    def run(self, data):
        return data.map(self.cut, batched=False)

out = Pipeline(4, os.environ.get("RUN_DIR", "runs/0")).run(ds)
""",
        note="bound method of a pipeline with an output folder",
    ),
    Example(
        _ROWS
        + """from uuid import uuid4

class Cut:
    def __init__(self, n):
        self.n = n
        self.key = str(uuid4())

    def __call__(self, ex):
        return {"t": ex["text"][: self.n]}

out = ds.map(Cut(3))
""",
        note="callable instance that carries a uuid",
    ),
    Example(
        _ROWS
        + """import time
STARTED = time.time()

def stamp(text):
    return f"{text} {STARTED}"

def add(ex):
    return {"t": stamp(ex["text"])}

out = ds.map(add)
""",
        note="time in a global that a helper reads",
    ),
    Example(
        _ROWS
        + """rank = int(os.environ.get("RANK_", "0"))

def log(ex):
    if rank == 0:
        pass
    return {"t": len(ex["text"])}

out = ds.map(log)
""",
        note="rank of the process",
    ),
    Example(
        _ROWS
        + """import random
rng = random.Random()

def noisy(ex):
    return {"t": rng.random()}

out = ds.map(noisy)
""",
        note="unseeded random.Random",
    ),
    Example(
        _ROWS
        + """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

def embed_all(data):
    net = Net().eval()
    def embed(ex):
        with torch.no_grad():
            return {"t": net(torch.ones(1, 2)).tolist()}
    return data.map(embed)

out = embed_all(ds)
""",
        note="unseeded module in a closure",
    ),
    Example(
        _ROWS
        + """ids = (i for i in range(100))
out = ds.map(lambda ex: {"t": next(ids)})
""",
        note="generator in a closure",
    ),
    Example(
        _ROWS
        + """import sqlite3

class Store:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.k = 2

    def look(self, ex):
        return {"t": ex["text"][: self.k]}

store = Store()
out = ds.map(store.look)
""",
        note="database connection on self",
    ),
    Example(
        _ROWS
        + """def even(n):
    return True if n == 0 else odd(n - 1)

def odd(n):
    return False if n == 0 else even(n - 1)

out = ds.filter(lambda ex: even(len(ex["text"]) % 4) or True)
""",
        note="mutually recursive helpers",
    ),
    Example(
        _ROWS
        + """import argparse
args = argparse.Namespace(k=3, log_dir=os.environ.get("RUN_DIR", "l"))

def make_cut(args):
    def cut(ex):
        return {"t": ex["text"][: args.k]}
    return cut

out = ds.map(make_cut(args))
""",
        note="factory that closes over a namespace",
    ),
    Example(
        _ROWS
        + """cache = {}
if os.environ.get("RUN_DIR"):
    cache["alpha beta"] = 10

def length(ex):
    cache[ex["text"]] = len(ex["text"])
    return {"t": cache[ex["text"]]}

out = ds.map(length)
""",
        note="warmed-up cache decided by a setting",
    ),
)
SILENT = (
    Example(
        _ROWS
        + """import torch
g = torch.Generator().manual_seed(0)
out = ds.map(lambda ex: {"t": torch.rand(1, generator=g).tolist()})
""",
        note="a seeded generator of torch",
    ),
    Example(
        _ROWS
        + """import argparse
args = argparse.Namespace(max_len=4, out=os.environ.get("RUN_DIR", "a"))
max_len = args.max_len
out = ds.map(lambda ex: {"t": ex["text"][:max_len]})
""",
        note="namespace field in a local",
    ),
    Example(
        _ROWS
        + """import argparse
args = argparse.Namespace(max_len=4, out=os.environ.get("RUN_DIR", "a"))

def cut(ex, max_len):
    return {"t": ex["text"][:max_len]}

out = ds.map(cut, fn_kwargs={"max_len": args.max_len})
""",
        note="namespace field in fn_kwargs",
    ),
    Example(
        _ROWS
        + """import argparse
from functools import partial
args = argparse.Namespace(max_len=4, out=os.environ.get("RUN_DIR", "a"))

def cut(ex, max_len):
    return {"t": ex["text"][:max_len]}

out = ds.map(partial(cut, max_len=args.max_len))
""",
        note="partial of a field",
    ),
    Example(
        _ROWS
        + """from dataclasses import dataclass

@dataclass(frozen=True)
class Template:
    head: str
    tail: str

template = Template("<", ">")
out = ds.map(lambda ex: {"t": template.head + ex["text"] + template.tail})
""",
        note="every field of a dataclass is read",
    ),
    Example(
        _ROWS
        + """class Cut:
    def __init__(self, n):
        self.n = n

    def cut(self, ex):
        return {"t": ex["text"][: self.n]}

out = ds.map(Cut(3).cut)
""",
        note="bound method that reads all its state",
    ),
    Example(
        _ROWS
        + """import uuid

class Cut:
    def __init__(self):
        self.id = uuid.uuid4()

    @staticmethod
    def cut(ex):
        return {"t": ex["text"][:3]}

out = ds.map(Cut().cut)
""",
        note="static method",
    ),
    Example(
        _ROWS
        + """import uuid

class Module:
    def __init__(self):
        self.n = 3
        self.id = uuid.uuid4()

    def go(self):
        n = self.n
        return ds.map(lambda ex: {"t": ex["text"][:n]})

out = Module().go()
""",
        note="self hoisted",
    ),
    Example(
        _ROWS
        + """import logging
log = logging.getLogger(__name__)

def cut(ex):
    log.debug("row")
    return {"t": 1}

out = ds.map(cut)
""",
        note="logger",
    ),
    Example(
        _ROWS
        + """import threading
lock = threading.Lock()

def cut(ex):
    with lock:
        return {"t": 1}

out = ds.map(cut)
""",
        note="lock",
    ),
    Example(
        _ROWS
        + """STOP = {"the", "a", "an", "of", "in"}
out = ds.map(lambda ex: {"t": [w for w in ex["text"].split() if w not in STOP]})
""",
        note="plain set of strings",
    ),
    Example(
        _ROWS
        + """import numpy as np
rng = np.random.default_rng(0)
out = ds.map(lambda ex: {"t": float(rng.random())})
""",
        note="seeded generator",
    ),
    Example(
        _ROWS
        + """import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 2)
out = ds.map(lambda ex: {"t": float(net(torch.ones(2)).sum())})
""",
        note="seeded module",
    ),
    Example(
        _ROWS
        + r"""import re
P = re.compile(r"\w+", re.I)
out = ds.map(lambda ex: {"n": len(P.findall(ex["text"]))})
""",
        note="compiled pattern",
    ),
    Example(
        _ROWS
        + """def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

out = ds.map(lambda ex: {"t": depth(3)})
""",
        note="recursive helper",
    ),
    Example(
        _ROWS
        + """import time
started = time.time()
out = ds.map(lambda ex: {"t": len(ex["text"])})
took = time.time() - started
""",
        note="time that is not captured",
    ),
    Example(
        _ROWS
        + """import uuid
key = uuid.uuid4()
out = ds.map(lambda ex: {"t": str(key)}, new_fingerprint="rows-v1")
""",
        note="fingerprint given",
    ),
    Example(
        _ROWS
        + """from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    lengths = list(pool.map(len, ["a", "bb"]))
out = ds.map(lambda ex: {"t": lengths[0]})
""",
        note="executor used beside the map",
    ),
)
