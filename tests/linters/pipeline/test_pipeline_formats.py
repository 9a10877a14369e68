"""The outputs for other programs, held against their specifications."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from tensorlint.findings import Edit, Evidence, FileError, Finding, Fix, RunReport, Span
from tensorlint.formats import SourceLines, View, render
from tensorlint.formats.wire import finding_from_json, finding_to_json

FINDING = Finding(
    path="pkg/a, b: c%.py",
    span=Span(3, 5, 3, 9),
    code="TSR201",
    name="non-contiguous-view",
    message="first line: 100 %\nsecond, line",
    severity="error",
    evidence=(Evidence(1, 2, "made (B, T) here"),),
    fix=Fix("safe", (Edit(Span(3, 5, 3, 9), "reshape"),)),
)
IN_CELL = Finding("nb.ipynb", Span(2, 1, 4, 3), "TSR301", "direct-forward", "m", cell=7, severity="info")
REPORT = RunReport([FINDING, IN_CELL], [], [FileError("x.py", 4, "does not parse: oh: no")], [], 3)


def view() -> View:
    return View(SourceLines({FINDING.path: b"a\nb\n    view(x)\n", "nb.ipynb": b"{}"}))


def test_json_round_trip_and_keys():
    document = json.loads(render("json", REPORT, view()))
    assert set(document) == {"version", "findings", "errors", "files"}
    assert (document["version"], document["files"]) == (1, 3)
    assert document["errors"] == [{"path": "x.py", "line": 4, "message": "does not parse: oh: no"}]
    first = document["findings"][0]
    assert set(first) == {
        "path", "line", "column", "end_line", "end_column", "code", "name", "severity", "message", "cell", "evidence", "fix",
    }  # fmt: skip
    assert first["evidence"] == [{"line": 1, "column": 2, "message": "made (B, T) here"}]
    assert first["fix"] == {
        "applicability": "safe",
        "edits": [{"line": 3, "column": 5, "end_line": 3, "end_column": 9, "text": "reshape"}],
    }
    assert document["findings"][1]["fix"] is None
    for finding in REPORT.findings:
        assert finding_from_json(json.loads(json.dumps(finding_to_json(finding)))) == finding


def test_text_shows_evidence_with_line_numbers():
    text = render("text", RunReport([FINDING], files=1), view())
    assert text.splitlines() == [
        "pkg/a, b: c%.py:3:5: TSR201 [*] first line: 100 % second, line (non-contiguous-view)",
        "  3 |     view(x)",
        "    |     ^^^^",
        "    = line 1: made (B, T) here",
        "",
        "1 finding (1 fixable with --fix) in 1 file",
    ]


def _unescape(text: str) -> str:
    for escaped, plain in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escaped, plain)
    return text


def test_github_commands_parse_as_the_runner_parses_them():
    """The runner splits at the first `::`, then at commas and `=`, and undoes the escapes."""
    lines = render("github", REPORT, view()).splitlines()
    assert len(lines) == 3
    parsed = []
    for line in lines:
        command, properties, message = re.fullmatch(r"::(\w+) (.*?)::(.*)", line).groups()
        pairs = dict(pair.split("=", 1) for pair in properties.split(","))
        parsed.append((command, {key: _unescape(value) for key, value in pairs.items()}, _unescape(message)))
    command, properties, message = parsed[0]
    assert command == "error"
    assert properties == {
        "title": "TSR201 non-contiguous-view", "file": FINDING.path, "line": "3", "endLine": "3", "col": "5", "endColumn": "9",
    }  # fmt: skip
    assert FINDING.message in message
    assert "1: made (B, T) here" in message
    assert parsed[1][0] == "notice"
    assert parsed[1][1]["line"] == "1"
    assert "cell 7:2:1" in parsed[1][2]
    assert parsed[2][1]["file"] == "x.py"


def test_gitlab_code_quality():
    entries = json.loads(render("gitlab", RunReport([FINDING, FINDING, IN_CELL], errors=REPORT.errors), view()))
    assert len({entry["fingerprint"] for entry in entries}) == 4
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert not entry["location"]["path"].startswith(("/", "./"))
        assert entry["location"]["lines"]["begin"] >= 1


def test_evidence_in_another_cell_and_a_broken_cell_are_named():
    """A line alone would be looked for in the finding's own cell, or in the file."""
    steps = (Evidence(2, 1, "made here", 3), Evidence(1, 1, "used here", 7))
    report = RunReport([replace(IN_CELL, evidence=steps)], errors=[FileError("nb.ipynb", 4, "does not parse", 5)])
    assert "%0Acell 3, line 2: made here%0Aline 1: used here\n" in render("github", report, view())
    assert "= cell 3, line 2: made here" in render("text", report, view())
    error = json.loads(render("gitlab", report, view()))[1]
    assert error["description"] == "does not parse (cell 5, line 4)"
    assert error["location"]["lines"] == {"begin": 1}


def test_what_fixes_leave_is_called_left():
    report = RunReport([FINDING], files=1, fixed={"TSR301": 2}, changed=1)
    assert render("text", report, view()).endswith(
        "fixed 2 findings in 1 file; 1 finding left (1 fixable with --fix) in 1 file\n"
    )


def test_fingerprints_survive_lines_moving():
    moved = Finding(FINDING.path, Span(5, 5, 5, 9), "TSR201", FINDING.name, FINDING.message)
    before = json.loads(render("gitlab", RunReport([FINDING]), view()))
    lower = View(SourceLines({FINDING.path: b"\n\na\nb\n    view(x)\n"}))
    after = json.loads(render("gitlab", RunReport([moved]), lower))
    assert before[0]["fingerprint"] == after[0]["fingerprint"]


def test_sarif_is_what_the_schema_requires():
    """The requirements of the OASIS schema for the properties we write, by hand: no package ships the schema."""
    document = json.loads(render("sarif", REPORT, view()))
    assert set(document) == {"$schema", "version", "runs"}
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "tensorlint"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    assert run["columnKind"] == "unicodeCodePoints"
    assert len(run["results"]) == 2

    def region_is_sound(region: dict[str, int]) -> None:
        assert set(region) <= {"startLine", "startColumn", "endLine", "endColumn"}
        assert all(isinstance(value, int) and value >= 1 for value in region.values())
        assert (region["endLine"], region["endColumn"]) >= (region["startLine"], region["startColumn"])

    for result in run["results"]:
        assert set(result) <= {
            "ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "partialFingerprints", "fixes",
        }  # fmt: skip
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            physical = location["physicalLocation"]
            artifact = physical["artifactLocation"]
            assert re.fullmatch(r"[A-Za-z0-9._~%/-]+", artifact["uri"])  # a relative URI reference, escaped
            if "region" in physical:
                region_is_sound(physical["region"])
        for change in (change for each in result.get("fixes", ()) for change in each["artifactChanges"]):
            assert change["replacements"]
            for replacement in change["replacements"]:
                region_is_sound(replacement["deletedRegion"])
                assert isinstance(replacement["insertedContent"]["text"], str)
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "oh: no" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert "region" not in run["results"][1]["locations"][0]["physicalLocation"]  # a cell's lines are not the file's


def test_every_format_of_an_empty_run():
    empty = RunReport(files=2)
    assert render("text", empty, View()) == "no findings\n"
    assert render("concise", empty, View()) == ""
    assert render("github", empty, View()) == ""
    assert json.loads(render("gitlab", empty, View())) == []
    assert json.loads(render("sarif", empty, View()))["runs"][0]["results"] == []
    assert json.loads(render("json", empty, View()))["files"] == 2
