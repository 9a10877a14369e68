"""Which device a test is given, and whether the one that was asked for is there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import Any

import pytest

from pytest_tensorcheck.frameworks import loaded, require
from pytest_tensorcheck.settings import Settings


def require_device(settings: Settings) -> None:
    """`--tensorcheck-device cuda` on a machine without one ends the run at once: skipped tests would look green."""
    if settings.device not in ("cuda", "shadow"):
        return
    if importlib.util.find_spec("torch") is None:
        raise pytest.UsageError(
            f"--tensorcheck-device {settings.device}: torch is not installed in this environment, so no test can use "
            "that device: pip install torch"
        )
    if settings.device == "cuda":
        torch = require("torch", "--tensorcheck-device cuda")
        if not torch.cuda.is_available():
            built = "this build of torch has no CUDA" if torch.version.cuda is None else "torch finds no GPU"
            raise pytest.UsageError(
                f"--tensorcheck-device cuda: {built} (torch {torch.__version__}): run on a machine with a GPU, or "
                "simulate one with --tensorcheck-device shadow"
            )


def describe_device(settings: Settings) -> str:
    """For the header; torch is not imported to say it."""
    if settings.device == "shadow":
        return "shadow (a simulated GPU)"
    torch = loaded("torch")
    if settings.device == "cpu" or torch is None:
        return settings.device
    if torch.cuda.is_available():
        return f"cuda ({torch.cuda.get_device_name(0)})"
    return "cpu" if settings.device == "auto" else settings.device


def versions() -> dict[str, str | None]:
    """Installed versions, from the packages' metadata; nothing is imported."""
    found: dict[str, str | None] = {}
    for name in ("torch", "numpy"):
        module = loaded(name)
        version = getattr(module, "__version__", None)
        if version is None:
            try:
                version = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                version = None
        found[name] = str(version) if version is not None else None
    return found


def device_for_test(request: pytest.FixtureRequest, settings: Settings) -> Any:
    """The torch.device of the fixture `tensor_device`.

    auto: a GPU if there is one; else the simulated one where the test also asks for no_sync; else the CPU.
    """
    torch: Any = None
    missing = ""
    try:
        torch = require("torch", "the fixture tensor_device")
    except ImportError as error:
        missing = str(error)
    if missing:  # not inside `except`: pytest would show the error that it came from as well
        pytest.fail(missing, pytrace=False)
    if settings.device == "cpu":
        return torch.device("cpu")
    if settings.device != "shadow" and torch.cuda.is_available():
        return torch.device("cuda")
    if settings.device == "cuda":
        require_device(settings)
    wants_simulation = settings.device == "shadow" or "no_sync" in request.fixturenames or settings.sync != "off"
    if wants_simulation:
        from pytest_tensorcheck import sync

        simulation = sync.simulation()
        simulation.__enter__()
        request.addfinalizer(lambda: simulation.__exit__(None, None, None))
        return sync.device()
    backends = getattr(torch.backends, "mps", None)
    if backends is not None and backends.is_available():
        return torch.device("mps")
    return torch.device("cpu")
