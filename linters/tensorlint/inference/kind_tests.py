"""Tests of what kind of object a name holds: `type(x).__name__ == "DataFrame"`, `is_frame(x)`, `hasattr(x, "iloc")`.

A function that takes arrays and tables alike asks, and only then does to a table what does nothing to an array. Where nobody
can tell how such a test comes out, nothing is known of the object in the branch that is meant for other kinds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorlint.inference import ops
from tensorlint.inference.kept import kept_with, lines_of
from tensorlint.inference.values import Library, Opaque, Tensor, Value
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.frames import Environment, SourceFile
    from tensorlint.inference.state import State

# (name that is asked, what it is asked for, whether the test is true of that)
_Asked = tuple[str, str, bool]
_ASKS = ("isinstance", "issubclass", "hasattr", "callable")
# `is_frame`, `issparse`, `_is_list_like`
_PREDICATE = re.compile(
    r"_*(?:is|has)_?\w*?(frame|(?<!s)table|series|pandas|polars|sparse|spmatrix|csr|coo|list|tuple|dict|mapping|sequence|iterable|iterator"
    r"|generator|scalar|number|numeric|integer|float|str|text|categor|object|instance|type|array|tensor|numpy|torch|jax|cupy|tf"
    r"|matrix|image|pil|distribution|dataset|nested|quantity)\w*",
    re.IGNORECASE,
)
_OF_TORCH = re.compile(r"torch|tensor|variable|parameter|array_?like", re.IGNORECASE)
_OF_NUMPY = re.compile(r"numpy|array|\bnp\b", re.IGNORECASE)
# `SparseTensor`, `jax.Array`
_OF_NEITHER = re.compile(
    r"sparse|nested|ragged|masked|quanti|jax|jnp|\btf\b|tf_|tensorflow|dtensor|cupy|packed|\bda\b|dask|xarray|pa\.|arrow",
    re.IGNORECASE,
)
_KEPT = "tensorlint_asks_for_kinds"
# One of these, or a predicate, is in the text of any test that asks.
_ASKING = (
    "isinstance(",
    "issubclass(",
    "hasattr(",
    "callable(",
    "type(",
    "dir(",
    "vars(",
    "getattr(",
    "__class__",
    "__module__",
)
_NO_TYPES = frozenset({"__class__", "__module__"})
# What tensors and arrays have beside what the tables know.
OF_ALL = frozenset(["shape", "ndim", "dtype", "size", "data", "__len__", "__getitem__", "__array__", "__iter__"])
# Under a name that no program has, an object of which nothing is known for the time: what is done to all in sight is done to it.
_ASIDE = "?{}"


def asks(test: ast.expr, file: SourceFile) -> bool:
    """Whether the test asks for the kind of what a name holds."""
    kind = type(test)
    if kind is ast.Name or kind is ast.Attribute or kind is ast.Constant:
        return False
    known = test.__dict__.get(_KEPT)
    if known is None:
        known = test.__dict__[_KEPT] = _asks(test, file)
    return bool(known)


def _asks(test: ast.expr, file: SourceFile) -> bool:
    text = "\n".join(lines_of(file.tree, file.text)[test.lineno - 1 : test.end_lineno])
    if "(" not in text and "__" not in text:  # as in half of all tests
        return False
    if not any(map(text.__contains__, _ASKING)):
        lowered = text.lower()
        if not ("is" in lowered or "has" in lowered) or _PREDICATE.search(text) is None:
            return False
    return any(asked != "None" for part in _parts_of(test) for _, asked, _ in _asked_by(part))


def _parts_of(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts_of(test.operand)
    elif isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _parts_of(part)
    else:
        yield test


def _asked_by(part: ast.expr) -> tuple[_Asked, ...]:
    return kept_with(part, "kinds asked", lambda: tuple(_asked(part)))


def _asked(part: ast.expr) -> Iterator[_Asked]:
    if isinstance(part, ast.Compare) and len(part.ops) == 1:
        operator, right = part.ops[0], part.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            if isinstance(part.left, ast.Name):
                yield part.left.id, "None", isinstance(operator, (ast.Is, ast.Eq))
            else:
                yield from _asked_by_types(part, isinstance(operator, (ast.IsNot, ast.NotEq)))
        else:
            yield from _asked_by_types(part, not isinstance(operator, (ast.IsNot, ast.NotEq, ast.NotIn)))
    elif isinstance(part, ast.Call):
        name = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
        first = part.args[0] if part.args else None
        if not (isinstance(first, ast.Name) and (name in _ASKS or _PREDICATE.fullmatch(name))):
            if part.args or isinstance(part.func, ast.Attribute):
                yield from _asked_by_types(part, True)
        elif name == "hasattr" and len(part.args) == 2 and (attribute := _text(part.args[1])):
            yield first.id, f".{attribute}", True
        elif not any(_is_type_of_another(each) for argument in part.args[1:] for each in walk(argument)):
            yield first.id, " ".join([name, *map(ast.unparse, part.args[1:])]), True


def _is_type_of_another(node: ast.AST) -> bool:
    """`type(y)`, `y.__class__`: which kind that is, its name does not say."""
    return (isinstance(node, ast.Attribute) and node.attr == "__class__") or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
    )


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _without(name: str, test: ast.expr) -> str:
    """The test's text but for the name, which may be any: `tensor`, `array`."""
    return re.sub(rf"\b{name}\b", "", ast.unparse(test))


