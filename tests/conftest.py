"""For all tests: the same numbers in every run and on every machine; what one oracle does to the process is undone.

Luck must not decide what CI says, and new examples must be looked for on purpose (CONTRIBUTING.md says how).
They see no GPU even where there is one, so that they say the same everywhere. TESTS_DEVICE=cuda lets them: tests marked
`gpu` run then, and the oracles of the inference make their tensors there (tests/linters/conftest.py).
"""

from __future__ import annotations

import gc
import os
import random
import sys

import hypothesis
import pytest

# The examples follow from the test itself; no deadline, as machines are busy.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("explore", max_examples=1000, derandomize=False, deadline=None)
hypothesis.settings.load_profile("repeatable")

# The libraries, the tests and a program's tree live on: looking through them after each 700 new objects is a tenth of the time.
gc.set_threshold(20_000, 20, 20)

ON_GPU = os.environ.get("TESTS_DEVICE") == "cuda"
if not ON_GPU:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA GPU")
    config.addinivalue_line("markers", "host: runs programs over tensors of the host, also with TESTS_DEVICE=cuda")
    config.addinivalue_line("markers", "other_plugins: its sessions load every pytest plugin that is installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ON_GPU:
        return
    skip = pytest.mark.skip(reason="needs a CUDA GPU; where there is one: TESTS_DEVICE=cuda pytest -m gpu")
    for item in items:
        if item.get_closest_marker("gpu") is not None:
            item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The generators start afresh: which tests ran before in this process differs with the machine's speed under xdist."""
    seed = int(os.environ.get("TESTS_SEED", "0"))
    random.seed(seed)
    if hasattr(numpy_random := sys.modules.get("numpy.random"), "seed"):
        numpy_random.seed(seed)
    torch = sys.modules.get("torch")
    if hasattr(torch, "default_generator"):
        # torch.manual_seed formats the Python stack three times, for devices that are not there.
        (torch.manual_seed if ON_GPU else torch.default_generator.manual_seed)(seed)
    # `torch.testing._internal`, whose samples are an oracle, forbids the process to assign `torch.backends.*` flags.
    if hasattr(torch, "backends"):
        # The module in sys.modules wraps the one whose globals these are.
        torch.backends.disable_global_flags.__globals__["__allow_nonbracketed_mutation_flag"] = True


@pytest.fixture(scope="session")
def samples_of_torch() -> None:
    """Torch's own samples do not look on the stack, with the source of each frame, for the unittest that they are made for.

    There is none, and under pytest the look takes longer than the samples do.
    """
    common = pytest.importorskip("torch.testing._internal.common_utils")
    common.extract_test_fn = lambda: None
