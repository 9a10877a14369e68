"""Edits: none that overlap together, whole or not at all, shown or written."""

from __future__ import annotations

import ast
import shutil
import subprocess

import libcst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorlint.findings import Edit, Finding, Fix, Span
from tensorlint.fixes import choose, fix
from tensorlint.judging import import_edit, segment_of, smallest_edit
from tensorlint.source import Lines, PythonSource, SourceError

HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"


def test_nested_calls_are_fixed_one_around_the_other(project):
    path = project.write("a.py", HEAD + "y = layer.forward(layer.forward(layer.forward(x)))\n")
    outcome = project.check("--fix")
    assert outcome.out == "fixed 3 findings in 1 file; no findings left\n"
    assert path.read_text() == HEAD + "y = layer(layer(layer(x)))\n"


def test_only_the_changed_words_move(project):
    text = HEAD + "y = layer . forward(  # why\n    x ,\n    # what\n    *a,  b = 1,)\n"
    path = project.write("a.py", text)
    project.check("--fix")
    assert path.read_text() == text.replace("layer . forward(", "layer(")


def test_unsafe_fixes_only_when_they_are_asked_for(project):
    path = project.write("a.py", HEAD + "layer.forward(x)\n")
    outcome = project.check("--select", "TOY201", "--fix")
    assert (outcome.code, path.read_text()) == (1, HEAD + "layer.forward(x)\n")
    assert "1 finding (1 with --fix --unsafe-fixes) in 1 file" in outcome.out
    assert project.check("--select", "TOY201", "--fix", "--unsafe-fixes").code == 0
    assert path.read_text() == HEAD + "layer.run(x)\n"


def test_two_rules_that_want_the_same_words_do_not_both_get_them(project):
    path = project.write("a.py", HEAD + "layer.forward(x)\n")
    project.check("--select", "TOY101,TOY201", "--fix", "--unsafe-fixes")
    assert path.read_text() == HEAD + "layer(x)\n"


def test_diff_writes_nothing_and_patch_makes_of_it_what_fix_would(project):
    texts = {
        "a.py": HEAD + "y = layer.forward(x)\n" + "z = 1\n" * 9 + "layer.forward(x)",
        "p/b.py": HEAD + "layer.forward(é)\r\n",
        "bom.py": "\ufeff" + HEAD + "layer.forward(x)\n",
        "pages.py": HEAD + "\x0c\nlayer.forward(x)\n\x0c\ns = 'a\x0bb\x1cc\u2028d\x85e'\n",
        "mac.py": (HEAD + "layer.forward(x)\n").replace("\n", "\r"),
    }
    contents = {name: text.encode() for name, text in texts.items()}
    contents["latin.py"] = ("# coding: latin-1\n" + HEAD + "layer.forward('é')\n").encode("latin-1")
    for name, data in contents.items():
        project.write(name, data)
    patch = project.root.parent / "fixes.patch"
    outcome = project.command("check", "--no-cache", "--diff", "--output-file", str(patch))
    assert outcome.code == 1
    assert outcome.err == "would fix 7 findings in 6 files; no findings left\n"
    for name, data in contents.items():
        assert (project.root / name).read_bytes() == data
    if shutil.which("git"):
        subprocess.run(["git", "apply", "-p0", str(patch)], cwd=project.root, check=True)
        for name, data in contents.items():
            assert (project.root / name).read_bytes() == data.replace(b".forward", b""), name


def _finding(edits: list[Edit], line: int = 1) -> Finding:
    return Finding("a.py", Span(line, 1, line, 2), "X1", "x", "m", fix=Fix("safe", tuple(edits)))


def _edit(start: int, end: int, text: str = "n") -> Edit:
    return Edit(Span(1, start, 1, end), text)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ((1, 3), (3, 5), True),
        ((1, 4), (3, 5), False),
        ((1, 9), (3, 5), False),
        ((3, 3), (3, 5), False),
        ((3, 3), (3, 3), False),
        ((2, 2), (3, 5), True),
    ],
)
def test_what_overlaps(first, second, together):
    findings = [_finding([_edit(*first, "a")]), _finding([_edit(*second, "b")], line=2)]
    edits, chosen = choose(findings, unsafe=False)
    assert len(chosen) == (2 if together else 1)
    assert len(edits) == len(chosen)


def test_a_fix_is_made_whole_or_not_at_all():
    findings = [_finding([_edit(1, 3)]), _finding([_edit(2, 4), _edit(7, 8)], line=2)]
    assert choose(findings, unsafe=False)[0] == [_edit(1, 3)]


def test_the_same_insertion_wanted_twice_is_made_once():
    findings = [
        _finding([_edit(1, 1, "import x"), _edit(3, 4)]),
        _finding([_edit(1, 1, "import x"), _edit(6, 7)], line=2),
    ]
    edits, chosen = choose(findings, unsafe=False)
    assert len(chosen) == 2
    assert PythonSource("a.py", "abcdefgh").with_edits(edits).raw == "import xabndengh"


def test_a_result_that_does_not_parse_is_refused():
    source = PythonSource("a.py", "x = (1)\n")
    with pytest.raises(SourceError, match="the fix of X1 was not made: the result does not parse"):
        fix(source, lambda _: [_finding([Edit(Span(1, 5, 1, 6), "")])], unsafe=False)


