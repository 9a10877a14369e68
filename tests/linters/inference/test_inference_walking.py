"""The quicker walk through a syntax tree: the nodes of `ast.walk`, in its order, but for those that say nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tensorlint.inference.walking import children, walk

_SILENT = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
FILES = sorted(Path(__file__).parents[3].joinpath("linters").rglob("*.py"))[::5]
RARE = """
async def f(a, /, b=1, *c, d, e=2, **g) -> int:
    global h
    async with a as b, c: pass
    async for i in j: await k
    try: raise l from m
    except (n, o) as p: q: int = 3
    else: del r, s[1:2:3]
    finally: assert t, u
    x = {**v, "w": lambda y=1: (yield), **z}
    match x:
        case {"a": 1, **rest} | [Point(x=0), *_] if x > 0: nonlocals = f"{x!r:>{10}}"
        case None | True: x @= {k: v async for k, v in x if k}
    return [*a, (b := 1)] if not a <= b < c else print(*a, **b)
"""


@pytest.mark.parametrize("source", [RARE, *(path.read_text(encoding="utf-8") for path in FILES)])
def test_it_is_the_walk_of_the_standard_library(source: str) -> None:
    tree = ast.parse(source)
    said = [node for node in ast.walk(tree) if not isinstance(node, _SILENT)]
    assert list(walk(tree)) == said
    for node in said:
        assert children(node) == [each for each in ast.iter_child_nodes(node) if not isinstance(each, _SILENT)]
