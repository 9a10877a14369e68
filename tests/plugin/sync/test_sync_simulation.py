"""The simulated device: that "cuda" works unchanged, with the same numbers, and that nothing stays behind."""

from __future__ import annotations

import copy
import io
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from pytest_tensorcheck.sync import device, no_sync, simulation  # noqa: E402

CUDA = torch.device("cuda", 0)


def model(d: str) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(4, 16, device=d), nn.ReLU(), nn.Dropout(0.3), nn.LayerNorm(16, device=d), nn.Linear(16, 1, device=d)
    )


def _train(d: str, optimizer: Any = None, steps: int = 4) -> list[torch.Tensor]:
    torch.manual_seed(3)
    net = model(d)
    opt = (optimizer or torch.optim.AdamW)(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        x, y = torch.randn(8, 4, device=d), torch.randn(8, 1, device=d)
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.detach())
    return [torch.stack(losses), *[p.detach() for p in net.parameters()]]


@pytest.mark.parametrize("name", ["AdamW", "Adam", "SGD", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta"])
def test_training_is_bit_identical_with_the_plain_cpu_run(name: str) -> None:
    kind = getattr(torch.optim, name)
    plain = _train("cpu", kind)
    with simulation():
        simulated = [t.cpu() for t in _train("cuda", kind)]
    for a, b in zip(plain, simulated, strict=True):
        assert torch.equal(a, b)


def _forward(d: str, what: str) -> torch.Tensor:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 8, device=d, requires_grad=True)
    if what == "attention":
        out = nn.MultiheadAttention(8, 2, batch_first=True, device=d)(x, x, x)[0]
    elif what == "lstm":
        out = nn.LSTM(8, 4, 2, batch_first=True, dropout=0.2, device=d)(x)[0]
    elif what == "encoder":
        out = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device=d)(x)
    elif what == "encoder eval":
        with torch.no_grad():
            return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device=d).eval()(x)
    elif what == "sdpa":
        out = F.scaled_dot_product_attention(x, x, x, is_causal=True, dropout_p=0.1)
    elif what == "checkpoint":
        out = torch.utils.checkpoint.checkpoint(nn.Linear(8, 8, device=d), x, use_reentrant=False)
    elif what == "autocast":
        with torch.autocast("cuda", enabled=d == "cuda"):
            out = nn.Linear(8, 8, device=d)(x)
    else:
        out = nn.Conv1d(5, 3, 3, device=d)(x)
    (grad,) = torch.autograd.grad(out.pow(2).sum(), x)
    return grad


@pytest.mark.parametrize(
    "what", ["attention", "lstm", "encoder", "encoder eval", "sdpa", "checkpoint", "autocast", "conv"]
)
def test_modules_are_bit_identical(what: str) -> None:
    plain = _forward("cpu", what)
    with simulation():
        assert torch.equal(plain, _forward("cuda", what).cpu())


def _state() -> dict[str, Any]:
    import torch.nn.modules.module as module_state

    out: dict[str, Any] = {}
    for owner in (torch, torch.cuda, torch.cuda.memory, torch.cuda.random, torch.accelerator, torch.Tensor, torch.jit, torch._C,
                  torch.nn.functional, torch._tensor, torch.overrides, torch.functional, threading.Thread, torch.backends.cudnn,
                  torch.autograd.graph.saved_tensors_hooks):  # fmt: skip
        out |= {f"{owner!r}.{name}": value for name, value in vars(owner).items()}
    out["meta_path"] = list(sys.meta_path)
    out["packages"] = list(torch.serialization._package_registry)
    out["hooks"] = dict(module_state._global_forward_pre_hooks)
    out["optimizer hooks"] = dict(sys.modules["torch.optim.optimizer"]._global_optimizer_pre_hooks)
    out["function modes"] = torch._C._len_torch_function_stack()
    out["dispatch modes"] = torch._C._len_torch_dispatch_stack()
    return out


def test_nothing_stays_behind_even_when_the_block_raises() -> None:

    with simulation():  # whatever is imported lazily is imported here
        _train("cuda")
    before = _state()
    with pytest.raises(ZeroDivisionError), simulation(), no_sync():
        _train("cuda")
        _ = 1 / 0
    after = _state()
    assert {key for key in before.keys() | after.keys() if before.get(key) is not after.get(key)
            and before.get(key) != after.get(key)} == set()  # fmt: skip


def test_entered_again_inside_itself() -> None:
    with simulation(), simulation():
        x = torch.zeros(2, device="cuda")
        with simulation():
            pass
        assert x.device == CUDA
        assert torch.cuda.is_available()
    if not torch.backends.cuda.is_built():
        assert not torch.cuda.is_available()
    assert x.device.type == "cpu"


