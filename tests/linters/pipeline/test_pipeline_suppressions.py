"""Comments that silence, on any line of the statement; and what is said about comments that do not."""

from __future__ import annotations

import ast
import re
import tokenize

import pytest

from tensorlint.rules.registry import Registry
from tensorlint.suppressions import read_suppressions, statement_lines

HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"


@pytest.mark.parametrize(
    "program",
    [
        "y = layer.forward(x)  # noqa",
        "y = layer.forward(x)  # NOQA",
        "y = layer.forward(x)  #noqa",
        "y = layer.forward(x)  # noqa: TOY101",
        "y = layer.forward(x)  # noqa:TOY101",
        "y = layer.forward(x)  # noqa: E501,TOY101",
        "y = layer.forward(x)  # noqa: E501 toy101",
        "y = layer.forward(x)  # noqa: TOY1",
        "y = layer.forward(x)  # noqa: toy-forward",
        "y = layer.forward(x)  # noqa : E501",  # flake8 reads a blanket noqa here
        "y = layer.forward(x)  # because  # noqa: TOY101",
        'y = layer.forward("# noqa: E501")  # noqa: TOY101',
        "y = layer.forward(x)  # tensorlint: ignore[toy-forward]",
        "y = layer.forward(x)  # tensorlint: ignore[TOY101, toy-off]",
        "y = layer.forward(x)  # tensorlint: ignore[TOY101] as the hooks must not run",
        "y = layer.forward(x)  # tensorlint:ignore",
        "y = layer.forward(\n    x,\n)  # noqa: TOY101",
        "y = layer.forward(  # noqa: TOY101\n    x,\n)",
        "y = layer.forward(\n    x,  # tensorlint: ignore[toy-forward]\n)",
        "y = (\n    # noqa: TOY101\n    layer.forward(x)\n)",
        't = """\n""", layer.forward(x)  # noqa: TOY101',
        "if layer.forward(x):  # noqa: TOY101\n    pass",
        "if (\n    layer.forward(x)\n    and y  # noqa: TOY101\n):\n    pass",
        "for a in layer.forward(x):  # noqa: TOY101\n    pass\nelse:\n    pass",
        "match layer.forward(x):  # noqa: TOY101\n    case 1:\n        pass",
        "with layer.forward(x) as a, \\\n     b:  # noqa: TOY101\n    pass",
        "# tensorlint: ignore-file\ny = layer.forward(x)",
        "y = layer.forward(x)\n# tensorlint: ignore-file[TOY101]",
        "# flake8: noqa\ny = layer.forward(x)",
        "# flake8: noqa: TOY101\ny = layer.forward(x)",
    ],
)
def test_silent(project, program):
    disarmed = re.sub("noqa", "nope", program, flags=re.IGNORECASE).replace("tensorlint", "tensor")
    project.write("a.py", HEAD + disarmed + "\n")
    assert "TOY101 [*]" in project.check().out, "without its comment the program must be flagged"
    project.write("a.py", HEAD + program + "\n")
    outcome = project.check("--output-format", "concise")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


@pytest.mark.parametrize(
    "program",
    [
        "y = layer.forward(x)  # noqa: E501",
        "y = layer.forward(x)  # noqa: TOY102",
        "y = layer.forward(x)  # nothing about qa",
        'y = layer.forward("# noqa")',
        'y = layer.forward("""\n# tensorlint: ignore\n""")',
        "y = layer.forward(x)\nz = 1  # noqa",
        "if a:  # noqa\n    layer.forward(x)",
        "if layer.forward(x):\n    pass  # noqa",
        "def f():  # noqa\n    layer.forward(x)",
        "for a in layer.forward(x):\n    pass\nelse:  # noqa\n    pass",
        "# flake8: noqa: E501\ny = layer.forward(x)",
        "try:\n    layer.forward(x)\nexcept E:  # noqa\n    pass",
    ],
)
def test_not_silent(project, program):
    project.write("a.py", HEAD + program + "\n")
    outcome = project.check("--output-format", "concise")
    assert outcome.code == 1
    assert outcome.out.count("TOY101") == 1


