"""What the recorder sees, against what torch does."""

from __future__ import annotations

import random
import weakref

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
numpy = pytest.importorskip("numpy", reason="needs numpy")

from torch.utils._python_dispatch import _get_current_dispatch_mode_stack  # noqa: E402

from pytest_tensorcheck.determinism.kernels import read_kernel  # noqa: E402
from pytest_tensorcheck.determinism.recorder import Recorder  # noqa: E402
from pytest_tensorcheck.determinism.rng import RandomState  # noqa: E402
from pytest_tensorcheck.user_line import UserLine  # noqa: E402


def recorded(call):
    with Recorder() as recorder:
        call()
    return recorder.recording


def last(call):
    return recorded(call).operations[-1]


def test_a_plain_operation():
    x, y = torch.ones(2, 3), torch.ones(3)
    operation = last(lambda: torch.add(x, y, alpha=2))
    assert operation.kernel.name == "aten::add.Tensor"
    assert operation.scalars == (2,)
    assert [operand.shape for operand in operation.inputs] == [(2, 3), (3,)]
    assert [operand.shape for operand in operation.outputs] == [(2, 3)]


# Arguments for operators of every kind; what they write is found out by running them.
ARGUMENTS = {
    "add_.Tensor": lambda: (torch.ones(3), torch.ones(3)),
    "add.out": lambda: (torch.ones(3), torch.ones(3), {"out": torch.zeros(3)}),
    "mul.Tensor": lambda: (torch.ones(3), torch.ones(3)),
    "copy_": lambda: (torch.ones(3), torch.zeros(3)),
    "index_put_": lambda: (torch.ones(3), [torch.tensor([1])], torch.tensor(5.0)),
    "_foreach_add_.Scalar": lambda: ([torch.ones(2), torch.ones(3)], 2.0),
    "_foreach_add.Scalar": lambda: ([torch.ones(2), torch.ones(3)], 2.0),
    "native_batch_norm": lambda: (
        torch.randn(4, 2), torch.ones(2), torch.zeros(2), torch.zeros(2), torch.ones(2), True, 0.1, 1e-5
    ),
    "lerp_.Scalar": lambda: (torch.zeros(3), torch.ones(3), 0.5),
    "sort": lambda: (torch.tensor([3.0, 1.0]),),
    "bernoulli_.float": lambda: (torch.zeros(50), 0.5),
    "_fused_adamw_": lambda: (
        [torch.ones(2)], [torch.ones(2)], [torch.zeros(2)], [torch.zeros(2)], [], [torch.tensor(1.0)],
        {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "amsgrad": False, "maximize": False},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_an_operator_writes_is_what_changes(name):
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    kernel = read_kernel(operator)
    args = ARGUMENTS[name]()
    kwargs = args[-1] if isinstance(args[-1], dict) else {}
    args = args[:-1] if kwargs else args

    def tensors():
        found = {}
        for key, value in [*enumerate(args), *kwargs.items()]:
            for number, tensor in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(tensor, torch.Tensor):
                    found[key, number] = tensor.clone()
        return found

    before = tensors()
    operator(*args, **kwargs)
    changed = {key for (key, number), tensor in tensors().items() if not torch.equal(tensor, before[key, number])}
    assert changed <= set(kernel.writes)
    if packet != "copy_" and kernel.writes:
        assert changed


@pytest.mark.parametrize(
    "make", [lambda x: x.t(), lambda x: x[1:], lambda x: x.view(-1), lambda x: x.detach(), lambda x: x.expand(2, 3, 2)]
)
def test_views_are_not_read(make):
    x = torch.ones(3, 2)
    operation = last(lambda: make(x))
    assert operation.kernel.is_view
    assert make(x).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert operation.inputs == operation.outputs == ()


@pytest.mark.parametrize("size", [4, 4000], ids=["hashed every time", "cached"])
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.add_(1),
        lambda x: x[1:3].zero_(),
        lambda x: x.data.mul_(2),
        lambda x: x.detach().t().neg_(),
        lambda x: torch._foreach_add_([x.detach()], 1.0),
        lambda x: torch.add(x.detach(), 1.0, out=x.data),
        lambda x: x.numpy().__setitem__(0, 7.0),
    ],
    ids=["in place", "through a view", "through .data", "through detach", "foreach", "out=", "through numpy"],
)
def test_a_change_is_seen_by_the_next_operation(change, size):
    x = torch.ones(size)

    def run():
        x.sum()
        change(x)
        x.sum()

    sums = [operation for operation in recorded(run).operations if operation.kernel.name == "aten::sum"]
    assert sums[0].inputs[0].content != sums[-1].inputs[0].content
    assert sums[0].inputs[0].storage == sums[-1].inputs[0].storage


def test_the_line_of_forward_and_backward():
    def run():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()  # forward
        z = y.sum()
        z.backward()  # backward

    recording = recorded(run)
    first = run.__code__.co_firstlineno
    by_name = {(op.backward.name if op.backward else "forward", op.kernel.name): op for op in recording.operations}
    assert recording.where(by_name["forward", "aten::exp"]).line == first + 2
    assert recording.where(by_name["ExpBackward0", "aten::mul.Tensor"]).line == first + 2
    assert recording.line(by_name["ExpBackward0", "aten::mul.Tensor"].place) == UserLine(
        __file__, first + 4, run.__qualname__
    )


def test_uninitialised_memory_is_known_until_it_is_written():
    def run():
        x = torch.empty(4)
        x.sum()
        x[:2] = 1
        x.sum()
        x.fill_(0)
        x.sum()

    sums = [op.inputs[0].unwritten for op in recorded(run).operations if op.kernel.name == "aten::sum"]
    assert [unwritten is not None for unwritten in sums] == [True, True, False]


def test_two_runs_find_other_numbers_in_uninitialised_memory():
    seen = []
    for run in range(2):
        with Recorder(run):
            seen.append(
                [torch.empty(3, dtype=dtype) for dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16)]
            )
    assert not any(torch.equal(a, b) for a, b in zip(*seen, strict=True))


def test_nothing_is_left_behind():
    x = torch.ones(3)
    stack = _get_current_dispatch_mode_stack()
    recorder = Recorder()
    with pytest.raises(RuntimeError), recorder:
        (x + 1) @ torch.ones(2, 5)
    recorder.erase_marks()
    assert _get_current_dispatch_mode_stack() == stack
    assert vars(x.untyped_storage()) == {}


def test_memory_is_let_go_during_the_run():
    storages = []

    def run():
        for _ in range(5):
            x = torch.ones(1000) + 1
            storages.append(weakref.ref(x.untyped_storage()))

    recording = recorded(run)
    assert len(recording.operations) == 10
    assert [reference() for reference in storages] == [None] * 5


def test_the_generators_come_back():
    random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
    state = RandomState.take()

    def draw():
        return random.random(), float(numpy.random.rand()), float(torch.rand(()))

    first = draw()
    assert draw() != first
    state.restore()
    assert draw() == first


@pytest.mark.gpu
def test_the_gpus_generator_comes_back_and_its_tensors_are_hashed():
    state = RandomState.take()
    first = torch.rand(3, device="cuda")
    state.restore()
    assert torch.equal(torch.rand(3, device="cuda"), first)
    operation = last(lambda: first + 1)
    assert operation.outputs[0].content is not None
