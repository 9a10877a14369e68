"""`no_sync` where the code names no device, as somebody on a laptop writes it: what counts, and what never does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from pytest_tensorcheck.sync import SyncError, no_sync, observe, simulation  # noqa: E402

# Made before any simulation, as a module-level fixture would.
X = torch.randn(4)
MODEL = nn.Linear(4, 2)
INDEX = torch.tensor([0, 2])
LENGTHS = torch.tensor([3, 2])
MASK = X > 0
BATCH = torch.randn(3, 4)
CPU = "cpu"


def _train(kind: Any, **options: Any) -> None:
    optimizer = kind(MODEL.parameters(), lr=0.01, **options)
    for _ in range(2):
        optimizer.zero_grad()
        MODEL(BATCH).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0)
        optimizer.step()


WAITS: dict[str, Callable[[], Any]] = {
    "item": lambda: X.sum().item(),
    "item of integers, no floats anywhere": lambda: torch.arange(4).sum().item(),
    "if": lambda: 1 if X.sum() > 0 else 0,
    "mask": lambda: X[MASK],
    "repr": lambda: repr(X),
    "format": lambda: f"{X.mean():.2f}",
    "tolist": lambda: X.tolist(),
    "numpy": lambda: X.numpy(),
    "cpu": lambda: X.cpu(),
    "to cpu, said on the line": lambda: X.to("cpu"),
    "loss": lambda: MODEL(BATCH).mean().item(),
    "accuracy": lambda: (MODEL(BATCH).argmax(1) == torch.tensor([0, 1, 1])).sum().item(),
    "buffer of a module": lambda: nn.BatchNorm1d(4, momentum=None)(BATCH),
    "one_hot": lambda: F.one_hot(INDEX),
    "plateau": lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(MODEL.parameters(), 0.1)).step(
        X.mean()
    ),
    "parameter": lambda: MODEL.weight.norm().item(),
    "a number put at an index: a copy wherever the index is": lambda: X.clone().__setitem__(INDEX, 1.0),
    "numpy data": lambda: torch.from_numpy(X.detach().clone().numpy()).sum(),
}

SILENT: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "lengths": lambda: (MODEL(BATCH), LENGTHS.tolist(), int(LENGTHS.max()), [n.item() for n in LENGTHS]),
    "lengths before the first float": lambda: (LENGTHS.tolist(), MODEL(BATCH)),
    "index tensor": lambda: (X[INDEX], X.index_select(0, INDEX)),
    "index list": lambda: X[[0, 1]],
    "put a number": lambda: (X.clone().__setitem__(MASK, 0.0), X.clone().__setitem__(0, 1.0)),
    "0-dim constant": lambda: (torch.where(MASK, X, torch.tensor(0.0)), X.masked_fill(MASK, torch.tensor(0.0)), X * torch.tensor(2.0)),
    "to a device in a variable": lambda: (X.to(MODEL.weight.device), X.to(CPU), MODEL.to(CPU)),
    "batch norm": lambda: nn.BatchNorm1d(4)(BATCH),
    "packed": lambda: nn.GRU(4, 2, batch_first=True)(nn.utils.rnn.pack_padded_sequence(torch.randn(2, 3, 4), LENGTHS, batch_first=True)),
    "loader": lambda: [MODEL(x) for (x,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 4)), 4, shuffle=True)],
    "generator": lambda: torch.randn(3, generator=torch.Generator().manual_seed(0)),
    "embedding": lambda: nn.Embedding(10, 3)(INDEX),
    "cross entropy": lambda: F.cross_entropy(MODEL(BATCH), torch.tensor([0, 1, 1])).backward(),
    "attention": lambda: nn.MultiheadAttention(8, 2, batch_first=True)(*[torch.randn(2, 3, 8)] * 3),
    "scheduler": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD(MODEL.parameters(), 0.1), 9).get_last_lr(),
    "the device is named later": lambda: (X.sum().item(), torch.zeros(2, device="cuda")),
    **{
        f"{kind.__name__} {options}": lambda kind=kind, options=options: _train(kind, **options)
        for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam, torch.optim.RMSprop,
                     torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.Adamax)
        for options in ({}, {"foreach": True})
    },
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WAITS)
def test_device_data_counts(name: str) -> None:
    with pytest.raises(SyncError, match="names no device"), no_sync():
        WAITS[name]()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SILENT)
def test_what_is_on_the_host_by_design_does_not_count(name: str) -> None:
    with no_sync():
        SILENT[name]()


def test_optimizer_state_made_before_the_block() -> None:
    optimizer = torch.optim.AdamW(MODEL.parameters())
    MODEL(BATCH).sum().backward()
    optimizer.step()
    with no_sync():
        optimizer.step()


def test_optimizer_state_from_a_checkpoint() -> None:
    optimizer = torch.optim.AdamW(MODEL.parameters())
    MODEL(BATCH).sum().backward()
    optimizer.step()
    with no_sync():
        other = torch.optim.AdamW(MODEL.parameters())
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        for state in other.state.values():
            state["step"] = state["step"].clone()
        other.step()
        other.step()


def test_our_own_checks_are_not_the_users_program() -> None:
    from pytest_tensorcheck import gradcheck

    with observe() as seen:
        gradcheck(torch.sin, (torch.rand(3, dtype=torch.float64, requires_grad=True),))
    assert seen == []


def test_plain_tensors_are_left_as_they_are() -> None:
    with no_sync():
        assert X.device.type == "cpu"
        assert not X.is_cuda
        assert X.to(X.device) is X
        assert MODEL(BATCH).device == torch.device("cpu")


def test_observe_can_leave_plain_code_out() -> None:
    with observe(plain=False) as seen:
        X.sum().item()
    assert seen == []
    with observe() as seen:
        X.sum().item()
    assert [(o.facts["plain"], o.facts["operation"], o.count) for o in seen] == [(True, "item", 1)]


def test_naming_the_device_ends_the_guessing_for_the_whole_test() -> None:
    with simulation(), no_sync():
        torch.zeros(1, device="cuda")
        X.sum().item()


def test_what_is_computed_from_a_copy_on_the_host_is_on_the_host() -> None:
    with observe() as seen:
        host = (X * 2).cpu()
        (host.sum() + host.max()).item()
        f"{host.mean():.2f}"
        bool((host > 0).any())
    assert [o.facts["operation"] for o in seen] == ["cpu"]


@pytest.mark.parametrize("there", [lambda x: x.cpu(), lambda x: x.to("cpu"), lambda x: x.to("cpu", torch.float32)])
def test_a_leaf_on_the_cpu_is_a_leaf(there: Callable[[Any], Any]) -> None:
    with no_sync(allow=1):
        x = there(torch.ones(2, requires_grad=True))
        x.sum().backward()
    assert x.is_leaf
    assert torch.equal(x.grad, torch.ones(2))
    with no_sync(allow=1):
        assert isinstance(there(MODEL.weight), nn.Parameter)
