"""`--tensorcheck-seeds 0-99`: each selected test once for every seed, reported as one test that names the seeds it fails for.

Every run sets everything up anew, session fixtures too, so that it is the run that `--tensorcheck-seed N` would make.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

# pytest-rerunfailures and flaky run tests through the same function; it is what pytest's own hook calls.
from _pytest.runner import runtestprotocol  # pytest 8.0 to 9.2

from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.run_hooks import MARKED, RunHooks
from pytest_tensorcheck.settings import UNMARKED
from pytest_tensorcheck.test_run import TestRun, as_record
from pytest_tensorcheck.user_line import UserLine

Reports = list[pytest.TestReport]


class SeedSweep:
    def __init__(
        self, seeds: tuple[int, ...], run_hooks: RunHooks, complete: Callable[[pytest.TestReport, TestRun], None]
    ) -> None:
        self.seeds = seeds
        self.run_hooks = run_hooks
        self._complete = complete

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if getattr(item, "tensorcheck_exempt", False):
            return None
        ihook = item.ihook
        ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        failed: dict[int, Reports] = {}
        duration: dict[str, float] = {}
        last: Reports = []
        # A test whose marker pins its seed would do the same thing every time.
        pinned = item.stash.get(MARKED, UNMARKED).seed is not None
        for seed in self.seeds[:1] if pinned else self.seeds:
            self.run_hooks.base_seed = seed
            last = runtestprotocol(item, log=False, nextitem=None)
            run = self.run_hooks.run_of(item)
            for report in last:
                if run is not None:
                    self._complete(report, run)
                duration[report.when or ""] = duration.get(report.when or "", 0.0) + report.duration
            if any(report.failed for report in last):
                failed[seed] = last
            if item.session.shouldstop or item.session.shouldfail or last[0].skipped:
                break
        shown = next(iter(failed.values())) if failed else last
        self._tell(item, shown, failed)
        for report in shown:
            report.duration = duration.get(report.when or "", report.duration)
            ihook.pytest_runtest_logreport(report=report)
        ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _tell(self, item: pytest.Item, shown: Reports, failed: dict[int, Reports]) -> None:
        record: dict[str, Any] | None = getattr(shown[-1], "tensorcheck", None)
        if record is None:
            return
        record["seeds_failed"] = list(failed)
        if not failed:
            return
        some = ", ".join(map(str, list(failed)[:20])) + (", ..." if len(failed) > 20 else "")
        text = f"fails for {len(failed)} of {len(self.seeds)} seeds: {some}"
        path, line, name = item.location
        where = UserLine(str(item.config.rootpath / path), (line or 0) + 1, name)
        facts = {"failed": list(failed), "of": len(self.seeds)}
        record["observations"].append(as_record(Observation("seeds", f"{item.nodeid} {text}", where, facts=facts)))
        for report in shown:
            if report.failed:
                report.sections.append(("tensorcheck: seeds", f"{text}\nshown: base seed {next(iter(failed))}"))
