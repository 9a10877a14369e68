"""What an object held can be compared with what it holds: every way to write is seen, by the quick answer and by the
parts that are named, and what is as it was is taken for that."""

from __future__ import annotations

import collections
import contextlib
import copy
import ctypes
import enum
import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="looks at numpy's arrays and generators")
torch = pytest.importorskip("torch", reason="looks at torch's tensors and modules")

from torch import nn  # noqa: E402

from pytest_tensorcheck.object_contents import changed_parts, contents, looking  # noqa: E402


class Own:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


class Names(nn.Module):
    """Names a tensor that it keeps elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self._hidden = [torch.zeros(2)]

    def named_parameters(self, *_: Any, **__: Any) -> Any:
        yield "hidden", self._hidden[0]


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Counted(int):
    pass


class Row(list[Any]):
    pass


class Point(collections.namedtuple("Point", "x y")):
    __slots__ = ()


def tied() -> nn.Module:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    return net


def trained(kind: Any = torch.optim.Adam) -> Any:
    net = nn.Linear(2, 1)
    optimizer = kind(net.parameters(), lr=0.1)
    net(torch.ones(2)).sum().backward()
    optimizer.step()
    return optimizer


def with_gradient() -> Any:
    weight = torch.ones(3, requires_grad=True)
    weight.sum().backward()
    return weight


def noted(module: nn.Module) -> nn.Module:
    module.note = [[1]]  # type: ignore[assignment]
    return module


def with_hook() -> nn.Module:
    net = nn.Linear(2, 1)
    net.register_forward_hook(print)
    return net


def frozen_array() -> Any:
    array = np.arange(3.0)
    array.flags.writeable = False
    return array


def by_address(tensor: Any) -> None:
    ctypes.memset(tensor.data_ptr(), 7, tensor.nbytes)


def without_gradients(write: Callable[[Any], object]) -> Callable[[Any], object]:
    def writes(value: Any) -> None:
        with torch.no_grad():
            write(value)

    return writes


def put(key: Any, item: Any) -> Callable[[Any], object]:
    return lambda value: value.__setitem__(key, item)


def set_to(name: str, item: Any) -> Callable[[Any], object]:
    return lambda value: setattr(value, name, item)


def new_key(value: dict[Any, Any]) -> None:
    value["z"] = value.pop("a")


SHARED = np.arange(4.0)

# what is made; what changes it; a part that has changed
CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], object], str]] = {
    "tensor: in place": (lambda: torch.zeros(3), lambda t: t.add_(1), ""),
    "tensor: without gradients": (lambda: torch.zeros(3), without_gradients(lambda t: t.fill_(1)), ""),
    "tensor: data": (lambda: torch.zeros(3), lambda t: t.data.fill_(1), ""),
    "tensor: data of a parameter": (lambda: nn.Parameter(torch.zeros(3)), lambda t: t.data.fill_(1), ""),
    "tensor: other data": (lambda: torch.zeros(3), set_to("data", torch.ones(3)), ""),
    "tensor: data of another type": (lambda: torch.zeros(3), set_to("data", torch.zeros(3, dtype=torch.int32)), ""),
    "tensor: detached": (with_gradient, lambda t: t.detach().zero_(), ""),
    "tensor: by numpy": (lambda: torch.zeros(3), lambda t: t.numpy().fill(1), ""),
    "tensor: of numpy": (lambda: torch.from_numpy(SHARED), lambda t: SHARED.__iadd__(1), ""),
    "tensor: by address": (lambda: torch.zeros(3), by_address, ""),
    "tensor: by the storage": (lambda: torch.zeros(3), lambda t: t.untyped_storage().fill_(3), ""),
    "tensor: by a view": (lambda: torch.zeros(3, 2), lambda t: t[1:].fill_(1), ""),
    "tensor: one of many elements": (lambda: torch.zeros(4000), lambda t: t[3999:].fill_(1), ""),
    "tensor: a swap of two": (lambda: torch.tensor([1.0, 2.0]), lambda t: t.data.copy_(torch.tensor([2.0, 1.0])), ""),
    "tensor: zero to minus zero": (lambda: torch.zeros(1), lambda t: t.data.neg_(), ""),
    "tensor: turned": (lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]]), lambda t: t.t_(), ""),
    "tensor: larger": (lambda: torch.zeros(3), lambda t: t.resize_(2, 2), ""),
    "tensor: set": (lambda: torch.zeros(3), lambda t: t.set_(torch.ones(3)), ""),
    "tensor: swapped": (lambda: torch.zeros(3), lambda t: torch.utils.swap_tensors(t, torch.ones(3)), ""),
    "tensor: asks for gradients": (lambda: torch.zeros(3), lambda t: t.requires_grad_(), ""),
    "tensor: with holes": (lambda: torch.zeros(4, 4)[:, ::2], lambda t: t.data.fill_(1), ""),
    "tensor: turned before": (lambda: torch.zeros(2, 3).t(), lambda t: t.data.fill_(1), ""),
    "tensor: expanded": (lambda: torch.zeros(1).expand(3), lambda t: t[0].fill_(1), ""),
    "tensor: conjugate": (lambda: torch.ones(3, dtype=torch.complex64).conj(), lambda t: t.data.mul_(2), ""),
    "tensor: becomes conjugate": (
        lambda: torch.full((3,), 1j),
        lambda t: setattr(t, "data", t.data.conj()),
        "",
    ),
    "tensor: of inference": (
        lambda: torch.inference_mode()(torch.zeros)(3),
        lambda t: torch.inference_mode()(t.add_)(1),
        "",
    ),
    "tensor: large": (lambda: torch.zeros(40_000), lambda t: t.add_(1), ""),
    "tensor: large, other data": (lambda: torch.zeros(40_000), set_to("data", torch.ones(40_000)), ""),
    "tensor: bfloat16": (lambda: torch.zeros(3, dtype=torch.bfloat16), lambda t: t.add_(1), ""),
    "gradient: new": (lambda: torch.ones(3, requires_grad=True), lambda t: t.sum().backward(), ".grad"),
    "gradient: more": (with_gradient, lambda t: t.sum().backward(), ".grad"),
    "gradient: data": (with_gradient, lambda t: t.grad.data.zero_(), ".grad"),
    "gradient: gone": (with_gradient, set_to("grad", None), ".grad"),
    "gradient: another": (with_gradient, set_to("grad", torch.zeros(3)), ".grad"),
    "array: in place": (lambda: np.zeros(3), lambda a: a.fill(1), ""),
    "array: by a view": (lambda: np.zeros((3, 2)), lambda a: a[1:].fill(1), ""),
    "array: with holes": (lambda: np.zeros((4, 4))[:, ::2], lambda a: a.fill(1), ""),
    "array: made writeable": (frozen_array, lambda a: (a.setflags(write=True), a.fill(1)), ""),
    "array: large": (lambda: np.zeros(100_000), put(99_999, 1), ""),
    "array: large, its last byte": (lambda: np.zeros(100_000, dtype=np.uint8), put(-1, 1), ""),
    "array: large with holes": (lambda: np.zeros((1000, 100))[:, ::2], put((999, 49), 1), ""),
    "array: another shape": (lambda: np.zeros(4), lambda a: setattr(a, "shape", (2, 2)), ""),
    "array: larger": (lambda: np.zeros(4), lambda a: a.resize(8, refcheck=False), ""),
    "array: texts": (lambda: np.array(["a", "b"]), put(0, "c"), ""),
    "array: of another type": (lambda: [np.zeros(2)], put(0, np.zeros(2, dtype=np.int64)), "[0]"),
    "array: small in place of a large one": (lambda: [np.zeros(1 << 18)], put(0, np.zeros(2)), "[0]"),
    "module: parameter": (lambda: nn.Linear(2, 1), lambda m: nn.init.zeros_(m.weight), ".weight"),
    "module: another parameter": (
        lambda: nn.Linear(1, 1),
        set_to("weight", nn.Parameter(torch.full((1, 1), 9.0))),
        ".weight",
    ),
    "module: parameter gone": (lambda: nn.Linear(1, 1), set_to("bias", None), ".bias"),
    "module: frozen": (lambda: nn.Linear(1, 1), lambda m: m.requires_grad_(False), ".bias"),
    "module: tied no more": (tied, lambda m: setattr(m[1], "weight", copy.deepcopy(m[0].weight)), ".1.weight"),
    "module: buffer": (lambda: nn.BatchNorm1d(2), lambda m: m(torch.ones(3, 2)), ".num_batches_tracked"),
    "module: new buffer": (lambda: nn.ReLU(), lambda m: m.register_buffer("seen", torch.zeros(1)), ".seen"),
    "module: mode": (lambda: nn.Sequential(nn.Dropout()), lambda m: m.eval(), ".0.training"),
    "module: setting": (lambda: nn.Sequential(nn.Dropout(0.5)), lambda m: setattr(m[0], "p", 0.1), ".0.p"),
    "module: new setting": (lambda: nn.ReLU(), set_to("note", [1]), ".note"),
    "module: inside a setting": (
        lambda: noted(nn.ReLU()),
        lambda m: m.note[0].append(2),
        ".note[0][1]",
    ),
    "module: hook": (lambda: nn.Linear(1, 1), lambda m: m.register_forward_pre_hook(print), ", its hooks"),
    "module: hook gone": (with_hook, lambda m: m._forward_hooks.clear(), ", its hooks"),
    "module: layer": (lambda: nn.Sequential(nn.ReLU()), lambda m: m.append(nn.ReLU()), ", its layers"),
    "module: another layer": (lambda: nn.Sequential(nn.Linear(1, 1)), put(0, nn.ReLU()), ".0.weight"),
    "module: layers in a list": (lambda: [nn.Linear(1, 1)], lambda m: m[0].bias.data.fill_(9), "[0].bias"),
    "module: names of its own": (Names, lambda m: m._hidden[0].fill_(1), ".hidden"),
    "module: TorchScript": (
        lambda: torch.jit.script(nn.Sequential(nn.Linear(2, 2))),
        lambda m: next(m.parameters()).data.zero_(),
        ".0.weight",
    ),
    "optimizer: step size": (trained, lambda o: o.param_groups[0].update(lr=3), ".param_groups[0]['lr']"),
    "optimizer: group": (trained, lambda o: o.add_param_group({"params": [torch.ones(1)]}), ".param_groups"),
    "optimizer: state": (trained, lambda o: o.step(), ".state[0]['exp_avg']"),
    "optimizer: state gone": (trained, lambda o: o.state.clear(), ".state[0]"),
    "generator: torch": (lambda: torch.Generator(), lambda g: torch.rand(1, generator=g), ""),
    "generator: numpy": (lambda: np.random.default_rng(0), lambda g: g.random(), ""),
    "generator: MT19937": (lambda: np.random.RandomState(0), lambda g: g.random(), ""),
    "generator: Python": (lambda: random.Random(0), lambda g: g.random(), ""),
    "generator: in place of the global one": (lambda: [torch.default_generator], put(0, torch.Generator()), "[0]"),
    "list: longer": (lambda: [1], lambda v: v.append(2), "[1]"),
    "list: another number": (lambda: [1, 2], put(1, 3), "[1]"),
    "list: True for 1": (lambda: [1, 2], put(0, True), "[0]"),
    "list: zero to minus zero": (lambda: [0.0], put(0, -0.0), "[0]"),
    "list: order": (lambda: [1, 2], lambda v: v.reverse(), "[0]"),
    "list: a tuple in it": (lambda: [(1, (2, 3))], put(0, (1, (2, 4))), "[0][1][1]"),
    "list: twice the same no more": (lambda: [part := [1], part], put(1, [1]), "[1]"),
    "list: an object for a function": (lambda: [print], put(0, [1]), "[0]"),
    "list: of a class of one's own": (lambda: Row([[1]]), lambda v: v[0].append(2), "[0][1]"),
    "list: subclass of int": (lambda: [Counted(1)], put(0, Counted(2)), "[0]"),
    "list: member of an enumeration": (lambda: [Level.LOW], put(0, Level.HIGH), "[0]"),
    "list: number of numpy": (lambda: [np.float64(1)], put(0, np.float64(2)), "[0]"),
    "deque": (lambda: collections.deque([1]), lambda v: v.append(2), "[1]"),
    "tuple: inside": (lambda: (1, [2]), lambda v: v[1].append(3), "[1][1]"),
    "tuple: named, inside": (lambda: Point(1, [2]), lambda v: v.y.append(3), "[1][1]"),
    "dict: value": (lambda: {"a": 1}, put("a", 2), "['a']"),
    "dict: key": (lambda: {"a": 1}, put("b", 2), "['b']"),
    "dict: another key": (lambda: {"a": 1}, new_key, "['z']"),
    "dict: another key of an object": (lambda: {"a": [1]}, new_key, "['z']"),
    "dict: beside keys that are not compared": (lambda: {"a": [1], (1,): 2}, lambda v: v["a"].append(2), "['a'][1]"),
    "dict: ordered": (lambda: collections.OrderedDict(a=[1]), lambda v: v["a"].append(2), "['a'][1]"),
    "dict: default": (lambda: collections.defaultdict(list), lambda v: v["a"], "['a']"),
    "set": (lambda: {1}, lambda v: v.add(2), ""),
    "set: of objects": (lambda: {print}, lambda v: v.add(len), ""),
    "bytearray": (lambda: bytearray(b"a"), lambda v: v.append(2), ""),
    "object: attribute": (lambda: Own(rate=1), set_to("rate", 2), ".rate"),
    "object: new attribute": (lambda: Own(rate=1), set_to("seen", 2), ".seen"),
    "object: inside": (lambda: Own(rate=1, net=nn.Linear(1, 1)), lambda v: v.net.eval(), ".net.training"),
    "object: another in its place": (lambda: Own(part=Own(a=1)), set_to("part", Own(a=2)), ".part.a"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_what_is_as_it_was_is_known_at_once_and_every_way_to_write_is_seen(case: str) -> None:
    make, change, part = CHANGES[case]
    value = make()
    before = contents(value)
    assert before is not None
    with looking():
        assert before.same(value)
        assert before.same(value)
    change(value)
    with looking():
        assert not before.same(value)
    after = contents(value, before)
    assert after is not None
    assert part in changed_parts(before.parts(), after.parts())
    with looking():
        assert after.same(value)


AS_IT_WAS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "numbers computed anew": (lambda: [10**6, "ab" * 50, 2.5], lambda v: put(slice(None), [10**6, "ab" * 50, 2.5])(v)),
    "NaN": (lambda: [float("nan")], put(0, float("nan"))),
    "a copy of a tensor": (lambda: [torch.ones(3)], put(0, torch.ones(3))),
    "a copy of a large tensor": (lambda: [torch.ones(40_000)], put(0, torch.ones(40_000))),
    "a copy without holes": (lambda: [torch.zeros(4, 4)[:, ::2]], put(0, torch.zeros(4, 2))),
    "a copy of an array": (lambda: [np.arange(3)], put(0, np.arange(3))),
    "a Fortran array": (lambda: [np.ones((2, 3))], put(0, np.ones((2, 3), order="F"))),
    "there and back": (lambda: torch.zeros(40_000), lambda t: t.add_(1).sub_(1)),
    "order of a dict": (lambda: {"a": 1, "b": 2}, lambda v: put("a", v.pop("a"))(v)),
    "a private attribute of a module": (lambda: nn.ReLU(), set_to("_seen", 1)),
    "another function": (lambda: [print, 1], put(0, len)),
    "a copy of a tuple": (lambda: [(1, (2.5, "a"))], put(0, copy.deepcopy([1, [2.5, "a"]]) and (1, (2.5, "a")))),
    "memory that is given back": (lambda: torch.ones(100), lambda t: t.untyped_storage().resize_(0)),
    "large memory that is given back": (lambda: torch.ones(40_000), lambda t: t.untyped_storage().resize_(0)),
    "two optimizers": (lambda: [trained(), trained(torch.optim.SGD), trained(), {}], lambda v: None),
    "two optimizers and a new object": (lambda: [trained(), trained(), {}], lambda v: [{}, v[2].copy()]),
}


@pytest.mark.parametrize("case", AS_IT_WAS)
def test_nothing_is_said_of_what_has_the_same_numbers(case: str) -> None:
    make, change = AS_IT_WAS[case]
    value = make()
    before = contents(value)
    assert before is not None
    change(value)
    after = contents(value, before)
    assert after is not None
    assert changed_parts(before.parts(), after.parts()) == []


def test_the_numbers_that_were_known_stand_while_the_memory_is_away() -> None:
    from pytest_tensorcheck.shared_objects import Shared

    tensor = torch.ones(100)
    held = contents(tensor)
    assert held is not None
    shared = Shared("", "", None, tensor, held)
    tensor.untyped_storage().resize_(0)
    with looking():
        assert not shared.look("first")
    tensor.untyped_storage().resize_(400)
    tensor.fill_(2)
    with looking():
        assert shared.look("second")
    assert list(shared.changed_by) == ["second"]


@pytest.mark.parametrize("case", CHANGES)
def test_a_look_keeps_nothing_alive_and_makes_no_weak_references(case: str) -> None:
    value = CHANGES[case][0]()
    if isinstance(value, torch.Tensor):
        held = contents(value)
        torch.utils.swap_tensors(value, torch.zeros(1))  # which refuses tensors with weak references
        assert held is not None
    with contextlib.suppress(TypeError):  # built-in containers have none
        other = CHANGES[case][0]()
        there, beside = weakref.ref(value), weakref.ref(other)
        held = contents(value)
        del value, other
        gc.collect()  # a scripted module may be part of a cycle
        assert there() is None or beside() is not None, "torch may keep scripted modules, seen or not"
        assert held is not None


def test_a_tuple_of_numbers_cannot_change_and_one_with_a_list_can() -> None:
    fixed = {"(1, 'a', (2.5, None))": True, "(1, [2])": False, "[1]": False, "((), print)": True, "(Own(a=1),)": False}
    for text, expected in fixed.items():
        held = contents(eval(text))
        assert held is not None
        assert held.fixed is expected, text


@pytest.mark.parametrize("seed", range(5))
def test_objects_that_are_made_and_changed_at_random_are_seen_to_change(seed: int) -> None:
    draw = random.Random(seed)
    kinds = [make for make, _, _ in CHANGES.values()]
    for _ in range(60):
        parts: list[Any] = [make() for make in draw.sample(kinds, 4)]
        value = {"a": parts[:2], "b": (parts[2], Own(c=parts[3], d=parts[0]))}
        before = contents(value)
        assert before is not None
        with looking():
            assert before.same(value)
        case = draw.choice(list(CHANGES))
        make, change, _ = CHANGES[case]
        at = draw.randrange(2)
        parts[at] = value["a"][at] = make()  # type: ignore[index]
        between = contents(value, before)
        assert between is not None
        with looking():
            assert not (before.same(value) and changed_parts(before.parts(), between.parts()))
        change(parts[at])
        after = contents(value, between)
        assert after is not None
        with looking():
            assert not between.same(value), case
        assert changed_parts(between.parts(), after.parts()), case
