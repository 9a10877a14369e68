"""Which functions of a file may fail without the program's end: those that are called where their error is caught.

What a line demands of an object is told of the lines before it because a run that stops with an error there is no
program that works. That is not so where `try: f(x)` catches what f raises: nothing is read backwards in such a f, nor
in the functions that it calls. Functions are told apart by their names alone, so too many are taken rather than too few.

Most of what is called in such a block is not written there by its name: `fn(x)`, `self.callback(x)`, `sorted(rows, key=key)`,
an iterator. That may be every function of the file which is ever more than called: handed on, stored, decorated,
a generator, a special method, a method that a class of a library asks for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container

from tensorlint.inference.declared import CONFIGURATIONS
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.handling import SUPPRESSORS, last_name, reraises
from tensorlint.inference.kept import kept_with
from tensorlint.inference.walking import walk
from tensorlint.inference.words import has_part

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
# Methods that are called by way of the object, or by torch where the object is a module.
_OBJECTS = ("forward", "__call__", "__init__", "__post_init__", "__new__")
_OF_MODULES = frozenset(
    ["extra_repr", "_load_from_state_dict", "_save_to_state_dict", "_apply", "train", "reset_parameters"]
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def may_fail_quietly(file: SourceFile) -> frozenset[ast.AST]:
    """The functions and methods of the file whose errors may be caught."""
    caught = [statement for guard in file.facts.guards for statement in _guarded(guard, file)]
    text = file.text
    keeps = any(has_part(text, word) and mark in text for word, mark in _KEEPS_ERRORS.items())
    if not caught and not keeps:
        return frozenset()
    search = _Search(file)
    search.look(caught, keeps)
    return frozenset(search.found)


def _guarded(guard: ast.Try | ast.TryStar | ast.With | ast.AsyncWith, file: SourceFile) -> list[ast.stmt]:
    """The statements whose errors the guard may end."""
    own = file.facts.scopes[file.tree].textual
    if isinstance(guard, (ast.With, ast.AsyncWith)):
        return guard.body if any(_may_catch(item.context_expr, own, file.text) for item in guard.items) else []
    if any(_catches(handler, own) for handler in guard.handlers):
        return guard.body
    if _leaves(guard.finalbody):
        return [*guard.body, *(each for handler in guard.handlers for each in handler.body), *guard.orelse]
    return []


class _Search:
    """From the guarded statements to the functions that may run there."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.found: set[ast.AST] = set()
        self.waiting: list[FunctionNode] = []
        self.opened = False
        self.by_name: dict[str, list[FunctionNode]] = {}
        for node in file.facts.scopes:
            if isinstance(node, _FUNCTIONS):
                self.by_name.setdefault(node.name, []).append(node)
        self.functions = sum(map(len, self.by_name.values()))
        self.properties = {node.name for nodes in self.by_name.values() for node in nodes if node.decorator_list}

    def look(self, statements: list[ast.stmt], opened: bool) -> None:
        self.read(statements)
        for name in self.by_name:
            if name.startswith("__") and name.endswith("__") and name not in _OBJECTS:
                self.take(name)  # any operator may call it
        if opened or _calls_without_call(self.file.text):
            self.open()
        while self.waiting and len(self.found) < self.functions:
            self.read(self.waiting.pop().body)

    def take(self, name: str) -> None:
        for function in self.by_name.get(name, ()):
            if function not in self.found:
                self.found.add(function)
                self.waiting.append(function)

    def read(self, statements: list[ast.stmt]) -> None:
        """What may be called by these statements."""
        for statement in statements:
            for node in walk(statement):
                kind = type(node)
                if kind is ast.Call:
                    self.called(last_name(node.func))  # type: ignore[attr-defined]
                elif kind is ast.Attribute:
                    if node.attr in self.properties:  # type: ignore[attr-defined]
                        self.take(node.attr)  # type: ignore[attr-defined]
                elif kind in _ITERATING or (kind in _MAY_ITERATE and _iterates(node)):
                    self.open()

    def called(self, name: str | None) -> None:
        if name in self.by_name:
            self.take(name or "")
        elif name not in _LIBRARY_CALLS:
            for each in _OBJECTS:  # an object that is called, or a class that is made
                self.take(each)
        if name not in _LIBRARY_CALLS:
            self.open()

    def open(self) -> None:
        """Something is called, or asked for its next item, and it is not written there what that is."""
        if not self.opened:
            self.opened = True
            names = held(self.file)
            for name in self.by_name if names is None else names | _OF_MODULES:
                self.take(name)


