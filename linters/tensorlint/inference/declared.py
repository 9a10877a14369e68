"""What an annotation says of a value: torch.Tensor, np.ndarray, a Module class, jaxtyping's `Float[Tensor, "b t c"]`."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from tensorlint.inference import sizes as S
from tensorlint.inference.kept import kept_with
from tensorlint.inference.ops import modules
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    PLAIN,
    SCALAR,
    UNKNOWN,
    Class,
    Function,
    Imported,
    Instance,
    Library,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    is_none,
    of_class,
)
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.frames import Frame
    from tensorlint.inference.state import State

_TENSORS = {
    "torch.Tensor": "torch",
    "torch.FloatTensor": "torch",
    "torch.LongTensor": "torch",
    "torch.BoolTensor": "torch",
    "torch.nn.Parameter": "torch",
    "numpy.ndarray": "numpy",
    "numpy.typing.NDArray": "numpy",
}
_DTYPES = {
    "Float32": "float32", "Float64": "float64", "Float16": "float16", "BFloat16": "bfloat16", "Int64": "int64",
    "Int32": "int32", "Bool": "bool", "UInt8": "uint8",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*$")
_ARRAYS = re.compile(r"[Aa]rray|Tensor")
_PARAMETER = frozenset({"parameter"})


@lru_cache(256)
def _parsed(annotation: str) -> ast.expr | None:
    """What stands in the quotes."""
    try:
        return ast.parse(annotation, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def read(interpreter: State, node: ast.expr, dimensions: dict[str, Any]) -> Value | None:
    """The value that an annotated name holds, or None where the annotation tells nothing that matters here."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if len(node.value) > 200:
            return None
        written = _parsed(node.value)
        if written is None:
            return None
        node = written
    kind = type(node)
    if kind is ast.Name:  # as most are
        name = node.id  # type: ignore[attr-defined]
        if name == "float" or name == "bool":
            return Scalar("real" if name == "float" else "bool")  # an int is a float to an annotation
        plain = name in _PLAIN_NAMES and (("int", ()) if name == "int" else _NOT_TOLD)
    else:
        plain = kept_with(node, "plain", lambda: _is_plain(node) and (_of_numbers(node) or _NOT_TOLD))
    if plain:
        made = Opaque(None, (), PLAIN)
        made.told, made.lengths = plain
        made.optional = bool(made.lengths) and may_be_none(node, None)
        return made
    if isinstance(node, ast.Subscript):
        return _subscript(interpreter, node, dimensions)
    if kind is not ast.Name and kind is not ast.Attribute:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            for part, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(other, ast.Constant) and other.value is None:
                    inner = read(interpreter, part, dimensions)
                    return inner if isinstance(inner, Opaque) and inner.kind not in (None, PLAIN) else None
        return None
    value = interpreter.eval(node)
    if isinstance(node, ast.Name) and (value is UNKNOWN or isinstance(value, Library)):
        alias = _alias(interpreter, node.id)
        if alias is not None:
            return _subscript(interpreter, alias, dimensions)
    if isinstance(value, Library):
        framework = _TENSORS.get(value.path)
        if framework is not None:
            return Tensor(framework, marks=_PARAMETER)  # type: ignore[arg-type]
        if value.path == "torch.nn.Module" or (modules.known(value.path) and value.path.startswith("torch.nn.")):
            return Opaque(None, kind=value.path)
    if isinstance(value, Class) and value.is_module:
        if interpreter.module_frame.finished or value.generic is not None:
            return of_class(interpreter.generic_instance(value))
        return Opaque(None, kind=f"class {value.name}")
    return None


def _alias(interpreter: State, name: str) -> ast.Subscript | None:
    """`Image = Float[Tensor, "3 h w"]` at the top of the file that the annotation stands in."""
    file = interpreter.file
    facts = file.facts.scopes.get(file.tree)
    if facts is None or facts.textual.get(name) != 1 or not facts.is_stable(name):
        return None
    key = ("aliases", id(file))
    known = interpreter.memory.get(key)
    if known is None:
        known = interpreter.memory[key] = {}
        for statement in file.tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(statement.value, ast.Subscript):
                target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                if isinstance(target, ast.Name):
                    known[target.id] = statement.value
    found = known.get(name)
    return found if isinstance(found, ast.Subscript) else None


