"""Module classes whose calls no type checker can type: an annotated `forward`, and no `__call__` that says the same.

Pure syntax, apart from the interpreter: it is asked for only where its rule is selected. What it wants in a class is

    if TYPE_CHECKING:
        def __call__(self, <the parameters of forward>) -> <what forward returns>: ...

the one spelling that mypy, pyright, pyrefly and ty all read, and that leaves nothing in the class at run time.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from tensorlint.inference.hazards import UntypedCallHazard
from tensorlint.inference.walking import children, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef

MODULES = frozenset(
    {
        "torch.nn.Module",
        "torch.nn.modules.Module",
        "torch.nn.modules.module.Module",
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
        "transformers.PreTrainedModel",
    }
)
# Classes of torch.nn that are no modules, or have a `__call__` of their own.
_OTHER = frozenset(
    {"Parameter", "UninitializedParameter", "Buffer", "UninitializedBuffer", "ParameterList", "ParameterDict"}
)
# Decorators under which a function keeps its signature.
_KEEPS = frozenset(
    {
        "abc.abstractmethod",
        "beartype.beartype",
        "jaxtyping.jaxtyped",
        "torch._dynamo.disable",
        "torch.amp.autocast",
        "torch.autocast",
        "torch.compile",
        "torch.compiler.disable",
        "torch.cuda.amp.autocast",
        "torch.enable_grad",
        "torch.inference_mode",
        "torch.jit.export",
        "torch.jit.ignore",
        "torch.jit.unused",
        "torch.no_grad",
        "typeguard.typechecked",
        "typing.override",
        "typing_extensions.override",
    }
)
_OVERLOADS = frozenset({"typing.overload", "typing_extensions.overload"})


@dataclass(slots=True, eq=False, repr=False)
class _Forward:
    """A class's `forward`: its overloads, if any, and the definition that runs."""

    overloads: list[Function]
    definition: Function

    @property
    def functions(self) -> list[Function]:
        return [*self.overloads, self.definition]


def _imports(tree: ast.Module) -> dict[str, str]:
    """Local name to dotted name, of every absolute import in the file."""
    found = {}
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def _dotted(node: ast.expr, imports: dict[str, str]) -> str:
    """`nn.Module` as `torch.nn.Module`; of a call or a subscript, what is called; empty for anything else."""
    if isinstance(node, ast.Call):
        return _dotted(node.func, imports)
    if isinstance(node, ast.Subscript):
        return _dotted(node.value, imports)
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value, imports)
        return f"{before}.{node.attr}" if before else ""
    return imports.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _is_torch_module(dotted: str) -> bool:
    name = dotted.rpartition(".")[2]
    return dotted in MODULES or (
        dotted == f"torch.nn.{name}" and name[:1].isupper() and name not in _OTHER  # a layer that is derived from
    )


