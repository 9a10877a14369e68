"""TSR403: `shuffle()` or `train_test_split()` without a seed upstream of a cached transform of `datasets`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tensorlint.inference.hazards import UnseededParentHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst

# The rows that every example works on.
_ROWS = """import os
from datasets import Dataset
ds = Dataset.from_dict({"text": ["alpha beta", "gamma"], "label": ["pos", "neg"], "n": [1, 2]})
"""


class UnseededMapParent(Rule[UnseededParentHazard]):
    """The fingerprint of `map` starts from the fingerprint of the rows it is given. `shuffle()` and
    `train_test_split()` without a seed draw a new order and put that draw into their own fingerprint, so each run gives
    other rows, and every later `map` and `filter` misses its cache and writes another file. `train_test_split(shuffle=
    False)` draws a seed all the same. A parameter `seed=None` counts where a call in the file leaves it at that.

    Give them a seed. Or shuffle after the expensive `map`: then the cache is found, and the order is new in each run.

    The rule is silent where `numpy.random` is seeded in the file (`shuffle` takes its seed from there), by
    `set_seed(...)` and the like too, and where no cached transform follows.
    """

    code = "TSR403"
    name = "unseeded-map-parent"
    summary = "shuffle or train_test_split without a seed upstream of a cached map or filter"
    hazard = UnseededParentHazard
    reads_node = False
    flagged = (
        Example(
            _ROWS
            + """big = Dataset.from_dict({"n": list(range(40))})
parts = big.train_test_split(test_size=0.25)
out = parts["train"].map(lambda ex: {"m": ex["n"]})
""",
            note="split without a seed",
        ),
        Example(
            _ROWS
            + """big = Dataset.from_dict({"n": list(range(40))})
out = big.train_test_split(0.25).map(lambda ex: {"m": ex["n"]})
""",
            note="split of a DatasetDict mapped whole",
        ),
        Example(
            _ROWS
            + """big = Dataset.from_dict({"n": list(range(40))})
out = big.shuffle(seed=None).select(range(10)).filter(lambda ex: ex["n"] >= 0)
""",
            note="shuffle with seed None",
        ),
        Example(
            _ROWS
            + """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
args = parser.parse_args([])
big = Dataset.from_dict({"n": list(range(40))})
out = big.shuffle(seed=args.seed).map(lambda ex: {"m": ex["n"]})
""",
            note="an option for the seed that is None unless it is given",
        ),
        Example(
            _ROWS
            + """import numpy as np
big = Dataset.from_dict({"n": list(range(40))})
mixed = big.shuffle(generator=np.random.default_rng())
out = mixed.map(lambda ex: {"m": ex["n"]})
""",
            note="shuffle with an unseeded generator",
        ),
        Example(
            _ROWS
            + """import random
big = Dataset.from_dict({"n": list(range(40))})
sample = big.select(random.sample(range(len(big)), 10))
out = sample.map(lambda ex: {"m": ex["n"]})
""",
            note="random selection without a seed",
        ),
        Example(
            _ROWS
            + """class Module:
    def prepare(self):
        self.data = Dataset.from_dict({"n": list(range(40))}).shuffle()

    def setup(self):
        return self.data.map(lambda ex: {"m": ex["n"]})

module = Module()
module.prepare()
out = module.setup()
""",
            note="shuffle on self and a map in another method",
        ),
        Example(
            _ROWS
            + """from datasets import interleave_datasets
big = Dataset.from_dict({"n": list(range(40))})
both = interleave_datasets([big, big], probabilities=[0.5, 0.5])
out = both.map(lambda ex: {"m": ex["n"]})
""",
            note="interleaving by unseeded probabilities",
        ),
        Example(
            _ROWS
            + """import time
big = Dataset.from_dict({"n": list(range(40))})
out = big.shuffle(seed=time.time_ns() % 2**32).map(lambda ex: {"m": ex["n"]})
""",
            note="seed taken from the clock",
        ),
        Example(
            _ROWS
            + """big = Dataset.from_dict({"n": list(range(40))})
out = big.train_test_split(test_size=0.25, shuffle=False)["train"].map(lambda ex: {"m": ex["n"]})
""",
            note="split in order takes a seed all the same",
        ),
        Example(
            _ROWS
            + """out = ds.shuffle().map(lambda ex: {"m": ex["n"]})
""",
            note="shuffle, then map",
        ),
        Example(
            _ROWS
            + """mixed = ds.shuffle()