# What an annotation may be made of so that the value is no tensor and no array.
_PLAIN_NAMES = frozenset(
    [
        "int",
        "float",
        "bool",
        "str",
        "None",
        "Optional",
        "Union",
        "Tuple",
        "tuple",
        "List",
        "list",
        "Literal",
        "Sequence",
        "Iterable",
        "Dict",
        "dict",
        "typing",
        "Path",
    ]
)
# Parameters that hold a configuration, in the code of many models: their fields are numbers, strings and lists.
CONFIGURATIONS = frozenset(
    ["config", "cfg", "args", "opt", "opts", "options", "hparams", "hparam", "hps", "conf", "settings", "configs"]
)


# What a function with one of these gives is a number, or a tensor without axes that is used as one.
_NUMBERS = frozenset({"int", "float", "bool"})


def given_by(code: ast.AST) -> Value:
    """What the annotation says that a function gives."""
    if type(code) is ast.FunctionDef:
        returns = code.returns
        if type(returns) is ast.Name and returns.id in _NUMBERS:
            return Opaque(None, kind=SCALAR)
    return UNKNOWN


def given_by_method(interpreter: State, receiver: Opaque, name: str) -> Value:
    """What a method gives of an object of which only the class is known: `cache: Cache | None`."""
    given: Value = UNKNOWN
    for each in receiver.stated:
        cls = each.cls if isinstance(each, Instance) else _class_of(interpreter, *each) if type(each) is tuple else None
        method = interpreter.find_in_class(cls, name) if isinstance(cls, Class) else None
        given = UNKNOWN
        if isinstance(method, Function) and not method.decorated and method.kind in ("function", "static", "class"):
            given = given_by(method.node)
        if given is UNKNOWN:
            break
    return given


def _class_of(interpreter: State, annotation: ast.expr, scope: Frame) -> Value | None:
    """The class that an annotation names, or it or None. Another file is not read for it."""
    node: ast.expr | None = annotation
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = _parsed(node.value) if len(node.value) <= 200 else None
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", getattr(node.value, "attr", "")) == "Optional":
        node = node.slice
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = [
            each for each in (node.left, node.right) if not (isinstance(each, ast.Constant) and each.value is None)
        ]
        node = parts[0] if len(parts) == 1 else None
    if not isinstance(node, ast.Name):
        return None
    found: Frame | None = scope
    while found is not None and node.id not in found.env:
        found = found.parent
    value = None if found is None else found.env[node.id]
    if type(value) is Imported and interpreter.is_read(value):
        value = interpreter.resolve(value)
    return value


def may_be_none(annotation: ast.expr | None, default: Value | None) -> bool:
    """Whether a parameter's default is None, or its annotation has it."""
    if default is not None and is_none(default):
        return True
    if annotation is None or isinstance(annotation, (ast.Name, ast.Attribute)):
        return False
    return kept_with(annotation, "may be none", lambda: any(map(_names_none, walk(annotation))))


def may_be_so_long(default: Value | None, lengths: tuple[int | None, ...]) -> bool:
    """Whether a parameter's default does not belie what its annotation says of a tuple: `size: tuple[int, int] = 224`."""
    if default is None or is_none(default) or not lengths or type(default) is Opaque:
        return True
    if not isinstance(default, Sequence):
        return False
    return lengths[0] is None or default.items is None or len(default.items) == lengths[0]


def _names_none(part: ast.AST) -> bool:
    """`Optional`, `None`, `"Tensor | None"`."""
    if isinstance(part, ast.Name):
        return part.id == "Optional"
    if isinstance(part, ast.Constant):
        return part.value is None or "None" in str(part.value)
    return isinstance(part, ast.Attribute) and part.attr == "Optional"


def may_be_array(annotation: ast.expr) -> bool:
    """Whether an array or a tensor is among what the annotation allows: `int | np.ndarray`, `"ArrayLike"`."""
    if isinstance(annotation, ast.Name):
        return bool(_ARRAYS.search(annotation.id))
    return kept_with(annotation, "may be an array", lambda: any(map(_names_array, walk(annotation))))


def _names_array(part: ast.AST) -> bool:
    text = getattr(part, "id", None) or getattr(part, "attr", None) or getattr(part, "value", None)
    return isinstance(text, str) and _ARRAYS.search(text) is not None


def _is_plain(annotation: ast.expr) -> bool:
    """Whether the annotation is made of numbers, strings and containers of these."""
    node: Any = annotation
    kind = type(node)
    if kind is ast.Name:
        return node.id in _PLAIN_NAMES
    if kind is ast.Attribute:
        return node.attr in _PLAIN_NAMES and isinstance(node.value, ast.Name) and node.value.id == "typing"
    if kind is ast.Subscript:
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            return True
        return _is_plain(node.value) and _is_plain(node.slice)
    if kind is ast.Constant:
        return node.value is None or node.value is Ellipsis or isinstance(node.value, (int, bool))
    if kind is ast.Tuple:
        return all(map(_is_plain, node.elts))
    if kind is ast.BinOp:
        return _is_plain(node.left) and _is_plain(node.right)
    return False


