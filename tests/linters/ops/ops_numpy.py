"""Every function and method of the numpy table with random arguments: what numpy accepts is compared."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy
from ops_fuzz import array
from ops_oracle import Sizes, Tally, apply, compare, lift

from tensorlint.inference import ops

MODES = ("numbers", "shared", "own")
# Draw from the global generator, or read what is not an array.
_SKIPPED = ("numpy.frombuffer", "numpy.fromiter", "numpy.fromstring", "numpy.require")
_TYPES = [
    numpy.float64,
    numpy.float64,
    numpy.float32,
    numpy.int64,
    numpy.int32,
    numpy.bool_,
    numpy.uint8,
    numpy.complex128,
]


def value(random_: random.Random, depth: int = 0) -> Any:
    kind = random_.randint(0, 15)
    if kind <= 6:
        size = tuple(random_.choice([1, 2, 3, 3, 4]) for _ in range(random_.choice([0, 1, 1, 2, 2, 3])))
        made = array(random_, size, random_.choice(_TYPES))
        return made if random_.random() < 0.7 or made.dtype.kind not in "fi" else made * 0
    if kind <= 8:
        return random_.randint(-2, 3)
    if kind == 9:
        return random_.choice([0.5, 2.0])
    if kind == 10:
        return tuple(random_.randint(-1, 3) for _ in range(random_.randint(1, 3)))
    if kind == 11 and depth < 2:
        if random_.random() < 0.5:
            return [random_.randint(0, 3) for _ in range(random_.randint(1, 3))]
        same = tuple(random_.choice([1, 2, 3]) for _ in range(random_.randint(1, 3)))
        return [array(random_, same, random_.choice(_TYPES[:3])) for _ in range(random_.randint(1, 3))]
    if kind == 12:
        return None
    if kind == 13:
        return random_.choice([True, False])
    if kind == 14:
        return random_.choice(
            ["C", "F", "xy", "ij", "constant", "ij,jk->ik", "ij->ji", "i,i->", "...j->...", "full", "same"]
        )
    return random_.choice([numpy.float32, numpy.int64])


def keywords(random_: random.Random, names: set[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "axis" in names and random_.random() < 0.5:
        made["axis"] = random_.choice([0, 1, -1, -2, None, (0, 1), (0,)])
    if "keepdims" in names and random_.random() < 0.4:
        made["keepdims"] = True
    if "size" in names and random_.random() < 0.6:
        made["size"] = random_.choice([3, (2, 3), None, (2, 1)])
    if "dtype" in names and random_.random() < 0.1:
        made["dtype"] = random_.choice([numpy.float32, "int64"])
    for flag in ("sparse", "full_matrices", "return_counts", "copy", "rowvar"):
        if flag in names and random_.random() < 0.3:
            made[flag] = random_.choice([True, False])
    return made


def real_function(path: str) -> Any:
    found: Any = numpy
    parts = path.split(".")[1:]
    for at, part in enumerate(parts):
        if part == "Generator":
            found = numpy.random.default_rng(0)
        elif part == "RandomState":
            found = numpy.random.RandomState(0)
        else:
            found = getattr(found, part, None)
        if found is None:
            return None
        del at
    return found


def sweep(seed: int, tries: int, only: str | None = None) -> tuple[Tally, dict[str, int]]:
    """Random calls of every function; the number of calls that numpy accepted, by name."""
    tally = Tally()
    accepted: dict[str, int] = {}
    table = ops.table_of("numpy")
    for kind, entries in (("function", table.functions), ("method", table.methods)):
        for name in sorted(entries):
            if name in _SKIPPED or (only is not None and only not in name):
                continue
            random_ = random.Random(f"{seed} {name}")
            numpy.random.seed(0)
            real = real_function(name) if kind == "function" else getattr(numpy.ndarray, name, None)
            if real is None:
                continue
            entry = entries[name]
            names = {parameter.name for parameter in entry.parameters}
            for _ in range(tries):
                arity = random_.choice([1, 1, 2, 2, 3])
                args = [value(random_) for _ in range(arity)]
                if random_.random() < 0.3 and arity == 2 and isinstance(args[0], numpy.ndarray):
                    args[1] = args[0].T.copy()
                if kind == "method" and not isinstance(args[0], numpy.ndarray):
                    continue
                kwargs = keywords(random_, names)
                try:
                    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
                        warnings.simplefilter("ignore")
                        result = real(*args, **kwargs)
                except Exception:  # whatever numpy refuses
                    continue
                key = f"{kind} {name}"
                accepted[key] = accepted.get(key, 0) + 1
                for mode in MODES:
                    sizes = Sizes(mode)
                    lifted = [lift(one, sizes) for one in args]
                    more = {word: lift(one, sizes) for word, one in kwargs.items()}
                    where = f"{key}({', '.join(map(describe, args))}, {kwargs}) [{mode}]"
                    try:
                        claimed = apply(entry, ops.Call(name), lifted, more)
                    except Exception as error:
                        tally.wrong.append(f"{where}: raised {type(error).__name__}: {error}")
                        continue
                    compare(claimed, result, sizes, tally, where)
    return tally, accepted


def describe(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        return f"{value.dtype}{value.shape}/{tuple(step // value.itemsize for step in value.strides)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(describe, value))}]"
    return repr(value)
