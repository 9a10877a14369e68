"""`[tool.tensorlint]`: which one counts, what it does, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"
BAD = HEAD + "y = layer.forward(x)\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("selct = []", "unknown key 'selct'; did you mean 'select'?"),
        ("zzz = 1", "unknown key 'zzz'; the keys are select, extend-select, ignore"),
        ('select = "TSR"', "'select' must be a list of strings, not 'TSR'"),
        ("extend-select = [1]", "'extend-select' must be a list of strings, not [1]"),
        ('strict = "yes"', "'strict' must be true or false, not 'yes'"),
        ('cache-dir = "lint_rules.py"', "'cache-dir' must be a folder, and 'lint_rules.py' is a file"),
        ("jobs = -1", "'jobs' must be a number of processes"),
        ("jobs = true", "'jobs' must be a number of processes"),
        ("cache-dir = 3", "'cache-dir' must be a string, not 3"),
        (
            'output-format = "xml"',
            "'output-format' must be one of text, concise, json, github, gitlab, sarif, not 'xml'",
        ),
        ('per-file-ignores = ["a"]', "'per-file-ignores' must be a table such as"),
        ('per-file-ignores = {"a" = "TOY101"}', "'per-file-ignores.a' must be a list of strings"),
        ('select = ["TOY1O1"]', "unknown rule 'TOY1O1'; did you mean TOY101?"),
        ('per-file-ignores = {"a" = ["toyforward"]}', "unknown rule 'toyforward'; did you mean toy-forward?"),
        ('select = ["TOY2"]', "'TOY2' selects nothing: TOY201 is off unless named"),
        ("select = [", "is not valid TOML"),
    ],
)
def test_a_wrong_configuration_is_one_line_and_exit_2(project, line, said):
    project.table(line + "\n")
    project.write("a.py", BAD)
    outcome = project.check()
    assert outcome.code == 2
    assert outcome.err.startswith(f"tensorlint: {project.root}/pyproject.toml: ")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("", "defines no rule"),
        ("1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero"),
        (
            "from tensorlint.rules.rule import Rule\nclass R(Rule):\n    '''.'''\n    code = 'R1'\n",
            "rule R has no 'name'",
        ),
        (None, "does not exist"),
    ],
)
def test_a_wrong_rules_file_is_one_line_and_exit_2(project, rules, said):
    (project.root / "lint_rules.py").unlink()
    if rules is not None:
        project.write("lint_rules.py", rules)
    outcome = project.check()
    assert outcome.code == 2
    assert "lint_rules.py" in outcome.err
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_two_rules_with_one_code_are_refused(project):
    text = (project.root / "lint_rules.py").read_text()
    project.write("more_rules.py", text)
    project.write("pyproject.toml", '[tool.tensorlint]\nrules = ["lint_rules.py", "more_rules.py"]\n')
    outcome = project.check()
    assert outcome.code == 2
    assert "'TOY101' is already the name of a rule (TOY101)" in outcome.err


def test_a_configuration_that_cannot_be_read_is_not_passed_over(project, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    project.write("a.py", BAD)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    outcome = project.check("a.py")
    assert outcome.code == 2
    assert outcome.err == f"tensorlint: {project.root}/pyproject.toml: cannot be read: Permission denied\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_configuration_in_utf_16_is_not_passed_over(project, encoding):
    project.write("a.py", BAD)
    (project.root / "pyproject.toml").write_bytes('[tool.tensorlint]\nignore = ["TSR"]\n'.encode(encoding))
    outcome = project.check("a.py")
    assert outcome.code == 2
    said = "is not valid TOML: it is UTF-16 or UTF-32; save it as UTF-8"
    assert outcome.err == f"tensorlint: {project.root}/pyproject.toml: {said}\n"


def test_one_that_does_not_concern_us_is(project):
    project.write("a.py", "import torch\n")
    (project.root / "pyproject.toml").write_bytes("[tool.black]\n".encode("utf-16"))
    assert project.check("a.py").code == 0


def test_a_byte_order_mark_before_the_configuration(project):
    project.write("a.py", BAD)
    file = project.root / "pyproject.toml"
    assert project.codes() == ["a.py:3:5 TOY101"]
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"ignore = [", b'ignore = ["TOY101", '))
    assert project.codes() == []


def test_the_nearest_file_counts_for_each_linted_file(project):
    project.write("sub/pyproject.toml", '[tool.tensorlint]\nrules = ["../lint_rules.py"]\nselect = ["TOY102"]\n')
    project.write("sub/deeper/a.py", BAD)
    project.write("other/pyproject.toml", "[tool.black]\n# tensorlint has no table here\n")
    project.write("other/a.py", BAD)
    assert project.codes() == ["other/a.py:3:5 TOY101", "sub/deeper/a.py:3:5 TOY102"]


def test_select_extend_select_ignore_strict(project):
    project.write("a.py", BAD)

    def with_table(text: str) -> set[str]:
        project.table("")
        table = (project.root / "pyproject.toml").read_text()
        lines = [
            line for line in table.splitlines() if text.startswith("ignore") is False or not line.startswith("ignore")
        ]
        project.write("pyproject.toml", "\n".join([*lines, text]) + "\n")
        return {line.split()[1] for line in project.codes()}

    assert with_table('select = ["TOY201"]') == {"TOY201"}
    assert with_table('select = ["TOY1"]') == {"TOY101"}
    assert with_table('extend-select = ["TOY201", "toy-strict"]') == {"TOY101", "TOY102", "TOY201"}
    assert with_table("strict = true") == {"TOY101", "TOY102"}
    assert with_table('ignore = ["toy-forward"]') & {"TOY101", "TOY102", "TOY201"} == set()
    assert with_table('select = ["ALL"]') == {"TOY101", "TOY102", "TOY201"}


def test_per_file_ignores(project):
    project.table('[tool.tensorlint.per-file-ignores]\n"tests/**" = ["TOY1"]\n"*_legacy.py" = ["ALL"]\n')
    for name in ("a.py", "tests/deep/b.py", "pkg/c_legacy.py"):
        project.write(name, BAD)
    assert project.check("tests", "x_legacy.py", "pkg").out == "no findings; 1 file could not be checked\n"
    found = project.check("--output-format", "json", "--strict", "--select", "TOY1,TOY201").findings
    assert [(each["path"], each["code"]) for each in found] == [
        ("a.py", "TOY101"), ("a.py", "TOY102"), ("a.py", "TOY201"), ("tests/deep/b.py", "TOY201"),
    ]  # fmt: skip


def test_output_format_and_unsafe_fixes_from_the_table(project):
    project.table('output-format = "concise"\nunsafe-fixes = true\nextend-select = ["TOY201"]\n')
    path = project.write("a.py", BAD)
    assert len(project.check().out.splitlines()) == 2
    project.check("--fix", "--ignore", "TOY101")
    assert path.read_text() == HEAD + "y = layer.run(x)\n"


def test_baseline_from_the_table_is_found_from_anywhere(project, monkeypatch):
    project.table('baseline = "known.json"\n')
    project.write("pkg/a.py", BAD)
    assert project.check("--write-baseline").out == "wrote 1 finding to known.json\n"
    monkeypatch.chdir(project.root / "pkg")
    assert project.check().code == 0
