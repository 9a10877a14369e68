"""No program makes the interpreter crash, hang or run away."""

from __future__ import annotations

import ast
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from tensorlint.inference import class_order
from tensorlint.inference.analysis import analyse
from tensorlint.inference.forgetting import Forgetting
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.interpreter import Interpreter
from tensorlint.inference.names import collect
from tensorlint.inference.values import Value
from tensorlint.project import Project

PROGRAMS = {
    "a function that calls itself": """
        import torch
        def f(x):
            return f(x.t())
        f(torch.zeros(2, 3))
        """,
    "functions that call each other": """
        import torch
        def even(x, n):
            return odd(x.t(), n - 1) if n else x
        def odd(x, n):
            return even(x.t(), n - 1) if n else x
        y = even(torch.zeros(2, 3), 10)
        """,
    "a class that holds itself": """
        import torch
        class Node(torch.nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.child = Node(depth - 1)
            def forward(self, x):
                return self.child(x)
        Node()(torch.zeros(2))
        """,
    "a class that derives from a name bound to it": """
        import torch
        class A(torch.nn.Module): pass
        class A(A):
            def forward(self, x):
                return A.forward(self, x)
        A()(torch.zeros(1))
        """,
    "a generator that never ends": """
        import torch
        def batches():
            while True:
                yield torch.zeros(2, 3)
        for batch in batches():
            x = batch.t()
        """,
    "growing in a loop": """
        import torch
        x = torch.zeros(2)
        while True:
            x = torch.cat([x, x])
            y = x.unsqueeze(0).expand(x.shape[0], -1)
        """,
    "sizes that multiply": """
        import torch
        def f(a, b, c, d, e):
            n = a
            for _ in range(1000):
                n = n * (a + b) * (c + d) + e
            return torch.zeros(n, n).view(-1)
        """,
    "huge numbers": "import torch\nx = torch.zeros(10 ** 1000, 2)\ny = x.view(-1)\nz = [0] * (10 ** 12)\n",
    "a list that is its own item": "import torch\nx = []\nx.append(x)\ny = torch.tensor(x)\nfor i in x: i.append(i)\n",
    "lambdas all the way": "f = lambda g: g(g)\nf(f)\n",
    "names that are deleted": "import torch\nx = torch.zeros(2)\ndel x\nprint(x.T)\n",
    "star arguments": "import torch\nargs = [2, 3]\nx = torch.zeros(*args, **{})\ny = torch.zeros(*unknown)\n",
    "match": """
        import torch
        def f(x):
            match x.shape:
                case (a, b):
                    y = torch.zeros(a, b)
                case _:
                    y = x
            return y
        """,
    "everything else": """
        import torch, asyncio
        async def f(q):
            async with q as r:
                async for x in r:
                    yield await x
        class P:
            x: int = 1
            @property
            def y(self): return self.y
        print(P().y)
        a, *b = c = torch.zeros(2), 1, 2
        (d := torch.ones(3)).sum()
        try:
            x = torch.zeros(1)
        except* ValueError as error:
            x = error
        finally:
            y = x
        global_x = [*a, *b] if c else {**{}}
        z = not -d if d is None else f"{d!r:>{10}}"
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_odd_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import textwrap

    monkeypatch.setenv("TENSORLINT_DEBUG", "1")
    source = textwrap.dedent(PROGRAMS[name])
    analyse(ast.parse(source), source)


def test_deep_nesting() -> None:
    source = "import torch\nx = " + "(" * 80 + "torch.zeros(2)" + " + 1)" * 80 + "\n"
    analyse(ast.parse(source), source)
    source = "import torch\nx = torch.zeros(2)" + ".exp()" * 900 + "\ny = torch.zeros(2, 3)\n"
    analysis = analyse(ast.parse(source), source)
    assert [row.shape for row in analysis.bindings if row.name == "y"] == [(2, 3)]
    body = "".join("    " * depth + f"if a{depth}:\n" for depth in range(60)) + "    " * 60 + "x = 1\n"
    analyse(ast.parse(body), body)


def test_an_error_of_ours_costs_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorlint.inference.statements import Statements

    def fail(self: object, node: ast.Delete) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(Statements, "exec_delete", fail)
    monkeypatch.delenv("TENSORLINT_DEBUG", raising=False)
    source = "import torch\nx = torch.zeros(2)\ndel x\ny = torch.zeros(3)\ndef f():\n    del y\n\nz = torch.zeros(4)\n"
    analysis = analyse(ast.parse(source), source)
    assert [(row.name, row.shape) for row in analysis.bindings] == [("x", (2,)), ("y", (3,)), ("z", (4,))]


def test_work_grows_with_the_length_of_a_file() -> None:
    """Ten times the file is at most about ten times the statements that are followed."""

    def followed(functions: int) -> int:
        part = (
            "def f{0}(x, n):\n    B, T, C = x.shape\n    y = x.view(B, T * C)\n    for i in range(n):\n"
            "        y = y + f{1}(x, i)\n    return y\n\n"
        )
        source = "import torch\n" + "".join(part.format(at, max(at - 1, 0)) for at in range(functions))
        tree = ast.parse(source)
        interpreter = Interpreter(SourceFile("<string>", source, tree, collect(tree)))
        interpreter.run()
        return interpreter.steps

    assert followed(1000) < 15 * followed(100)


def test_a_call_into_a_library_leaves_something_for_the_files_own_functions(tmp_path: Path) -> None:
    """What functions of another file call in their turn is paid for at each level, and comes to more than the whole."""
    parts = "".join(f"def part{i}(x):\n" + "    x = x + 1\n" * 100 + "    return x\n" for i in range(60))
    calls = "".join(f"    x = part{i}(x)\n" for i in range(60))
    (tmp_path / "library.py").write_text(f"{parts}def heavy(x):\n{calls}    return x\n")
    program = tmp_path / "program.py"
    source = (
        "import torch\nfrom library import heavy\ndef own(n):\n    return torch.zeros(n, 2)\n"
        "x = heavy(torch.zeros(3))\ny = own(4)\n"
    )
    program.write_text(source)
    project = Project()
    project.begin(str(program))
    found = analyse(ast.parse(source), source, path=str(program), project=project)
    assert {each.name: each.shape for each in found.bindings}["y"] == (4, 2)


def test_a_class_with_one_base_looks_no_further_for_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each base of each class beside each other would be the cube of the length of such a chain."""
    compared = 0
    key = class_order._key

    def counted(base: Value) -> object:
        nonlocal compared
        compared += 1
        return key(base)

    monkeypatch.setattr(class_order, "_key", counted)
    source = "class C0:\n    w = 1\n" + "".join(f"class C{n}(C{n - 1}):\n    pass\n" for n in range(1, 60))
    source += "class Both(C59, C30):\n    pass\nimport numpy as np\nx = np.zeros(Both.w)\n"
    rows = analyse(ast.parse(source), source).bindings
    assert [row.shape for row in rows if row.name == "x"] == [(1,)]
    assert 0 < compared < 20_000  # for the one class with two bases; for each of them it would be 80,000


def test_the_lines_of_a_text_that_change_a_name_are_counted_once() -> None:
    """From the last such line on: from the top each time, ten thousand appends to a list took a second."""

    class Text(str):
        passed = 0

        def count(self, part: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
            Text.passed += (len(self) if end is None else end) - start
            return super().count(part, start, len(self) if end is None else end)

    source = Text("rows = []\n" + "rows.append(1)\nx = 2\n" * 200)
    tree = ast.parse(source)
    file = SourceFile("<string>", source, tree, collect(tree))
    assert Interpreter(file).changing_lines("rows", file) == [*range(2, 402, 2)]
    assert 0 < Text.passed <= len(source)


def test_what_many_kept_functions_may_change_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of something unknown may call any function that a list holds, and each of them has the argument in hand."""
    counted = 0
    forget_held = Forgetting.forget_held

    def counting(*arguments: Any) -> None:
        nonlocal counted
        counted += 1
        forget_held(*arguments)

    monkeypatch.setattr(Forgetting, "forget_held", counting)
    source = "import torch\ntable = []\n"
    source += "".join(f"def f{number}(x):\n    table.append(x)\n" for number in range(20))
    source += f"handlers = [{', '.join(f'f{number}' for number in range(20))}]\n"
    source += f"def run(unknown):\n    x, rows = torch.zeros(3), ({', '.join(f'[{n}]' for n in range(50))})\n"
    source += "    unknown(rows)\n" * 10
    analyse(ast.parse(source), source)
    assert 50 * 10 <= counted < 50 * 20  # not fifty lists for each of twenty functions and ten calls


def test_nothing_of_a_file_is_kept_when_the_next_one_comes() -> None:
    """Whole repositories are analysed in one process: the trees of their files must not pile up in caches."""
    source = (
        "import torch\n\n\nclass Attention(torch.nn.Module):\n    def __init__(self, width, heads):\n        super().__init__()\n"
        "        self.heads, self.size = heads, width // heads\n        self.map = torch.nn.Linear(width, 3 * width)\n\n"
        "    def forward(self, x):\n        B, T, C = x.shape\n        q, k = x.split(C // self.heads, 2)\n"
        "        y = x.view(B, T, self.heads, C // self.heads)\n        return y.view(B, T, -1)\n"
    )

    def functions_alive() -> int:
        gc.collect()
        return sum(isinstance(each, ast.FunctionDef) for each in gc.get_objects())

    analyse(ast.parse(source), source)
    before = functions_alive()
    for _ in range(30):
        analyse(ast.parse(source), source)
    assert functions_alive() <= before + 2


FREED = {
    "a class that derives from another": "class A:\n    pass\n\n\nclass B(A):\n    def f(self):\n        return self\n\n\nx = B().f()\n",
    "a record": "from dataclasses import dataclass\n\n\n@dataclass\nclass D:\n    a: int = 3\n\n    def f(self):\n        return D(4)\n",
    "a class of a function": "def f(n):\n    class A:\n        def m(self):\n            return self\n\n    return A()\n\n\nx = f(3)\n",
    "a class of a method": "class A:\n    def f(self):\n        class B(A):\n            def g(self):\n                return B()\n\n"
    "        return B().g()\n\n\nx = A().f()\n",
}


def alive_after_analysis(source: str) -> list[ast.AST]:
    """What is left of the tree of a file once it was analysed, and is kept for no other file, without garbage collection."""
    tree = ast.parse(source)
    parts = [
        weakref.ref(part) for part in ast.walk(tree) if isinstance(part, (ast.Module, ast.ClassDef, ast.FunctionDef))
    ]
    gc.collect()
    gc.disable()
    try:
        analyse(tree, source)
        tree.__dict__.pop("tensorlint_facts", None)  # as `Project` does when it drops one
        del tree
        return [part for each in parts if (part := each()) is not None]
    finally:
        gc.enable()


@pytest.mark.parametrize("name", FREED)
def test_trees_are_freed_without_garbage_collection(name: str) -> None:
    """A run over many files collects next to none, so what refers to itself must not hold the tree of a file."""
    assert alive_after_analysis("import torch\n\n\n" + FREED[name]) == []


def test_objects_that_hold_one_another_do_not_hold_the_file() -> None:
    source = (
        "import torch\n\n\nclass Node:\n    def __init__(self, left, right):\n        self.left, self.right = left, right\n"
        "        left.parent = self\n\n    def both(self):\n        return (self.left, self)\n"
    )
    assert not any(isinstance(part, (ast.Module, ast.ClassDef)) for part in alive_after_analysis(source))


BLOCKS = {
    "except": "try: pass\nexcept ImportError:\n    {}",
    "finally": "try: pass\nfinally:\n    {}",
    "for": "for i in (1,):\n    {}",
    "else": "for i in ():\n    pass\nelse:\n    {}",
    "while": "while 1:\n    {}",
    "match": "match 1:\n  case 1:\n    {}",
    "with": "with open('x') as f:\n    {}",
    "function": "def make():\n    {}\n    return Row",
}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_class_in_any_block_with_methods_that_are_lambdas(block: str) -> None:
    body = (
        "class Row(dict):\n    def __init__(self, x):\n        for n in ('a', 'b'): setattr(self, n + 'x', x)\n"
        "    def __setitem__(self, k, v): setattr(self, k, v)\n    __add__ = lambda self, o: setattr(self, 'q', o)\n"
        "    __iter__ = lambda self: iter([])\n"
    )
    source = BLOCKS[block].format(body.replace("\n", "\n    ").rstrip()) + "\nr = Row(1)\nr + 1\nx = torch.zeros(2)\n"
    failures: list[Exception] = []
    analyse(ast.parse(f"import torch\n{source}"), f"import torch\n{source}", failures=failures)
    assert failures == []
