"""The pytest plugin: options, the marker, hooks and fixtures. Imports neither torch nor numpy.

Without `--tensorcheck` only the options, the marker and the fixtures are there, and no hook runs for any test. Every
pytest run in the environment pays for what this module imports at its top: the table of options, and nothing else.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tensorcheck.options import MARKER, add_options, anything_given

if TYPE_CHECKING:
    import argparse

    from pytest_tensorcheck.checked_session import CheckedSession
    from pytest_tensorcheck.settings import Settings

_SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
_SESSION: pytest.StashKey[CheckedSession] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Before the first conftest, which may draw numbers and set state."""
    _start_if_asked(early_config, early_config.known_args_namespace)
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    session = config.stash.get(_SESSION, None)
    if session is None:
        session = _start_if_asked(config, config.option)
    if session is not None:
        session.register()


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.stop()


def _start_if_asked(config: pytest.Config, options: argparse.Namespace) -> CheckedSession | None:
    """Raises pytest.UsageError for a wrong value, also where the checks stay off."""
    if not anything_given(config, options):
        return None
    from pytest_tensorcheck.settings import resolve

    settings = config.stash[_SETTINGS] = resolve(config, options)
    if not settings.active or _asks_for_help(config):
        return None
    from pytest_tensorcheck.checked_session import CheckedSession

    session = config.stash[_SESSION] = CheckedSession(config, settings)
    session.start()
    return session


def _asks_for_help(config: pytest.Config) -> bool:
    options = config.known_args_namespace
    return bool(getattr(options, "help", False) or getattr(options, "version", 0))


def _run_settings(config: pytest.Config) -> Settings:
    from pytest_tensorcheck.settings import Settings

    return config.stash.get(_SETTINGS, None) or Settings()


def _fixture_settings(request: pytest.FixtureRequest) -> Settings:
    from pytest_tensorcheck.settings import read_markers, with_markers

    return with_markers(_run_settings(request.config), read_markers(request.node))


# --- fixtures: each takes its object from the module that makes it ---------------------------------------------------


@pytest.fixture
def assert_shape() -> Any:
    """`assert_shape(x, "b t c", y, "b c")`: shapes by name; a name keeps its size for the whole test."""
    from pytest_tensorcheck.shapes import ShapeChecker

    return ShapeChecker()


@pytest.fixture
def gradcheck() -> Any:
    """`gradcheck(fn_or_module, inputs)`: gradients against differences, in float64, parameters included."""
    return _needs_torch("gradcheck", "pytest_tensorcheck.gradients", "gradcheck")


@pytest.fixture
def opcheck() -> Any:
    """`opcheck(op, args)`: torch.library.opcheck, with all of its results."""
    return _needs_torch("opcheck", "pytest_tensorcheck.gradients", "opcheck")


@pytest.fixture
def no_sync() -> Any:
    """`with no_sync():` fails where the host waits for the GPU; without a GPU by simulation."""
    return _needs_torch("no_sync", "pytest_tensorcheck.sync", "no_sync")


@pytest.fixture
def no_broadcast() -> Any:
    """`with no_broadcast():` fails where a row meets a column by accident."""
    from pytest_tensorcheck.broadcasting import no_broadcast

    return no_broadcast


@pytest.fixture
def deterministic() -> Any:
    """`deterministic(fn, *args)` runs fn twice and names the first operation that differs; `.settings()`."""
    return _needs_torch("deterministic", "pytest_tensorcheck.determinism", "deterministic")


@pytest.fixture
def stable_map() -> Any:
    """`stable_map(dataset, fn, **map_kwargs)`: whether the fingerprint of a map is the same in every process."""
    from pytest_tensorcheck.map_stability import stable_map

    return stable_map


@pytest.fixture
def tensor_device(request: pytest.FixtureRequest) -> Any:
    """The torch.device to test on: `--tensorcheck-device`; on a machine without a GPU possibly a simulated one."""
    from pytest_tensorcheck.devices import device_for_test

    return device_for_test(request, _fixture_settings(request))


@pytest.fixture
def tensorcheck_seed(request: pytest.FixtureRequest) -> int:
    """The test's seed, below 2**32: for APIs that ask for one."""
    from pytest_tensorcheck.seeding import short

    return short(_seed_of(request))


@pytest.fixture
def numpy_rng(request: pytest.FixtureRequest) -> Any:
    """A numpy Generator of the test's own, the same in every run."""
    from pytest_tensorcheck.seeding import derive

    return _needs("numpy", "numpy_rng").random.default_rng(derive(_seed_of(request), "numpy_rng"))


@pytest.fixture
def torch_rng(request: pytest.FixtureRequest) -> Any:
    """A torch.Generator (on the CPU) of the test's own, the same in every run."""
    from pytest_tensorcheck.seeding import derive

    return _needs("torch", "torch_rng").Generator().manual_seed(derive(_seed_of(request), "torch_rng"))


def _seed_of(request: pytest.FixtureRequest) -> int:
    from pytest_tensorcheck.seeding import PhaseSeeds
    from pytest_tensorcheck.settings import read_markers

    session = request.config.stash.get(_SESSION, None)
    base = session.base_seed if session is not None else _run_settings(request.config).seed
    return PhaseSeeds.of(base, request.node.nodeid, read_markers(request.node).seed).call


def _needs_torch(fixture: str, module: str, name: str) -> Any:
    import importlib

    _needs("torch", fixture)
    return getattr(importlib.import_module(module), name)


def _needs(library: str, fixture: str) -> Any:
    """The library, or a failure in one line: a skip would look as if the check had passed."""
    from pytest_tensorcheck.frameworks import MissingFramework, require

    try:
        return require(library, f"the fixture {fixture}")
    except MissingFramework as error:
        missing = str(error)
    pytest.fail(missing, pytrace=False)  # not inside `except`: pytest would show the error that it came from as well