def test_flake8_agrees_about_noqa(project):
    """The same files through flake8, whose plugin leaves noqa to flake8."""
    comments = [
        "",
        "# noqa",
        "# NOQA:TOY101",
        "# noqa: E501",
        "# noqa: E501,TOY101",
        "# noqa : E501",
        "# noqa: TOY1",
        "# x # noqa",
    ]
    for number, comment in enumerate(comments):
        project.write(f"m{number}.py", HEAD + f"y = layer.forward(x)  {comment}\n")
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select", "TOY", "-j", "1", "--format", "%(path)s:%(row)d:%(col)d %(code)s", "."],
        cwd=project.root, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    by_flake8 = sorted(line.removeprefix("./") for line in done.stdout.splitlines())
    assert by_flake8 == project.codes()
    assert 0 < len(by_flake8) < len(comments)


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        (
            "# tensorlint: ignore[toy-forwrd]",
            "a.py:3: unknown rule 'toy-forwrd' in a suppression; did you mean toy-forward?",
        ),
        (
            "# tensorlint: disable",
            "a.py:3: not a directive of tensorlint; write `# tensorlint: ignore[rule]` or `ignore-file`",
        ),
        (
            "# tensorlint: ignore[toy-forward]",
            "a.py:3: unused suppression of TOY101: nothing to silence here; remove it",
        ),
        ("# tensorlint: ignore", "a.py:3: unused suppression: nothing to silence here; remove it"),
    ],
)
def test_warnings_about_our_own_comments(project, comment, said):
    project.write("a.py", HEAD + f"y = 1  {comment}\n")
    outcome = project.check()
    assert outcome.err == f"warning: {said}\n"
    assert outcome.code == 0


def test_a_suppression_of_a_rule_that_is_not_on_is_no_unused_one(project):
    project.write("a.py", HEAD + "y = 1  # tensorlint: ignore[toy-strict]\n")
    assert project.check().err == ""


def test_a_blanket_comment_that_only_this_run_or_file_has_no_use_for_is_no_unused_one(project):
    """Without the rules that --select, --ignore or per-file-ignores take away, nobody knows what it silences."""
    project.write("tests/a.py", HEAD + "y = layer.forward(x)  # tensorlint: ignore\n")
    assert project.check("--ignore", "TOY101").err == ""
    assert project.check("--select", "TOY201").err == ""
    project.table('[tool.tensorlint.per-file-ignores]\n"tests/**" = ["TOY101"]\n')
    assert project.check().err == ""
    project.table('[tool.tensorlint.per-file-ignores]\n"other/**" = ["TOY101"]\n')
    project.write("tests/b.py", HEAD + "y = 1  # tensorlint: ignore\n")
    assert project.check().err.startswith("warning: tests/b.py:3: unused suppression:")


def test_the_cache_does_not_answer_one_selection_with_the_warnings_of_another(project):
    project.write("pyproject.toml", '[tool.tensorlint]\nignore = ["ALL"]\n')
    project.write("a.py", HEAD + "y = 1  # tensorlint: ignore\n")
    assert "unused suppression" in project.run("check").err
    assert project.run("check", "--ignore", "TSR301").err == ""


@pytest.mark.parametrize(
    ("line", "to_silence", "tokenized"),
    [
        ("y = 1  # noqa", False, False),  # it could only silence, and there is nothing to
        ("y = 1  # noqa: TOY101", False, False),
        ("# flake8: noqa", False, False),
        ("y = 1  # noqa", True, True),
        ("y = 1  # noqa: E501", True, False),
        ("y = 1  # noqa: TSR999", False, True),  # a rule that there is not
        ("y = 1  # tensorlint: ignore", False, True),  # it is unused
        ("y = 1  # tensorlint: ignroe", False, True),
    ],
)
def test_a_program_is_tokenized_only_where_its_comments_may_matter(monkeypatch, line, to_silence, tokenized):
    calls = []
    tokens = tokenize.generate_tokens
    monkeypatch.setattr(tokenize, "generate_tokens", lambda readline: calls.append(1) or tokens(readline))
    found = read_suppressions(HEAD + line + "\n", Registry(), to_silence=to_silence)
    assert bool(found) is bool(calls) is tokenized


def test_a_fix_leaves_what_is_silenced(project):
    path = project.write("a.py", HEAD + "y = layer.forward(x)  # noqa: TOY101\nz = layer.forward(x)\n")
    assert project.check("--fix").code == 0
    assert path.read_text() == HEAD + "y = layer.forward(x)  # noqa: TOY101\nz = layer(x)\n"


def test_the_lines_of_a_statement_or_its_header():
    """A decorator, a comment below it and the definition are one header; a body is not."""
    tree = ast.parse(
        "@a(\n  1\n)\n# c\ndef f(\n  x,\n):\n\n    y = (\n      1\n    )\n    if y: z\n    else:\n        w\n"
    )
    expected = {1: (1, 8), 3: (1, 8), 6: (1, 8), 10: (9, 11), 12: (12, 12), 14: (14, 14)}
    for line, (first, last) in expected.items():
        assert statement_lines(tree, line) == range(first, last + 1), line