def _asked_by_types(test: ast.expr, truth: bool) -> Iterator[_Asked]:
    """`type(x)`, `x.__class__`, `dir(x)` and `getattr(x, "columns", None)` anywhere in the test."""
    nodes = [*walk(test)]
    if sum(map(_is_type_of_another, nodes)) > 1:
        return
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in _NO_TYPES and isinstance(node.value, ast.Name):
            yield node.value.id, _without(node.value.id, test), truth
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            first = node.args[0]
            if not isinstance(first, ast.Name):
                continue
            if node.func.id in ("type", "dir", "vars") and len(node.args) == 1:
                yield first.id, _without(first.id, test), truth
            elif node.func.id == "getattr" and len(node.args) == 3 and (attribute := _text(node.args[1])):
                yield first.id, f".{attribute}", truth


def _is_of_others(value: Tensor, asked: str) -> bool:
    """Whether what is asked for is something else than the tensor or array."""
    if asked.startswith("."):
        name = asked[1:]
        known = name in OF_ALL or (
            value.framework is None
            or ops.method(value.framework, name) is not None
            or ops.attribute(value.framework, name) is not None
        )
        return not known
    if _OF_NEITHER.search(asked):
        return True
    if value.framework is None:
        return not (_OF_TORCH.search(asked) or _OF_NUMPY.search(asked))
    return not (_OF_NUMPY if value.framework == "numpy" else _OF_TORCH).search(asked)


def doubted(interpreter: State, test: ast.expr, truth: bool) -> set[str]:
    """The names of tensors and arrays of which nothing is known where the test, which nobody can decide, came out so."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return doubted(interpreter, test.operand, not truth)
    if isinstance(test, ast.BoolOp):
        parts = [doubted(interpreter, part, truth) for part in test.values]
        # Either all have come out so, or one of them, nobody knows which.
        return set.union(*parts) if isinstance(test.op, ast.And) is truth else set.intersection(*parts)
    found: set[str] = set()
    for name, asked, when in _asked_by(test):
        value = interpreter.frame.env.get(name)
        if isinstance(value, Tensor) and _is_of_others(value, asked) is (when is truth):
            if not _asks_values(interpreter, test):
                found.add(name)
    return found


def _asks_values(interpreter: State, test: ast.expr) -> bool:
    """`torch.is_floating_point(x)`, `np.iscomplexobj(x)`: of whatever the tensor or array holds."""
    if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute)):
        return False
    function = interpreter.eval(test.func)
    return (
        isinstance(function, Library)
        and function.path.partition(".")[0] in ("torch", "numpy")
        and function.path not in ("torch.is_tensor", "numpy.isscalar")
    )


def is_for_others(pattern: ast.pattern, value: Value) -> bool:
    """Whether `case DataFrame():`, `case [a, b]:` or `case None:` is nothing that the tensor or array can be."""
    if not isinstance(value, Tensor):
        return False
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is not None and is_for_others(pattern.pattern, value)
    if isinstance(pattern, ast.MatchOr):
        return all(is_for_others(each, value) for each in pattern.patterns)
    return not isinstance(pattern, ast.MatchClass) or _is_of_others(value, ast.unparse(pattern.cls))


def put_aside(interpreter: State, test: ast.expr, truth: bool) -> dict[str, tuple[Value, Value]]:
    """From here on nothing is known of what names hold that are of another kind where the test came out so. Each name with
    what it held, and what it holds instead."""
    environment = interpreter.frame.env
    return {name: put_one_aside(environment, name) for name in doubted(interpreter, test, truth)}


def put_one_aside(environment: Environment, name: str) -> tuple[Value, Value]:
    value = environment[_ASIDE.format(name)] = environment[name]
    # What is done to it is done to the tensor, should it be one after all.
    instead = environment[name] = Opaque(None, parts=(value,))
    return value, instead


def take_back(environment: Environment, aside: dict[str, tuple[Value, Value]]) -> None:
    """The branch is over: what it has not bound anew is known again."""
    for name, (value, instead) in aside.items():
        environment.pop(_ASIDE.format(name), None)
        if environment.get(name) is instead:
            environment[name] = value


def put_aside_for(interpreter: State, truth: bool, tests: list[ast.expr]) -> dict[str, tuple[Value, Value]]:
    """Likewise, where several tests came out so."""
    aside: dict[str, tuple[Value, Value]] = {}
    for test in tests:
        if asks(test, interpreter.file):
            aside |= put_aside(interpreter, test, truth)
    return aside
