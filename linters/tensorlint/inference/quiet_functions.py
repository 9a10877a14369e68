"""Functions that no finding can come from: they compute nothing with tensors, and hand nothing that they have made to what does.

They read options, write logs, keep names: 3,100 of the 8,500 functions of timm and lightning. Where only findings are asked
for, they are not followed for their own sake. (Where they are called, with something that is known, they are.)
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tensorlint.inference.frames import SourceFile
from tensorlint.inference.handling import last_name
from tensorlint.inference.kept import kept_with
from tensorlint.inference.walking import parameters_of, root_name, walk
from tensorlint.inference.words import is_mentioned_once, words_of

# Attributes and methods that a finding may be about.
_TOLD_OF = frozenset(
    ["T", "mT", "H", "mH", "t", "transpose", "permute", "view", "view_as", "reshape", "forward", "sub", "add", "mul", "div", "matmul",
     "dot", "mm", "bmm", "outer", "where", "values", "to_numpy",
     # of a generator that the module or an object holds
     "rand", "randn", "randint", "random", "random_sample", "integers", "normal", "standard_normal", "uniform", "lognormal", "choice",
     "permutation", "binomial", "poisson", "beta", "gamma", "exponential", "laplace", "geometric"]
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
# What computes nothing: types, settings, files, processes. Of torch.nn, what makes layers.
_OF_TORCH = frozenset(
    ["Size", "device", "dtype", "no_grad", "enable_grad", "inference_mode", "is_grad_enabled", "set_grad_enabled", "is_tensor", "cuda",
     "distributed", "backends", "jit", "save", "manual_seed", "Generator", "finfo", "iinfo", "float16", "bfloat16", "float32", "float64",
     "int8", "uint8", "int16", "int32", "int64", "long", "bool", "memory_format", "channels_last", "contiguous_format", "compile",
     "autocast", "amp", "optim", "is_floating_point", "Tensor"]
)  # fmt: skip
_OF_NUMPY = frozenset(
    ["ndarray", "float32", "float64", "int32", "int64", "integer", "floating", "generic", "inf", "nan", "pi"]
)
# Most functions that are followed show it in their text, which is searched in a tenth of the time that their tree takes.
# Patterns that begin with the dot take a fifth of the time that searches for the words do.
_TOLD_OF_IN_TEXT = re.compile(r"\.(?:view|reshape|transpose|permute|forward|sum|T)\b")
_OF_LIBRARY = re.compile(r"\.(?<=[hpnF]\.)(?:(?<=\btorch\.)|(?<=\bnp\.)|(?<=\bnn\.)|(?<=\bF\.))(\w++)(\(?)")
_BY_END = {name[-1]: name for name in ("torch", "np", "nn", "F")}
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
_LOOKED_AT = _RULED_OUT | {ast.Attribute, ast.Call, ast.BinOp, ast.Compare, ast.AugAssign, ast.Subscript}
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_ASKS = frozenset([ast.Is, ast.IsNot, ast.In, ast.NotIn])
# Lines of a statement that it is worth knowing of whether anything reads what it binds.
_LONG = 4
_ASKED = frozenset({"property", "cached_property", "setter"})
_NUMBERS = frozenset({"int", "float", "str", "bool"})
_GIVE_NUMBERS = _NUMBERS | {"len"}
# Bases that call no method of those who inherit from them.
_PLAIN_BASES = frozenset(["object", "NamedTuple", "Exception", "ValueError", "RuntimeError", "ABC", "Protocol"])


def is_quiet(function: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile) -> bool:
    """Whether nothing can be found in the function that is not found where it is called, or in what it calls."""
    seen = _seen_in(function, file)
    if seen is None:
        return False
    return not seen.made_for or all(map(_own_names(file).is_harmless, seen.made_for))


@dataclass(slots=True, eq=False, repr=False)
class _Seen:
    """What a function that computes nothing itself calls of the functions and classes of the file, by their names: with
    something of which it knows more than that it was given it (`made_for`), and with what it was `given`. A name that is empty
    is one of anything."""

    made_for: frozenset[str]
    given: frozenset[str]


_CALLS_NOTHING = _Seen(frozenset(), frozenset())


def _seen_in(function: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile) -> _Seen | None:
    """None of a function that computes, or gives something to what cannot be told by its name."""
    return kept_with(function, "seen", lambda: _look_into(function, file))


def _look_into(function: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile) -> _Seen | None:
    computing = kept_with(file.tree, "lines that compute", lambda: _lines_that_compute(file.text))
    at = bisect_right(computing, function.lineno)
    if at < len(computing) and computing[at] <= (function.end_lineno or function.lineno):
        return None  # it need not be so, in a comment: then it is looked at for nothing
    spec = function.args
    parameters = parameters_of(spec)
    first = spec.args[0].arg if spec.args and spec.args[0].arg in ("self", "cls") else None
    own = _own_names(file)
    libraries, functions, told = own.libraries, own.functions, own.told
    bound = file.facts.scopes[function].assigned if function in file.facts.scopes else {}
    numbers = _numbers_among(spec)
    called: set[ast.expr] = set()
    harmless: set[ast.expr] = set()
    made_for: set[str] = set()
    given: set[str] = set()
    handed = False  # a function of the file goes where another may call it
    hands = False  # something is given what was made here
    part: Any
    for statement in function.body:
        for part in walk(statement):
            kind = type(part)
            if kind is ast.Name:
                name = part.id
                if name in told:
                    if name in libraries and part not in harmless:
                        return None
                    if name in functions and part not in called:
                        handed = True
            elif kind is ast.Constant:
                if part.value == "forward":
                    return None
            elif kind not in _LOOKED_AT:
                continue
            elif kind is ast.Attribute:
                name, owner = part.attr, part.value
                if name in _TOLD_OF:
                    return None
                if type(owner) is ast.Name and owner.id in libraries:
                    if _computes_nothing(owner.id, name, part in called):
                        harmless.add(owner)
                if name in functions and part not in called:
                    handed = True
                if type(part.ctx) is not ast.Load:
                    # What others hold may be changed, which those that follow have to know.
                    if not (type(owner) is ast.Name and owner.id == first):
                        return None
            elif kind is ast.Call:
                func = part.func
                called.add(func)
                if (func.id if type(func) is ast.Name else root_name(func, through_calls=True)) not in _HARMLESS:
                    is_given = _are_given(part, parameters, first)
                    if own.may_be_called(func, parameters):
                        name = own.by_name(func, bound)
                        if not (is_given or name):
                            return None
                        (given if is_given else made_for).add(name)
                    elif not (is_given or parameters) and own.is_imported(func) and _gives_two(part):
                        # Of another file: they may not go together there. Who is given nothing has all from others.
                        return None
                    hands = hands or not is_given
            elif kind is ast.BinOp:
                if not (_is_number(part.left, numbers) or _is_number(part.right, numbers)):
                    return None
            elif kind is ast.Compare:
                if not (_only_asks(part) or _is_number(part.left, numbers)):
                    if not any(_is_number(each, numbers) for each in part.comparators):
                        return None
            elif kind is ast.AugAssign:
                if not (isinstance(part.target, ast.Name) and _is_number(part.value, numbers)):
                    return None
            elif kind is ast.Subscript:
                if type(part.ctx) is not ast.Load:
                    return None
            else:
                return None
    if handed and hands:
        return None
    if handed:
        given.add("")
    return _Seen(frozenset(made_for), frozenset(given)) if made_for or given else _CALLS_NOTHING


def _numbers_among(spec: ast.arguments) -> frozenset[str]:
    """The parameters that are said to be numbers, or text."""
    return frozenset(
        [
            each.arg
            for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
            if type(each.annotation) is ast.Name and each.annotation.id in _NUMBERS
        ]
    )


def _only_asks(comparison: ast.Compare) -> bool:
    """`x is None`, `key in table`."""
    return _ASKS.issuperset([type(each) for each in comparison.ops])


def _is_number(node: ast.expr, numbers: frozenset[str]) -> bool:
    """Whether it is a number, or text: no broadcasting comes of it."""
    kind = type(node)
    if kind is ast.Constant or kind is ast.JoinedStr:
        return True
    if kind is ast.Name:
        return node.id in numbers  # type: ignore[attr-defined]
    if kind is ast.Attribute:
        return node.attr.isupper() and len(node.attr) > 2  # type: ignore[attr-defined]
    if kind is ast.Call:
        return isinstance(node.func, ast.Name) and node.func.id in _GIVE_NUMBERS  # type: ignore[attr-defined]
    if kind is ast.UnaryOp:
        return _is_number(node.operand, numbers)  # type: ignore[attr-defined]
    if kind is ast.BinOp:
        return _is_number(node.left, numbers) and _is_number(node.right, numbers)  # type: ignore[attr-defined]
    return False


def _lines_that_compute(text: str) -> list[int]:
    """The numbers of the lines that show that the function around them computes, in order."""
    places = [match.start() for match in _TOLD_OF_IN_TEXT.finditer(text)]
    for match in _OF_LIBRARY.finditer(text):
        at = match.start()
        if not _computes_nothing(_BY_END[text[at - 1]], match[1], called=match[2] == "("):
            places.append(at)
    lines, line, counted = [], 1, 0
    for at in sorted(places):
        line += text.count("\n", counted, at)
        counted = at
        lines.append(line)
    return lines


def _computes_nothing(library: str, name: str, called: bool) -> bool:
    """Whether it is one of the library's types, settings or layers: `torch.float32`, `nn.Linear`, but not `torch.Tensor(3, 1)`."""
    if library == "torch":
        return name in _OF_TORCH and not (called and name == "Tensor")
    if library == "nn":
        return name[0].isupper() or name == "init"
    return library == "np" and name in _OF_NUMPY and not (called and name == "ndarray")


