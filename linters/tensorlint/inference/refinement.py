"""What a test tells: `assert x.shape == (n, m)`, `if x.ndim == 2`, `isinstance(x, torch.Tensor)`, annotations.

Refinement binds the name to a value that knows more; other names of the same object keep what they knew.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import aliases
from tensorlint.inference import sizes as S
from tensorlint.inference.changes import CHANGES
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    MAY_BE_NONE,
    SCALAR,
    UNKNOWN,
    Library,
    Number,
    Opaque,
    Sequence,
    Tensor,
    Value,
    copy,
    integer,
    is_none,
    size_of,
)
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.state import State


def with_rank(interpreter: State, value: Value, sizes: list[Size]) -> Tensor | None:
    """`value` as a tensor of that many axes. Sizes that were asked for before keep their identity."""
    if isinstance(value, Tensor):
        if value.shape is not None:
            return value if len(value.shape) == len(sizes) else None
        axes = value.axes or {}
    elif isinstance(value, Opaque):
        axes = value.axes or {}
    else:
        return None
    rank = len(sizes)
    if rank == 2 and interpreter.has_matrices and (isinstance(value, Opaque) or value.framework is None):
        return None  # a matrix or a table, it may be: `x[0]`, `x.sum(0)` and `x * y` are others than an array's
    shape = list(sizes)
    for axis, size in axes.items():
        if -rank <= axis < rank:
            shape[axis] = size
    # That it is torch's may be learnt further down.
    kin = value.kin if value.kin is not None and value.kin[1:] == (0, 0) else None
    if isinstance(value, Tensor):
        return copy(value, shape=tuple(shape), strides=None, kin=None if value.framework else kin)
    return Tensor(None, tuple(shape), None, marks=frozenset({"parameter"}), kin=kin)


def asks_torch(node: ast.expr | None) -> bool:
    """Whether it is `x.size()`: an array's `size` is a number, and `shape` everyone's."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size"


