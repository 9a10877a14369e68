"""Notebooks: cells are one program, magics are no Python, and a fix changes nothing else of the JSON."""

from __future__ import annotations

import ast
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorlint.findings import Edit, Span
from tensorlint.notebook import NotebookSource, blank_magics, dedented
from tensorlint.source import SourceError


def notebook(
    *cells: str | list[str], kind: str = "code", indent: int | None = 1, language: str = "python", ascii: bool = False
) -> str:
    document = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Title {\n", "layer.forward(x)"]},
            *(
                {"cell_type": kind, "execution_count": None, "metadata": {}, "outputs": [], "source": cell}
                for cell in cells
            ),
        ],
        "metadata": {"kernelspec": {"name": "k", "language": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=indent, ensure_ascii=ascii) + "\n"


SETUP = "from torch import nn\nlayer = nn.Linear(2, 3)"


def test_findings_are_placed_in_their_cell_and_exit_code_is_1(project):
    project.write("nb.ipynb", notebook(SETUP, "%matplotlib inline\n\ny = layer.forward(x)"))
    outcome = project.check("--output-format", "concise")
    # The markdown cell is cell 1, as a notebook shows it.
    assert outcome.out == "nb.ipynb:cell 3:3:5: TOY101 [*] layer.forward skips the hooks of the module (toy-forward)\n"
    assert outcome.code == 1


def test_text_shows_the_line_and_json_names_the_cell(project):
    project.write("nb.ipynb", notebook(SETUP, "!pip install x\nz = layer.forward(é)"))
    assert "  2 | z = layer.forward(é)\n    |     ^^^^^^^^^^^^^^^^\n" in project.check().out
    (finding,) = project.check("--output-format", "json").findings
    assert (finding["cell"], finding["line"], finding["column"], finding["end_line"]) == (3, 2, 5, 2)
    assert finding["fix"]["edits"] == [{"line": 2, "column": 10, "end_line": 2, "end_column": 18, "text": ""}]


@pytest.mark.parametrize("indent", [None, 0, 1, 2, "\t"])
@pytest.mark.parametrize("ascii", [True, False])
def test_a_fix_changes_the_strings_of_its_lines_and_no_other_byte(project, indent, ascii):
    text = notebook(
        [line + "\n" for line in SETUP.split("\n")],
        ["%time layer.forward(x)\n", "é = layer.forward('ü')\n", "t = '\\u00e9'"],
        "one = layer.forward(𝔘)\n# string source",
        [],
        indent=indent,
        ascii=ascii,
    )
    path = project.write("nb.ipynb", text)
    assert project.check("--fix").code == 0
    new = path.read_text()
    fixed = {
        "é = layer.forward('ü')\n": "é = layer('ü')\n",
        "one = layer.forward(𝔘)\n# string source": "one = layer(𝔘)\n# string source",
    }
    expected = text
    for old, replacement in fixed.items():
        assert json.dumps(old, ensure_ascii=ascii) in text
        expected = expected.replace(json.dumps(old, ensure_ascii=ascii), json.dumps(replacement, ensure_ascii=ascii))
    assert new == expected


def test_escapes_of_lines_that_no_edit_touches_stay(project):
    text = notebook(SETUP + "\n", ["a = '\\/'\n", "layer.forward(x)"]).replace("'\\\\/'", "'\\/\\u00e9'")
    assert "\\/\\u00e9" in text
    path = project.write("nb.ipynb", text)
    project.check("--fix")
    assert path.read_text() == text.replace('layer.forward(x)"\n   ]\n  }\n ],', 'layer(x)"\n   ]\n  }\n ],')


def test_a_fix_that_needs_an_import_adds_a_line_to_the_list(project):
    source = NotebookSource("nb.ipynb", notebook(["import os\n", "x = 1"], indent=1))
    changed = source.with_edits([Edit(Span(1, 1, 1, 1), "import sys\n")])
    assert changed.raw == source.raw.replace('    "import os\\n",', '    "import sys\\n",\n    "import os\\n",')
    assert json.loads(changed.raw)["cells"][1]["source"] == ["import sys\n", "import os\n", "x = 1"]
    one_line = NotebookSource("nb.ipynb", notebook(["x = 1"], indent=1)).with_edits(
        [Edit(Span(1, 1, 1, 1), "import sys\n")]
    )
    assert json.loads(one_line.raw)["cells"][1]["source"] == ["import sys\n", "x = 1"]
    assert '\n    "import sys\\n",\n    "x = 1"\n' in one_line.raw


@given(
    st.lists(st.lists(st.text('ab é"\\=#\t', max_size=6), min_size=1, max_size=4), min_size=1, max_size=4),
    st.data(),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
    st.booleans(),
)
def test_any_edit_of_any_cell_gives_that_cell_and_keeps_the_others(cells, data, indent, ascii, as_list):
    texts = ["\n".join("#" + line for line in cell) for cell in cells]
    sources = [text.splitlines(keepends=True) if as_list else text for text in texts]
    before = NotebookSource("nb.ipynb", notebook(*sources, indent=indent, ascii=ascii))
    assert before.text == "".join(text + "\n" for text in texts)
    index = data.draw(st.integers(0, len(cells) - 1))
    line = data.draw(st.integers(0, len(cells[index]) - 1))
    joined = 1 + sum(len(cell) for cell in cells[:index]) + line
    new = data.draw(st.sampled_from(["", "new", "é", "a\n#b"]))
    after = before.with_edits([Edit(Span(joined, 2, joined, 2), new)])
    expected = list(texts)
    lines = texts[index].split("\n")
    lines[line] = "#" + new + lines[line][1:]
    expected[index] = "\n".join(lines)
    document, old = json.loads(after.raw), json.loads(before.raw)
    assert ["".join(cell["source"]) for cell in document["cells"][1:]] == expected
    for cell in (*document["cells"], *old["cells"]):
        cell["source"] = None
    assert document == old


@pytest.mark.parametrize(
    ("cell", "blanked"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!ls\nx", "pass\nx"),
        ("if a:\n    !ls {b}\n", "if a:\n    pass\n"),
        ("x = !ls\ny", "x = get_ipython()\ny"),
        ("a, b = %time f()\n", "a, b = get_ipython()\n"),
        ("!pip install \\\n  torch\nx", "pass\n\nx"),
        ("x?\ny??\n?z", "pass\npass\npass"),
        ("torch.nn.Linear?", "pass"),
        ("%%time\nx = 1", "pass\nx = 1"),
        ("%%bash\nls\nx = 1", "\n\n"),
        ("\n%%writefile a.py\nimport torch", "\n\n"),
        ("%%capture out\n%time x\ny", "pass\npass\ny"),
        ("x = '''\n%notmagic\n!no\n'''", "x = '''\n%notmagic\n!no\n'''"),
        ("x = (a\n  % b)", "x = (a\n  % b)"),
        ("await f()", "await f()"),
        ("pip install torch", "pass"),
        ("ls -l ..\n", "pass\n"),
        ("\ncd ..", "pass\n"),
        ("run train.py --epochs 3", "pass"),
        ("time f(x)", "pass"),
        ("ls -1", "ls -1"),
        ("time = 3", "time = 3"),
        ("run (x)", "run (x)"),
        ("load in x", "load in x"),
    ],
)
def test_magics(cell, blanked):
    assert blank_magics(cell) == blanked
    assert blanked.count("\n") == cell.count("\n")
    ast.parse(blanked)


@pytest.mark.parametrize("cell", ["conda_is great", "copy a b", "pip install x\nimport torch", "import pip install"])
def test_what_ipython_does_not_take_for_a_magic_is_an_error(cell):
    with pytest.raises(SyntaxError):
        ast.parse(blank_magics(cell))


INDENTED = [
    "  y = layer.forward(x)",
    " \n  y = layer.forward(x)\n  z = y",
    "  # a comment\n  y = layer.forward(x)",
    "  def f():\n    return 3\n\n  y = layer.forward(x)\n  ",
    "  with a as b:\n      y = layer.forward(x)\n",
    " if a:\n  y = layer.forward(x)\n else:\n  y = 1",
    "  %matplotlib inline\n  y = layer.forward(x)",
    "  %%time\n  y = layer.forward(x)",
    " def f():\n    return 2\n\n\ny = layer.forward(x)",
    "\ty = layer.forward(x)\n\tz = '''a\n\tb'''",
]


@pytest.mark.parametrize("cell", INDENTED)
@pytest.mark.parametrize("as_list", [True, False])
def test_a_cell_that_is_indented_is_read_as_ipython_reads_it(project, cell, as_list):
    project.write("nb.ipynb", notebook(SETUP, cell.splitlines(keepends=True) if as_list else cell))
    outcome = project.check("--output-format", "json")
    assert (outcome.code, outcome.err) == (1, "")
    (found,) = outcome.findings
    line = cell.split("\n")[found["line"] - 1]
    assert line[found["column"] - 1 : found["end_column"] - 1] == "layer.forward(x)"
    (edit,) = found["fix"]["edits"]
    assert line[: edit["column"] - 1] + edit["text"] + line[edit["end_column"] - 1 :] == line.replace(".forward", "")
    assert project.check("--fix").code == 0
    fixed = json.loads((project.root / "nb.ipynb").read_text())["cells"][2]["source"]
    assert "".join(fixed) == cell.replace("layer.forward(x)", "layer(x)")


def test_in_such_a_cell_the_carets_and_a_comment_stand_where_the_code_is(project):
    project.write("nb.ipynb", notebook(SETUP, "  x = 1\n  y = layer.forward(x)"))
    assert "  2 |   y = layer.forward(x)\n    |       ^^^^^^^^^^^^^^^^\n" in project.check().out
    assert project.check("--add-noqa").code == 0
    fixed = json.loads((project.root / "nb.ipynb").read_text())["cells"][2]["source"]
    assert "".join(fixed) == "  x = 1\n  y = layer.forward(x)  # noqa: TOY101"


@pytest.mark.parametrize("cell", ["  x = 1\n y = 2", " x = (", "if a:\nx = 1", "  x = 1\n    y = 2"])
def test_other_indentation_is_an_error(project, cell):
    project.write("nb.ipynb", notebook(SETUP, cell))
    outcome = project.check()
    assert outcome.code == 2
    assert "error: nb.ipynb:cell 3:" in outcome.err


def test_what_a_fix_inserts_is_indented_as_the_cell():
    before = NotebookSource("nb.ipynb", notebook("  x = 1\n  y = 2\n"))
    assert before.text == "x = 1\ny = 2\n"
    after = before.with_edits([Edit(Span(1, 1, 1, 1), "import torch\n"), Edit(Span(2, 5, 2, 6), "(3 +\n4)")])
    assert "".join(json.loads(after.raw)["cells"][1]["source"]) == "  import torch\n  x = 1\n  y = (3 +\n  4)\n"
    assert after.text == "import torch\nx = 1\ny = (3 +\n4)\n"


def test_a_cell_that_does_not_parse_is_named_and_the_others_are_linted(project):
    project.write("nb.ipynb", notebook(SETUP, "x = (", "layer.forward(x)"))
    outcome = project.check("--output-format", "concise")
    assert outcome.code == 2
    assert outcome.err == "error: nb.ipynb:cell 3:1: does not parse: '(' was never closed\n"
    assert outcome.out.startswith("nb.ipynb:cell 4:1:1: TOY101")


def test_those_that_do_not_parse_are_named_in_their_order(project):
    project.write("nb.ipynb", notebook(SETUP, "y = 1\nx = (", "def f(:", "layer.forward(x)"))
    said = project.check().err.splitlines()
    assert [line.rpartition(": does not parse")[0] for line in said] == [
        "error: nb.ipynb:cell 3:2",
        "error: nb.ipynb:cell 4:1",
    ]


@pytest.mark.parametrize("arguments", [("check", "-"), ("check", "-", "--fix"), ("shapes", "-")])
def test_a_notebook_on_standard_input_is_known_without_a_name(project, monkeypatch, arguments):
    data = notebook(SETUP, "y = layer.forward(x)").encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    outcome = project.run(*arguments)
    if arguments[0] == "shapes":
        assert outcome.out.startswith("# cell 2\nfrom torch import nn\n")
    elif "--fix" in arguments:
        assert json.loads(outcome.out)["cells"][2]["source"] == "y = layer(x)"
    else:
        assert outcome.out.startswith("<stdin>:cell 3:1:5: TOY101")
        assert outcome.code == 1


def test_a_program_that_begins_with_a_brace_is_a_program(project, monkeypatch):
    program = b'{"cells": 1}\n' + SETUP.encode() + b"\nlayer.forward(x)\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(program)))
    assert project.run("check", "-").out.startswith("<stdin>:4:1: TOY101")


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ("{torch", ":1: is not a notebook: Expecting property name"),
        ('["torch"]', ": is not a notebook of format 4"),
        ('{"worksheets": [], "a": "torch"}', ": is not a notebook of format 4"),
        (b"torch \xff", ": is not a notebook: not UTF-8 text"),
    ],
)
def test_what_is_no_notebook_is_one_line(project, contents, said):
    project.write("nb.ipynb", contents)
    outcome = project.check()
    assert outcome.code == 2
    assert outcome.err.startswith("error: nb.ipynb" + said)
    assert outcome.err.count("\n") == 1


