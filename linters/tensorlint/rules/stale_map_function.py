"""TSR404: a cached transform of `datasets` that is not computed again although its result would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import MapClosureHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst

# The rows that every example works on.
_ROWS = """import os
from datasets import Dataset
ds = Dataset.from_dict({"text": ["alpha beta", "gamma"], "label": ["pos", "neg"], "n": [1, 2]})
"""


class StaleMapFunction(Rule[MapClosureHazard]):
    """The other direction of an unstable fingerprint: it stays although the result would change, and rows of an earlier
    run are served. A function imported from another module is hashed by its name, so editing it refreshes nothing;
    so are the methods and class attributes of an imported class. What a function reads while it runs (the environment,
    a file, the clock, the process-wide random generator) is not part of its hash, so the first answer is kept for ever.

    Modules of the project itself count, wherever the function takes part in the transform: given to `map`, called by
    the mapped function, in a `partial` or in `fn_kwargs`. Code of an installed library changes with its version.

    This may be meant, so the rule speaks under `--strict` only. Put a version number or the value that is read into
    `fn_kwargs`; where a name with `version` in it enters the hash, imported code is not reported.
    """

    code = "TSR404"
    name = "stale-map-function"
    summary = "a cached transform of datasets depends on what its fingerprint does not cover"
    default = "strict"
    severity = "info"
    hazard = MapClosureHazard
    reads_node = False
    flagged = (
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": os.environ["HOME"]})
""",
            note="environment",
        ),
        Example(
            _ROWS
            + """def tag(ex):
    return {"t": os.getenv("LANG", "")}

out = ds.map(tag)
""",
            note="environment in a function",
        ),
        Example(
            _ROWS
            + """import random

def noisy(ex):
    return {"t": random.random()}

out = ds.map(noisy)
""",
            note="process-wide generator",
        ),
        Example(
            _ROWS
            + """import time
out = ds.map(lambda ex: {"t": time.time()})
""",
            note="clock",
        ),
        Example(
            _ROWS
            + """import torch
out = ds.map(lambda ex: {"t": float(torch.rand(1))})
""",
            note="torch's process-wide generator",
        ),
        Example(
            _ROWS
            + """def look(ex):
    with open(os.devnull) as file:
        return {"t": file.read()}

out = ds.map(look)
""",
            note="a file",
        ),
        Example(
            _ROWS
            + """import datetime
out = ds.map(lambda ex: {"t": datetime.datetime.now().isoformat()})
""",
            note="time of the row",
        ),
        Example(
            _ROWS
            + """import uuid
out = ds.map(lambda ex: {"t": str(uuid.uuid4())})
""",
            note="new key for each row",
        ),
        Example(
            _ROWS
            + """import random

def pick(ex):
    return {"t": random.choice(ex["text"].split())}

out = ds.map(pick)
""",
            note="choice for each row",
        ),
        Example(
            _ROWS
            + """import random
out = ds.filter(lambda ex: random.random() < 2)
""",
            note="filter by a draw",
        ),
        Example(
            _ROWS
            + """out = ds.filter(lambda ex: os.environ.get("LANG") != "none")
""",
            note="environment in a filter",
        ),
        Example(
            _ROWS
            + """import numpy as np
out = ds.map(lambda ex: {"t": float(np.random.rand())})
""",
            note="numpy's process-wide generator",
        ),
    )
    silent = (
        Example(
            _ROWS
            + """home = os.environ.get("HOME", "")
out = ds.map(lambda ex, home: {"t": home}, fn_kwargs={"home": home})
""",
            note="environment read before",
        ),
        Example(
            _ROWS
            + """import random

def noisy(ex, seed):
    return {"t": random.Random(seed).random()}

out = ds.map(noisy, fn_kwargs={"seed": 0})
""",
            note="generator made from a seed in fn_kwargs",
        ),
        Example(
            _ROWS
            + """import time
started = time.time()
out = ds.map(lambda ex: {"t": 1})
print(time.time() - started)
""",
            note="clock read before",
        ),
        Example(
            _ROWS
            + """with open(os.devnull) as file:
    text = file.read()
out = ds.map(lambda ex: {"t": text})
""",
            note="file read before",
        ),
        Example(
            _ROWS
            + """import random
out = ds.map(lambda ex: {"t": random.random()}, load_from_cache_file=False)
""",
            note="nothing is kept",
        ),
        Example(
            _ROWS
            + """import random
out = ds.map(lambda ex: {"t": random.random()}, new_fingerprint="v1")
""",
            note="fingerprint given",
        ),
        Example(
            _ROWS
            + """import numpy as np
out = ds.map(lambda ex: {"t": float(np.random.default_rng(ex["n"]).random())})
""",
            note="seeded numpy generator",
        ),
        Example(
            _ROWS
            + """import random
out = ds.map(lambda ex: {"t": 1})
drawn = list(map(lambda _: random.random(), range(3)))
""",
            note="builtin map",
        ),
        Example(
            _ROWS
            + """def size(text):
    return len(text)

out = ds.map(lambda ex: {"t": size(ex["text"])})
""",
            note="function of the same file",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": ex["text"].upper()})
""",
            note="method of a row's text",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": os.path.join("data", ex["text"])})
""",
            note="path of a file that is not opened",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": len(ex["text"])})
""",
            note="nothing outside",
        ),
    )

    def judge(self, hazard: MapClosureHazard, node: libcst.CSTNode) -> str | None:
        return f"{hazard.reason}; {hazard.remedy}" if hazard.strict else None
