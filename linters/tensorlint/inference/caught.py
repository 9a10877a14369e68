"""Which functions of a file may fail without the program's end: those that are called where their error is caught.

What a line demands of an object is told of the lines before it because a run that stops with an error there is no
program that works. That is not so where `try: f(x)` catches what f raises: nothing is read backwards in such a f, nor
in the functions that it calls. Functions are told apart by their names alone, so too many are taken rather than too few.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tensorlint.inference.handling import SUPPRESSORS, last_name, reraises
from tensorlint.inference.walking import walk

# Exceptions that no torch or numpy function raises for a shape, nor Python for `a, b = x.shape` and `assert`.
_OTHER_ERRORS = frozenset(
    [
        "ImportError", "ModuleNotFoundError", "KeyError", "AttributeError", "NameError", "OSError", "IOError",
        "FileNotFoundError", "FileExistsError", "PermissionError", "KeyboardInterrupt", "SystemExit", "GeneratorExit",
        "StopIteration", "StopAsyncIteration", "UnicodeDecodeError", "UnicodeError", "JSONDecodeError", "EOFError",
        "ConnectionError", "TimeoutError", "HTTPError", "OutOfMemoryError", "RecursionError", "NotImplementedError",
        "ZeroDivisionError", "OverflowError", "MemoryError", "SyntaxError", "Empty", "Full", "CalledProcessError",
        "Warning", "UserWarning", "PicklingError", "UnpicklingError", "BrokenPipeError",
    ]
)  # fmt: skip
# Managers that catch nothing, and are met often enough to say so: what they enclose need not be looked at.
_HARMLESS = frozenset(
    [
        "no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast", "open", "device", "catch_warnings",
        "errstate", "nullcontext", "profile", "record_function", "stream", "Pool", "Lock", "RLock", "TemporaryDirectory",
        "NamedTemporaryFile", "Timer", "tqdm", "init_empty_weights", "closing", "redirect_stdout", "redirect_stderr",
        "fork_rng", "fp32_precision", "sdpa_kernel", "accumulate", "GatheredParameters", "option_context", "patch",
    ]
)  # fmt: skip
_CALLS_OF_OBJECTS = ("forward", "__call__")


def may_fail_quietly(
    scopes: Iterable[ast.AST], guards: Iterable[ast.Try | ast.TryStar | ast.With | ast.AsyncWith]
) -> frozenset[str]:
    """The names of the functions and methods whose errors may be caught; `guards` are the file's `try` and `with`,
    `scopes` its functions and what else has names of its own."""
    caught: set[str] = set()
    for guard in guards:
        if isinstance(guard, (ast.With, ast.AsyncWith)):
            if any(_may_catch(item.context_expr) for item in guard.items):
                _called(guard.body, caught)
        elif any(_catches(handler) for handler in guard.handlers):
            _called(guard.body, caught)
        elif _leaves(guard.finalbody):
            _called([*guard.body, *guard.handlers, *guard.orelse], caught)
    if not caught:
        return frozenset()
    bodies: dict[str, list[ast.stmt]] = {}
    for node in scopes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bodies.setdefault(node.name, []).extend(node.body)
    found: set[str] = set()
    waiting = list(caught)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if name not in bodies:
            if name not in _LIBRARY_CALLS:
                waiting += _CALLS_OF_OBJECTS  # an object that is called, or a class that is made
                waiting += ("__init__", "__post_init__")
            continue
        further: set[str] = set()
        _called(bodies[name], further)
        waiting += further
    return frozenset(found)


# Of what is called most in a guarded block: no objects of the program.
_LIBRARY_CALLS = frozenset(
    [
        "print", "len", "range", "isinstance", "getattr", "hasattr", "int", "float", "str", "list", "dict", "tuple",
        "open", "load", "format", "join", "append", "items", "keys", "values", "get", "info", "warning", "error", "debug",
        "read", "write", "import_module", "find_spec", "split", "strip", "type", "super", "item", "size", "dim", "view",
        "reshape", "sum", "mean", "max", "min", "abs", "zeros", "ones", "cat", "stack", "to", "cuda", "cpu", "numpy",
        "__init__", "__post_init__", "forward", "__call__",
    ]
)  # fmt: skip


def _called(body: Iterable[ast.AST], names: set[str]) -> None:
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.Call):
                name = last_name(node.func)
                names.add("_object_" if name is None else name)


def _may_catch(manager: ast.expr) -> bool:
    name = last_name(manager.func if isinstance(manager, ast.Call) else manager)
    if name in SUPPRESSORS:
        return True
    return name not in _HARMLESS and not (name or "").endswith(("autocast", "_context", "_ctx", "open", "Open"))


def _catches(handler: ast.ExceptHandler) -> bool:
    if reraises(handler):
        return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(last_name(each) not in _OTHER_ERRORS for each in kinds)


def _leaves(body: list[ast.stmt]) -> bool:
    return any(isinstance(part, (ast.Return, ast.Break, ast.Continue)) for each in body for part in walk(each))
