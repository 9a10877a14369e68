"""Hooks that tell: the header, sections on failing tests, the summary, the JSON file, and xdist's wires."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tensorcheck.devices import describe_device, versions
from pytest_tensorcheck.options import DRAWN
from pytest_tensorcheck.report import Findings, Record, as_json, header_line, summary_lines, write_json
from pytest_tensorcheck.reproduce import reproduction, torch_threads
from pytest_tensorcheck.run_hooks import RunHooks
from pytest_tensorcheck.settings import Settings
from pytest_tensorcheck.test_run import TestRun, as_record


class ReportHooks:
    def __init__(self, config: pytest.Config, settings: Settings, run_hooks: RunHooks) -> None:
        self.config = config
        self.settings = settings
        self.run_hooks = run_hooks
        self.findings = Findings(settings)
        self._is_worker = hasattr(config, "workerinput")
        # For the other process, for the file, and for the sweep, which adds to them.
        self._keeps_records = self._is_worker or settings.json is not None or bool(settings.seeds)
        self._seeds_randomly = _take_over_from_randomly(config)

    def pytest_report_header(self) -> list[str]:
        lines = [header_line(self.settings, versions(), describe_device(self.settings))]
        if self._seeds_randomly:
            lines.append("tensorcheck seeds the tests; pytest-randomly only orders them")
        return lines

    # --- each test --------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """First, so that whoever shows, writes or sends the report has all of it; not when reports are made: one hook for
        each phase costs half of what two do."""
        run, findings = self.run_hooks.latest, self.findings
        uneventful = report.outcome == "passed" and not (self._keeps_records or findings.reruns)
        if run is not None and run.observations:
            uneventful = False
        if uneventful and report.when != "teardown":
            return
        if run is not None and run.nodeid == report.nodeid:
            if uneventful:
                findings.add_uneventful(_watched(run), run.sync_judged)
                return
            if not self.settings.seeds:  # else the sweep has done so, after each of the runs
                self.complete(report, run)
        if self._is_worker:
            return
        if report.when == "teardown" or report.outcome != "passed" or findings.reruns or self.settings.json is not None:
            findings.add_report(report)  # else it would say nothing: only the JSON file has durations and passes

    def complete(self, report: pytest.TestReport, run: TestRun) -> None:
        """What the run has to say on the report of one of its phases."""
        if report.failed:
            report.sections.append(("tensorcheck", self._how_to_reproduce(run)))
        if report.when == "teardown":
            report.tensorcheck = self._record(run)  # type: ignore[attr-defined]
        if report.when == "call" and (seen := run.observations[: run.seen_until_teardown]):
            times: dict[str, int] = {}
            for observation in seen:
                times[str(observation)] = times.get(str(observation), 0) + observation.count
            text = "\n".join(each if count == 1 else f"{each}  [{count} times]" for each, count in times.items())
            report.sections.append(("tensorcheck: observed during the call", text))

    def _how_to_reproduce(self, run: TestRun) -> str:
        item, pinned = run.item, run.marked.seed is not None
        lines = [f"seed {run.seeds.call} ({'from the marker' if pinned else f'base seed {run.base_seed}'})"]
        if run.kept_seeds:
            lines.append(f"{', '.join(sorted(run.kept_seeds))}: seeded by a fixture of the test, which was respected")
        rerun = getattr(item, "execution_count", 1) - 1  # pytest-rerunfailures
        if rerun > 0:
            lines.append(f"rerun {rerun}: with the same seed as the first run")
        changed, before = self.run_hooks.shared.changed_before(item)
        run.notes = tuple(dict.fromkeys((*run.notes, *changed)))
        lines.extend(run.notes)
        lines.append(f"reproduce: {reproduction(item, run.base_seed, before)}")
        return "\n".join(lines)

    def _record(self, run: TestRun) -> Record:
        judged = {} if run.sync_judged is None else {"sync_judged": run.sync_judged}
        return {
            "nodeid": run.item.nodeid,
            "seed": run.seeds.call,
            "base_seed": run.base_seed,
            "threads": torch_threads(),
            "notes": list(run.notes),
            "watched": list(_watched(run)),
            "observations": [as_record(observation) for observation in run.observations],
            **judged,
        }

    # --- the end ----------------------------------------------------------------------------------------------------

    def _session_records(self) -> list[Record]:
        return [
            {"nodeid": nodeid, **as_record(observation)} for nodeid, observation in self.run_hooks.found.observations
        ]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self._is_worker:
            self.config.workeroutput["tensorcheck"] = self._session_records()  # type: ignore[attr-defined]
            self.config.workeroutput["tensorcheck_off"] = self.run_hooks.switched_off  # type: ignore[attr-defined]
            return
        self.findings.switched_off = self.findings.switched_off or self.run_hooks.switched_off
        self.findings.add_session_records(self._session_records())
        if self.settings.json is not None:
            document = as_json(self.findings, versions(), describe_device(self.settings))
            try:
                write_json(self.settings.json, document)
            except OSError as error:
                pytest.exit(f"--tensorcheck-json: cannot write {self.settings.json}: {error}", returncode=1)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.findings.count and not self.findings.session:
            return
        lines = summary_lines(self.findings)
        if len(lines) == 1 and terminalreporter.verbosity < 0:
            if self.settings.seed in DRAWN:  # nobody else knows it, and `-q` prints no header
                terminalreporter.write_line(f"tensorcheck: seed {self.settings.seed}")
            return
        terminalreporter.write_sep("=", "tensorcheck")
        for line in lines:
            terminalreporter.write_line(line)
        if self.settings.json is not None:
            terminalreporter.write_line(f"written to {self.settings.json}")


def _watched(run: TestRun) -> tuple[str, ...]:
    return (*run.watched, "state") if run.settings.state != "off" else run.watched


class XdistHooks:
    """Where xdist is not, nobody calls them. Its name says nothing: `-p xdist.plugin` registers it under that one."""

    def __init__(self, hooks: ReportHooks) -> None:
        self._hooks = hooks

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        findings = self._hooks.findings
        findings.workers += 1
        output = getattr(node, "workeroutput", {})
        findings.add_session_records(output.get("tensorcheck", []))
        findings.switched_off = output.get("tensorcheck_off", ())  # every worker has all tests


def _take_over_from_randomly(config: pytest.Config) -> bool:
    """pytest-randomly seeds every phase as well; one of the two has to have the last word. It keeps the order."""
    if not getattr(config.option, "randomly_reset_seed", False):  # its option, under whatever name it was loaded
        return False
    config.option.randomly_reset_seed = False
    return True