def test_flag_is_shared_by_views_and_lost_by_copies_to_the_host() -> None:
    with simulation():
        x = torch.arange(6.0, device="cuda")
        for same in (
            x[1:],
            x.view(2, 3),
            x.detach(),
            x.data,
            nn.Parameter(x),
            x.clone(),
            copy.deepcopy(x),
            x.T,
            x.to(torch.int),
        ):
            assert same.device == CUDA
            assert same.is_cuda
            assert not same.is_cpu
            assert same.get_device() == 0
        host = x.cpu()
        assert host.device.type == "cpu"
        host[0] = 9.0
        assert float(x[0]) == 0.0  # a copy, as on a GPU
        assert repr(x[:1]) == "tensor([0.], device='cuda:0')"
        assert x.type() == "torch.cuda.FloatTensor"


def test_missing_to_device_is_the_error_that_cuda_raises() -> None:
    with simulation():
        d = device()
        linear, x = nn.Linear(3, 2), torch.randn(2, 3, device=d)
        for wrong in (lambda: linear(x), lambda: x + torch.randn(2, 3), lambda: torch.cat([x, torch.randn(2, 3)]),
                      lambda: F.mse_loss(x, torch.zeros(2, 3)), lambda: x.index_add_(0, torch.tensor([0, 1]), x),
                      lambda: F.embedding(torch.tensor([0]), x), lambda: torch.where(x > 0, x, torch.zeros(2, 3))):  # fmt: skip
            with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.*cuda:0 and cpu"):
                wrong()


def test_numpy_of_a_device_tensor_is_cudas_error() -> None:
    import numpy

    with simulation():
        x = torch.ones(2, device="cuda")
        for wrong in (x.numpy, lambda: numpy.asarray(x)):
            with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
                wrong()
        assert x.cpu().numpy().sum() == 2


def test_second_device_does_not_exist() -> None:
    with simulation(), pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(2, device="cuda:1")


def _save_and_load(d: str) -> None:
    f = io.BytesIO()
    torch.save(model(d).state_dict(), f)
    for where, cuda in ((None, True), ("cpu", False), ("cuda", True), (torch.device("cuda:0"), True)):
        f.seek(0)
        assert torch.load(f, map_location=where)["0.weight"].is_cuda is cuda


def _loader(d: str, workers: int) -> None:
    data = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4, num_workers=workers, pin_memory=True)
    for (x,) in data:
        assert x.is_pinned()
        with no_sync():
            assert x.to(d, non_blocking=True).device == CUDA


def _scaler(d: str) -> None:
    net = model(d)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(torch.randn(3, 4, device=d)).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    scaler.step(opt)
    scaler.update()
    assert scaler.is_enabled()


def _cuda_api(d: str) -> None:
    torch.cuda.set_device(0)
    torch.cuda.manual_seed_all(3)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == 0
    assert torch.cuda.get_device_properties(0).total_memory > 0
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.cuda.device(0):
        x = torch.ones(2, device=d)
    x.record_stream(stream)
    torch.cuda.current_stream().wait_stream(stream)
    assert isinstance(torch.Generator(device=d), torch.Generator)
    assert torch.randn(2, generator=torch.Generator(device=d).manual_seed(1), device=d).is_cuda
    with torch.random.fork_rng():
        torch.randn(2)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    assert torch.accelerator.current_accelerator() == torch.device("cuda")


def _functorch(d: str) -> None:
    x = torch.randn(3, device=d)
    assert torch.func.jacrev(torch.sin)(x).device == CUDA
    assert torch.vmap(lambda v: v + torch.ones(3, device=v.device))(torch.randn(2, 3, device=d)).device == CUDA


def _threads(d: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda n: torch.full((2,), n, device=d).device, range(3))) == [CUDA] * 3


def _compiled(d: str) -> None:
    net = torch.compile(model(d), backend="eager")
    assert net(torch.randn(2, 4, device=d)).device == CUDA


def _scripted(d: str) -> None:
    net = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.ReLU())).to(d)
    assert net(torch.randn(2, 4, device=d)).device == CUDA


def _packed(d: str) -> None:
    lstm = nn.LSTM(4, 8, batch_first=True, device=d)
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(2, 5, 4, device=d), torch.tensor([5, 3]), batch_first=True)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
    assert padded.device == CUDA
    assert lengths.tolist() == [5, 3]


