"""The pytest plugin: options, the marker, hooks and fixtures. Imports neither torch nor numpy.

Without `--tensorcheck` only the options, the marker and the fixtures are there, and no hook runs for any test.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tensorcheck import settings as _settings

if TYPE_CHECKING:
    from pytest_tensorcheck.checked_session import CheckedSession

_SETTINGS: pytest.StashKey[_settings.Settings] = pytest.StashKey()
_SESSION: pytest.StashKey[CheckedSession] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    _settings.add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Before the first conftest, which may draw numbers and set state."""
    settings = _settings.resolve(early_config, early_config.known_args_namespace)
    if settings.active and not _asks_for_help(early_config):
        _start(early_config, settings)
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _settings.MARKER)
    session = config.stash.get(_SESSION, None)
    settings = session.settings if session is not None else _settings.resolve(config)
    if settings.active and session is None and not _asks_for_help(config):
        session = _start(config, settings)
    config.stash[_SETTINGS] = settings
    if session is not None:
        session.register()


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.stop()


def _start(config: pytest.Config, settings: _settings.Settings) -> CheckedSession:
    from pytest_tensorcheck.checked_session import CheckedSession

    session = CheckedSession(config, settings)
    session.start()
    config.stash[_SESSION] = session
    return session


def _asks_for_help(config: pytest.Config) -> bool:
    options = config.known_args_namespace
    return bool(getattr(options, "help", False) or getattr(options, "version", 0))


def _fixture_settings(request: pytest.FixtureRequest) -> _settings.Settings:
    marked = _settings.read_markers(request.node)
    return _settings.with_markers(request.config.stash[_SETTINGS], marked)


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

    session = request.config.stash.get(_SESSION, None)
    base = session.base_seed if session is not None else request.config.stash[_SETTINGS].seed
    return PhaseSeeds.of(base, request.node.nodeid, _settings.read_markers(request.node).seed).call


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
        pytest.fail(str(error), pytrace=False)
