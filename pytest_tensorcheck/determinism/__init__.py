"""Determinism: the settings that make torch repeat itself, and the first operation that does not.

For users:

* ``deterministic(fn, *args, runs=2, threads=None, **kwargs)`` runs ``fn`` from the same random state several times,
  compares the runs operation by operation and returns ``fn``'s result, or raises ``DivergenceError`` naming the first
  divergent operation.
* ``deterministic.settings(...)`` is `pytest_tensorcheck.determinism.settings.settings`, a context manager.
* ``record(path, name="")`` writes a run's log to a file; ``compare_logs(a, b)`` and the command ``tensorcheck-diverge A
  B`` compare the logs of two processes or machines.

For the pytest plugin (all of them import torch only when called):

* the marker's ``deterministic=True``, in a ``pytest_pyfunc_call`` hook: ``run_twice(call, state=pyfuncitem.funcargs)``,
  where ``call()`` runs the test's body with its fixtures. It runs the body twice from the same random state; tensors,
  modules, optimizers, arrays and generators found in ``state`` are put back in place between the runs, so that the
  test's own fixtures start the second run as they started the first. Raises what the first run raises, or
  ``DivergenceError``. Keyword arguments ``runs`` and ``threads`` as for `deterministic`.
* ``--tensorcheck-record F``: ``log = LogWriter(F)`` once, ``with log.recording(nodeid):`` around each test's call
  phase, ``log.close()`` at the end of the session. ``--tensorcheck-compare F``: ``log = LogChecker(F)`` once, ``with
  log.checking(nodeid):`` around each call phase; it raises ``DivergenceError`` where the test's operations differ from
  those in the file, and ``log.missing(nodeid)`` says whether the file holds that test at all.
"""

from __future__ import annotations

import importlib
from typing import Any

# Public name -> the module that holds it: importing the package loads neither torch nor the comparison.
_PUBLIC = {
    "Cause": "pytest_tensorcheck.determinism.causes",
    "Divergence": "pytest_tensorcheck.determinism.causes",
    "DivergenceError": "pytest_tensorcheck.determinism.causes",
    "LogChecker": "pytest_tensorcheck.determinism.logs",
    "LogWriter": "pytest_tensorcheck.determinism.logs",
    "compare_logs": "pytest_tensorcheck.determinism.logs",
    "deterministic": "pytest_tensorcheck.determinism.runs",
    "record": "pytest_tensorcheck.determinism.logs",
    "run_twice": "pytest_tensorcheck.determinism.runs",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