_CONTAINERS = frozenset({"Tuple", "tuple", "List", "list", "Sequence"})
_NUMBER: dict[str, Literal["int", "real"]] = {"int": "int", "float": "real", "bool": "real"}
_MANY: dict[str, Literal["ints", "reals"]] = {"int": "ints", "real": "reals"}
Told = Literal["int", "ints", "real", "reals"] | None
_NOT_TOLD: tuple[Told, tuple[int | None, ...]] = (None, ())


def _of_numbers(node: ast.expr) -> tuple[Told, tuple[int | None, ...]] | None:
    """What an annotation says of a number, or of tuples and lists of numbers, or of one of these or None: whether they are ints,
    and how many each level has."""
    found = _nesting(node)
    if found is None:
        return None
    kind, lengths = found
    return (_MANY[kind] if lengths else kind), lengths


def _nesting(node: ast.expr, *, within: bool = False) -> tuple[Literal["int", "real"], tuple[int | None, ...]] | None:
    if type(node) is ast.Name:
        of = _NUMBER.get(node.id)
        return None if of is None else (of, ())
    if isinstance(node, ast.BinOp):
        for part, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(other, ast.Constant) and other.value is None and not within:
                return _nesting(part)
        return None
    if not isinstance(node, ast.Subscript):
        return None
    base = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    if base == "Optional":
        return None if within else _nesting(node.slice)
    if base not in _CONTAINERS:
        return None
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    open_ = len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is Ellipsis
    # `shape: tuple[int]` says one number, and is written for any number of them.
    open_ = open_ or len(items) == 1
    counted = base in ("tuple", "Tuple") and not open_
    found = {_nesting(each, within=True) for each in (items[:1] if open_ else items)}
    inner = next(iter(found), None)
    if len({each and each[1] for each in found}) != 1 or inner is None:
        return None
    kind: Literal["int", "real"] = "int" if all(each and each[0] == "int" for each in found) else "real"
    return kind, (len(items) if counted else None, *inner[1])


def _subscript(interpreter: State, node: ast.Subscript, dimensions: dict[str, Any]) -> Value | None:
    base = interpreter.eval(node.value)
    if not isinstance(base, Library):
        return None
    if base.path.startswith("jaxtyping.") and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        array, spec = node.slice.elts
        if not (isinstance(spec, ast.Constant) and isinstance(spec.value, str)):
            return None
        kind = interpreter.eval(array)
        framework = _TENSORS.get(kind.path) if isinstance(kind, Library) else None
        if framework is None:
            return None
        shape = _jaxtyping_shape(spec.value, dimensions)
        dtype = _DTYPES.get(base.path.rpartition(".")[2])
        return Tensor(framework, shape, None, dtype, marks=_PARAMETER)  # type: ignore[arg-type]
    if base.path == "typing.Optional":
        # None or that: a module that is called is one.
        inner = read(interpreter, node.slice, dimensions)
        return inner if isinstance(inner, Opaque) and inner.kind not in (None, PLAIN) else None
    if base.path.startswith("numpy.") and base.path in _TENSORS:
        return Tensor("numpy", marks=_PARAMETER)
    if base.path in ("typing.Annotated", "typing.Final", "typing.ClassVar"):
        first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        return read(interpreter, first, dimensions)
    return None


def _jaxtyping_shape(spec: str, dimensions: dict[str, Any]) -> tuple[Size, ...] | None:
    shape: list[Size] = []
    for word in spec.split():
        if word.startswith(("*", "...")):
            return None
        if "=" in word:
            word = word.partition("=")[2]
        if word.isdigit():
            shape.append(int(word))
        elif _NAME.match(word) and not word.startswith("_"):
            size = dimensions.get(word)
            if size is None:
                size = dimensions[word] = S.symbol(word)
            shape.append(size)
        else:
            # `_`, `#n` (may be 1) and expressions: a size of its own.
            shape.append(S.symbol())
    return tuple(shape)


def is_setting(scope: ast.AST | None, name: object, text: str) -> bool:
    """Whether what an initialiser reads of its argument is there all along: no item, which comes and goes, nor what a
    property of the file gives."""
    return (
        type(name) is str and type(scope) is ast.FunctionDef and scope.name == "__init__" and f"def {name}(" not in text
    )
