"""Functions that nothing can be found in are passed over, and what they hand on is followed all the same."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tensorlint.inference.analysis import analyse
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.names import collect
from tensorlint.inference.quiet_functions import is_quiet, is_unread, makes_records

# What the file has beside the function.
_AROUND = """
import elsewhere
from elsewhere import build

def make(*given): return torch.ones(*given)
def train(*given): return make(*given).view(-1)
class Kept:
    @property
    def device(self): ...
    def step(self, x): return x - self.weight
# What computes nothing, whatever it is given.
def say(*given): print(given)
def note(self, *given): say(len(given)); return self.name.lower(given)
def again(*given): return [again(each) for each in note(given)]
class Record(NamedTuple):
    name: str
class Entry(Record):
    def __init__(self, name): self.name = say(name)
    def total(self): return self.a - 1
# What seems to.
def passed(*given): return note(train(*given))
def trained(given): return run(train, given)
def computed(given): return f(given)(given)
class Noting:
    def noted(self, given): say(given)
    def change(self): self.noted = train
class Row:
    def __getitem__(self, at): return self.a - self.b
class Made(elsewhere.Base):
    pass
class Column(Row):
    pass
class Asked:
    @property
    def total(self): return self.a - self.b
"""
_LIBRARIES = """
import numpy as onp
from torch import Tensor
from torch.nn import functional as layers
from torch.nn.functional import mse_loss as mse

criterion = elsewhere.load("criterion")
"""
_CALLABLE = """
class Layer:
    def __init__(self): self.layer = build()
    def forward(self, x): ...
