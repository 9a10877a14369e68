"""What a user writes and reads: no_sync, allow_sync, observe, their options, errors and messages."""

from __future__ import annotations

import contextlib
import pickle
import re
import sys
import threading
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from pytest_tensorcheck.observations import TensorcheckFailure  # noqa: E402
from pytest_tensorcheck.sync import (  # noqa: E402
    SyncError,
    allow_sync,
    backend,
    device,
    failure,
    no_sync,
    observe,
    simulation,
)


def line() -> int:
    return sys._getframe(1).f_lineno


def test_message_names_line_source_operation_reason_and_remedy() -> None:
    x = torch.ones(3)
    with pytest.raises(SyncError) as caught, no_sync():
        total = x.sum().item(); at = line()  # noqa: E702  # fmt: skip
    assert total == 3
    text = str(caught.value)
    first, place, why, instead = text.split("\n")[:4]
    assert first == "the host waits for the GPU once in no_sync() (none allowed):"
    assert re.fullmatch(rf"  \S*test_sync_scopes.py:{at}: x.sum\(\).item\(\)", place)
    assert why.strip().startswith("item, aten::_local_scalar_dense: reads a number on the host")
    assert instead.strip().startswith("instead: keep the tensor")
    assert "Seen by simulation: there is no GPU here" in text
    assert isinstance(caught.value, TensorcheckFailure)
    assert isinstance(caught.value, AssertionError)


def test_repeated_waits_of_a_line_are_counted_together() -> None:
    with pytest.raises(SyncError, match=r"waits for the GPU 4 times") as caught, no_sync():
        for i in range(3):
            torch.ones(2)[i % 2].item()
        torch.ones(2).tolist()
    assert "×3: torch.ones(2)[i % 2].item()" in str(caught.value)


def test_backward_names_the_forward_line_and_the_caller() -> None:
    with simulation(), pytest.raises(SyncError) as caught, no_sync():
        x = torch.rand(3, device=device(), requires_grad=True)
        y = x.prod(); forward = line()  # noqa: E702  # fmt: skip
        y.backward(); called = line()  # noqa: E702  # fmt: skip
    text = str(caught.value)
    assert f"test_sync_scopes.py:{forward}: x.prod()" in text
    assert re.search(rf"in the backward of this line, called at \S*test_sync_scopes.py:{called}", text)


def test_hidden_waits_of_torch_itself_are_named_as_such() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        return loss

    with pytest.raises(SyncError) as caught, no_sync():
        optimizer.step(closure)
    assert "not in your own line but inside torch/optim/lbfgs.py:" in str(caught.value)
    assert "LBFGS reads its losses" in str(caught.value)


def test_allow_a_number() -> None:
    with no_sync(allow=2):
        torch.ones(1).item()
        torch.ones(1).item()
    with pytest.raises(SyncError, match="3 times in no_sync\\(\\) \\(2 allowed\\)"), no_sync(allow=2):
        for _ in range(3):
            torch.ones(1).item()


def test_allow_names() -> None:
    x = torch.ones(3)
    with no_sync(allow=["nonzero"]):
        x.nonzero()
    with no_sync(["item", "mask_get"]):
        x[x > 0].sum().item()
    with pytest.raises(SyncError, match="allowed only: nonzero") as caught, no_sync(allow=["nonzero"]):
        x.nonzero()
        x.tolist()
    assert "x.nonzero()" not in str(caught.value)


@pytest.mark.parametrize("wrong", [-1, True, 1.5, None, ["nonzer"], [3]])
def test_wrong_allow_is_one_clear_line(wrong: object) -> None:
    with pytest.raises(ValueError, match="no_sync: ") as caught:
        no_sync(allow=wrong)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_allow_sync_and_nesting() -> None:
    x = torch.ones(3)
    with no_sync():
        with allow_sync("log every 100 steps"):
            x.sum().item()
        x.sum()
    with pytest.raises(SyncError), no_sync(), no_sync(allow=1):
        x.sum().item()