def shape_receiver(node: ast.expr) -> ast.expr | None:
    """x of `x.shape`, `x.size()`, `np.shape(x)`, `tuple(x.shape)`."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return node.value
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args and not node.keywords:
            return node.func.value
        if len(node.args) == 1 and not node.keywords:
            if isinstance(node.func, ast.Attribute) and node.func.attr == "shape":
                return node.args[0]
            if isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list"):
                return shape_receiver(node.args[0])
    return None


def take_for_scalar(interpreter: State, value: Value) -> None:
    """The value was given to a function that takes numbers: an object that nobody knows is one of these, then."""
    frame = interpreter.frame
    if isinstance(value, Opaque) and value.kind is None and not value.parts and not value.axes:
        if not (interpreter.conditional or frame.loops or frame.returns) and id(value) not in interpreter.reshaped:
            if interpreter.is_passed(value):
                value.kind = SCALAR


def take_for_number(interpreter: State, value: Value) -> None:
    """The value was given to a layer that takes numbers: the object is one from here on, and as a size another in each layer."""
    frame = interpreter.frame
    if isinstance(value, Opaque) and value.kind is None and not value.parts and not value.axes:
        for each in value.of or ():
            take_for_number(interpreter, each)
        if not (interpreter.conditional or frame.loops or frame.returns) and id(value) not in interpreter.reshaped:
            if interpreter.is_passed(value):
                value.number = True


def take_for_numbers(interpreter: State, test: ast.expr, truth: bool) -> None:
    """`assert dim % heads == 0` where an object is made: of tensors with axes nobody could say whether that is so, and a text
    is never 0. (A tensor of one element may have axes; it is what something is computed of, and no setting.)"""
    if getattr(interpreter.frame.node, "name", "") != "__init__":
        return
    if isinstance(test, ast.Compare):
        zero = test.comparators[0]
        if len(test.ops) > 1 or not (isinstance(zero, ast.Constant) and type(zero.value) is int):
            return
        if not isinstance(test.ops[0], ast.Eq if truth else ast.NotEq):
            return
        test = test.left
    elif truth:
        return
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        for part in (test.left, test.right):
            if isinstance(part, ast.Name) or (isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)):
                take_for_number(interpreter, interpreter.eval(part))


def rebind(interpreter: State, target: ast.expr | None, old: Value, new: Value) -> None:
    """The name now holds a value that knows more about the same object."""
    frame = interpreter.frame
    aliases.tie(new, old)
    if (
        isinstance(old, Tensor)
        and isinstance(new, Tensor)
        and not (interpreter.conditional or frame.loops or frame.returns)
        and id(old) not in interpreter.reshaped
        and interpreter.is_passed(old)
    ):
        # Every way through the function comes by here: what was bound to the object before had this shape too.
        interpreter.refined[id(old)] = (old, new)
    if isinstance(target, ast.Name) and interpreter.frame.env.get(target.id) is old:
        interpreter.frame.env[target.id] = new
    elif isinstance(target, ast.Subscript) and isinstance(old, Opaque):
        container = interpreter.eval(target.value)
        if isinstance(container, Opaque) and container.fields and not interpreter.conditional:
            for key, value in container.fields.items():
                if value is old:
                    container.fields[key] = new
                    interpreter.mutations.append((container, key))  # type: ignore[arg-type]
                    break


# Tests that tell something by how they come out.
_TOLD_BY = frozenset({ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call})


def assume(interpreter: State, test: ast.expr, truth: bool) -> None:
    """Take `test` to have come out as `truth` from here on."""
    kind = type(test)
    if kind is ast.Name or kind is ast.Attribute or kind not in _TOLD_BY:
        return
    if type(test) is ast.UnaryOp:
        if type(test.op) is ast.Not:
            assume(interpreter, test.operand, not truth)
    elif type(test) is ast.BoolOp:
        if isinstance(test.op, ast.And) is truth:
            for index, part in enumerate(test.values):
                if not any(_may_change(interpreter, later) for later in test.values[index + 1 :]):
                    assume(interpreter, part, truth)
    elif type(test) is ast.Compare:
        if len(test.ops) == 1:
            _assume_comparison(interpreter, test, truth)
    elif isinstance(test, ast.Call):
        (_assume_call if truth else _assume_other)(interpreter, test)


def equality(interpreter: State, test: ast.expr) -> tuple[bool, dict[S.Symbol, Size]] | None:
    """What is equal where a test of two sizes comes out as this: `n == 1`, `n != 1`."""
    if type(test) is not ast.Compare or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        return None
    assert isinstance(test, ast.Compare)
    left, right = test.left, test.comparators[0]
    if isinstance(left, ast.Constant):
        left, right = right, left
    if not (
        isinstance(left, (ast.Name, ast.Attribute)) and isinstance(right, ast.Constant) and type(right.value) is int
    ):
        return None
    value = interpreter.eval(left)
    atom = S.single(value.size) if isinstance(value, (Number, Opaque)) else None
    return None if atom is None or atom.variant else (isinstance(test.ops[0], ast.Eq), {atom: right.value})


def _may_change(interpreter: State, test: ast.expr) -> bool:
    """Whether evaluating the test may bind a name, or change an object, that the test asked for something before."""
    if isinstance(test, (ast.Name, ast.Constant, ast.Attribute)):
        return False
    key = "may change", test
    if key not in interpreter.memory:
        interpreter.memory[key] = _changes(interpreter, test)
    return bool(interpreter.memory[key])


def _changes(interpreter: State, test: ast.expr) -> bool:
    for node in walk(test):
        if isinstance(node, ast.NamedExpr):
            return True
        if isinstance(node, ast.Call):
            func = node.func
            name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
            if name in CHANGES or name in ("next", "setattr") or name.endswith("_"):
                return True
            if name not in _ASKS and interpreter.reshapes(interpreter.own_file):
                return True
    return False


# Calls that change nothing.
_ASKS = frozenset(
    [
        "size", "dim", "ndimension", "len", "isinstance", "is_tensor", "tuple", "list", "int", "numel", "hasattr", "shape", "Size",
        "all", "any", "item", "is_contiguous", "is_floating_point", "is_complex", "sum", "max", "min", "range", "type",
    ]
)  # fmt: skip


def _assume_comparison(interpreter: State, test: ast.Compare, truth: bool) -> None:
    operator = type(test.ops[0])
    if operator is ast.Is or operator is ast.IsNot:
        _assume_none(interpreter, test, truth is (operator is ast.Is))
        return
    if operator is not (ast.Eq if truth else ast.NotEq):
        return
    if _may_change(interpreter, test):
        return
    for left, right in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        if isinstance(right, ast.Constant) and right.value == 1:
            _learn_one(interpreter, left)
        receiver = shape_receiver(left)
        if receiver is not None:
            given = interpreter.eval(right)
            if isinstance(given, Sequence) and given.items is not None:
                _learn_shape(interpreter, receiver, given.items)
                return
        receiver = _rank_receiver(left)
        if receiver is not None:
            rank = integer(interpreter.eval(right))
            if rank is not None and 0 <= rank <= 8:
                _learn_rank(interpreter, receiver, rank)
            return
        axis = _axis_receiver(interpreter, left)
        if axis is not None:
            size = size_of(interpreter.eval(right))
            if isinstance(size, int):
                _learn_axis(interpreter, axis[0], axis[1], size)
            return


def _assume_none(interpreter: State, test: ast.Compare, truth: bool) -> None:
    """`x is None` of what an annotation, or its line, says to be a tensor: it is one where the test says so."""
    target, other = test.left, test.comparators[0]
    if not (type(target) is ast.Name and type(other) is ast.Constant and other.value is None):
        return
    env = interpreter.frame.env
    value = env.get(target.id)
    if isinstance(value, Tensor) and value.marks & MAY_BE_NONE and ("optional" in value.marks) is not truth:
        marks = value.marks | {"optional"} if truth else value.marks - {"optional"}
        env[target.id] = copy(value, marks=marks, axes=value.axes, kin=value.kin)


def note_there(interpreter: State, test: ast.expr, truth: bool) -> None:
    """Take for the branch that is followed what its test says not to be None: `width is not None and ...`."""
    kind = type(test)
    if kind is ast.UnaryOp and type(test.op) is ast.Not:  # type: ignore[attr-defined]
        note_there(interpreter, test.operand, not truth)  # type: ignore[attr-defined]
    elif kind is ast.BoolOp:
        if isinstance(test.op, ast.And) is truth:  # type: ignore[attr-defined]
            for part in test.values:  # type: ignore[attr-defined]
                note_there(interpreter, part, truth)
    else:
        target: ast.expr = test
        if isinstance(test, ast.Compare):
            other = test.comparators[0]
            if len(test.ops) > 1 or not (isinstance(other, ast.Constant) and other.value is None):
                return
            if not isinstance(test.ops[0], ast.Is if not truth else ast.IsNot):
                return
            target = test.left
        elif not truth:
            return
        if isinstance(target, ast.Name) or (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
            value = interpreter.eval(target)
            if isinstance(value, Opaque) and value.optional:
                interpreter.frame.there |= {value}


def _learn_one(interpreter: State, node: ast.expr) -> None:
    """What this function does from here on it does with one item: `if len(rows) == 1:`."""
    value = interpreter.eval(node)
    if isinstance(value, (Number, Opaque)):
        atom = S.single(value.size)
        if atom is not None:
            interpreter.frame.ones |= {atom}


def _rank_receiver(node: ast.expr) -> ast.expr | None:
    """x of `x.ndim`, `x.dim()`, `len(x.shape)`, `len(x.size())`."""
    if isinstance(node, ast.Attribute) and node.attr == "ndim":
        return node.value
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("dim", "ndimension") and not node.args:
            return node.func.value
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            return shape_receiver(node.args[0])
    return None


def _axis_receiver(interpreter: State, node: ast.expr) -> tuple[ast.expr, int] | None:
    """(x, axis) of `x.shape[axis]`, `x.size(axis)`."""
    if isinstance(node, ast.Subscript):
        receiver = shape_receiver(node.value)
        axis = integer(interpreter.eval(node.slice)) if receiver is not None else None
        return None if receiver is None or axis is None else (receiver, axis)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        if len(node.args) == 1 and not node.keywords:
            axis = integer(interpreter.eval(node.args[0]))
            return None if axis is None else (node.func.value, axis)
    return None


def _learn_shape(interpreter: State, target: ast.expr, items: list[Value]) -> None:
    old = interpreter.eval(target)
    sizes: list[Size] = []
    for item in items:
        size = size_of(item) if not is_none(item) else None
        sizes.append(S.symbol() if size is None else size)
    if isinstance(old, Tensor) and old.shape is not None:
        if len(old.shape) != len(sizes):
            return
        shape = tuple(
            new if isinstance(new, int) or S.is_named(new) else known
            for known, new in zip(old.shape, sizes, strict=True)
        )
        values = _solved(old.shape, sizes)
        if values is not None:
            shape = tuple(S.substitute(size, values) for size in old.shape)
            strides = None if old.strides is None else tuple(S.substitute(size, values) for size in old.strides)
            rebind(interpreter, target, old, copy(old, shape=shape, strides=strides))
        elif not old.strides:
            rebind(interpreter, target, old, copy(old, shape=shape))
        return
    known = with_rank(interpreter, old, sizes)
    if known is not None:
        known.shape = tuple(sizes)
        rebind(interpreter, target, old, known)


def _solved(shape: tuple[Size, ...], sizes: list[Size]) -> dict[S.Symbol, Size] | None:
    """Sizes that are single symbols, given the values the test states; None if an axis is anything else."""
    values: dict[S.Symbol, Size] = {}
    for old, new in zip(shape, sizes, strict=True):
        if old == new:
            continue
        if isinstance(old, int) or len(old.terms) != 1 or old.terms[0][1] != 1 or len(old.terms[0][0]) != 1:
            return None
        atom = old.terms[0][0][0]
        if values.setdefault(atom, new) != new:
            return None
    return values


def _learn_rank(interpreter: State, target: ast.expr, rank: int) -> None:
    old = interpreter.eval(target)
    if isinstance(old, Tensor) and old.shape is not None:
        return
    known = with_rank(interpreter, old, [S.symbol() for _ in range(rank)])
    if known is not None:
        rebind(interpreter, target, old, known)


def _learn_axis(interpreter: State, target: ast.expr, axis: int, size: int) -> None:
    old = interpreter.eval(target)
    if isinstance(old, Tensor) and old.shape is not None and -len(old.shape) <= axis < len(old.shape):
        known = old.shape[axis]
        if (
            isinstance(known, S.Poly)
            and len(known.terms) == 1
            and len(known.terms[0][0]) == 1
            and known.terms[0][1] == 1
        ):
            values: dict[S.Symbol, Size] = {known.terms[0][0][0]: size}
            strides = None if old.strides is None else tuple(S.substitute(each, values) for each in old.strides)
            shape = tuple(S.substitute(each, values) for each in old.shape)
            rebind(interpreter, target, old, copy(old, shape=shape, strides=strides))


def _assume_other(interpreter: State, test: ast.Call) -> None:
    """`isinstance(x, torch.Tensor)` came out false: the annotation that made x a tensor did not say all."""
    function = interpreter.eval(test.func)
    if not (
        isinstance(function, Library) and function.path in ("torch.is_tensor", "builtins.isinstance") and test.args
    ):
        return
    if function.path == "builtins.isinstance":
        kind = interpreter.eval(test.args[1]) if len(test.args) == 2 else None
        if not (isinstance(kind, Library) and kind.path in ("torch.Tensor", "numpy.ndarray")):
            return
        framework = kind.path.partition(".")[0]
    else:
        framework = "torch"
    target = test.args[0]
    old = interpreter.frame.env.get(target.id) if isinstance(target, ast.Name) else None
    if isinstance(old, Tensor) and old.framework == framework and isinstance(target, ast.Name):
        interpreter.frame.env[target.id] = Opaque(None)


def _assume_call(interpreter: State, test: ast.Call) -> None:
    """`isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`."""
    if not test.args:
        return
    function = interpreter.eval(test.func)
    if not isinstance(function, Library):
        return
    framework: str | None = None
    if function.path == "torch.is_tensor":
        framework = "torch"
    elif function.path == "builtins.isinstance" and len(test.args) == 2:
        kind = interpreter.eval(test.args[1])
        if isinstance(kind, Library):
            framework = {"torch.Tensor": "torch", "numpy.ndarray": "numpy"}.get(kind.path)
    if framework is None:
        return
    old = interpreter.eval(test.args[0])
    if isinstance(old, Opaque):
        rebind(interpreter, test.args[0], old, Tensor(framework, axes=old.axes, marks=frozenset({"parameter"})))  # type: ignore[arg-type]
    elif isinstance(old, Tensor) and old.framework is None:
        rebind(interpreter, test.args[0], old, copy(old, framework=framework))


def meet(value: Value, declared: Value) -> Value:
    """The value, knowing also what an annotation declares."""
    if value is UNKNOWN or isinstance(value, Opaque):
        return declared
    if isinstance(value, Tensor) and isinstance(declared, Tensor) and value.shape is None:
        return declared if value.framework in (None, declared.framework) else value
    return value
