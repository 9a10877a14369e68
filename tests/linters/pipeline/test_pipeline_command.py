"""The command from options to output and exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tensorlint import runner

HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"
BAD = HEAD + "y = layer.forward(x)\n"


def test_a_finding_is_shown_with_its_line_and_carets_and_exits_1(project):
    project.write("model.py", HEAD + "é = layer.forward(\n    x\n)\n")
    outcome = project.command("check")
    assert outcome.code == 1
    assert outcome.err == ""
    assert outcome.out.splitlines() == [
        "model.py:3:5: TOY101 [*] layer.forward skips the hooks of the module (toy-forward)",
        "  3 | é = layer.forward(",
        "    |     ^^^^^^^^^^^^^^",
        "    = line 2: layer was made here",
        "",
        "1 finding (1 fixable with --fix) in 1 file",
    ]


def test_nothing_found_exits_0_and_says_what_strict_rules_would_say(project):
    project.write("model.py", BAD)
    outcome = project.check("--ignore", "TOY101")
    assert outcome.code == 0
    assert outcome.out == "no findings; 1 more under --strict: TOY102\n"
    assert project.check("--ignore", "TOY101", "--strict").code == 1


def test_no_python_file_is_said(project):
    (project.root / "empty").mkdir()
    assert project.check("empty").out == "no findings: there was no Python file to check\n"


def test_columns_count_code_points_not_bytes_and_not_utf16(project):
    project.write("a.py", HEAD + 'y = "é𝔘", layer.forward(x)\n')
    (finding,) = project.check("--output-format", "json").findings
    line = 'y = "é𝔘", layer.forward(x)'
    assert finding["column"] == line.index("layer") + 1
    assert finding["end_column"] == len(line) + 1


def test_columns_of_the_evidence_count_code_points_too(project):
    project.write("a.py", 'from torch import nn\né = "ü"; layer = nn.Linear(2, 3)\nlayer.forward(x)\n')
    (finding,) = project.check("--output-format", "json").findings
    line = 'é = "ü"; layer = nn.Linear(2, 3)'
    columns = {step["column"] for step in finding["evidence"] if step["line"] == 2}
    assert columns <= {line.index("layer") + 1, line.index("nn.") + 1}
    assert columns


def test_caret_under_wide_characters_and_tabs(project):
    project.write("a.py", HEAD + 'if 1:\n\ty = "全角", layer.forward(x)\n')
    shown, carets = project.check().out.splitlines()[1:3]
    assert shown == '  4 | \ty = "全角", layer.forward(x)'
    # Two terminal cells for each wide character; the tab is kept, so that it is as wide below as above.
    assert carets == "    | \t" + " " * len('y = "xxxx", ') + "^" * len("layer.forward(x)")


def test_of_a_very_long_line_what_is_around_the_finding_is_shown(project):
    project.write("a.py", HEAD + "t = '" + "x" * 100_000 + "'; y = layer.forward(x); u = '" + "z" * 100_000 + "'\n")
    outcome = project.check()
    _, shown, carets, *_ = outcome.out.splitlines()
    assert len(shown) < 220
    assert shown.startswith("  3 | …x")
    assert shown.endswith("z…")
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "layer.forward(x)"
    assert outcome.out.startswith("a.py:3:100013:")


def test_results_are_sorted_by_path_line_column_whatever_the_order_of_paths(project):
    project.write("b.py", HEAD + "layer.forward(x); layer.forward(y)\n")
    project.write("a.py", BAD)
    expected = ["a.py:3:5 TOY101", "b.py:3:1 TOY101", "b.py:3:19 TOY101"]
    assert project.codes("b.py", "a.py") == expected
    assert project.codes(".", "a.py") == expected  # each file once


class TestSelection:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], {"TOY101"}),
            (["--strict"], {"TOY101", "TOY102"}),
            (["--select", "TOY102"], {"TOY102"}),
            (["--select", "toy-strict,toy-off"], {"TOY102", "TOY201"}),
            (["--select", "TOY1"], {"TOY101"}),
            (["--select", "TOY1", "--strict"], {"TOY101", "TOY102"}),
            (["--select", "ALL"], {"TOY101", "TOY102", "TOY201"}),
            (["--select", "ALL", "--ignore", "TOY1"], {"TOY201"}),
            (["--ignore", "toy-forward"], set()),
            (["--select", "toy101"], {"TOY101"}),
        ],
    )
    def test_codes_names_and_prefixes(self, project, options, expected):
        project.write("a.py", BAD)
        found = project.check("--output-format", "json", *options).findings
        assert {each["code"] for each in found} == expected

    @pytest.mark.parametrize("option", ["--select", "--ignore"])
    def test_unknown_rule_names_the_nearest(self, project, option):
        outcome = project.check(option, "toy-forwards")
        assert outcome.code == 2
        assert outcome.err == "tensorlint: unknown rule 'toy-forwards'; did you mean toy-forward?\n"
        assert "did you mean TOY20" in project.check(option, "TOY202").err

    def test_command_line_selection_replaces_the_configured_one(self, project):
        project.table('select = ["TOY101"]\n')
        project.write("a.py", BAD)
        assert project.codes("--select", "TOY102") == ["a.py:3:5 TOY102"]


class TestBadOptions:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["check", "--output-format", "xml"], "invalid choice: 'xml'"),
            (["check", "--jobs", "-1"], "'-1' is not a number of processes (0: one for each processor)"),
            (["check", "--jobs", "two"], "'two' is not a number of processes"),
            (["check", "--nonsense"], "tensorlint check: unknown option --nonsense (see `tensorlint check --help`)"),
            (["check", "--selct", "TSR", "."], "unknown option --selct; did you mean --select?"),
            (["check", "--sel", "TSR"], "unknown option --sel; did you mean --select?"),
            (["check", "--fxi=1"], "unknown option --fxi=1; did you mean --fix?"),
            (["check", "--output-format", "jsn"], "did you mean json?"),
            (["shapes", "--fix"], "tensorlint shapes: unknown option --fix (see `tensorlint shapes --help`)"),
            (["rule", "TSR201", "TSR301"], "unexpected argument 'TSR301'"),
            (["check", "-", "a.py"], "cannot be read together with files"),
            (["shapes", "a.py", "-"], "cannot be read together with files"),
            (["shapes", "--stdin-filename", "x.py", "a.py"], "--stdin-filename needs `-`"),
            (["check", "--stdin-filename", "x.py"], "--stdin-filename needs `-`"),
            (["check", "--unsafe-fixes"], "does nothing without --fix or --diff"),
            (["check", "--add-noqa", "--fix"], "--add-noqa cannot be combined"),
            (["check", "--write-baseline"], "--write-baseline needs --baseline FILE"),
            (["check", "--statistics", "--output-format", "sarif"], "--statistics is for text, concise and json"),
            (["check", "--select", ","], "need at least one code"),
            (["check", "--baseline", "none.json"], "baseline none.json does not exist; --write-baseline"),
            (["check", "--output-file", "no/such/folder/f"], "cannot be written: No such file or directory"),
            (["rule", "TSR999x"], "unknown rule 'TSR999x'"),
            (["rule", "TOY101", "--test", "lint_rules.py"], "cannot be given together"),
            (["rule", "--test", "none.py"], "none.py does not exist"),
            (["nonsense"], "unknown command 'nonsense'; the commands are check, shapes, rule"),
            (["chek"], "unknown command 'chek'; did you mean check?"),
            (["lint_rules.py"], "no command is given; did you mean `tensorlint check lint_rules.py`?"),
            (["check", "--select", "TOY2"], "'TOY2' selects nothing: TOY201 is off unless named"),
            (["check", "--select", "TOY1", "--ignore", "TOY"], "--select leaves no rule on: --ignore or"),
            (["check", "--select", "TSR1"], "--select leaves no rule on"),  # the table ignores them
        ],
    )
    def test_one_line_and_exit_2(self, project, arguments, said):
        outcome = project.run(*arguments)
        assert outcome.code == 2
        assert said in outcome.err
        assert outcome.err.count("\n") == 1
        assert "Traceback" not in outcome.err


def test_jobs_0_is_one_process_for_each_processor_whatever_the_table_says(project, monkeypatch):
    """The command line's 0 means what the table's 0 means."""
    project.table("jobs = 1\n")
    project.write("a.py", BAD)
    seen = []
    monkeypatch.setattr(runner, "processors", lambda: 7)
    monkeypatch.setattr(runner, "_in_processes", lambda *words: seen.append(words[-1]) or [])
    monkeypatch.setattr(runner, "PARALLEL_BYTES", 0)
    for words in (["--jobs", "0"], [], ["--jobs", "3"]):
        project.run("check", "--no-cache", *words)
    assert seen == [7, 3]


class TestStandardInput:
    def test_findings_carry_the_given_name(self, project):
        outcome = project.command(
            "check", "-", "--stdin-filename", "pkg/m.py", "--output-format", "json", stdin=BAD.encode()
        )
        assert (outcome.code, outcome.findings[0]["path"]) == (1, "pkg/m.py")
        assert project.command("check", "-", stdin=BAD.encode()).out.startswith("<stdin>:3:5: TOY101")

    def test_fix_writes_the_program_to_standard_output_and_the_rest_to_standard_error(self, project):
        outcome = project.command("check", "-", "--fix", stdin=BAD.replace("\n", "\r\n").encode())
        assert outcome.out == (HEAD + "y = layer(x)\n").replace("\n", "\r\n")
        assert outcome.err == "fixed 1 finding in 1 file; no findings left\n"
        assert outcome.code == 0

    def test_diff(self, project):
        outcome = project.command("check", "-", "--diff", stdin=BAD.encode())
        assert outcome.code == 1
        assert "-y = layer.forward(x)\n+y = layer(x)\n" in outcome.out


def test_statistics_count_each_rule(project):
    project.write("a.py", BAD + "layer.forward(z)\n")
    assert project.check("--statistics", "--strict").out.splitlines() == [
        "2  TOY101  [*] toy-forward",
        "2  TOY102      toy-strict",
        "4 findings (2 fixable with --fix) in 1 file",
    ]
    document = json.loads(project.check("--statistics", "--output-format", "json").out)
    assert document["statistics"] == [{"code": "TOY101", "name": "toy-forward", "count": 2}]


def test_output_file_gets_the_findings_and_standard_output_nothing(project):
    project.write("a.py", BAD)
    outcome = project.check("--output-format", "json", "--output-file", "out.json")
    assert (outcome.code, outcome.out) == (1, "")
    assert json.loads((project.root / "out.json").read_text())["findings"][0]["code"] == "TOY101"


def test_colour_only_where_it_is_wanted(project):
    project.write("a.py", BAD)
    assert "\x1b[" not in project.command("check").out
    forced = {**os.environ, "FORCE_COLOR": "1"}
    assert "\x1b[1;33mTOY101\x1b[0m" in project.command("check", env=forced).out
    assert "\x1b[" not in project.command("check", env={**forced, "NO_COLOR": "1"}).out


def test_colour_on_a_terminal(project):
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    project.write("a.py", BAD)
    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"}
    script = str(Path(sys.executable).parent / "tensorlint")
    subprocess.run([script, "check"], stdout=theirs, cwd=project.root, env=env)
    os.close(theirs)
    assert b"\x1b[1;33mTOY101" in os.read(ours, 10_000)
    os.close(ours)


def test_a_reader_that_stops_early_gives_no_traceback(project):
    project.write("a.py", HEAD + "layer.forward(x)\n" * 3000)
    script = str(Path(sys.executable).parent / "tensorlint")
    done = subprocess.run(f"{script} check | head -1", shell=True, cwd=project.root, capture_output=True, text=True)
    assert done.stdout.startswith("a.py:3:1: TOY101")
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["check"], ["check", "--diff"], ["shapes", "a.py"], ["shapes", "."], ["rule"]])
def test_output_that_cannot_be_written_is_one_line(project, words):
    project.write("a.py", BAD)
    script = Path(sys.executable).parent / "tensorlint"
    with open("/dev/full", "wb") as full:
        done = subprocess.run([script, *words], stdout=full, stderr=subprocess.PIPE, cwd=project.root, text=True)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("would fix")]
    assert lines == ["tensorlint: the output cannot be written: No space left on device"]


def test_an_interrupted_run_ends_at_once_with_its_processes(project):
    """Each process sleeps in a rule; nobody waits for them."""
    rules = (project.root / "lint_rules.py").read_text()
    sleep = '        open(f"started-{os.getpid()}", "w").close()\n        time.sleep(600)\n        return "strictly'
    project.write("lint_rules.py", "import os, time\n" + rules.replace('        return "strictly', sleep))
    for name in "abcd":
        project.write(f"{name}.py", BAD + "# " + "x" * 50_000 + "\n")
    script = Path(sys.executable).parent / "tensorlint"
    words = [script, "check", "--no-cache", "--jobs", "2"]
    # What a shell starts in the background ignores Ctrl-C, and so would this process: it is to hear it again.
    hears = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(words, cwd=project.root, stderr=subprocess.PIPE, text=True, preexec_fn=hears) as run:
        for _ in range(3600):  # a busy machine may take its time to start them
            started = list(project.root.glob("started-*"))
            if len(started) == 2:
                break
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=300)  # half of what the rules would still sleep
    assert len(started) == 2
    assert (run.returncode, err) == (130, "tensorlint: interrupted\n")
    for path in started:
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name.removeprefix("started-")), 0)


@pytest.mark.parametrize("left_by", ["KeyboardInterrupt()", "GeneratorExit()", "OSError(28, 'No space left')"])
def test_whoever_leaves_the_processes_early_leaves_nothing_running(left_by):
    """A thread of the pool that outlives it may close a pipe that Python's exit still writes to, with a traceback."""
    source = f"""import multiprocessing, threading, time
from tensorlint.runner import RunOptions, _pool

began = time.monotonic()
try:
    with _pool(2, RunOptions(())) as executor:
        for _ in range(9):
            executor.submit(time.sleep, 600)
        raise {left_by}
except BaseException as error:
    assert repr(error) == repr({left_by}), error
assert threading.enumerate() == [threading.main_thread()], threading.enumerate()
assert multiprocessing.active_children() == []
assert time.monotonic() - began < 300
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_that_the_terminal_cannot_encode_is_escaped(project):
    project.write("a.py", HEAD + "é = layer.forward(x)\n")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    outcome = project.command("check", env=env)
    assert outcome.code == 1
    assert "\\xe9 = layer.forward(x)" in outcome.out


class TestBaseline:
    def test_known_findings_are_left_out_and_new_ones_are_not(self, project):
        file = project.write("a.py", BAD)
        wrote = project.check("--baseline", "base.json", "--write-baseline")
        assert (wrote.code, wrote.out) == (0, "wrote 1 finding to base.json\n")
        assert project.check("--baseline", "base.json").out.startswith(
            "no findings; 1 more under --strict: TOY102; 1 known"
        )
        file.write_text("import os\n\n" + BAD + "layer.forward(new)\n" + "y = layer.forward(x)\n")
        # The known line has moved; the second of its kind and another one are new.
        assert project.codes("--baseline", "base.json") == ["a.py:6:1 TOY101", "a.py:7:5 TOY101"]

    def test_entries_that_no_longer_occur_are_said(self, project):
        file = project.write("a.py", BAD)
        project.check("--baseline", "base.json", "--write-baseline")
        file.write_text(HEAD)
        outcome = project.check("--baseline", "base.json")
        assert outcome.code == 0
        assert "base.json: 1 entry no longer occurs" in outcome.err

    def test_who_writes_it_for_some_files_keeps_what_it_knows_of_the_others(self, project):
        for name in ("a.py", "b.py", "sub/c.py", "gone.py"):
            (project.root / name).parent.mkdir(exist_ok=True)
            project.write(name, BAD)
        assert project.check("--baseline", "base.json", "--write-baseline").out == "wrote 4 findings to base.json\n"
        project.write("a.py", HEAD)
        (project.root / "gone.py").unlink()
        wrote = project.check("a.py", "--baseline", "base.json", "--write-baseline")
        assert wrote.out == "wrote 0 findings to base.json, and kept 2 of files that were not checked\n"
        assert project.check("--baseline", "base.json").code == 0
        project.write("b.py", "def f(:\n")
        wrote = project.check("b.py", "sub", "--baseline", "base.json", "--write-baseline")
        assert wrote.out == "wrote 1 finding to base.json, and kept 1 of files that were not checked\n"
        project.write("b.py", BAD)
        assert project.check("--baseline", "base.json").code == 0

    def test_what_is_no_baseline_is_said(self, project):
        project.write("base.json", "[]")
        outcome = project.check("--baseline", "base.json")
        assert outcome.code == 2
        assert (
            outcome.err
            == "tensorlint: baseline base.json is not a baseline of tensorlint; --write-baseline makes a new one\n"
        )


class TestAddNoqa:
    def test_comments_silence_every_finding(self, project):
        file = project.write(
            "a.py",
            HEAD
            + "y = layer.forward(\n    x,  # the input\n)\n"
            + "if layer.forward(x):\n    # a comment\n\n    pass\n"
            + "z = layer.forward(x)  # noqa: E501\n"
            + "s = layer.forward(x)  # noqa:E501,W291 for the reader's sake\n"
            + "r = layer.forward(x)  # noqa: toy-strict so it is\n"
            + "w = layer.forward(x)  # why\n"
            + 't = """\n# no comment\n""", layer.forward(x)\n'
            + 'u = layer.forward("""\n""",\n    x)\n'
            + "v = layer.forward(x) \\\n    + 1\n",
        )
        outcome = project.check("--add-noqa")
        assert outcome.out == "silenced 9 findings in 1 file\n"
        assert outcome.code == 0
        assert file.read_text() == (
            HEAD
            + "y = layer.forward(  # noqa: TOY101\n    x,  # the input\n)\n"
            + "if layer.forward(x):  # noqa: TOY101\n    # a comment\n\n    pass\n"
            + "z = layer.forward(x)  # noqa: E501, TOY101\n"
            + "s = layer.forward(x)  # noqa:E501,W291, TOY101 for the reader's sake\n"
            + "r = layer.forward(x)  # noqa: toy-strict, TOY101 so it is\n"
            + "w = layer.forward(x)  # why  # noqa: TOY101\n"
            + 't = """\n# no comment\n""", layer.forward(x)  # noqa: TOY101\n'
            + 'u = layer.forward("""\n""",\n    x)  # noqa: TOY101\n'
            + "v = layer.forward(x) \\\n    + 1  # noqa: TOY101\n"
        )
        assert project.codes() == []


def test_the_list_of_rules_and_a_page(project):
    listed = project.run("rule").out
    assert "TOY101  toy-forward" in listed
    page = project.run("rule", "toy-forward").out
    assert page.startswith("# TOY101 toy-forward\n\nForward is called by its name.\n")
    assert "Hooks are skipped." in page
    assert "layer.forward(x)" in page


def test_version_and_help(project):
    from importlib.metadata import version

    assert project.command("--version").out == f"tensorlint {version('pytest-tensorcheck')}\n"
    assert project.command("check", "--help").out.rstrip().endswith("cannot be used")
    assert project.run().code == 2
