"""`@pytest.mark.tensorcheck(deterministic=True)`: the test's body runs twice from the same state and is compared.

The deterministic settings are in force around the whole test (`test_run`); here is only the second run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from pytest_tensorcheck.test_run import TestRun, at_test


class RunTwice:
    """Registered when a collected test asks for it."""

    def __init__(self, run_of: Callable[[pytest.Item], TestRun | None]) -> None:
        self._run_of = run_of

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object | None:
        __tracebackhide__ = True
        run = self._run_of(pyfuncitem)
        if run is None or not run.marked.deterministic:
            return None
        function = pyfuncitem.obj
        if (why := _only_once(pyfuncitem)) is not None:
            run.notes += (f"deterministic=True: {why}, so it ran once, under the deterministic settings",)
            return None
        from pytest_tensorcheck.determinism import DivergenceError, run_twice

        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        own = getattr(pyfuncitem.instance, "__dict__", {})  # what setup_method and fixtures have set on `self`
        at_start = dict(own)

        def body() -> object:
            own.clear()
            own.update(at_start)
            return function(**arguments)

        state = {**arguments, **{f"self.{name}": value for name, value in at_start.items()}}
        try:
            run_twice(body, state=state, name=pyfuncitem.nodeid)
        except DivergenceError as error:  # raised after the runs: shown at the test, whose frames are gone
            raise at_test(error, pyfuncitem) from None
        return True


def _only_once(item: pytest.Function) -> str | None:
    """Why two runs of a test could not be compared; None where they can."""
    function = item.obj
    # What pytest-asyncio has put in the place of a coroutine's function is not one.
    defined = getattr(getattr(item.parent, "obj", None), item.originalname, None)
    if any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in (function, defined)):
        return "the test is a coroutine"
    if getattr(function, "is_hypothesis_test", False):
        return "hypothesis gives it other examples each time"
    return None
