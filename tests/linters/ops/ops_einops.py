"""Random einops patterns on random tensors, against einops."""

from __future__ import annotations

import random
from typing import Any

import einops
import torch
from ops_fuzz import array, tensor
from ops_oracle import Sizes, Tally, apply, compare, lift

from tensorlint.inference import ops
from tensorlint.inference.values import Const

MODES = ("numbers", "shared", "own")
LETTERS = "abcdef"


def _side(random_: random.Random, names: list[str]) -> str:
    groups: list[str] = []
    rest = list(names)
    while rest:
        take = random_.choice([1, 1, 1, 2, 3])
        part, rest = rest[:take], rest[take:]
        groups.append(f"({' '.join(part)})" if len(part) > 1 or random_.random() < 0.1 else part[0])
    if random_.random() < 0.15:
        groups.insert(random_.randint(0, len(groups)), random_.choice(["1", "()"]))
    return " ".join(groups)


def _length(group: str, sizes: dict[str, int]) -> int:
    result = 1
    for name in group.strip("()").split():
        result *= sizes.get(name, 1)
    return result


def _groups(side: str) -> list[str]:
    found: list[str] = []
    inside = ""
    for word in side.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            inside = "("
        elif word == ")":
            found.append(inside + ")")
            inside = ""
        elif inside:
            inside += f" {word}"
        else:
            found.append(word)
    return found


def sweep(seed: int, count: int) -> Tally:
    tally = Tally()
    random_ = random.Random(seed)
    for _ in range(count):
        names = list(LETTERS[: random_.randint(1, 5)])
        lengths = {name: random_.choice([1, 2, 3, 4]) for name in names}
        left = _side(random_, names)
        kind = random_.choice(["rearrange", "rearrange", "reduce", "repeat"])
        kept = list(names)
        random_.shuffle(kept)
        known = {name: lengths[name] for name in names if random_.random() < 0.4}
        for group in _groups(left):
            inner = group.strip("()").split() if group.startswith("(") else []
            for name in inner[1:]:
                known[name] = lengths[name]
        if kind == "reduce":
            kept = kept[: random_.randint(0, len(kept))]
        if kind == "repeat":
            kept.insert(random_.randint(0, len(kept)), "z")
            known["z"] = random_.choice([1, 2, 3])
        size = tuple(_length(group, lengths) for group in _groups(left))
        right = _side(random_, kept)
        if random_.random() < 0.3 and "1" not in left + right and "()" not in left + right:
            left, right, size = f"... {left}", f"... {right}", (2, *size)
        pattern = f"{left} -> {right}"
        value: Any = tensor(random_, size) if random_.random() < 0.8 else array(random_, size)
        extra = [random_.choice(["sum", "mean", "max"])] if kind == "reduce" else []
        try:
            real = getattr(einops, kind)(value, pattern, *extra, **known)
        except (einops.EinopsError, RuntimeError, ValueError):
            continue
        entry = ops.function(f"einops.{kind}")
        assert entry is not None
        for mode in MODES:
            sizes = Sizes(mode)
            plain = Sizes()
            lifted = [lift(value, sizes), Const(pattern), *(Const(one) for one in extra)]
            claimed = apply(entry, ops.Call(kind), lifted, {name: lift(one, plain) for name, one in known.items()})
            where = f"{kind}({size}/{value.strides if not isinstance(value, torch.Tensor) else value.stride()}, {pattern!r}, {known}) [{mode}]"
            compare(claimed, real, sizes, tally, where)
    return tally