out = mixed.filter(lambda ex: ex["n"] > 0)
""",
            note="shuffle, then filter",
        ),
        Example(
            _ROWS
            + """from datasets import concatenate_datasets
both = concatenate_datasets([ds, ds.shuffle()])
out = both.map(lambda ex: {"m": ex["n"]})
""",
            note="concatenation of a shuffled part",
        ),
        Example(
            _ROWS
            + """def load():
    return ds.shuffle().select(range(2))

out = load().map(lambda ex: {"m": ex["n"]})
""",
            note="shuffle in a function that returns the rows",
        ),
    )
    silent = (
        Example(
            _ROWS
            + """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=42)
args = parser.parse_args([])
big = Dataset.from_dict({"n": list(range(40))})
out = big.shuffle(seed=args.seed).map(lambda ex: {"m": ex["n"]})
""",
            note="an option for the seed, with a default",
        ),
        Example(
            _ROWS
            + """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
args = parser.parse_args([])
if args.seed is None:
    args.seed = 42
big = Dataset.from_dict({"n": list(range(40))})
out = big.shuffle(seed=args.seed).map(lambda ex: {"m": ex["n"]})
""",
            note="an option for the seed that is asked whether it was given",
        ),
        Example(
            _ROWS
            + """big = Dataset.from_dict({"n": list(range(40))})
out = big.train_test_split(test_size=0.25, seed=7)["train"].map(lambda ex: {"m": ex["n"]})
""",
            note="split with a seed",
        ),
        Example(
            _ROWS
            + """import numpy as np
np.random.seed(3)
big = Dataset.from_dict({"n": list(range(40))})
out = big.shuffle().map(lambda ex: {"m": ex["n"]})
""",
            note="shuffle after numpy was seeded",
        ),
        Example(
            _ROWS
            + """import numpy as np
big = Dataset.from_dict({"n": list(range(40))})
out = big.shuffle(generator=np.random.default_rng(42)).map(lambda ex: {"m": ex["n"]})
""",
            note="shuffle with a seeded generator",
        ),
        Example(
            _ROWS
            + """big = Dataset.from_dict({"n": list(range(40))})
out = big.map(lambda ex: {"m": ex["n"]})
shuffled = out.shuffle()
""",
            note="shuffle downstream of the map",
        ),
        Example(
            _ROWS
            + """import random
big = Dataset.from_dict({"n": list(range(40))})
out = big.select(random.Random(0).sample(range(40), 5)).map(lambda ex: {"m": ex["n"]})
""",
            note="selection by a seeded sample",
        ),
        Example(
            _ROWS
            + """out = ds.shuffle(seed=42).map(lambda ex: {"m": ex["n"]})
""",
            note="shuffle with a seed",
        ),
        Example(
            _ROWS
            + """seed = int(os.environ.get("SEED", "3"))
out = ds.shuffle(seed=seed).map(lambda ex: {"m": ex["n"]})
""",
            note="seed from a setting",
        ),
        Example(
            _ROWS
            + """out = ds.shuffle(42).map(lambda ex: {"m": ex["n"]})
""",
            note="seed as the first argument",
        ),
        Example(
            _ROWS
            + """parts = ds.train_test_split(0.5)
out = ds.map(lambda ex: {"m": ex["n"]})
""",
            note="split without a map",
        ),
        Example(
            _ROWS
            + """import random
rows = [0, 1]
random.Random(0).shuffle(rows)
out = ds.select(rows).map(lambda ex: {"m": ex["n"]})
""",
            note="list shuffled with a seed",
        ),
        Example(
            _ROWS
            + """out = ds.sort("n").map(lambda ex: {"m": ex["n"]})
""",
            note="sorted, not shuffled",
        ),
        Example(
            _ROWS
            + """import random
import numpy as np

def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)

set_seed(1)
out = ds.shuffle().map(lambda ex: {"m": ex["n"]})
""",
            note="seed of the project's own",
        ),
    )

    def judge(self, hazard: UnseededParentHazard, node: libcst.CSTNode) -> str | None:
        seeded = hazard.method in ("shuffle", "train_test_split", "interleave_datasets")
        remedy = f"give {hazard.method} a seed" if seeded else "draw from a seeded generator"
        period = re.search(r"another (every (?:day|month|year))$", hazard.reason)
        missed = f"loses its cache {period[1]}" if period else "never finds its cache"
        return (
            f"{hazard.receiver}.{hazard.method}: {hazard.reason}, so the {hazard.downstream} after it {missed}; "
            f"{remedy}, or {hazard.method} after the {hazard.downstream}"
        )