# Functions may be called elsewhere, their errors kept by what calls them: a future, a task, an expected failure.
# By the word in it, which is looked for first.
_KEEPS_ERRORS = {
    **{word: word for word in ("return_exceptions", "weakref", "ContextDecorator", "xfail")},
    **{word: f"{word}(" for word in ("apply_async", "create_task", "ensure_future", "Thread")},
    "submit": ".submit(",
}
# Words of a file that may have managers of its own.
_MANAGERS = ("__exit__", "contextmanager", "suppress", "raises", "ExitStack")
# Asks for the items of what may be a generator, or lets others run.
_ITERATING = frozenset(
    [ast.For, ast.AsyncFor, ast.comprehension, ast.Starred, ast.YieldFrom, ast.Yield, ast.Await, ast.AugAssign]
)
_MAY_ITERATE = frozenset([ast.Tuple, ast.List, ast.Subscript, ast.Compare])
_SPECIAL_NAMES = re.compile(r"^[ \t]+__(?!slots|constants)\w+__ *=(?!=)", re.MULTILINE)
# Decorators that leave the function to be called by its name alone.
_PLAIN = frozenset(
    [
        "staticmethod", "classmethod", "abstractmethod", "abstractproperty", "abstractclassmethod", "property", "cached_property",
        "setter", "no_grad", "inference_mode", "enable_grad", "override", "overload", "final", "lru_cache", "cache", "wraps",
        "script", "ignore", "unused", "export", "script_if_tracing", "compile", "disable", "parametrize", "skipif", "skip",
        "usefixtures",
    ]
)  # fmt: skip
# Classes that ask those that derive from them for nothing but special methods, and `forward`.
_BASES = frozenset(
    [
        "object", "Module", "Sequential", "ModuleList", "ModuleDict", "Dataset", "IterableDataset", "Sampler", "BatchSampler",
        "ABC", "Generic", "Protocol", "NamedTuple", "Enum", "str", "int", "float", "dict", "list", "tuple", "set", "TypedDict",
        "OrderedDict", "defaultdict", "Exception", "RuntimeError", "ValueError", "SimpleNamespace",
    ]
)  # fmt: skip
_PLAIN_NODES = frozenset(
    [ast.Constant, ast.Expr, ast.Assign, ast.arg, ast.arguments, ast.keyword, ast.Subscript, ast.Tuple]
)
_BY_NAME = frozenset(
    ["getattr", "attrgetter", "methodcaller", "globals", "locals", "eval", "exec", "vars", "getmembers"]
)


def _iterates(node: ast.AST) -> bool:
    """`a, b = x`, `rows[:] = x`, `a in x`."""
    if isinstance(node, ast.Compare):
        return any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _calls_without_call(text: str) -> bool:
    """`area = property(_area)`, `__add__ = _add`: an attribute or an operator may call what is not looked for."""
    return "property(" in text or (("__ =" in text or "__=" in text) and _SPECIAL_NAMES.search(text) is not None)


def held(file: SourceFile) -> set[str] | None:
    """The names of all functions that are more than called: values, decorated ones, what lambdas call, generators, what
    a class of a library asks for. None if a name is computed, so that it may be any."""
    return kept_with(file.tree, "held", lambda: _held(file))


def _held(file: SourceFile) -> set[str] | None:
    found: set[str] = set()
    called: set[ast.expr] = set()
    harmless = set(_BASES)
    for node in walk(file.tree):
        kind = type(node)
        if kind is ast.Name:
            if node not in called:
                found.add(node.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            if node.attr == "__dict__" and last_name(node.value) != "self":  # type: ignore[attr-defined]
                return None
            if node not in called:
                found.add(node.attr)  # type: ignore[attr-defined]
        elif kind in _PLAIN_NODES:
            continue
        elif isinstance(node, ast.Call):
            called.add(node.func)
            if last_name(node.func) in _BY_NAME:
                names = _named(node, file)
                if names is None:
                    return None
                found |= names
        elif kind is ast.Lambda or kind is ast.GeneratorExp:
            found.update(last_name(part.func) or "" for part in walk(node) if isinstance(part, ast.Call))
        elif isinstance(node, _FUNCTIONS):
            if _is_generator(node, file) or any(_made_by(each) not in _PLAIN for each in node.decorator_list):
                found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            if all(_made_by(base) in harmless for base in node.bases) and not node.keywords:
                harmless.add(node.name)
            else:
                found.update(each.name for each in node.body if isinstance(each, _FUNCTIONS))
    return found


def _is_generator(node: ast.AST, file: SourceFile) -> bool:
    scope = file.facts.scopes.get(node)
    return isinstance(node, ast.AsyncFunctionDef) or (scope is not None and scope.is_generator)


def _named(call: ast.Call, file: SourceFile) -> set[str] | None:
    """The names that `getattr(x, "name")` and the like ask for; none of an imported library's."""
    if last_name(call.func) in ("eval", "exec", "getmembers"):
        return None
    if last_name(call.func) == "vars" and call.args and last_name(call.args[0]) in ("self", *CONFIGURATIONS):
        return set()
    texts = {each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    if texts:
        return {part for text in texts for part in text.split(".")}
    root = call.args[0] if call.args else None
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in file.facts.imported and root.id not in ("sys", "importlib"):
        return set()
    return None


def _made_by(node: ast.expr) -> str | None:
    """`no_grad` of `@torch.no_grad()`, `Generic` of `Generic[T]`."""
    return last_name(
        node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else node
    )


# Of what is called most in a guarded block: nothing of the program is called there, nor asked for items.
_LIBRARY_CALLS = frozenset(
    [
        "print", "len", "range", "isinstance", "hasattr", "int", "float", "str", "open", "load", "format", "items", "keys", "values",
        "get", "info", "warning", "error", "debug", "read", "write", "import_module", "find_spec", "split", "strip", "type", "super",
        "item", "size", "dim", "view", "reshape", "mean", "abs", "zeros", "ones", "cat", "stack", "to", "cuda", "cpu", "numpy",
    ]
)  # fmt: skip


def _may_catch(manager: ast.expr, own: Container[str], text: str) -> bool:
    """`own` are the names that the file gives to things of its own."""
    name = last_name(manager.func if isinstance(manager, ast.Call) else manager)
    if name is None or name in SUPPRESSORS or name in own:
        return True
    if name.endswith(("autocast", "_context", "_ctx", "open", "Open")):
        return any(word in text for word in _MANAGERS)
    return name not in _HARMLESS


def _catches(handler: ast.ExceptHandler, own: Container[str]) -> bool:
    if reraises(handler):
        return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(last_name(each) not in _OTHER_ERRORS or last_name(each) in own for each in kinds)


def _leaves(body: list[ast.stmt]) -> bool:
    return any(isinstance(part, (ast.Return, ast.Break, ast.Continue)) for each in body for part in walk(each))