def test_other_languages_are_left_alone(project):
    project.write("nb.ipynb", notebook("torch <- (", language="R"))
    assert project.check().code == 0


def test_noqa_comments_and_suppressions_work_in_cells(project):
    path = project.write(
        "nb.ipynb", notebook(SETUP, ["%time 1\n", "layer.forward(x)\n", "layer.forward(y)  # noqa: TOY101"])
    )
    assert project.codes() == ["nb.ipynb:2:1 TOY101"]
    project.check("--add-noqa")
    assert json.loads(path.read_text())["cells"][2]["source"][1] == "layer.forward(x)  # noqa: TOY101\n"
    assert project.codes() == []


def test_a_fix_across_cells_is_refused():
    source = NotebookSource("nb.ipynb", notebook("a", "b"))
    with pytest.raises(SourceError, match="across cells"):
        source.with_edits([Edit(Span(1, 1, 2, 2), "c")])


def test_diff_of_a_notebook_is_of_its_file(project):
    path = project.write("nb.ipynb", notebook(SETUP, "layer.forward(x)"))
    before = path.read_text()
    outcome = project.check("--diff")
    assert '-   "source": "layer.forward(x)"\n+   "source": "layer(x)"\n' in outcome.out
    assert path.read_text() == before


PASTED = [
    ">>> y = layer.forward(x)\n", ">>> for n in range(3):\n...     y = layer.forward(x)\n...\n>>> n", "# pasted\n>>> y = layer.forward(x)",
    ">>> x = 3\n\n >>> y = layer.forward(x)", ">>> def f(x):\n...     return layer.forward(x)\n... \n>>> f(3)\n",
    "  >>> if True:\n  ...     y = layer.forward(x)", ">>> %matplotlib inline\n>>> y = layer.forward(x)",
]  # fmt: skip


@pytest.mark.parametrize("cell", PASTED)
def test_the_prompts_of_a_pasted_session_are_taken_off(project, cell):
    """As IPython does; places are those of the cell, and a fix leaves the prompts where they are."""
    path = project.write("nb.ipynb", notebook(SETUP, cell))
    outcome = project.check("--output-format", "json")
    (found,) = outcome.findings
    line = cell.split("\n")[found["line"] - 1]
    assert (outcome.code, line[found["column"] - 1 : found["end_column"] - 1]) == (1, "layer.forward(x)")
    project.check("--fix")
    assert json.loads(path.read_text())["cells"][2]["source"] == cell.replace("layer.forward(x)", "layer(x)")


@pytest.mark.parametrize("cell", ["...", "x = ...\n...", 'text = """\n>>> y\n"""', "if True:\n    ...", "a >> 3"])
def test_an_ellipsis_is_no_prompt(cell):
    assert dedented(cell) == (cell, [""] * (cell.count("\n") + 1))