"""

QUIET = [
    "def f(self, name): self.name = name",
    "def f(path): return os.path.join(path, 'x') + '.txt'",
    "def f(self, trainer): return self.logger.log(trainer, 'x', sync=True)",
    "@property\ndef f(self): return self._name",
    "def f(*args, **kwargs): return other(*args, **dict(kwargs))",
    "def f(self, mode):\n    if mode == 'train' and self.x is not None:\n        n = len(mode)\n        n += 1",
    "def f(values):\n    for value in values:\n        print(value)",
    "def __init__(self, n): self.n = n",
    "def f(x): return build(elsewhere.load(x))",
    "def f(self): return elsewhere.load(self.device)",
    "def f(self, x: str):\n    return isinstance(x, torch.Tensor) and torch.cuda.is_available()",
    "def f(self):\n    self.layer = nn.Linear(3, self.width)\n    nn.init.zeros_(self.layer.weight)",
    "def f(x):\n    with torch.no_grad():\n        return isinstance(x, (np.ndarray, Tensor))",
    "def f(model, path):\n    torch.save(model, path)\n    return nn.Identity",
    "def f(self): say(self.weight)",
    "def f(): return build(elsewhere.load('x'), 'y')",
    "def f(x, y): return build(elsewhere.load(x), elsewhere.load(y))",
    "def f(self): return self.note(100, self.width)",
    "def f(self): return again(elsewhere.load(self))",
    "def f(): return Record(elsewhere.load()), Entry(100)",
    "def f(a, n: int, m: float): return a - n, a == m, a * (n - m), n // len(a), a * (-n)",
    "def f(self, n: int):\n    total = 0\n    total += n\n    total += len(self)",
    "def f(self): return self.mode == Mode.TRAINING and 'x' + self.name",
]
FOLLOWED = [
    "def f(a, b): return a - b",
    "def f(a, b): return a == b",
    "def f(): return build(elsewhere.load('x'), elsewhere.load('y'))",
    "def f():\n    x, y = elsewhere.load('x')\n    print(elsewhere.rmse(y, x))",
    "def f(a, n): return a - n",
    "def f(a, n: int): return a - n * a",
    "def f(a, n: Size): return a - n",
    "def f(a, n: int): return n + a == a",
    "def f(a): return a - a.T",
    "def f(a): return a - a.XT",
    "def f(self): passed(elsewhere.load(self))",
    "def f(self): trained(elsewhere.load(self))",
    "def f(self): self.noted(elsewhere.load(self))",
    "def f(self): computed(elsewhere.load(self))",
    "def f(self): Row(elsewhere.load(self))",
    "def f(self): Column(elsewhere.load(self))",
    "def f(self): Made(elsewhere.load(self))",
    "def f(self): return Asked(elsewhere.load(self))",
    "def f(self):\n    say = train\n    say(elsewhere.load(self))",
    "def f(self): return self.missing.say(elsewhere.load(self), train(100))",
    "def f(a): return torch.sum(a)",
    "def f(a): return a.T",
    "def f(a):\n    return a.T",
    "def f(a):\n    return torch.sum(a)",
    "def f(a): return a.view(-1)",
    "def f(self, x): return self.layer.forward(x)",
    "def f(self, x): return getattr(self.layer, 'forward')(x)",
    "def f(a, b):\n    a -= b",
    "def f():\n    data = make()\n    train(data)",
    "def f(): train(make())",
    "def f(self): train(self.weight)",
    "def f(self): train(100, 1)",
    "def f(**kwargs): return make(dict(width=1, **kwargs))",
    "def f(self): train(self)",
    "def f(self, x): self.step(elsewhere.load(x))",
    "def f(x): Kept(elsewhere.load(x))",
    "def f(a): return reveal_shape(a)",
    "def f(a):\n    a.width = 3",
    "def f(a):\n    ROWS[0] = a",
    "def f(a): return lambda b: a - b",
    "def f(self, x): return elsewhere.run(self.step, elsewhere.load(x))",
    "def f(x): return elsewhere.run(train, elsewhere.load(x))",
    "def f(x): return elsewhere.fit(x, RNG.rand(5))",
    "def f(n):\n    return torch.Tensor(n, 1)",
    "def f(n):\n    return np.ndarray((n, 1))",
    "def f(x):\n    return nn.functional.relu(x)",
    "def f(x, y):\n    return nn.MSELoss()(x, y.flatten())",
    "def f(x, y):\n    return mse(x, y.flatten())",
    "def f(x):\n    return onp.subtract(x, x.flatten())",
    "def f(x):\n    return layers.relu(x.flatten())",
    "def f():\n    for x, y in LOADER:\n        criterion(x, y.flatten())",
]


# Where nothing of the file can be called but its functions.
QUIET_WITHOUT_OBJECTS = [
    "def f(self, x): return self.layer(elsewhere.load(x))",
    "def f(x): return build(elsewhere.load(x), width=3)",
    "def f(x):\n    model = build()\n    return model(elsewhere.load(x))",
]
FOLLOWED_WITH_OBJECTS = [*QUIET_WITHOUT_OBJECTS[::2], "def f(x): return x()(elsewhere.load(x))"]


def quiet(source: str, around: str) -> bool:
    text = source + "\n" + around
    tree = ast.parse(text)
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    return is_quiet(function, SourceFile("here.py", text, tree, collect(tree, text)))


@pytest.mark.parametrize("source", QUIET)
def test_quiet(source: str) -> None:
    assert quiet(source, _LIBRARIES + _AROUND + _CALLABLE)


@pytest.mark.parametrize("source", FOLLOWED)
def test_followed(source: str) -> None:
    assert not quiet(source, _LIBRARIES + _AROUND)


@pytest.mark.parametrize("source", QUIET_WITHOUT_OBJECTS)
def test_quiet_where_no_object_of_the_file_can_be_called(source: str) -> None:
    assert quiet(source, _AROUND)


@pytest.mark.parametrize("source", FOLLOWED_WITH_OBJECTS)
def test_followed_where_an_object_of_the_file_may_be_called(source: str) -> None:
    assert not quiet(source, _AROUND + _CALLABLE)


def test_what_a_quiet_function_calls_is_followed() -> None:
    source = textwrap.dedent(
        """
        import torch

        def loss(pred, target):
            return ((pred - target) ** 2).mean()

        def make(n):
            return torch.zeros(n, 1), torch.zeros(n)

        def main():
            pred, target = make(9)
            return run(pred, target)

        def run(pred, target):
            return loss(pred, target)
        """
    )
    run = source[source.index("def run") :]
    assert quiet(run, source)
    assert analyse(ast.parse(source), source, shapes=False).hazards


RECORDS = [
    "def f(url='', **kwargs): return {'url': url, 'size': (3, 224, 224), **kwargs}",
    "def f(**kwargs): return dict(kwargs, name=str(3))",
]
MORE_THAN_RECORDS = [
    "def f(name): return make(name)",
    "def f(name): return {'x': elsewhere.load(name)}",
    "def f(name): NAMES.append(name)",
    "def f(name): TABLE[name] = 1",
    "def f(n): return {'x': torch.zeros(n)}",
    "def f(a, b): return {'x': a - b}",
    "def f(name):\n    global COUNT\n    COUNT = name",
    "f = lambda name: {'x': name}",
]


def function_of(source: str) -> tuple[ast.FunctionDef | ast.Lambda, SourceFile]:
    text = source + "\n" + _AROUND
    tree = ast.parse(text)
    first = tree.body[0]
    function = first.value if isinstance(first, ast.Assign) else first
    assert isinstance(function, (ast.FunctionDef, ast.Lambda))
    return function, SourceFile("here.py", text, tree, collect(tree, text))


@pytest.mark.parametrize("source", RECORDS)
def test_records(source: str) -> None:
    assert makes_records(*function_of(source))


@pytest.mark.parametrize("source", MORE_THAN_RECORDS)
def test_more_than_records(source: str) -> None:
    assert not makes_records(*function_of(source))


@pytest.mark.parametrize(
    ("rest", "unread"),
    [
        ("", True),
        ("tables = 1\nmake_table()\n", True),
        ("print(table)\n", False),
        ("__all__ = ['table']\n", False),
    ],
)
def test_a_table_that_the_file_does_not_mention_again(rest: str, unread: bool) -> None:
    text = "table = {\n'a': make(1),\n'b': make(2),\n'c': make(3),\n}\n" + rest
    assert is_unread(ast.parse(text).body[0], text) is unread


def test_a_short_statement_is_not_looked_up() -> None:
    assert not is_unread(ast.parse("table = make(1)").body[0], "table = make(1)")


@pytest.mark.parametrize(
    "row",
    [
        "torch.zeros(9, 1) - torch.zeros(9)",
        "gap(9)",
        "passed(torch.zeros(9, 1), torch.zeros(9))",
        "kept(gap)",
    ],
)
def test_what_a_table_that_nobody_reads_is_made_of_is_looked_at(row: str) -> None:
    source = textwrap.dedent(
        f"""
        import torch

        def gap(n):
            return torch.zeros(n, 1) - torch.zeros(n)

        def passed(a, b):
            return difference(a, b)

        def difference(a, b):
            return a - b

        def kept(make):
            return {{"first": make(9)}}

        def record(name, **more):
            return {{"name": name, **more}}

        table = {{
            "a": record("a", size=3),
            "b": record("b", size=4),
            "c": {row},
            "d": record("d", mean=(0.5, 0.5)),
        }}
        """
    )
    assert analyse(ast.parse(source), source, shapes=False).hazards


def test_a_record_is_followed_where_its_table_is_read() -> None:
    source = textwrap.dedent(
        """
        import torch

        def record(name, **more):
            return {"name": name, **more}

        table = {
            "a": record("a", size=3),
            "b": record("b", size=4),
            "c": record("c", size=5),
        }
        x = torch.zeros(table["b"]["size"], 1) - torch.zeros(4)
        """
    )
    assert analyse(ast.parse(source), source, shapes=False).hazards
    assert analyse(ast.parse(source), source, shapes=True).hazards