def _gradient_crosses(d: str) -> None:
    x = torch.randn(3, requires_grad=True)
    (x.to(d) * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.device.type == "cpu"
    y = torch.randn(3, device=d, requires_grad=True)
    (y.cpu() * 2).sum().backward()
    assert y.grad is not None
    assert y.grad.device == CUDA


def _offload(d: str) -> None:
    x = torch.randn(3, 4, device=d, requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = model(d)(x)
    y.sum().backward()
    assert x.grad is not None


def _optimizer_state(d: str) -> None:
    net = model(d)
    opt = torch.optim.AdamW(net.parameters())
    net(torch.randn(2, 4, device=d)).sum().backward()
    opt.step()
    opt.load_state_dict(copy.deepcopy(opt.state_dict()))
    with no_sync():
        opt.step()
    state = next(iter(opt.state.values()))
    assert state["step"].device.type == "cpu"
    assert state["exp_avg"].device == CUDA


def _custom_op(d: str) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert g.device == CUDA
            return g * torch.full((), 2.0, device=g.device)

    x = torch.ones(2, device=d, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]


CASES: dict[str, Callable[[str], None]] = {
    name.strip("_"): case
    for name, case in {
        "save_and_load": _save_and_load, "loader": lambda d: _loader(d, 0), "loader with workers": lambda d: _loader(d, 2),
        "scaler": _scaler, "cuda_api": _cuda_api, "functorch": _functorch, "threads": _threads, "compiled": _compiled,
        "scripted": _scripted, "packed": _packed, "gradient_crosses": _gradient_crosses, "offload": _offload,
        "optimizer_state": _optimizer_state, "custom_function": _custom_op,
    }.items()
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:.*torch.jit:FutureWarning")
@pytest.mark.parametrize("name", CASES)
def test_users_code_works_unchanged(name: str) -> None:
    with simulation():
        CASES[name](str(device()))


def test_compiled_functions_compile_again_afterwards() -> None:
    f = torch.compile(lambda x: x * 2 + 1, backend="eager")
    with simulation():
        assert f(torch.ones(2, device="cuda")).device == CUDA
    assert torch.equal(f(torch.ones(2)), torch.full((2,), 3.0))


@pytest.mark.parametrize("of_device", [True, False], ids=["given on the GPU", "given on the host"])
@pytest.mark.parametrize("shape", [(6, 4), (1, 4)])
def test_data_parallel_on_the_one_device_computes_what_the_module_does(of_device: bool, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    net = model("cpu").eval()
    x = torch.randn(shape, requires_grad=True)
    plain = net(x)
    plain.sum().backward()
    expected = [plain.detach(), x.grad, *[p.grad for p in net.parameters()]]
    net.zero_grad()
    given = x.detach().clone().requires_grad_()
    with simulation():
        wrapped = nn.DataParallel(net.cuda()) if of_device else nn.DataParallel(net).cuda()
        out = wrapped(given.cuda() if of_device else given)
        assert out.device == CUDA
        out.sum().backward()
        assert not given.grad.is_cuda
        found = [out.detach().cpu(), given.grad, *[p.grad.cpu() for p in net.parameters()]]
    for a, b in zip(expected, found, strict=True):
        assert torch.equal(a, b)


def test_data_parallel_on_a_device_that_there_is_not() -> None:
    with simulation(), pytest.raises(RuntimeError, match=r"(?i)invalid device"):
        nn.DataParallel(nn.Linear(2, 2).cuda(), device_ids=[0, 1])(torch.ones(4, 2, device="cuda"))


def test_copies_between_devices_when_there_is_one() -> None:
    comm = torch.nn.parallel.comm
    x = torch.arange(6.0).reshape(3, 2)
    with simulation():
        (part,) = comm.scatter(x.cuda(), [0])
        (same,) = comm.broadcast(x.cuda(), [0])
        ((first, second),) = comm.broadcast_coalesced([x.cuda(), 2 * x.cuda()], [0])
        total = comm.reduce_add([part, second])
        (coalesced,) = comm.reduce_add_coalesced([[first], [second]])
        onto = comm.gather([part, same], 1, "cpu")
        for each in (part, same, first, second, total, coalesced, comm.gather([part, same], 0, 0)):
            assert each.is_cuda
        assert not onto.is_cuda
        assert torch.equal(onto, torch.cat([x, x], 1))
        assert torch.equal(total.cpu(), 3 * x)
        assert torch.equal(coalesced.cpu(), 3 * x)
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            comm.scatter(x.cuda(), [0, 1])


def test_a_number_is_a_device_of_the_accelerator() -> None:
    with simulation():
        assert torch.device(0) == CUDA
        assert torch.ones(2, device=torch.device(0)).is_cuda
        assert torch.ones(2).to(torch.device("cpu")).device.type == "cpu"


def test_a_storage_is_copied_where_load_is_told(tmp_path: Any) -> None:
    torch.save({"x": torch.arange(3.0)}, tmp_path / "host.pt")
    with simulation():
        torch.save({"x": torch.arange(3.0, device="cuda")}, tmp_path / "gpu.pt")
        for name in ("host.pt", "gpu.pt"):
            onto = torch.load(tmp_path / name, map_location=lambda storage, location: storage.cuda())["x"]
            also = torch.load(tmp_path / name, map_location=lambda storage, location: storage.cuda(0))["x"]
            back = torch.load(tmp_path / name, map_location=lambda storage, location: storage)["x"]
            assert onto.device == also.device == CUDA
            assert back.device.type == "cpu"
            assert onto.tolist() == also.tolist() == back.tolist() == [0, 1, 2]
        held = torch.ones(3, device="cuda").untyped_storage()
        assert held.cpu().nbytes() == held.cuda().nbytes() == 12
