"""Random chains of views with sizes under names, and random einsums, against torch."""

from __future__ import annotations

import random
from typing import Any

import torch
from ops_fuzz import array, tensor
from ops_oracle import Sizes, Tally, apply, compare, lift

from tensorlint.inference import ops
from tensorlint.inference import sizes as S
from tensorlint.inference.values import Const, Tensor, Value, number

MODES = ("numbers", "shared", "own")


def _step(random_: random.Random, x: torch.Tensor) -> tuple[str, tuple[Any, ...]]:
    rank = x.dim()
    axis = lambda: random_.randint(-rank, rank - 1)
    kind = random_.randint(0, 9)
    if kind == 0 and rank >= 2:
        return "transpose", (axis(), axis())
    if kind == 1 and rank:
        order = list(range(rank))
        random_.shuffle(order)
        return "permute", tuple(order)
    if kind == 2:
        return "unsqueeze", (random_.randint(-rank - 1, rank),)
    if kind == 3:
        return "squeeze", (axis(),) if rank else ()
    if kind == 4 and rank >= 2:
        first = random_.randint(0, rank - 2)
        return "flatten", (first, random_.randint(first, rank - 1))
    if kind == 5 and rank:
        return "movedim", (axis(), axis())
    if kind == 6:
        return random_.choice(["clone", "contiguous"]), ()
    if kind == 7 and rank:
        return "narrow", (axis(), 0, 1)
    return random_.choice(["view", "reshape"]), ()


def views(seed: int, count: int) -> Tally:
    """Chains of six views; `view` and `reshape` split and merge axes, with -1 and with sizes that have names."""
    tally = Tally()
    random_ = random.Random(seed)
    for _ in range(count):
        sizes = Sizes(random_.choice(MODES))
        size = tuple(random_.choice([1, 2, 3, 4, 6]) for _ in range(random_.randint(1, 4)))
        x = tensor(random_, size)
        claimed: Value = lift(x, sizes)
        said = [f"{size}/{x.stride()} {sizes.mode}"]
        for _ in range(6):
            assert isinstance(claimed, Tensor)
            name, args = _step(random_, x)
            lifted: list[Value] = [Const(one) for one in args]
            if name in ("view", "reshape"):
                if claimed.shape is None or any(sizes.evaluate(one) is None for one in claimed.shape):
                    break
                target, names = _target(random_, tuple(x.shape), claimed.shape)
                args, lifted = target, [number(one) for one in names]
            before, before_shape = x, tuple(x.shape)
            try:
                x = getattr(x, name)(*args)
            except (RuntimeError, IndexError):
                if name == "view":
                    legal = _view_claim(claimed, lifted)
                    if legal is True:
                        tally.wrong.append(f"{' '.join(said)}: claimed that view{args} of {before_shape} is legal")
                break
            if name == "view" and _view_claim(claimed, lifted) is False:
                tally.wrong.append(
                    f"{' '.join(said)}: claimed that view{args} of {before_shape}/{before.stride()} is illegal"
                )
            said.append(f".{name}{args}")
            entry = ops.method("torch", name)
            assert entry is not None
            claimed = apply(entry, ops.Call(name), [claimed, *lifted], {})
            compare(claimed, x, sizes, tally, " ".join(said))
            if not isinstance(claimed, Tensor) or claimed.shape is None:
                break
            if any(size == 1 and named != 1 for size, named in zip(x.shape, claimed.shape, strict=False)):
                break  # a size with a name is taken to be other than 1
    return tally


class _Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def report(self, call: ops.Call, kind: str, facts: dict[str, Any]) -> None:
        self.heard.append(kind)


def views_as_types(seed: int, count: int, library: Any) -> Tally:
    """`x.view(torch.int16)`: the last axis gets longer or shorter where the types are not equally wide."""
    tally, random_ = Tally(), random.Random(seed)
    words = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "complex64"]
    name = library.__name__
    for _ in range(count):
        size = tuple(random_.choice([1, 2, 4, 8]) for _ in range(random_.randint(0, 3)))
        given, wanted = (getattr(library, word) for word in random_.choices(words, k=2))
        x = (tensor if library is torch else array)(random_, size, given)
        try:
            real = x.view(wanted)
        except (RuntimeError, ValueError):  # whatever the library refuses
            continue
        for mode in MODES:
            sizes = Sizes(mode)
            claimed = apply(ops.method(name, "view"), ops.Call("view"), [lift(x, sizes), lift(wanted, sizes)], {})
            compare(claimed, real, sizes, tally, f"{given}{size}.view({wanted}) [{mode}]")
    return tally


