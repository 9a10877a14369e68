"""Load the array libraries once, before any test.

pytester puts sys.modules back after each session that it runs in this process; a second import of torch into one
process aborts it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

with contextlib.suppress(ImportError):
    import numpy.random  # noqa: F401
with contextlib.suppress(ImportError):
    import torch._inductor.config  # noqa: F401  (torch.use_deterministic_algorithms imports it)


@pytest.fixture(autouse=True)
def _quick_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions in processes of their own load our plugin and xdist only, as the imports of others are a good part of
    what they cost; a test marked `other_plugins` needs more."""
    if request.node.get_closest_marker("other_plugins"):
        return
    run = pytest.Pytester.runpytest_subprocess

    def run_with_ours(pytester: pytest.Pytester, *args: Any, **kwargs: Any) -> pytest.RunResult:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            return run(pytester, "-p", "pytest_tensorcheck.plugin", "-p", "xdist.plugin", *args, **kwargs)

    monkeypatch.setattr(pytest.Pytester, "runpytest_subprocess", run_with_ours)