def test_a_fix_that_never_ends_is_bounded():
    source = PythonSource("a.py", "x = 1\n")
    fixed = fix(source, lambda _: [_finding([Edit(Span(1, 1, 1, 1), "y = ")])], unsafe=False)
    assert fixed.made["X1"] == 20
    ast.parse(fixed.source.text)


@given(st.text("ab_ (.\n,é"), st.text("ab_ (.\n,é"))
def test_the_smallest_edit_gives_the_new_text(old, new):
    text = "x = (\n  " + old + ")\n"
    lines = Lines(text)
    start = lines.position(len("x = (\n  "))
    end = lines.position(len("x = (\n  ") + len(old))
    edit = smallest_edit(Span(*start, *end), old, new)
    assert lines.replace([edit]) == "x = (\n  " + new + ")\n"


def test_the_smallest_edit_does_not_cut_words():
    edit = smallest_edit(Span(3, 5, 3, 21), "x.view(-1).views", "x.reshape(-1).views")
    assert edit == Edit(Span(3, 7, 3, 11), "reshape")
    assert smallest_edit(Span(1, 1, 1, 5), "viewed", "views").text == "views"


class TestSegments:
    """The libcst node of a piece of a file is the node of that piece, and gives the same text back."""

    PROGRAM = (
        "def f(self, *, a=1):\n"
        '    """Doc\n  odd indent\n    """\n'
        "    y = (a\n         .b(  # c\n             1)\n         .d)\n"
        "    z = (yield a), [i for i in y if i], {**a}, a[1:, None], *b\n"
        "    return sum(i for i in (y, z))\n"
        "if x: g(1); h(lambda: (1, 2))\n"
        "async def k():\n\tawait m\n"
    )

    def test_every_expression_and_statement_renders_as_it_was(self):
        source = PythonSource("a.py", self.PROGRAM)
        seen = 0
        indices = {id(node.slice) for node in ast.walk(source.tree) if isinstance(node, ast.Subscript)}
        for node in ast.walk(source.tree):
            if id(node) in indices:
                continue  # `1:, None` is no expression by itself
            if isinstance(node, ast.expr) and not isinstance(node, ast.Slice | ast.Starred):
                segment = segment_of(node, source.lines)
                assert segment.span == source.lines.span(node)
                assert segment.render(segment.node) == segment.text
                seen += 1
            elif isinstance(node, ast.FunctionDef | ast.Return | ast.Assign | ast.AsyncFunctionDef):
                segment = segment_of(node, source.lines)
                assert segment.render(segment.node) == segment.text
                seen += 1
        assert seen > 40

    def test_several_statements_in_the_place_of_one_keep_the_indentation(self):
        source = PythonSource("a.py", "class A:\n    def f(self):\n        '''\n  x'''\n    y = 1\n")
        function = source.tree.body[0].body[0]
        segment = segment_of(function, source.lines)
        extra = libcst.parse_statement("if T:\n    pass\n")
        edit = Edit(segment.span, segment.render(libcst.FlattenSentinel([segment.node, extra])))
        assert source.with_edits([edit]).text == (
            "class A:\n    def f(self):\n        '''\n  x'''\n    if T:\n        pass\n    y = 1\n"
        )

    @pytest.mark.parametrize("text", ['x = f"""é\n{a.forward(b)}"""\n', 'x = ("é"\n f"{z}" f"{ (a.forward(b)) !r}")\n'])
    def test_inside_f_strings(self, text):
        source = PythonSource("a.py", text)
        (node,) = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
        segment = segment_of(node, source.lines)
        assert segment.text == "a.forward(b)"
        assert segment.span is None or source.lines.slice(segment.span) == "a.forward(b)"

    def test_a_position_that_is_not_the_nodes_own_is_not_trusted(self):
        """Some Pythons before 3.12 place the nodes of an f-string wrongly; nothing may be replaced there."""
        source = PythonSource("a.py", "x = a.forward(b)\n")
        (node,) = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
        node.col_offset, node.end_col_offset = 2, 14
        segment = segment_of(node, source.lines)
        assert (segment.span, segment.text) == (None, "a.forward(b)")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import os\n", "from typing import T\nimport os\n"),
        ("from typing import A\nimport os\n", "from typing import A, T\nimport os\n"),
        ("from typing import (\n    A,\n)\n", "from typing import (\n    A, T,\n)\n"),
        ("from typing import T\n", None),
        ("from typing import T as U\n", "from typing import T as U, T\n"),
        (
            '"""Doc."""\nfrom __future__ import annotations\n',
            '"""Doc."""\nfrom __future__ import annotations\nfrom typing import T\n',
        ),
        ('"""Doc."""', '"""Doc."""\nfrom typing import T'),
        ("#!/bin/python\n# c\nx = 1\n", "#!/bin/python\n# c\nfrom typing import T\nx = 1\n"),
        ("if a:\n    from typing import T\n", "from typing import T\nif a:\n    from typing import T\n"),
    ],
)
def test_an_import_is_added_where_it_is_missing(before, after):
    source = PythonSource("a.py", before)
    edit = import_edit("typing.T", source.tree, source.lines)
    assert (edit and source.with_edits([edit]).text) == after
    if after is not None:
        ast.parse(after)
