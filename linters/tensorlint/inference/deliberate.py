"""What says in so many words that a row is meant to meet a column."""

from __future__ import annotations

import ast

from tensorlint.inference.kept import kept_with
from tensorlint.inference.state import State
from tensorlint.inference.values import Instance, LibraryObject, Tensor, Value
from tensorlint.inference.walking import walk

# What gives the same numbers with axes added, dropped or moved, in another order or in another type.
_SAME_NUMBERS = frozenset([
    "reshape", "view", "view_as", "squeeze", "unsqueeze", "flatten", "ravel", "expand_dims", "atleast_2d",
    "transpose", "t", "contiguous", "clone", "copy", "detach", "astype", "to", "float", "double", "long", "int",
    "cpu", "numpy", "asarray", "as_tensor", "from_numpy", "expand", "expand_as", "broadcast_to", "sort", "unique",
])  # fmt: skip
_LIBRARIES = frozenset({"np", "numpy", "torch"})
_PREDICTS = frozenset({"predict", "dot", "matmul"})
_MOST_STEPS = 3
_MOST_NAMES = 4
_LITERAL = frozenset({"array", "asarray", "tensor"})


def of_itself(left: tuple[ast.AST | None, ast.AST | None], right: tuple[ast.AST | None, ast.AST | None]) -> bool:
    """Whether the operands are the same numbers, once as a row and once as a column: a table of pairs, as in
    `x.reshape(-1, 1) ** 2 + x**2`. Each operand is given as its expression and the expression that made it."""
    origins = {_origin(_bare(node)) for node in left}, {_origin(_bare(node)) for node in right}
    return bool((origins[0] & origins[1]) - {None})


def _bare(node: ast.AST | None) -> ast.AST | None:
    """What the expression computes with numbers: `x` of `-2 * x**2`."""
    while True:
        match node:
            case ast.BinOp(left=base, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=base):
                node = base
            case ast.UnaryOp(operand=base):
                node = base
            case _:
                return node


def of_one_matrix(left: ast.AST | None, right: ast.AST | None) -> bool:
    """Whether a column and a row are cut out of one matrix: `a[k + 1 :, [k]] * a[k, k + 1 :]`, as an elimination does."""
    if not isinstance(left, ast.Subscript) or not isinstance(right, ast.Subscript):
        return False
    if not isinstance(left.value, (ast.Name, ast.Attribute)) or ast.dump(left.value) != ast.dump(right.value):
        return False
    # Of the first axis the one has several and the other one, where two columns of a table have all of both.
    return _takes_one(left.slice) != _takes_one(right.slice)


def _takes_one(index: ast.expr) -> bool:
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    return not isinstance(first, (ast.Slice, ast.List))


def is_kept_again(left: ast.AST | None, right: ast.AST | None) -> bool:
    """Whether both are one reduction, once with its axis: `x.norm(dim=1, keepdim=True)` and `x.norm(dim=1)`, of which a
    table of pairs is made."""
    if not isinstance(left, ast.Call) or not isinstance(right, ast.Call):
        return False
    return _without_keeping(left) == _without_keeping(right)


def is_predicted(interp: State, tensor: Tensor, depth: int = 0) -> bool:
    """Whether a model or a matrix product of the function that is followed computed it, perhaps in steps:
    `base + rate * tree.predict(X)`."""
    if tensor.made is None or depth > _MOST_STEPS or not interp.is_shaped_by_callee(tensor):
        return False
    for each in walk(tensor.made):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.MatMult):
            return True
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _PREDICTS:
            return True
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            held = interp.peek(each)
            if isinstance(held, Tensor) and held is not tensor and is_predicted(interp, held, depth + 1):
                return True
    return False


def is_prediction(scope: ast.AST, node: ast.AST | None) -> bool:
    """Whether a model's method computed it, as `self.predict(X)` or a name that the function gives to that alone says."""
    if isinstance(node, ast.Name):
        given = [
            each
            for each in walk(scope)
            if isinstance(each, ast.Name) and each.id == node.id and isinstance(each.ctx, ast.Store)
        ]
        values = [each.value for each in walk(scope) if isinstance(each, ast.Assign) and each.targets == given]
        node = values[0] if len(values) == 1 == len(given) else None
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "predict"


def is_output(interp: State, node: ast.AST | None, names: frozenset[str] = frozenset()) -> bool:
    """Whether a layer or network that is called in the function gave it, perhaps in steps: `out = net(x)`, `p = out.squeeze()`."""
    for each in walk(node) if node is not None else ():
        if isinstance(each, ast.Call):
            called = each.func
            if isinstance(called, ast.Attribute) and called.attr == "forward":
                called = called.value
            if is_network(interp.peek(called)):
                return True
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id not in names:
            seen = names | {each.id}
            if len(seen) <= _MOST_NAMES and any(
                is_output(interp, value, seen) for value in _given_to(interp.frame.node, each.id)
            ):
                return True
    return False


