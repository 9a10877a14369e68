"""Functions of torch and losses, given objects of which nothing is known: what is said of the result holds whatever they are."""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Iterable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")
pytest.importorskip("expecttest", reason="PyTorch's own operator samples need it")

import ops_modules  # noqa: E402
from ops_opinfo import database, known, real_function, spellings, variants  # noqa: E402
from ops_oracle import Sizes, Tally, compare  # noqa: E402

from tensorlint.inference import sizes as S  # noqa: E402
from tensorlint.inference.analysis import analyse  # noqa: E402
from tensorlint.inference.values import UNKNOWN, Sequence, Tensor, Value  # noqa: E402

# `given.a` and a call's result are unknown in two ways, a name in a third.
_WAYS = ("given.x{}", "given({})", "x{}")


class _Unwritable(Exception):
    pass


def written(value: Any, way: str, tensors: list[Any]) -> str:
    """The argument as it stands in a program; a tensor as something that nobody knows."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return way.format(len(tensors))
    if value is None or isinstance(value, bool | int | float | str | torch.dtype):
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return f'float("{value}")'
        return repr(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        inner = ", ".join(written(item, way, tensors) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if value else ''})"
    raise _Unwritable


def said(call: str, names: list[str], before: Iterable[str] = ()) -> Value:
    """What is said of the result of a call in a function that is given these names, after these lines."""
    lines = [f"def f({', '.join(names)}):", *before, f"r = {call}"]
    source = "import torch\nimport torch.nn as nn\n" + "\n    ".join(lines) + "\n"
    rows = analyse(ast.parse(source), source).bindings
    for row in rows:
        if row.name == "r":
            shape = None if row.shape is None else tuple(map(_size, row.shape))
            strides = None if row.strides is None else tuple(map(_size, row.strides))
            return Tensor(row.framework, shape, strides, row.dtype)
    return UNKNOWN


def _size(shown: int | str) -> S.Size:
    """A name stands for any number here."""
    return shown if isinstance(shown, int) else S.symbol()


def names_for(way: str, tensors: list[Any]) -> list[str]:
    return [f"x{at + 1}" for at in range(len(tensors))] if way.startswith("x") else ["given"]


def check(function: Any, spelled: str, args: tuple[Any, ...], kwargs: dict[str, Any], way: str, tally: Tally) -> bool:
    tensors: list[Any] = []
    try:
        parts = [written(value, way, tensors) for value in args]
        parts += [f"{name}={written(value, way, tensors)}" for name, value in kwargs.items()]
    except _Unwritable:
        return False
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            real = function(*args, **kwargs)
    except Exception:  # not a call of this spelling
        return False
    call = f"{spelled}({', '.join(parts)})"
    claimed = said(call, names_for(way, tensors))
    if isinstance(claimed, Tensor) and not isinstance(real, torch.Tensor):
        tally.wrong.append(f"{call}: claimed a tensor, is {type(real).__name__}")
    elif not isinstance(claimed, Sequence):
        compare(claimed, real, Sizes(), tally, call)
    return True


@pytest.mark.usefixtures("samples_of_torch")
@pytest.mark.parametrize("part", range(3))
def test_functions(part: int) -> None:
    tally = Tally()
    operators = [info for info in database() if known(info)]
    for number, info in enumerate(operators[part::3]):
        torch.manual_seed(0)
        device = torch.get_default_device().type
        try:
            samples = list(itertools.islice(info.sample_inputs_func(info, device, torch.float32, False), 6))
        except Exception:  # it takes no floating numbers, or needs what is not here
            continue
        paths = [path for kind, path in spellings(info) if kind == "function"]
        for at, sample in enumerate(samples):
            input, args = next(variants(sample))
            for path in paths:
                way = _WAYS[(number + at) % len(_WAYS)]
                check(real_function(path), path, (input, *args), sample.kwargs, way, tally)
    assert tally.results > 300
    assert tally.ranks > 0.08 * tally.results
    assert not tally.wrong, "\n".join(tally.wrong[:20])


@pytest.mark.usefixtures("samples_of_torch")
def test_tensors_are_known_and_one_other_argument_is_not() -> None:
    tally = Tally()
    for info in filter(known, database()):
        torch.manual_seed(0)
        try:
            samples = list(itertools.islice(info.sample_inputs_func(info, "cpu", torch.float32, False), 4))
        except Exception:  # it takes no floating numbers, or needs what is not here
            continue
        for sample in samples:
            input, args = next(variants(sample))
            for path in (path for kind, path in spellings(info) if kind == "function"):
                compare_without_one(
                    path, [(None, each) for each in (input, *args)] + list(sample.kwargs.items()), tally
                )
    assert tally.results > 600
    assert tally.ranks > 0.8 * tally.results
    assert not tally.wrong, "\n".join(tally.wrong[:20])


def compare_without_one(path: str, arguments: list[tuple[str | None, Any]], tally: Tally) -> None:
    """Each of the arguments that are no tensors stands in the program as a name that nobody knows, one after another."""
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            real = real_function(path)(
                *(value for name, value in arguments if name is None),
                **{name: value for name, value in arguments if name is not None},
            )
    except Exception:  # not a call of this spelling
        return
    for unknown, (_, left_out) in enumerate(arguments):
        if left_out is None or isinstance(left_out, torch.Tensor):
            continue
        tensors: list[Any] = []
        try:
            texts = [written(value, "x{}", tensors) for _, value in arguments]
        except _Unwritable:
            return
        if "x" in texts[unknown]:
            continue  # a list of tensors
        texts[unknown] = "unknown"
        parts = [text if name is None else f"{name}={text}" for text, (name, _) in zip(texts, arguments, strict=True)]
        call = f"{path}({', '.join(parts)})"
        made = [f"x{at} = torch.zeros({tuple(each.shape)}, dtype={each.dtype})" for at, each in enumerate(tensors, 1)]
        claimed = said(call, ["unknown"], made)
        if not isinstance(claimed, Sequence):
            compare(claimed, real, Sizes(), tally, call)


def test_losses() -> None:
    tally = Tally()
    for info in ops_modules.database():
        name = info.module_cls.__name__
        if not name.endswith("Loss") or "Linear" in name or "Adaptive" in name:
            continue
        samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
        for sample, way in zip(samples, itertools.cycle(_WAYS)):
            made = sample.constructor_input
            try:
                parts = [written(value, way, []) for value in made.args]
                parts += [f"{key}={written(value, way, [])}" for key, value in made.kwargs.items()]
            except _Unwritable:
                continue
            if "given" in str(parts) or "x1" in str(parts):
                continue  # a weight: which of the names it is does not matter here
            module = info.module_cls(*made.args, **made.kwargs)
            given = sample.forward_input
            check(module, f"nn.{name}({', '.join(parts)})", given.args, given.kwargs, way, tally)
    assert tally.results > 100
    assert tally.shapes > 0.5 * tally.results
    assert not tally.wrong, "\n".join(tally.wrong[:20])


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("F.mse_loss(net(x), y.to(device))", ()),
        ("F.cross_entropy(self.head(x), batch['labels'], reduction='sum')", ()),
        ("F.cosine_embedding_loss(net(x), net(y), flag)", ()),
        ("F.ctc_loss(net(x), y, a, b)", ()),
        ("F.triplet_margin_loss(net(x), net(y), net(flag))", ()),
        ("nn.CrossEntropyLoss()(net(x), y.z)", ()),
        ("torch.mean(net(x))", ()),
        ("torch.mm(net(x), net(y))", ("?", "?")),
        ("torch.flatten(net(x))", ("?",)),
        ("F.mse_loss(net(x), y, reduction='none')", None),
        ("F.mse_loss(net(x), y, reduction=how)", None),
        ("torch.mean(net(x), dim=1)", None),
        ("torch.pow(net(x), 2)", None),
    ],
)
def test_what_is_known(call: str, shape: tuple[object, ...] | None) -> None:
    source = (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
        f"def f(self, net, x, y, a, b, flag, batch, device, how):\n    r = {call}\n"
    )
    (row,) = analyse(ast.parse(source), source).bindings
    assert row.shape == shape
    assert row.framework == "torch"


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("torch.fft.fft(x, dim={})", [0, -1]),
        ("torch.rot90(x, {}, (0, 1))", [0, 1, -2]),
        ("torch.swapdims(x, {}, 1)", [0, -1]),
        ("torch.movedim(x, {}, 1)", [0, 3]),
        ("torch.diff(x, 1, {})", [0, 2]),
        ("nn.functional.glu(x, {})", [0, 2]),
        ("nn.functional.max_pool2d(x, 3, 2, ceil_mode={})", [True, False]),
        ("nn.functional.avg_pool2d(x, 3, 2, ceil_mode={})", [True, False]),
        ("nn.MaxPool2d(3, 2, ceil_mode={})(x)", [True, False]),
        ("torch.flip(x, {})", [(0,), (1, 2)]),
        ("x.transpose({}, 1)", [0, 2]),
    ],
)
def test_the_rank_stays_whatever_the_argument_is(call: str, values: list[Any]) -> None:
    x = torch.zeros(4, 2, 8, 8)
    ranks = {eval(call.format(value), {"torch": torch, "nn": torch.nn, "x": x}).dim() for value in values}
    claimed = said(call.format("unknown"), ["unknown"], ["x = torch.zeros(4, 2, 8, 8)"])
    assert isinstance(claimed, Tensor)
    assert claimed.shape is not None
    assert ranks == {len(claimed.shape)}
