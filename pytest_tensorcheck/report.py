"""What was found in the whole run: sections on failing tests, the summary, the JSON file.

A test's record travels as plain values on its report (`report.tensorcheck`), which xdist carries to the controller.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_tensorcheck._version import __version__
from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.settings import CHECKS, Settings

Record = dict[str, Any]

_TITLES = {
    "sync": "the host waits for the GPU",
    "broadcast": "accidental broadcasts",
    "numerics": "NaN, Inf, overflow and underflow",
    "state": "global state left changed",
    "seed": "random numbers without a seed",
    "rerun": "failed, then passed on a rerun",
    "seeds": "tests that fail in the sweep",
}
_MANY = 4  # tests that leave the same change
_SHOWN = 20  # hot spots of one kind in the summary; the JSON file has all


class HotSpot(NamedTuple):
    """One line of the user's code and what was seen there, over all tests."""

    check: str
    place: str
    message: str
    times: int
    tests: tuple[str, ...]


class Findings:
    """Collects the records of all tests, in one process or from all workers.

    Where no JSON file is asked for, a record without observations is counted and not kept: what thousands of tests keep,
    Python's garbage collection goes through.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tests: list[Record] = []
        self.count = 0  # of all tests, also of those whose records are not kept
        self.watched: dict[str, int] = {}  # check -> how many tests it watched
        self.unjudged = 0  # tests that mode `error` of sync watched and could not have failed
        self.session: list[Record] = []
        self.texts: dict[str, str] = {}  # of failed items that nobody watches: lint items
        self.outcomes: dict[str, str] = {}
        self.reruns: dict[str, int] = {}
        self.durations: dict[str, float] = {}
        self.workers = 0
        self.threads: int | None = None
        self.switched_off: Sequence[str] = ()  # checks that the markers of all tests switch off

    def add_report(self, report: pytest.TestReport) -> None:
        nodeid = report.nodeid
        self.durations[nodeid] = self.durations.get(nodeid, 0.0) + report.duration
        outcome: str = report.outcome
        if outcome == "rerun":  # pytest-rerunfailures
            self.reruns[nodeid] = self.reruns.get(nodeid, 0) + 1
            self.outcomes.pop(nodeid, None)
        elif report.failed or nodeid not in self.outcomes or (report.when == "call" and report.outcome != "passed"):
            if self.outcomes.get(nodeid) != "failed":
                self.outcomes[nodeid] = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        record = getattr(report, "tensorcheck", None)
        if record is None:
            if report.failed and self.settings.json is not None:
                self.texts[nodeid] = str(report.longrepr)
            return
        self.add_uneventful(record["watched"], record.get("sync_judged"))
        if record["threads"] is not None:
            self.threads = record["threads"]
        if record["observations"] or self.settings.json is not None:
            self.tests.append(record)
        else:
            del report.tensorcheck  # reports are kept until the end

    def add_uneventful(self, watched: Iterable[str], sync_judged: bool | None) -> None:
        """A test in which nothing was seen, where no file asks for more."""
        self.count += 1
        self.unjudged += sync_judged is False
        for check in watched:
            self.watched[check] = self.watched.get(check, 0) + 1

    def add_session_records(self, records: Iterable[Record]) -> None:
        """From collection; every worker sends the same ones."""
        for record in records:
            if record not in self.session:
                self.session.append(record)

    def observations(self) -> Iterator[tuple[str, Record]]:
        for record in self.session:
            yield record["nodeid"], record
        for test in self.tests:
            for observation in test["observations"]:
                yield test["nodeid"], observation
        for nodeid, count in self.reruns.items():
            if self.outcomes.get(nodeid) == "passed":
                yield nodeid, _rerun_record(nodeid, count, self.settings)

    def hot_spots(self) -> list[HotSpot]:
        merged: dict[tuple[str, str, str], tuple[int, dict[str, None]]] = {}
        for nodeid, seen in self.observations():
            place = f"{seen['file']}:{seen['line']}" if seen.get("file") else ""
            key = (seen["check"], place, seen["message"])
            count, tests = merged.setdefault(key, (0, {}))
            tests[nodeid] = None
            merged[key] = (count + int(seen.get("count", 1)), tests)
        spots = [HotSpot(*key, count, tuple(tests)) for key, (count, tests) in merged.items()]
        order = list(_TITLES)
        return sorted(
            spots, key=lambda spot: (order.index(spot.check) if spot.check in order else 99, -spot.times, spot.place)
        )


def _rerun_record(nodeid: str, count: int, settings: Settings) -> Record:
    further = "" if settings.state != "off" else "--tensorcheck-state report, "
    times = "once" if count == 1 else f"{count} times"
    message = (
        f"failed {times} and then passed with the same random numbers: its cause is not in the seeded generators "
        f"(try {further}@pytest.mark.tensorcheck(deterministic=True))"
    )
    return {"check": "rerun", "message": f"{nodeid} {message}", "detail": "", "file": None, "line": None, "count": 1}


def summary_lines(findings: Findings) -> list[str]:
    """The section at the end of the run; a single line where nothing was found."""
    spots = findings.hot_spots()
    lines: list[str] = []
    by_check: dict[str, list[HotSpot]] = {}
    for spot in spots:
        by_check.setdefault(spot.check, []).append(spot)
    for check, seen in by_check.items():
        group = _together(seen) if check == "state" else seen
        places = len(group)
        tests = len({test for spot in group for test in spot.tests})
        lines.append(f"{_TITLES.get(check, check)}: {_plural(places, 'finding')} in {_plural(tests, 'test')}")
        for spot in group[:_SHOWN]:
            lines.append(f"  {_spot_line(spot)}")
        if places > _SHOWN:
            lines.append(f"  ... and {places - _SHOWN} more (--tensorcheck-json FILE has all)")
    lines.append(_closing_line(findings, bool(spots)))
    lines.extend(_blind_spots(findings))
    if findings.unjudged:
        lines.append(_unjudged_line(findings))
    return lines


def _together(spots: list[HotSpot]) -> list[HotSpot]:
    """Changes of global state: one that many tests leave, as by a setUp that they inherit, is one finding, and must not
    take all of the lines that are shown."""
    alike: dict[str, list[HotSpot]] = {}
    for spot in spots:
        what, left, test = spot.message.partition(", left by ")
        if left and spot.tests == (test,):
            alike.setdefault(what, []).append(spot)
    merged: dict[HotSpot, HotSpot] = {}
    for what, group in alike.items():
        if len(group) >= _MANY:
            (first, *_), tests = group, tuple(test for spot in group for test in spot.tests)
            one = HotSpot(first.check, first.place, f"{what}, left by {first.tests[0]} and others", len(tests), tests)
            merged.update(dict.fromkeys(group, one))
    return sorted(dict.fromkeys(merged.get(spot, spot) for spot in spots), key=lambda spot: -spot.times)


def _spot_line(spot: HotSpot) -> str:
    times = f"  [{spot.times} times, {_plural(len(spot.tests), 'test')}]" if spot.times > 1 else ""
    place = f"{spot.place}  " if spot.place else ""
    return f"{place}{spot.message}{times}"


def _closing_line(findings: Findings, found: bool) -> str:
    watched = findings.watched
    parts = [f"{_plural(findings.count, 'test')} seeded from {_seeds_text(findings.settings)}"]
    parts += [f"{check} watched in {watched[check]}" for check in CHECKS if check in watched]
    return ("" if found else "nothing observed: ") + "; ".join(parts)


def _blind_spots(findings: Findings) -> list[str]:
    """A check that was on and saw no test: said, so that silence is not taken for a pass."""
    watched = findings.watched
    blind = [c for c in ("sync", "broadcast", "numerics") if findings.settings.modes[c] != "off" and not watched.get(c)]
    asked = [check for check in blind if check != "broadcast" or findings.settings.broadcast == "error"]
    if not findings.count or not asked:
        return []
    reasons: dict[str, list[str]] = {}
    for check in asked:
        reasons.setdefault(_why_blind(check, findings), []).append(check)
    return [f"{', '.join(checks)}: watched nothing, since {reason}" for reason, checks in reasons.items()]


def _unjudged_line(findings: Findings) -> str:
    """Mode `error` that fails nothing, since no code names a GPU, must not look like a pass."""
    watched, unjudged = findings.watched.get("sync", 0), findings.unjudged
    tests = f"{unjudged} of {_plural(watched, 'test')} put" if watched > 1 else "the test puts"
    them, theirs = ("them", "their") if unjudged > 1 else ("it", "its")
    ways = [f"put {theirs} model and data on the fixture tensor_device"]
    if findings.settings.device != "shadow":
        ways.append("let all code find a GPU with --tensorcheck-device shadow")
    ways.append(f'mark {them} @pytest.mark.tensorcheck(sync="error")')
    return f"sync error: {tests} nothing on a GPU, so no wait fails {them}: {', '.join(ways[:-1])}, or {ways[-1]}"


def _why_blind(check: str, findings: Findings) -> str:
    if check in findings.switched_off:
        return "the markers of all tests switch it off"
    if findings.threads is None and loaded("torch") is None:
        return "no test had torch loaded"
    return "no test that it is on for had torch loaded when its call began"


def _seeds_text(settings: Settings) -> str:
    if not settings.seeds:
        return str(settings.seed)
    return f"{_plural(len(settings.seeds), 'seed')} each"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def header_line(settings: Settings, versions: dict[str, str | None], device: str) -> str:
    """`tensorcheck 0.1.0: torch 2.13.0, numpy 2.4.6, device cpu, seed 0; state report, broadcast report`."""
    libraries = [f"{name} {version}" if version else f"no {name}" for name, version in versions.items()]
    if settings.seeds:
        seeds = f"seeds {settings.seeds[0]} to {settings.seeds[-1]} ({len(settings.seeds)})"
        seed = seeds if len(settings.seeds) > 1 else f"seed {settings.seeds[0]}"
    else:
        seed = f"seed {settings.seed}"
    modes = ", ".join(f"{check} {mode}" for check, mode in settings.modes.items() if mode != "off")
    return f"tensorcheck {__version__}: {', '.join([*libraries, f'device {device}', seed])}; {modes or 'seeds only'}"


# --- JSON -----------------------------------------------------------------------------------------------------------


def as_json(findings: Findings, versions: dict[str, str | None], device: str) -> dict[str, Any]:
    """Version 1; docs/pytest.md describes it."""
    import platform

    settings = findings.settings
    counts: dict[str, int] = {}
    for spot in findings.hot_spots():
        counts[spot.check] = counts.get(spot.check, 0) + spot.times
    outcomes = list(findings.outcomes.values())
    return {
        "version": 1,
        "session": {
            "tensorcheck": __version__,
            "pytest": pytest.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            **versions,
            "device": device,
            "seed": None if settings.seeds else settings.seed,
            "seeds": list(settings.seeds),
            "threads": findings.threads,
            "workers": findings.workers,
            "modes": settings.modes,
        },
        "tests": [
            {
                **test,
                "outcome": findings.outcomes.get(test["nodeid"]),
                "duration": round(findings.durations.get(test["nodeid"], 0.0), 6),
            }
            for test in (*findings.tests, *_unwatched(findings))
        ],
        "observations": findings.session,
        "summary": {
            "tests": len(outcomes),
            "outcomes": {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))},
            "observations": counts,
            "watched": findings.watched,
            "hot_spots": [
                {
                    "check": spot.check,
                    "place": spot.place or None,
                    "message": spot.message,
                    "count": spot.times,
                    "tests": list(spot.tests),
                }
                for spot in findings.hot_spots()
            ],
        },
    }


def _unwatched(findings: Findings) -> Iterator[Record]:
    """Lint items, and tests whose process ended: they have an outcome and nothing else to say."""
    known = {test["nodeid"] for test in findings.tests}
    for nodeid in findings.outcomes:
        if nodeid not in known:
            record: Record = {"nodeid": nodeid, "seed": None, "base_seed": None, "threads": None, "notes": []}
            text = {"text": findings.texts[nodeid]} if nodeid in findings.texts else {}
            yield {**record, "watched": [], "observations": [], **text}


def write_json(path: str, document: dict[str, Any]) -> None:
    """All or nothing: readers never meet half a file."""
    import json
    import tempfile

    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1, ensure_ascii=False)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