def is_network(value: Value | None) -> bool:
    return isinstance(value, LibraryObject) or (isinstance(value, Instance) and value.cls.is_module)


def _given_to(scope: ast.AST, name: str) -> list[ast.expr]:
    """What the statements of the function assign to the name."""
    return kept_with(scope, "given to names", lambda: _given_in(scope)).get(name, [])


def _given_in(scope: ast.AST) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for each in walk(scope):
        if isinstance(each, ast.Assign):
            parts = (part for target in each.targets for part in _parts(target))
            for name in {part.id for part in parts if isinstance(part, ast.Name)}:
                found.setdefault(name, []).append(each.value)
    return found


def _parts(target: ast.expr) -> list[ast.expr]:
    return [target] if not isinstance(target, (ast.Tuple, ast.List)) else target.elts


_OF_GRAPHS = frozenset({"to_numpy_array", "floyd_warshall_numpy"})


def adds_its_transpose(node: ast.AST | None) -> bool:
    """Whether the expression makes a symmetric matrix, whose rows and columns have the same sums: `A + A.T`, or the larger
    of the two; of a graph, which may have no directions, one is made by networkx."""
    while isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add):
            sides = [_origin(node.left), _origin(node.right)]
            return sides[0] is not None and sides[0] == sides[1]
        node = node.left if isinstance(node.right, ast.Constant) else node.right
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) in _OF_GRAPHS:
        return True
    if isinstance(node, ast.Call) and len(node.args) == 2 and isinstance(node.func, ast.Attribute):
        sides = [_origin(each) for each in node.args]
        return node.func.attr in ("maximum", "max", "add") and sides[0] is not None and sides[0] == sides[1]
    return False


def _without_keeping(node: ast.Call) -> list[str]:
    keywords = [each for each in node.keywords if each.arg not in ("keepdim", "keepdims")]
    return [ast.dump(each) for each in (node.func, *node.args, *keywords)]


def repeats(node: ast.AST, left: ast.expr | None, right: ast.expr | None) -> bool:
    """Whether an operand is written in the expression to repeat the other one: `np.ones((n, 1)) * row`,
    `np.zeros((n, 1)) + row`, or a column of numbers times a row."""
    if not isinstance(node, ast.BinOp):
        return False
    for operand in (left, right):
        if not isinstance(operand, ast.Call) or not operand.args:
            continue
        name = operand.func.attr if isinstance(operand.func, ast.Attribute) else ""
        if isinstance(node.op, ast.Mult) and (
            name == "ones" or (name in _LITERAL and isinstance(operand.args[0], (ast.List, ast.Tuple)))
        ):
            return True
        if isinstance(node.op, ast.Add) and name == "zeros":
            return True
    return False


def is_display(node: ast.AST | None) -> bool:
    """`np.array([[3], [11]])`: an array whose numbers are written out."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return False
    return node.func.attr in _LITERAL and isinstance(node.args[0], (ast.List, ast.Tuple))


def _origin(node: ast.AST | None) -> str | None:
    """The name or the part of a name whose numbers the expression gives, None where it makes new ones."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=library), attr=name), args=[first, *_]) if (
                library in _LIBRARIES
            ):
                node = first if name in _SAME_NUMBERS else None
            case ast.Call(func=ast.Attribute(value=receiver, attr=name)):
                node = receiver if name in _SAME_NUMBERS else None
            case ast.Attribute(value=receiver, attr="T" | "mT" | "data"):
                node = receiver
            case ast.Subscript(value=receiver, slice=index):
                chosen = _chosen(index)
                if chosen:
                    base = _origin(receiver)
                    return None if base is None else f"{base}[{', '.join(chosen)}]"
                node = receiver
            case ast.Name() | ast.Attribute():
                return ast.dump(node)
            case _:
                return None


def _chosen(index: ast.expr) -> list[str]:
    """What an index chooses of each axis, whether or not the axis is kept: `0`, `[0]` and `0:1` choose the same."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    chosen = [_of_axis(item) for item in items if not (isinstance(item, ast.Constant) and item.value is None)]
    while chosen and chosen[-1] == ":":
        chosen.pop()
    return chosen


def _of_axis(item: ast.expr) -> str:
    if isinstance(item, ast.Slice) and item.lower is item.upper is item.step is None:
        return ":"
    match item:
        case ast.List(elts=[only]):
            return ast.dump(only)
        case ast.Slice(
            lower=ast.Constant(value=int() as first), upper=ast.Constant(value=int() as last), step=None
        ) if last == first + 1:
            return ast.dump(ast.Constant(first))
        case ast.Slice(lower=ast.expr() as lower, upper=ast.BinOp(left=base, op=ast.Add(), right=ast.Constant(value=1)), step=None) if (
            ast.dump(lower) == ast.dump(base)
        ):  # fmt: skip
            return ast.dump(lower)
    return ast.dump(item)
