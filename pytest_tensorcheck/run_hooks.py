"""What happens around each test while the checks are on: hook wrappers of setup, call, teardown and fixtures.

Wrappers, not autouse fixtures: a wrapper costs 5 µs a test, an autouse fixture 76 µs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tensorcheck.first_import import FirstImport
from pytest_tensorcheck.global_state import (
    Change,
    GlobalState,
    ScopedState,
    StateLeak,
    numpy_items,
    python_items,
    worth_saying,
)
from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.seeding import PhaseSeeds, Seeder, derive, digest_of, loaded_numpy_random
from pytest_tensorcheck.settings import CHECKS, UNMARKED, MarkerSettings, Settings, read_markers, with_markers
from pytest_tensorcheck.shared_objects import SharedObjects
from pytest_tensorcheck.state_reports import by_import, facts_of, last_name, left_by, left_by_collector, left_by_fixture
from pytest_tensorcheck.surrounded_imports import SurroundedImports
from pytest_tensorcheck.surroundings import Surroundings
from pytest_tensorcheck.test_run import TestRun, at_user_line, describe, surrounds, watching
from pytest_tensorcheck.unseeded import UnseededGenerators
from pytest_tensorcheck.wider_setups import CollectorSetups, WiderSetups
from pytest_tensorcheck.worker_threads import share_cores

if TYPE_CHECKING:
    from pytest_tensorcheck.library_filters import LibraryFilters
    from pytest_tensorcheck.torch_state import ModeStack

MARKED: pytest.StashKey[MarkerSettings] = pytest.StashKey()
_MARKER_ERROR: pytest.StashKey[str] = pytest.StashKey()
_NO_MODES = (lambda: 0, lambda: 0)
_NOTHING: Sequence[Observation] = ()


class _Place:
    """Who is running, for what is noticed in passing."""

    __slots__ = ("importing", "run")

    def __init__(self) -> None:
        self.run: TestRun | None = None
        self.importing: str | None = None


class SessionFindings:
    """What belongs to no single test: what importing a module changed or made."""

    def __init__(self) -> None:
        self.observations: list[tuple[str, Observation]] = []


class RunHooks:
    """Registered for the session while the checks are on."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.base_seed = settings.seed
        self.seeder = Seeder()
        self._digests: dict[str, bytes] = {}  # of what was collected, with the seed of the settings
        self.state = GlobalState()
        self.scoped = ScopedState(self.state)
        self.found = SessionFindings()
        self._blame_module: dict[str, list[Change]] = {}
        self._place = _Place()
        self.latest: TestRun | None = None
        self._unseeded = UnseededGenerators(self._note_unseeded)
        self._imports = FirstImport(
            {"numpy": self._numpy_loaded, "numpy.random": self._numpy_random_loaded, "torch": self._torch_loaded}
        )
        self._surrounded_imports = SurroundedImports(
            lambda name: self.seeder.undisturbed(derive(self.base_seed, "module", name)), self._library_import
        )
        self._any_marked = False
        self.switched_off: list[str] = []  # the checks that the markers of all tests switch off
        self._surrounded = surrounds(settings, UNMARKED)
        self._watch_state = False
        self._as_expected = False  # the state at the end of the last test was read, and was the expected one
        self._surroundings = Surroundings(config)
        self._wider = WiderSetups(self.seeder, self.state)
        self._collectors = CollectorSetups(
            self._wider, lambda phase, nodeid: derive(self.base_seed, "collector", nodeid, phase), self._after_collector
        )
        self.shared = SharedObjects()
        self._modes: ModeStack | None = None
        self._library_filters: LibraryFilters | None = None

    # --- start and end ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """From before the first conftest: what they draw, and what they set, is part of the run."""
        self._imports.start()
        if loaded_numpy_random() is not None:
            self._numpy_random_loaded()
        self.seeder.watch_random()
        self.seeder.apply(derive(self.base_seed, "conftest"))
        self._surrounded_imports.start()

    def stop(self) -> None:
        self._surrounded_imports.stop()
        self._imports.stop()
        self._unseeded.stop()
        self.seeder.stop()

    @contextlib.contextmanager
    def _library_import(self) -> Iterator[None]:
        with self.state.library_import():
            if self._library_filters is None:
                yield
            else:
                with self._library_filters.library_import():
                    yield

    def _numpy_random_loaded(self) -> None:
        self.seeder.watch_numpy()
        self._unseeded.watch_numpy()
        self.seeder.apply(self.seeder.current, keep=frozenset({"random", "torch"}))

    def _numpy_loaded(self) -> None:
        import numpy

        self.state.add(numpy_items(numpy))

    def _torch_loaded(self) -> None:
        import torch

        from pytest_tensorcheck.torch_state import ModeStack, torch_items

        share_cores(self.config, torch)
        self.seeder.queue_for_devices()
        self._unseeded.watch_torch()
        self.seeder.apply(self.seeder.current, keep=frozenset({"random", "numpy"}))
        self.state.add(torch_items(torch))
        with contextlib.suppress(AttributeError, ImportError):  # a version of torch without these private names
            self._modes = ModeStack(torch)

    def _note_unseeded(self, observation: Observation) -> None:
        if self._place.run is not None:
            self._place.run.observations.append(observation)
        elif self._place.importing is not None:
            self.found.observations.append((self._place.importing, observation))

    def pytest_plugin_registered(self) -> None:
        self._surroundings.look_again()

    # --- collection -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, Any, Any]:
        if not self.config.pluginmanager.has_plugin("warnings"):
            from pytest_tensorcheck.library_filters import LibraryFilters

            self._library_filters = LibraryFilters()
        self.state.add(python_items(self._library_filters))
        self.state.expected = self.state.snapshot()
        result = yield
        # Where only a marker asks for the check, its test is compared with what was there when it began.
        self._watch_state = self.settings.state != "off" or any(
            item.stash.get(MARKED, UNMARKED).state not in (None, "off") for item in session.items
        )
        if self._any_marked:
            marked = [
                item.stash.get(MARKED, UNMARKED) for item in session.items if not hasattr(item, "tensorcheck_exempt")
            ]
            self.switched_off = [check for check in CHECKS if all(getattr(one, check) == "off" for one in marked)]
        self.state.expected = self.state.snapshot()
        self._digests = {(nodeid := item.nodeid): digest_of(self.base_seed, nodeid) for item in session.items}
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Importing a module draws numbers of its own, and the state that it sets is in force for its tests only."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        self.seeder.apply(derive(self.base_seed, collector.nodeid, "import"))
        self._place.importing = collector.nodeid
        before = self.state.snapshot()
        try:
            return (yield)
        finally:
            self._place.importing = None
            if self.settings.state != "off":
                self._after_import(collector, before)

    def _after_import(self, module: pytest.Module, before: tuple[Any, ...]) -> None:
        changes = [c for c in self.state.changes(before, self.state.snapshot()) if c.item.at_import]
        # A library sets variables for itself when it is first imported: only those that the module's text names.
        source = module.path.read_text(errors="replace") if any(c.item.by_key for c in changes) else ""
        changes = [c for c in changes if not c.item.by_key or last_name(c) in source]
        if not changes:
            return
        self.scoped.by_module[module.nodeid] = self.state.put_back(changes)
        self._blame_module[module.nodeid] = changes
        for change in worth_saying(changes):
            self.found.observations.append((module.nodeid, by_import(module, change)))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            try:
                if (marked := read_markers(item)) is not UNMARKED:
                    item.stash[MARKED] = marked
                    self._any_marked = True
            except pytest.UsageError as error:
                if not hasattr(self.config, "workerinput"):
                    raise
                self._any_marked = True
                item.stash[_MARKER_ERROR] = str(error)  # xdist has no way to end a run from a worker: the test fails
        self._collectors.guard(items)
        plugins = self.config.pluginmanager
        asked = any(item.stash.get(MARKED, UNMARKED).deterministic for item in items)
        if asked and not plugins.hasplugin("tensorcheck-deterministic"):
            from pytest_tensorcheck.determinism.marker import RunTwice

            plugins.register(RunTwice(self.run_of), "tensorcheck-deterministic")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.scoped.leave()

    # --- the test ---------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        if not getattr(item, "tensorcheck_exempt", False):
            run = self._begin(item)
            run.empty_setup = self._surroundings.empty_setup(item)
            if not run.empty_setup:
                self.seeder.apply(run.seeds.setup)
        return (yield)

    def run_of(self, item: pytest.Item) -> TestRun | None:
        """The run of the item that is under way or has just ended. Kept here and not in the item's stash: what every test
        leaves behind for the session makes Python's garbage collection go through all objects of torch sooner."""
        run = self.latest
        return run if run is not None and run.item is item else None

    def _begin(self, item: pytest.Item) -> TestRun:
        self.latest = None
        settings, marked = self.settings, UNMARKED
        if self._any_marked:
            if _MARKER_ERROR in item.stash:
                pytest.fail(item.stash[_MARKER_ERROR], pytrace=False)
            marked = item.stash.get(MARKED, UNMARKED)
            if marked is not UNMARKED:
                settings = with_markers(settings, marked)
        nodeid = item.nodeid
        digest = self._digests.get(nodeid) if marked.seed is None and self.base_seed == self.settings.seed else None
        if digest is not None:
            seeds = PhaseSeeds.from_digest(digest)
        else:
            seeds = PhaseSeeds.of(self.base_seed, nodeid, marked.seed)
        run = TestRun(item, nodeid, self.base_seed, seeds, settings, marked)
        self._place.run = self.latest = run
        if self._watch_state:
            state = self.state
            if not (self._as_expected and self._surroundings.alone) and not state.as_expected():
                # Set between two tests, by another plugin or by the last teardown of a wider fixture: no test's doing.
                state.expected = state.snapshot()
            self._as_expected = False
            if self.scoped.by_module:
                module = item.getparent(pytest.Module)
                self.scoped.enter(module.nodeid if module is not None else None)
        if self._surrounded if marked is UNMARKED else surrounds(settings, marked):
            run.enter_whole()
            self.state.expected = self.state.snapshot()
        return run

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        run = self.latest
        if run is None or run.item is not item:
            return (yield)
        self.shared.wider_setup_done(item)
        # A fixture of this test that called manual_seed meant it; the marker means it more.
        if run.marked.seed is None and not run.empty_setup:
            run.kept_seeds = self.seeder.seeded_by_others()
        self.seeder.apply(run.seeds.call, run.kept_seeds)
        checks = run.call_checks()
        if not checks and run.sync is None:
            return (yield)
        modes = self._modes
        seen: list[Observation] = []
        try:
            with watching(checks) as seen:
                functions, dispatch = modes.lengths if modes is not None else _NO_MODES
                depth = functions(), dispatch()
                try:
                    result = yield
                finally:
                    if modes is not None and (functions(), dispatch()) != depth:
                        run.leaked_modes = modes.leave_above(depth)
        finally:
            run.watched = (*run.watched, *checks)
            if seen:
                run.observations.extend(seen)
            if run.sync is not None:
                run.leave_sync()
        if run.observations and (failure := run.failure()) is not None:
            raise failure
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        run = self.latest
        if run is None or run.item is not item:
            return (yield)
        run.seen_until_teardown = len(run.observations)
        if not (run.empty_setup and self._surroundings.empty_teardown(item, nextitem)):
            self.seeder.apply(run.seeds.teardown)
        try:
            result = yield
        except BaseException:
            self._end(item, run)
            raise
        if (failure := self._end(item, run)) is not None:
            _is_not_expected(item)
            raise failure
        return result

    def _end(self, item: pytest.Item, run: TestRun) -> BaseException | None:
        try:
            left = self._state_left(item, run) if run.settings.state != "off" else _NOTHING
        finally:
            if run.whole is not None:
                run.leave_whole()
            self._place.run = None
        self.shared.look(item)
        if self._watch_state and (run.whole is not None or run.settings.state == "off"):
            self.state.expected = self.state.snapshot()
            self._as_expected = False
        if not left and not run.observations:
            return None
        by_fixtures = [seen for seen in run.observations if seen.check == "state"]  # wider ones that ended just now
        run.observations.extend(left)
        if run.settings.state == "error" and (blamed := [*by_fixtures, *left]):
            return at_user_line(StateLeak(describe(blamed)), blamed[0])
        return None

    def _state_left(self, item: pytest.Item, run: TestRun) -> Sequence[Observation]:
        state = self.state
        self._as_expected = state.as_expected()
        if self._as_expected and not self._blame_module and not run.leaked_modes:
            return _NOTHING
        left: list[Observation] = []
        if self._blame_module:
            module = item.getparent(pytest.Module)
            changes = self._blame_module.pop(module.nodeid, []) if module is not None else []
            if run.settings.state == "error" and module is not None:
                left.extend(by_import(module, change) for change in worth_saying(changes))
        for mode in run.leaked_modes:
            left.append(left_by(item, f"torch modes: none → {mode}", {"name": "torch modes", "new": mode}))
        if not self._as_expected:
            changes = state.put_back(state.changes(state.expected, state.snapshot()))
            # What could not be put back is what the next test starts from; it is not to be blamed for it.
            state.expected = state.snapshot()
            for change in worth_saying(changes):
                left.append(left_by(item, str(change), facts_of(change), restored=change.restored))
        return left

    # --- wider-scoped fixtures --------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """A fixture that outlives the test has numbers and state of its own."""
        __tracebackhide__ = True
        if fixturedef.scope == "function":
            self.shared.wider_setup_done(request.node)
            return (yield)
        identity = _identity(fixturedef, request)
        fixturedef.addfinalizer(lambda: self._after_fixture(fixturedef))  # runs last
        try:
            with self._wider.begin(fixturedef, derive(self.base_seed, *identity)):
                value = yield
            self.shared.fixture_made(fixturedef, request.node, value)
            if (run := self.latest) is not None and (changes := worth_saying(self._wider.set_by(fixturedef))):
                self.shared.fixture_set(fixturedef, request.node, list(map(str, changes)), run.nodeid)
            return value
        finally:
            # Registered last, so it runs first: teardown code draws numbers of its own too.
            fixturedef.addfinalizer(
                lambda: self._wider.begin_teardown(fixturedef, derive(self.base_seed, *identity, "teardown"))
            )

    def _after_fixture(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        restored = self._wider.end(fixturedef)
        self.shared.fixture_gone(fixturedef)
        if fixturedef.scope != "session":  # after the session nobody is left to suffer from it
            self._say_left(left_by_fixture(fixturedef, change) for change in worth_saying(restored))

    def _after_collector(self, node: pytest.Collector, restored: list[Change]) -> None:
        self._say_left(left_by_collector(node, change) for change in worth_saying(restored))

    def _say_left(self, left: Iterable[Observation]) -> None:
        run = self._place.run
        if run is not None and run.settings.state != "off":
            run.observations.extend(left)


def _is_not_expected(item: pytest.Item) -> None:
    """A mark `xfail` speaks of what the test does, not of what it leaves to the tests after it."""
    from _pytest.skipping import xfailed_key  # seen in pytest 8.0 to 9.2

    item.stash[xfailed_key] = None


def _identity(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What a fixture's seed is made from: where it is defined, its name, its parameter and the node it lives for."""
    function = fixturedef.func
    parameter = ""
    if hasattr(request, "param"):
        value = request.param
        simple = value is None or isinstance(value, (bool, int, float, str))
        parameter = repr(value) if simple else f"#{getattr(request, 'param_index', 0)}"
    return (
        "fixture",
        getattr(fixturedef, "baseid", "") or "",
        fixturedef.argname,
        getattr(function, "__module__", "") or "",
        getattr(function, "__qualname__", "") or "",
        parameter,
        request.node.nodeid,
    )