def test_first_only_accepts_a_warm_up() -> None:
    x = torch.ones(3)

    def step(waits: bool) -> None:
        with no_sync(first_only=True):
            if waits:
                x.sum().item()

    step(True)
    step(False)
    with pytest.raises(SyncError):
        step(True)


def test_first_only_of_allow_sync() -> None:
    x = torch.ones(3)
    with pytest.raises(SyncError, match="once"), no_sync():
        for _ in range(2):
            with allow_sync("warm-up", first_only=True):
                x.sum().item()


def test_decorator() -> None:
    @no_sync()
    def step(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    with pytest.raises(SyncError):
        step(torch.ones(2))
    with allow_sync():
        step(torch.ones(2))


def test_own_exception_comes_through_with_a_note() -> None:
    with pytest.raises(ZeroDivisionError) as caught, no_sync():
        torch.ones(2).sum().item()
        _ = 1 / 0
    assert "before this the host waited for the GPU here" in caught.value.__notes__[0]


def test_pageable_copies_are_counted_only_on_request() -> None:
    with simulation(), no_sync():
        torch.ones(2).to("cuda", non_blocking=True)
    with simulation(), pytest.raises(SyncError, match="not pinned"), no_sync(pageable=True):
        torch.ones(2).to("cuda", non_blocking=True)
    with simulation(), pytest.raises(SyncError, match="Not counted, but may wait"), no_sync():
        torch.ones(2).to("cuda", non_blocking=True).sum().item()


def test_observe_grows_and_counts_each_place_once() -> None:
    x = torch.ones(3)
    with observe() as seen:
        for _ in range(3):
            x.sum().item(); at = line()  # noqa: E702  # fmt: skip
        assert len(seen) == 1
        x.tolist()
    assert [(o.where.line, o.facts["operation"], o.count) for o in seen if o.where] == [
        (at, "item", 3),
        (at + 2, "tolist", 1),
    ]
    assert all(o.check == "sync" for o in seen)
    assert failure(seen) is None  # the code names no device, and nobody asked about this very test
    error = failure(seen, plain=True)
    assert error is not None
    assert "4 times in this test" in str(error)
    assert "[×3]" in str(error)
    assert failure([]) is None


def test_observe_leaves_the_integers_of_plain_code_alone() -> None:
    with observe() as seen:
        torch.tensor([1, 2]).tolist()
    assert seen == []


def test_error_pickles() -> None:
    error = pickle.loads(pickle.dumps(SyncError("text")))
    assert str(error) == "text"


def test_other_threads_do_not_count_unless_started_inside() -> None:
    started, go, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        go.wait(300)
        torch.ones(2).sum().item()
        done.set()

    with simulation():
        outside = threading.Thread(target=work)
        outside.start()
        started.wait(300)
        with no_sync():
            go.set()
            done.wait(300)
        outside.join()
        inside = threading.Thread(target=lambda: torch.ones(2, device="cuda").sum().item())
        with pytest.raises(SyncError), no_sync():
            inside.start()
            inside.join()


def test_backend_without_a_gpu_is_the_simulation() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert backend() == "simulation"
    assert device() == torch.device("cuda")


def test_no_warning_of_our_own() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SyncError), no_sync():
            torch.ones(2).sum().item()


def test_a_device_whose_waits_nobody_sees_is_said() -> None:
    for kind in ("mps", "xpu"):
        # There is none here: the block goes on as if there were.
        with pytest.raises(SyncError) as caught, no_sync(), contextlib.suppress(Exception):
            torch.ones(2, device=kind)
        assert f"no_sync is not available here for {kind}" in str(caught.value)
    with no_sync():
        torch.ones(2, device="meta") + 1


def test_missing_parentheses_are_said() -> None:
    from pytest_tensorcheck import allow_sync, no_broadcast

    for kind in (no_sync, allow_sync, no_broadcast):
        name = kind.__name__
        with pytest.raises(TypeError) as caught, kind:
            pass
        assert str(caught.value) == f"`with {name}:` lacks its parentheses: write `with {name}():`"
    with pytest.raises(TypeError, match=r"write `@no_sync\(\)`"):

        @no_sync
        def step() -> None: ...