def _view_claim(claimed: Tensor, target: list[Value]) -> bool | None:
    """Whether the tables call the view legal: False where they report it, True where they know its strides."""
    listener = _Listener()
    entry = ops.method("torch", "view")
    assert entry is not None
    result = apply(entry, ops.Call("view", interpreter=listener), [claimed, *target], {})
    if "view" in listener.heard:
        return False
    return True if isinstance(result, Tensor) and result.strides is not None else None


def _target(
    random_: random.Random, real: tuple[int, ...], claimed: tuple[S.Size, ...]
) -> tuple[tuple[int, ...], tuple[S.Size, ...]]:
    """A new shape in numbers and in the sizes' names: axes merged, split, -1, ones put in."""
    numbers: list[int] = []
    names: list[S.Size] = []
    at = 0
    while at < len(real):
        way = random_.randint(0, 4)
        if way == 0 and at + 1 < len(real):
            numbers.append(real[at] * real[at + 1])
            names.append(S.multiply(claimed[at], claimed[at + 1]))
            at += 2
            continue
        if way == 1 and real[at] % 2 == 0 and isinstance(claimed[at], int):
            numbers += [2, real[at] // 2]
            names += [2, real[at] // 2]
        elif way == 2 and real[at] % 2 == 0:
            half = S.floor_divide(claimed[at], 2)
            assert half is not None
            numbers += [2, real[at] // 2]
            names += [2, half]
        else:
            numbers.append(real[at])
            names.append(claimed[at])
        if random_.random() < 0.1:
            numbers.append(1)
            names.append(1)
        at += 1
    if random_.random() < 0.5 and numbers:
        hole = random_.randrange(len(numbers))
        numbers[hole] = names[hole] = -1
    return (tuple(numbers), tuple(names)) if numbers else ((1,), (1,))


def einsums(seed: int, count: int) -> Tally:
    tally = Tally()
    random_ = random.Random(seed)
    entry = ops.function("torch.einsum")
    assert entry is not None
    for _ in range(count):
        lengths = {letter: random_.choice([1, 2, 3, 4, 5]) for letter in "abcde"}
        terms = ["".join(random_.sample("abcde", random_.randint(1, 4))) for _ in range(random_.randint(1, 3))]
        letters = sorted(set("".join(terms)))
        output = "".join(random_.sample(letters, random_.randint(0, len(letters))))
        equation = ",".join(terms) + (f"->{output}" if random_.random() < 0.9 else "")
        dtype = random_.choice([torch.float32] * 4 + [torch.int32, torch.bool, torch.int64, torch.complex64])
        operands = [tensor(random_, tuple(lengths[letter] for letter in term), dtype) for term in terms]
        try:
            real = torch.einsum(equation, *operands)
        except RuntimeError:
            continue
        for mode in MODES:
            sizes = Sizes(mode)
            lifted = [Const(equation), *(lift(one, sizes) for one in operands)]
            where = f"einsum({equation!r}, {[(tuple(one.shape), one.stride()) for one in operands]}) [{mode}]"
            compare(apply(entry, ops.Call("torch.einsum"), lifted, {}), real, sizes, tally, where)
    return tally


def attentions(seed: int, count: int) -> Tally:
    """scaled_dot_product_attention over queries, keys and values of random layouts."""
    tally = Tally()
    random_ = random.Random(seed)
    entry = ops.function("torch.nn.functional.scaled_dot_product_attention")
    assert entry is not None
    for _ in range(count):
        batch, heads, queries, keys = (random_.choice([1, 2, 3, 4]) for _ in range(4))
        width = random_.choice([1, 2, 3, 4, 8, 64])
        dtype = random_.choice([torch.float32, torch.float32, torch.bfloat16])
        query = tensor(random_, (batch, heads, queries, width), dtype)
        key, value = (tensor(random_, (batch, heads, keys, width), dtype) for _ in range(2))
        if query.is_cuda and any(
            step not in (1, 0) and step % 8 for each in (query, key, value) for step in each.stride()
        ):
            continue  # CUDA's kernels can fail for such addresses, and nothing works in the process any more
        mask = torch.ones(queries, keys, dtype=torch.bool)
        keywords = random_.choice([{}, {}, {"is_causal": True}, {"dropout_p": 0.3}, {"attn_mask": mask}])
        try:
            real = torch.nn.functional.scaled_dot_product_attention(query, key, value, **keywords)
        except RuntimeError:  # CUDA's kernels refuse operands that are not aligned
            continue
        for mode in MODES:
            sizes = Sizes(mode)
            lifted = [lift(one, sizes) for one in (query, key, value)]
            named = {name: lift(one, sizes) for name, one in keywords.items()}
            where = (
                f"attention {tuple(query.shape)}/{query.stride()} {key.stride()} {value.stride()} {keywords} [{mode}]"
            )
            compare(apply(entry, ops.Call("attention"), lifted, named), real, sizes, tally, where)
    return tally
