"""Functions that no finding can come from: they compute nothing with tensors, and hand nothing on that they have made.

They read options, write logs, keep names: 2,500 of the 8,600 functions of timm and lightning. Where only findings are asked
for, they are not followed for their own sake. (Where they are called, with something that is known, they are.)
"""

from __future__ import annotations

import ast
from typing import Any

from tensorlint.inference.names import INITIALISERS
from tensorlint.inference.walking import root_name, walk

# Attributes and methods that a finding may be about.
_TOLD_OF = frozenset(
    ["T", "mT", "H", "mH", "t", "transpose", "permute", "view", "view_as", "reshape", "forward", "sub", "add", "mul", "div", "matmul",
     "dot", "mm", "bmm", "outer", "where", "values", "to_numpy"]
)  # fmt: skip
_LIBRARIES = frozenset(
    [
        "torch",
        "np",
        "F",
        "nn",
        "numpy",
        "functional",
        "reveal_shape",
        "pd",
        "pandas",
        "einops",
        "datasets",
        "jnp",
        "jax",
    ]
)
# Whose functions are given anything, and do nothing with it that a finding is about.
_HARMLESS = frozenset(
    ["isinstance", "issubclass", "len", "str", "int", "float", "bool", "print", "hasattr", "repr", "type", "super", "tuple", "list",
     "dict", "set", "range", "enumerate", "zip", "sorted", "os", "logging", "warnings", "logger", "log", "re", "json", "Path", "time",
     "math"]
)  # fmt: skip
_RULED_OUT = frozenset(
    [ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Await, ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom,
     ast.NamedExpr, ast.Delete]
)  # fmt: skip
_ASKS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_WRITTEN = (ast.Constant, ast.JoinedStr)


def is_quiet(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether nothing can be found in the function that is not found where it is called, or in what it calls."""
    if function.name in INITIALISERS:
        return False
    spec = function.args
    parameters = {each.arg for each in walk(spec) if isinstance(each, ast.arg)}
    first = spec.args[0].arg if spec.args and spec.args[0].arg in ("self", "cls") else None
    part: Any
    for statement in function.body:
        for part in walk(statement):
            kind = part.__class__
            if kind is ast.Name:
                if part.id in _LIBRARIES:
                    return False
            elif kind is ast.Attribute:
                if part.attr in _TOLD_OF:
                    return False
                if not isinstance(part.ctx, ast.Load):
                    # What others hold may be changed, which those that follow have to know.
                    if not (isinstance(part.value, ast.Name) and part.value.id == first):
                        return False
            elif kind is ast.Call:
                if root_name(part.func, through_calls=True) not in _HARMLESS and not (
                    all(_is_given(each, parameters, first) for each in part.args)
                    and all(_is_given(each.value, parameters, first) for each in part.keywords)
                ):
                    return False
            elif kind is ast.BinOp:
                if not (isinstance(part.left, _WRITTEN) or isinstance(part.right, _WRITTEN)):
                    return False
            elif kind is ast.Compare:
                if not all(isinstance(each, _ASKS) for each in part.ops):
                    if not any(isinstance(each, ast.Constant) for each in (part.left, *part.comparators)):
                        return False
            elif kind is ast.Constant:
                if part.value == "forward":
                    return False
            elif kind is ast.AugAssign:
                if not (isinstance(part.target, ast.Name) and isinstance(part.value, ast.Constant)):
                    return False
            elif kind is ast.Subscript:
                if not isinstance(part.ctx, ast.Load):
                    return False
            elif kind in _RULED_OUT:
                return False
    return True


def _is_given(argument: ast.expr, parameters: set[str], first: str | None) -> bool:
    """Whether the argument is written down, or what the function itself was given: nothing that it knows more about."""
    if isinstance(argument, ast.Name):
        return argument.id in parameters and argument.id != first
    if isinstance(argument, (ast.List, ast.Tuple, ast.Set)):
        return all(_is_given(each, parameters, first) for each in argument.elts)
    if isinstance(argument, ast.Attribute):
        root = root_name(argument, through_calls=True)
        return root in parameters and root != first
    if isinstance(argument, ast.UnaryOp):
        return _is_given(argument.operand, parameters, first)
    if isinstance(argument, ast.Starred):
        return _is_given(argument.value, parameters, first)
    if isinstance(argument, ast.Call):
        return root_name(argument.func, through_calls=True) in _HARMLESS and all(
            _is_given(each, parameters, first) for each in (*argument.args, *(word.value for word in argument.keywords))
        )
    if isinstance(argument, ast.Constant):
        # A number may be a size that the function that is called needs to know: `train(100, 1)`.
        return argument.value is None or isinstance(argument.value, (str, bytes, bool))
    return isinstance(argument, ast.JoinedStr)
