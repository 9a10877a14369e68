"""The watcher of a real GPU, as far as it goes without one: torch's trace callbacks are fired by hand."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from pytest_tensorcheck.sync import SyncError, allow_sync, gpu_watcher, no_sync, observe  # noqa: E402


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As if there were a GPU: its trace is torch's own registry of callbacks."""
    if torch.cuda.is_available():
        pytest.skip("there is a real GPU here: its own test is below")
    trace = pytest.importorskip("torch.cuda._gpu_trace", reason="needs a torch with a GPU trace")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "none")
    monkeypatch.setattr(torch._C, "_activate_gpu_trace", lambda: None)
    for name in ("Stream", "Device", "Event"):
        monkeypatch.setattr(getattr(trace, f"{name}SynchronizationCallbacks"), "callback_list", [])
    monkeypatch.setattr(gpu_watcher, "_registered", False)
    return trace


def test_waits_are_reported_with_the_users_line(gpu: Any) -> None:
    with pytest.raises(SyncError) as caught, no_sync():
        loss_item = lambda: gpu.StreamSynchronizationCallbacks.fire_callbacks(0)
        loss_item()
        gpu.DeviceSynchronizationCallbacks.fire_callbacks()
        gpu.EventSynchronizationCallbacks.fire_callbacks(0)
    text = str(caught.value)
    assert "waits for the GPU 3 times" in text
    assert "Seen on the GPU." in text
    assert "gpu.DeviceSynchronizationCallbacks.fire_callbacks()" in text
    assert "waits until the GPU has finished everything" in text
    assert "waits until the GPU has reached the event" in text


def test_nothing_is_recorded_outside_of_a_scope(gpu: Any) -> None:
    with observe() as seen, allow_sync():
        gpu.StreamSynchronizationCallbacks.fire_callbacks(0)
    gpu.StreamSynchronizationCallbacks.fire_callbacks(0)
    assert seen == []
    assert "to" not in vars(torch.Tensor)


def test_in_the_engines_thread_the_forward_line_is_named(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook runs inside backward; with the user's frames hidden it stands for the engine's own thread."""
    from pytest_tensorcheck.sync import attribution

    def fire(grad: Any) -> None:
        with monkeypatch.context() as patch:
            nowhere = attribution.Place(None, "", "", True)
            patch.setattr(gpu_watcher, "user_place", lambda *a, **k: nowhere)
            gpu.StreamSynchronizationCallbacks.fire_callbacks(0)

    with observe() as seen:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = y.sin().sum()
        y.register_hook(fire)  # runs when the engine is at y's own node
        z.backward()
    assert [o.facts["expression"] for o in seen] == ["x * 2"]
    assert "called at" in seen[0].message


def test_a_hook_in_the_engines_thread_is_named(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of the engine's that runs a GPU's part of backward has no scopes, and does not come from `backward()`."""

    def hook(grad: Any) -> None:
        def elsewhere() -> None:
            gpu.StreamSynchronizationCallbacks.fire_callbacks(0)

        with monkeypatch.context() as patch:
            patch.setattr(gpu_watcher.private_torch, "current_node", lambda: z.grad_fn)
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()

    def quiet() -> None:
        gpu.StreamSynchronizationCallbacks.fire_callbacks(0)

    with observe() as seen:
        x = torch.ones(2, requires_grad=True)
        z = x.sum()
        hook(x)
        thread = threading.Thread(target=quiet)  # somebody's own thread, in which backward does not run
        thread.start()
        thread.join()
    assert [o.facts["expression"] for o in seen] == ["gpu.StreamSynchronizationCallbacks.fire_callbacks(0)"]


def test_what_our_own_checks_read_is_not_the_user_s(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They read inside torch's modes, from which a call of the user's is handed on in the same way."""
    from pytest_tensorcheck import numerics
    from pytest_tensorcheck.determinism.recorder import Recorder

    def waits(real: Any) -> Any:
        def read(self: Any, *args: Any) -> Any:
            gpu.StreamSynchronizationCallbacks.fire_callbacks(0)
            return real(self, *args)

        return read

    for name in ("__bool__", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, waits(getattr(torch.Tensor, name)))
    with observe() as seen, numerics.observe(), Recorder(0):
        x = torch.ones(3)
        x.mul_(2)
        y = x / 0
    assert seen == []
    with observe() as seen:
        assert torch.ones(1)
        assert y.tolist()
    assert seen


def test_blocks_inside_one_another_leave_one_mode(gpu: Any) -> None:
    depth = torch._C._len_torch_function_stack
    with observe():
        assert depth() == 1
        with no_sync(), observe():
            assert depth() == 1
        assert depth() == 1
    assert depth() == 0


def test_the_watcher_s_own_mode_is_no_leak(gpu: Any, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        import torch

        def test_plain():
            torch.ones(2).sum()

        @pytest.mark.tensorcheck(sync="error")
        def test_marked():
            torch.ones(2).sum()

        def test_leaves_a_mode():
            torch.device("meta").__enter__()
        """
    )
    result = pytester.runpytest_inprocess("--tensorcheck", "--tensorcheck-sync=report", "-p", "no:randomly")
    text = result.stdout.str()
    assert "ForwardLines" not in text
    assert "state left changed: 1 finding in 1 test" in text


def test_debug_mode_is_the_fallback_and_is_put_back(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    state = ["default"]
    monkeypatch.setattr(gpu_watcher, "_register_trace", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: state[-1])
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", state.append)
    before = list(warnings.filters), warnings.showwarning

    def sync() -> None:
        warnings.warn("called a synchronizing CUDA operation (Triggered internally at …)", UserWarning)

    with pytest.raises(SyncError, match="2 times"), no_sync():
        assert state[-1] == "warn"
        for _ in range(2):
            sync()
    assert state[-1] == "default"
    assert (list(warnings.filters), warnings.showwarning) == before


@pytest.mark.parametrize(
    ("expression", "operation"),
    [("loss.item()", "item"), ("x[mask]", "getitem"), ("a > b", "bool"), ("float(x)", "float"), ("x.to(device)", "to"),
     ("if a > b:", "bool"), ("torch.unique(x)", "unique"), ("x[m] = 1", "setitem"), ("f'{x}'", "format"), ("a +", "")],
)  # fmt: skip
def test_operation_is_read_from_the_expression(expression: str, operation: str) -> None:
    assert gpu_watcher.operation_of(expression) == operation


@pytest.mark.gpu
def test_on_a_real_gpu() -> None:
    x = torch.ones(3, device="cuda")
    with no_sync():
        x * 2
    with pytest.raises(SyncError, match="item"), no_sync():
        x.sum().item()
    with pytest.raises(SyncError, match="synchronize"), no_sync():
        torch.cuda.synchronize()
    with pytest.raises(SyncError, match="not pinned"), no_sync(pageable=True):
        torch.ones(3).to("cuda", non_blocking=True)
