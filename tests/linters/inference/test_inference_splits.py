"""The parts of an axis whose size is a name: their number is told by the code that unpacks them."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference.analysis import analyse

SPLITS = {
    "first, second = x.chunk(2, -1)": ("first", "second"),
    "first, second, third = x.chunk(3, 1)": ("first", "second", "third"),
    "first, second = torch.chunk(x, 3, 1)": ("first", "second"),
    "only = x.chunk(2, 1)[0]": ("only",),
    "(only,) = x.split(C, 1)": ("only",),
    "first, second, third = x.split(2, -1)": ("first", "second", "third"),
    "first, second = x.split(k, 1)": ("first", "second"),
}


@pytest.mark.parametrize("line", SPLITS)
def test_every_part_has_the_size_that_torch_gives_it(line: str) -> None:
    source = f"import torch\n\n\ndef f(C: int, k: int):\n    x = torch.zeros(4, C)\n    {line}\n    return [{', '.join(SPLITS[line])}]\n"
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    scope: dict[str, object] = {}
    exec(source, scope)
    compared = 0
    for size in range(1, 10):
        for part in range(1, size + 1):
            try:
                made = scope["f"](size, part)  # type: ignore[operator]
            except ValueError:  # another number of parts
                continue
            for name, value in zip(SPLITS[line], made, strict=True):
                shape = rows[name].shape
                assert shape is not None
                assert "?" not in shape
                claim = [eval(str(each), {"C": size, "k": part}) for each in shape]
                assert claim == list(value.shape), (line, size, part)
                compared += 1
    assert compared > 1


def test_the_last_of_parts_nobody_counted_is_unknown() -> None:
    source = "import torch\n\n\ndef f(C: int):\n    last = torch.zeros(C).chunk(4)[-1]\n    first = torch.zeros(C).split(2)[0]\n"
    for row in analyse(ast.parse(source), source).bindings:
        assert row.shape == ("?",)
