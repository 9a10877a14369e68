"""Every function and method of the torch table with random arguments: what torch accepts is compared.

Arguments are drawn by the names of the entry's parameters (a `dim` is a small integer, an `index` integers below a
size); so an entry that is added to the table is called here without anybody's doing.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import torch
from ops_fuzz import rehearse, tensor
from ops_opinfo import describe, real_function, receiver_before
from ops_oracle import Sizes, Tally, apply, compare, lift

from tensorlint.inference import ops

MODES = ("numbers", "shared", "own")
# Change the process, compile, or return no tensor of this machine.
SKIPPED = frozenset({"torch.compile", "torch.jit.script", "torch.Generator", "torch.device", "torch.manual_seed"})
_TYPES = [torch.float32] * 5 + [torch.float64, torch.int64, torch.int64, torch.bool, torch.int32, torch.complex64]
_WORDS = ["mean", "sum", "none", "trunc", "floor", "ij", "xy", "amax", "prod", "reflect", "ij,jk->ik", "fro", "linear"]


class Draw:
    """Random arguments for one call; shapes hang together, so that most calls make sense."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.size = tuple(random_.choice([1, 2, 3, 4, 5]) for _ in range(random_.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])))
        if random_.random() < 0.4 and len(self.size) >= 2:
            self.size = (*self.size[:-1], self.size[-2])
        self.dtype = random_.choice(_TYPES)

    def tensor(self, *, size: tuple[int, ...] | None = None, dtype: torch.dtype | None = None) -> torch.Tensor:
        return tensor(self.random, self.size if size is None else size, self.dtype if dtype is None else dtype)

    def related(self) -> torch.Tensor:
        """A second operand: the same shape, transposed, one that broadcasts, or a matrix that multiplies."""
        way = self.random.randint(0, 6)
        size = self.size
        if way == 0 and len(size) >= 2:
            size = (*size[:-2], size[-1], size[-2])
        elif way == 1:
            size = tuple(number if self.random.random() < 0.6 else 1 for number in size)
        elif way == 2 and size:
            size = size[self.random.randrange(len(size)) :]
        elif way == 3 and size:
            size = (*size[:-1], 3)
        elif way == 4 and size:
            size = size[:-1]
        return self.tensor(size=size, dtype=self.random.choice([self.dtype] * 4 + _TYPES))

    def whole(self) -> int:
        return self.random.choice([0, 0, 1, 1, -1, -1, 2, -2, 3])

    def few(self) -> tuple[int, ...]:
        return tuple(self.random.choice([1, 1, 2, 2, 3, -1, 0]) for _ in range(self.random.randint(1, 3)))

    def anything(self) -> Any:
        pick = self.random.choice
        kind = self.random.randint(0, 11)
        if kind <= 3:
            return self.related()
        if kind <= 5:
            return self.whole()
        return pick([
            pick([0.5, 2.0, 1e-5]), self.few(), pick([True, False]), None, pick(_WORDS),
            [self.related() for _ in range(self.random.randint(1, 3))],
        ])  # fmt: skip

    def named(self, name: str) -> Any:
        """An argument for a parameter of this name."""
        pick = self.random.choice
        if self.random.random() < 0.08:
            return self.anything()
        if name in ("input", "values", "y", "logits", "real", "elements", "q", "sorted_sequence", "tensor", "module"):
            return self.tensor()
        if name in ("index", "indices"):
            least = min(self.size, default=1)
            of = self.tensor(dtype=torch.int64) * self.random.randrange(least)
            return of if self.random.random() < 0.5 else of.reshape(-1)[: pick([1, 2, 9])]
        if name in ("mask", "condition"):
            return self.related() != 0
        if name in ("dim", "axis", "dim0", "dim1", "dim2", "start_dim", "end_dim", "offset", "diagonal", "k"):
            return self.whole() if self.random.random() < 0.85 else self.few()
        if name in ("dims", "source", "destination", "shifts", "size", "shape", "sizes", "s", "stride"):
            return self.few() if self.random.random() < 0.7 else self.whole()
        if name in ("dtype", "out_dtype"):
            return pick([None, torch.float32, torch.float64, torch.int64, torch.complex64])
        if name in ("tensors", "matrices", "sequences", "operands"):
            size = lambda: self.size if self.random.random() < 0.7 else tuple(map(abs, self.few()))
            return [self.tensor(size=size()) for _ in range(pick([1, 2, 3]))]
        if name in ("chunks", "sections", "split", "split_size_or_sections", "repeats", "n", "m", "N", "steps",
                    "num_samples", "kernel_size", "output_size", "upscale_factor", "downscale_factor", "groups", "r",
                    "bins", "num_groups", "num_classes", "window_length", "indices_or_sections", "norm_type", "row",
                    "col", "dimension", "length", "dilation"):  # fmt: skip
            return pick([1, 2, 2, 3, 4]) if self.random.random() < 0.8 else self.few()
        if name in (
            "p",
            "ord",
            "alpha",
            "beta",
            "weight",
            "value",
            "scale_factor",
            "std",
            "mean",
            "a",
            "b",
            "min",
            "max",
        ):
            return pick([0.5, 1, 2, 2.0, 0]) if self.random.random() < 0.6 else self.related()
        if name in ("start", "end", "step", "low", "high", "base", "lambd", "threshold", "exponent", "fill_value"):
            return pick([1, 2, 3, 5, 0.5]) if self.random.random() < 0.8 else self.related()
        if name in ("keepdim", "sorted", "largest", "full_matrices", "some", "upper", "left", "return_inverse", "full",
                    "return_counts", "as_tuple", "descending", "stable", "unbiased", "hermitian", "bias", "ceil_mode",
                    "training", "return_indices", "right", "batch_first", "copy", "with_replacement", "replacement",
                    "inplace", "hard", "requires_grad", "non_blocking", "out_int32", "compute_uv"):  # fmt: skip
            return pick([True, False])
        if name == "memory_format":
            return pick([torch.contiguous_format, torch.channels_last, torch.preserve_format])
        if name == "pad":
            return tuple(pick([0, 1, 2]) for _ in range(pick([2, 2, 4, 6])))
        return self.related() if self.random.random() < 0.6 else self.anything()

    def several(self, name: str) -> list[Any]:
        """What a starred parameter takes: tensors, the numbers of a shape, or anything."""
        if name in ("tensors", "operands"):
            drawn = self.named("tensors")
            return drawn if isinstance(drawn, list) else [drawn]
        if name in ("shape", "size", "dims", "dim", "sizes", "repeats"):
            few = self.few()
            return [few] if self.random.random() < 0.4 else list(few)
        return [self.anything() for _ in range(self.random.choice([1, 1, 2, 3]))]

    def call(self, entry: ops.Entry) -> tuple[list[Any], dict[str, Any]]:
        """Positional arguments up to some parameter, and keywords for a few of those behind it."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        positional = True
        for at, parameter in enumerate(entry.parameters):
            name = parameter.name
            needed = parameter.default is None and not parameter.star and not parameter.rest
            if parameter.rest or name in ("out", "device", "generator", "layout", "pin_memory", "_stacklevel"):
                positional = False
                continue
            if not (parameter.by_place or parameter.star):
                positional = False
            if parameter.star:
                if positional:
                    args += self.several(name)
                continue
            if needed and positional and (at == 0 or self.random.random() < 0.85):
                args.append(self.named(name))
            elif needed:
                kwargs[name] = self.named(name)
                positional = False
            elif self.random.random() < 0.3 and positional:
                args.append(self.named(name))
            else:
                positional = False
                if self.random.random() < 0.25:
                    kwargs[name] = self.named(name)
        return args, kwargs


def sweep(seed: int, tries: int, only: str | None = None, most: int | None = None) -> tuple[Tally, dict[str, int]]:
    """Random calls of every entry until `most` are accepted by torch; how many were, by entry."""
    tally = Tally()
    accepted: dict[str, int] = {}
    table = ops.table_of("torch")
    for kind, entries in (("function", table.functions), ("method", table.methods)):
        for name in sorted(entries):
            if name in SKIPPED or ".cuda." in name or (only is not None and only not in name):
                continue
            real = real_function(name) if kind == "function" else getattr(torch.Tensor, name, None)
            if real is None:
                continue
            random_ = random.Random(f"{seed} {name}")
            torch.manual_seed(0)
            key = f"{kind} {name}"
            for _ in range(tries):
                if most is not None and accepted.get(key, 0) >= most:
                    break
                args, kwargs = Draw(random_).call(entries[name])
                if kind == "method" and not (args and isinstance(args[0], torch.Tensor)):
                    continue
                if _one(name, entries[name], real, args, kwargs, tally, key):
                    accepted[key] = accepted.get(key, 0) + 1
    return tally, accepted


def _one(
    name: str, entry: ops.Entry, real: Any, args: list[Any], kwargs: dict[str, Any], tally: Tally, key: str
) -> bool:
    where = f"{key}({', '.join(map(describe, args))}, { ({word: describe(one) for word, one in kwargs.items()}) })"
    before = list(args)
    if args and isinstance(args[0], torch.Tensor):
        before[0] = receiver_before(args[0], name)
        args = [receiver_before(args[0], name), *args[1:]]
    lifted = {}
    for mode in MODES:
        sizes = Sizes(mode)
        lifted[mode] = (
            sizes,
            [lift(one, sizes) for one in before],
            {word: lift(one, sizes) for word, one in kwargs.items()},
        )
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            rehearse(real, args, kwargs)
            result = real(*args, **kwargs)
    except Exception:  # whatever torch refuses
        return False
    for mode, (sizes, values, more) in lifted.items():
        try:
            claimed = apply(entry, ops.Call(name), values, more)
        except Exception as error:
            tally.wrong.append(f"{where} [{mode}]: raised {type(error).__name__}: {error}")
            continue
        compare(claimed, result, sizes, tally, f"{where} [{mode}]")
    return True