def _is_type_checking(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    test = statement.test
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether a statement of a class body gives the class this name, in one of its branches too."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return statement.name == name
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return any(isinstance(node, ast.Name) and node.id == name for each in targets for node in walk(each))
    return any(_binds(child, name) for child in children(statement) if isinstance(child, ast.stmt))


def _yields(function: Function) -> bool:
    nodes = list[ast.AST](function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            nodes += children(node)
    return False


def _awaited(function: Function) -> bool:
    """Whether calling it gives a coroutine: an asynchronous generator does not."""
    return isinstance(function, ast.AsyncFunctionDef) and not _yields(function)


class _Finder:
    def __init__(self, tree: ast.Module, text: str) -> None:
        self.tree, self.lines = tree, [line + "\n" for line in text.split("\n")]
        self.imports = _imports(tree)
        self.classes: dict[str, list[ast.ClassDef]] = {}
        for node in walk(tree):
            if isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, []).append(node)

    def is_module(self, cls: ast.ClassDef, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a class is derived from torch's Module, by itself or through classes of this file."""
        for base in cls.bases:
            dotted = _dotted(base, self.imports)
            if isinstance(base, ast.Call) or dotted in seen:
                continue
            own = self.classes.get(dotted, [])
            if own and all(self.is_module(each, seen | {dotted}) for each in own):
                return True
            if not own and _is_torch_module(dotted):
                return True
        return False

    def calls_itself(self, cls: ast.ClassDef, seen: frozenset[str] = frozenset()) -> bool:
        """Whether the class, or one of this file that it is derived from, has a `__call__` that runs."""
        if any(_binds(statement, "__call__") and not _is_type_checking(statement) for statement in cls.body):
            return True
        above = {_dotted(base, self.imports) for base in cls.bases} - seen
        return any(
            self.calls_itself(base, seen | above)
            for name in above
            for base in self.classes.get(name, [])
            if base != cls
        )

    def forward(self, cls: ast.ClassDef) -> _Forward | None:
        """The class's own forward, where its type can be told from its text."""
        found: list[Function] = []
        for statement in cls.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == "forward":
                found.append(statement)
            elif _binds(statement, "forward"):
                return None
        overloads: list[Function] = []
        for index, function in enumerate(found):
            decorators = [_dotted(each, self.imports) for each in function.decorator_list]
            overloaded = any(each in _OVERLOADS for each in decorators)
            last = index == len(found) - 1
            if overloaded == last or not set(decorators) <= (_KEEPS | _OVERLOADS):
                return None
            if not (function.args.posonlyargs or function.args.args):
                return None
            if function.returns is None and (overloaded or not overloads):
                return None
            if overloaded:
                overloads.append(function)
        return _Forward(overloads, found[-1]) if found else None

    def declared(self, cls: ast.ClassDef) -> tuple[ast.If, list[ast.stmt]] | None:
        """The block under TYPE_CHECKING that declares `__call__`, and the statements in it that do."""
        for statement in cls.body:
            if isinstance(statement, ast.If) and _is_type_checking(statement) and _binds(statement, "__call__"):
                return statement, [each for each in statement.body if _binds(each, "__call__")]
        return None

    def same(self, wanted: _Forward, declared: list[ast.stmt]) -> bool:
        """Whether these statements declare what forward has. Another spelling than by functions is taken as right."""
        functions = [each for each in declared if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        if len(functions) != len(declared) or not functions:
            return True

        def signature(function: Function, awaited: bool) -> tuple[str, ...]:
            parameters = getattr(function, "type_params", [])
            overloaded = any(_dotted(each, self.imports) in _OVERLOADS for each in function.decorator_list)
            parts = [function.args, *parameters, *([function.returns] if function.returns else [])]
            return (str(awaited), str(overloaded), *map(ast.dump, parts))

        return [signature(each, _awaited(each)) for each in wanted.functions] == [
            signature(each, isinstance(each, ast.AsyncFunctionDef)) for each in functions
        ]

    def header(self, function: Function) -> str | None:
        """The text of a definition from `def` to before its colon, as `__call__`, at no indentation, with its `@overload`.

        None where moving its lines would change a string in it.
        """
        first = self.lines[function.lineno - 1].encode()[function.col_offset :].decode()
        text = first + "".join(self.lines[function.lineno : function.end_lineno])
        rows = [line + "\n" for line in text.split("\n")]
        depth = 0
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and token.start[0] != token.end[0]:
                return None
            if token.type == tokenize.OP and token.string in "([{":
                depth += 1
            elif token.type == tokenize.OP and token.string in ")]}":
                depth -= 1
            elif token.type == tokenize.OP and token.string == ":" and not depth:
                row, column = token.start
                kept = [*rows[: row - 1], rows[row - 1][:column]]
                break
        else:
            return None
        margin = self.lines[function.lineno - 1][: function.col_offset]
        if margin.strip():
            return None
        head = kept[0].removeprefix("async").lstrip().removeprefix("def").lstrip().removeprefix("forward")
        kept[0] = f"{'async ' if _awaited(function) else ''}def __call__{head}"
        overload = [each for each in function.decorator_list if _dotted(each, self.imports) in _OVERLOADS]
        decorators = "".join(f"@{ast.unparse(each)}\n" for each in overload)
        return "".join([decorators, kept[0], *(line.removeprefix(margin) for line in kept[1:])])

    def hazards(self) -> Iterator[UntypedCallHazard]:
        for classes in self.classes.values():
            for cls in classes:
                if not self.is_module(cls) or self.calls_itself(cls):
                    continue
                forward = self.forward(cls)
                if forward is None:
                    continue
                declared = self.declared(cls)
                if declared is not None and self.same(forward, declared[1]):
                    continue
                headers = [self.header(function) for function in forward.functions]
                definition = forward.definition
                after = self.lines[(definition.end_lineno or 1) - 1].encode()[definition.end_col_offset :].decode()
                following = cls.body[cls.body.index(definition) + 1 :]
                yield UntypedCallHazard(
                    node=definition,
                    module=cls.name,
                    stale=declared is not None,
                    signatures=() if None in headers else tuple(header or "" for header in headers),
                    declared=declared[0] if declared is not None else None,
                    following=following[0] if following else None,
                    alone=not after.strip(),
                    unit=self.lines[definition.lineno - 1][cls.col_offset : definition.col_offset] or "    ",
                )


def find_untyped_calls(tree: ast.Module, text: str) -> list[UntypedCallHazard]:
    """Every module class of a program whose calls are Any to type checkers, or that declares them wrongly."""
    if "forward" not in text:
        return []
    return sorted(_Finder(tree, text).hazards(), key=lambda hazard: hazard.line)