def makes_records(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, file: SourceFile) -> bool:
    """Whether the function does no more than put together what it is given: `return {"url": url, **kwargs}`."""

    if not isinstance(code, ast.FunctionDef):
        return False
    function = code

    def find() -> bool:
        for statement in function.body:
            for part in walk(statement):
                if type(part) is ast.Call:
                    func = part.func
                    if not (isinstance(func, ast.Name) and func.id in _HARMLESS):
                        return False
        return is_quiet(function, file)

    return kept_with(function, "makes records", find)


def is_unread(statement: ast.stmt, text: str) -> bool:
    """Whether it is a long one that binds a name which the file does not mention again: a table for other files."""
    if not isinstance(statement, ast.Assign) or (statement.end_lineno or 0) - statement.lineno < _LONG:
        return False
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return False
    return is_mentioned_once(target.id, text)


@dataclass(slots=True, eq=False, repr=False)
class _Own:
    """The functions and classes of the file, by their names, but for properties. Objects that can be called are made of its
    classes or of torch's, if `objects`; `held` are the attributes that may hold one, `variables` the names of the module.
    `libraries` are the names of libraries and of what is imported from them that computes."""

    file: SourceFile
    nodes: dict[str, list[_Definition]]
    known: dict[str, bool]  # whether what has the name is harmless
    functions: frozenset[str]
    classes: frozenset[str]
    objects: bool
    held: frozenset[str]
    variables: frozenset[str]
    imported: frozenset[str]
    libraries: frozenset[str]
    told: frozenset[str]  # the libraries and the functions

    def may_be_called(self, func: ast.expr, parameters: set[str]) -> bool:
        """Whether the call may be one of a function of the file, where what it is given may be worth a message."""
        called: Any = func
        kind = type(called)
        if kind is ast.Name:
            name = called.id
            if name in self.functions or name in self.classes or name in self.variables:
                return True
            return self.objects and name not in self.imported and name not in parameters
        if kind is ast.Attribute:
            name = called.attr
            return name in self.functions or name in self.classes or (self.objects and name in self.held)
        return True

    def is_imported(self, func: ast.expr) -> bool:
        """Whether the call is by a name that the file imports, or of what a module has that it imports."""
        named = func.value if isinstance(func, ast.Attribute) else func
        return isinstance(named, ast.Name) and named.id in self.imported

    def by_name(self, func: ast.expr, bound: dict[str, int]) -> str:
        """The name of functions and classes of the file, none of which another value may have; empty for what is no such name."""
        if isinstance(func, ast.Attribute):
            return func.attr if func.attr in self.nodes and func.attr not in self.held else ""
        if not isinstance(func, ast.Name) or func.id in bound:
            return ""
        defined = self.nodes.get(func.id, ())
        return func.id if self.file.facts.scopes[self.file.tree].textual.get(func.id, 0) == len(defined) > 0 else ""

    def is_harmless(self, name: str) -> bool:
        """Whether nothing can be found in what has the name, whatever it is given, nor in what it calls in its turn."""
        if name in self.known:
            return self.known[name]
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            each = waiting.pop()
            if each in seen or self.known.get(each):
                continue
            seen.add(each)
            called = None if each in self.known else self.called_by(each)
            if called is None:
                self.known[each] = self.known[name] = False
                return False
            waiting += called
        self.known.update(dict.fromkeys(seen, True))
        return True

    def called_by(self, name: str) -> set[str] | None:
        """What the functions and classes of the name call of the file; None if one of them computes, or may be anything."""
        if not name:
            return None
        called: set[str] = set()
        for node in self.nodes[name]:
            functions = [node]
            if isinstance(node, ast.ClassDef):
                if node.keywords or node.decorator_list:
                    return None
                bases = {last_name(base) or "" for base in node.bases}
                called |= bases - _PLAIN_BASES
                # Whoever gets hold of the object may call each of them.
                functions = [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
            for function in functions:
                seen = _seen_in(function, self.file)  # type: ignore[arg-type]
                if seen is None:
                    return None
                called |= seen.made_for | seen.given
        return called if called <= self.nodes.keys() else None


def _own_names(file: SourceFile) -> _Own:
    return kept_with(file.tree, "own names", lambda: _find_own_names(file))


def _find_own_names(file: SourceFile) -> _Own:
    scopes = file.facts.scopes
    functions = [node for node in scopes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    by_name: dict[str, list[_Definition]] = {}
    for node in scopes:
        if isinstance(node, _Definition):
            by_name.setdefault(node.name, []).append(node)
    # Of those with decorators most are properties, which are asked for by their names and given nothing.
    called = frozenset(
        [
            node.name
            for node in functions
            if not (node.decorator_list and any(last_name(each) in _ASKED for each in node.decorator_list))
        ]
    )
    libraries = _LIBRARIES.union(name for each in file.facts.imports for name in _names_that_compute(each))
    return _Own(
        file,
        by_name,
        {},
        called,
        frozenset(node.name for node in scopes if isinstance(node, ast.ClassDef)),
        # Layers and losses of torch are called, too: `criterion(net(x), y)`.
        "nn" in words_of(file.text) or any(node.name in ("forward", "__call__") for node in functions),
        frozenset(attribute for scope in scopes.values() for _, attribute in scope.stored),
        frozenset(scopes[file.tree].textual),
        frozenset(file.facts.imported),
        libraries,
        libraries | called,
    )


def _names_that_compute(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """What is imported of torch, numpy and the like, but for types and settings: `import numpy as onp`, `from torch import cat`."""
    for alias in statement.names:
        module = alias.name if isinstance(statement, ast.Import) else statement.module or ""
        library, _, inner = module.partition(".")
        if library not in _LIBRARIES or (isinstance(statement, ast.ImportFrom) and statement.level):
            continue
        if isinstance(statement, ast.Import):
            if alias.asname is not None or not inner:
                yield alias.asname or library
        elif not (alias.name[0].isupper() or (library == "torch" and alias.name in _OF_TORCH)):
            yield alias.asname or alias.name


def _gives_two(call: ast.Call) -> bool:
    """Whether two of the arguments at least are more than written down."""
    return sum(not isinstance(each, ast.Constant) for each in (*call.args, *(word.value for word in call.keywords))) > 1


def _are_given(call: ast.Call, parameters: set[str], first: str | None) -> bool:
    """Whether `_is_given` holds of all arguments."""
    for each in call.args:
        if not _is_given(each, parameters, first):
            return False
    return not call.keywords or all(_is_given(word.value, parameters, first) for word in call.keywords)


def _is_given(node: ast.expr, parameters: set[str], first: str | None) -> bool:
    """Whether the argument is written down, or what the function itself was given: nothing that it knows more about."""
    argument: Any = node
    kind = type(argument)
    if kind is ast.Name:
        return argument.id in parameters and argument.id != first
    if kind is ast.Constant:
        # A number may be a size that the function that is called needs to know: `train(100, 1)`.
        return argument.value is None or isinstance(argument.value, (str, bytes, bool))
    if kind is ast.Attribute:
        root = root_name(argument, through_calls=True)
        return root in parameters and root != first
    if kind is ast.Call:
        return root_name(argument.func, through_calls=True) in _HARMLESS and _are_given(argument, parameters, first)
    if kind is ast.List or kind is ast.Tuple or kind is ast.Set:
        return all(_is_given(each, parameters, first) for each in argument.elts)
    if kind is ast.UnaryOp:
        return _is_given(argument.operand, parameters, first)
    if kind is ast.Starred:
        return _is_given(argument.value, parameters, first)
    return kind is ast.JoinedStr
