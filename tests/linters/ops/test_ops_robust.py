"""No argument makes an operation of the tables fail or run away, and every entry can be called."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Iterator

import pytest

from tensorlint.inference import layout, ops
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import elementwise, indexing, modules
from tensorlint.inference.ops import table as tables
from tensorlint.inference.values import (
    UNKNOWN,
    Const,
    Dictionary,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Value,
)


@pytest.fixture
def _strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transfer function's own error is raised, not taken for an unknown result."""
    monkeypatch.setattr(tables, "strict", True)


def value(random_: random.Random, depth: int = 0) -> Value:
    size = lambda: random_.choice([0, 1, 2, 3, 7, 10**12, S.symbol("N"), S.symbol(), S.multiply(3, S.symbol("C"))])
    kind = random_.randint(0, 19)
    if kind <= 6:
        shape = tuple(size() for _ in range(random_.randint(0, 5)))
        framework = random_.choice(["torch", "numpy", "torch", None])
        strides = random_.choice([layout.contiguous(shape), None])
        dtype = random_.choice(["float32", "int64", "bool", "complex64", None, "str"])
        return Tensor(framework, None if random_.random() < 0.1 else shape, strides, dtype)
    if kind <= 9:
        return Const(random_.choice([0, 1, -1, 2, 3, -5, 10**15, -(10**15)]))
    if kind == 10:
        return Const(
            random_.choice(
                [None, True, False, 1.5, 2j, "", "mean", "ij,jk", "a b -> (b a)", "(", ..., b"x", float("nan")]
            )
        )
    if kind == 11:
        return Number(S.symbol("K"))
    if kind == 12:
        return Scalar(random_.choice(["int", "float", "bool", "complex"]))
    if kind == 13:
        return Opaque("config")
    if kind == 14:
        return UNKNOWN
    if kind == 15:
        return Library(
            random_.choice(["torch.float32", "numpy.int64", "builtins.float", "torch.channels_last", "os.path"])
        )
    if kind == 16 and depth < 3:
        return Slice(value(random_, depth + 1), value(random_, depth + 1), value(random_, depth + 1))
    if kind == 17:
        return Range(
            random_.choice([0, None, 3]), random_.choice([10**12, 4, S.symbol("R"), None]), random_.choice([1, 2, -1])
        )
    if kind == 18:
        return random_.choice(
            [LibraryObject("torch.device"), Dictionary({"a": UNKNOWN}), LibraryObject("torch.nn.Linear")]
        )
    if depth < 3:
        inner = [value(random_, depth + 1) for _ in range(random_.randint(0, 4))]
        if random_.random() < 0.2:
            return Sequence("list", None, inner[0] if inner else UNKNOWN, random_.choice([None, 3, S.symbol("L")]))
        return Sequence(random_.choice(["list", "tuple", "set"]), inner)
    return Const(2)


def entries() -> Iterator[tuple[str, ops.Entry]]:
    for library in ("torch", "numpy", "einops"):
        table = ops.table_of(library)
        for kind in ("functions", "methods", "attributes"):
            for name, entry in getattr(table, kind).items():
                yield f"{library} {kind} {name}", entry


@contextlib.contextmanager
def runaway_calls_raise() -> Iterator[None]:
    """TimeoutError after 30 seconds of the processor inside; what is in here takes milliseconds on any machine."""

    def stop(*_: object) -> None:
        raise TimeoutError("it runs away")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 30)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.usefixtures("_strict")
def test_no_argument_makes_an_entry_fail() -> None:
    failures = []
    for name, entry in entries():
        random_ = random.Random(name)
        words = [parameter.name for parameter in entry.parameters]
        for _ in range(25):
            args = [value(random_) for _ in range(random_.randint(0, len(words) + 1))]
            kwargs = {random_.choice(words): value(random_)} if words and random_.random() < 0.4 else {}
            try:
                with runaway_calls_raise():
                    ops.apply(entry, ops.Call(name), args, kwargs)
            except Exception as error:
                failures.append(f"{name}: {type(error).__name__}: {error}")
    assert not failures, "\n".join(sorted(set(failures))[:60])


@pytest.mark.usefixtures("_strict")
def test_no_argument_makes_a_layer_fail() -> None:
    modules.known("torch.nn.Linear")
    failures = []
    for path in modules.LAYERS:
        random_ = random.Random(path)
        for _ in range(40):
            try:
                made = modules.construct(
                    ops.Call(path), path, [value(random_) for _ in range(random_.randint(0, 5))], {}
                )
                modules.call_module(ops.Call(path), made, [value(random_) for _ in range(random_.randint(1, 3))], {})
                for name in ("weight", "bias", "stride", "running_mean", "in_proj_weight", "head_dim"):
                    modules.module_attribute(made, name)
            except Exception as error:
                failures.append(f"{path}: {type(error).__name__}: {error}")
    assert not failures, "\n".join(sorted(set(failures))[:60])


def test_no_operand_makes_an_operator_or_index_fail() -> None:
    random_ = random.Random(7)
    for _ in range(4_000):
        left, right = value(random_), value(random_)
        if isinstance(left, Tensor):
            indexing.getitem(ops.Call("getitem"), left, right)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            elementwise.binary(ops.Call("+"), random_.choice([*elementwise.OPERATION_WORDS, "@", "<<"]), left, right)
            elementwise.unary(ops.Call("-"), "-", left)
