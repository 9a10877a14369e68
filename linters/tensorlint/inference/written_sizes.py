"""How the sizes of a shape are written where the line stands: in the user's own names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tensorlint.inference import sizes as S
from tensorlint.inference.frames import Environment, Frame
from tensorlint.inference.kept import kept_with
from tensorlint.inference.layout import Strides
from tensorlint.inference.names import INITIALISERS, bound_names
from tensorlint.inference.shown import Shown
from tensorlint.inference.sizes import Size
from tensorlint.inference.state import State
from tensorlint.inference.values import LENGTH, Instance, LibraryObject, Number, Opaque, Sequence, Tensor, Value
from tensorlint.inference.walking import walk

# What sizes, and the symbols in them, are called where the line stands.
Names = dict[Size | S.Symbol, str]

# A size, the name that says it, and how: `{}.shape[0]`.
_Said = tuple[Size, str, str]
# Names in a scope beyond which none is looked for that says a size: the work stays in proportion to the file.
MOST_NAMES = 256
# Letters of a formula, beyond which a name is easier to read that the user has given to what it says.
_LONG = 24
_LAST = 1 << 62
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CHANNELS = ("out_channels", "in_channels")
# Attributes of layers that say what they were made with.
_SIZES_OF_LAYERS = {
    "torch.nn.Linear": ("out_features", "in_features"),
    "torch.nn.Embedding": ("embedding_dim", "num_embeddings"),
    **{f"torch.nn.Conv{n}d": _CHANNELS for n in (1, 2, 3)},
    **{f"torch.nn.ConvTranspose{n}d": _CHANNELS for n in (1, 2, 3)},
}


@dataclass(slots=True, eq=False, repr=False)
class Surroundings:
    """The names as they were when `value` was bound by the statement."""

    value: Tensor
    env: Environment
    statement: ast.stmt


def names_nearby(
    interp: State, around: Surroundings, target: Shown, axes: dict[int, Size], strides: Strides, frame: Frame
) -> Names:
    """How the sizes without a name can be written with the other names that the line finds: `x.shape[0]`."""
    wanted: set[Size | S.Symbol] = set()
    long: set[Size] = set()
    for size in (*axes.values(), *strides):
        _unnamed(size, wanted, target)
        if not isinstance(size, int) and len(S.show(size)) > _LONG:
            long.add(size)
    if not (wanted or long) or any(isinstance(part, ast.NamedExpr) for part in walk(around.statement)):
        return {}
    # What the statement binds itself means something else behind it.
    hidden = bound_names([around.statement]) | frame.facts.shared
    bound = kept_with(frame.node, "bound in blocks", lambda: _bound_in_blocks(frame.node))
    alone = _read_alone(around)
    names = {
        name: value
        for name, value in around.env.items()
        if name not in hidden
        and (name not in bound or name == alone or any(a <= target.lineno <= b for a, b in bound[name]))
    }
    first = names.get(frame.first_argument or "")
    own: dict[str, Value] = {}
    if isinstance(first, Instance) and first.generic and getattr(frame.node, "name", None) not in INITIALISERS:
        if len(first.fields) <= MOST_NAMES:
            own = {f"{frame.first_argument}.{name}": held for name, held in first.fields.items()}
    before = around.env.get(target.id) if isinstance(target, ast.Name) else None
    found: Names = {}
    for size, name, form in (
        *_numbers(names),
        *_numbers(own),
        *_items(names),
        *_items(own),
        *_layers(own),
        *_axes(interp, names),
        *_axes(interp, own),
        *(_axes_kept(interp, target.id, before, axes) if isinstance(target, ast.Name) else ()),
    ):
        called = S.single(size) or size  # `2*n` has a name of its own, where n has none
        if called not in wanted:
            if form != "{}" or size not in long or len(name) > _LONG:
                continue
            called = size
        if isinstance(called, S.Symbol) and called.name is not None and (form != "{}" or not name.isidentifier()):
            continue  # `size[0]`, which says as much as `x.shape[0]` does
        if called not in found:
            if name in own and not (isinstance(first, Instance) and _lasts(interp, first, name.partition(".")[2])):
                continue
            found[called] = form.format(name)
    return found


def _read_alone(around: Surroundings) -> str | None:
    """The one name that the statement makes its value of, which it finds whatever bound it."""
    read = {part.id for part in walk(around.statement) if type(part) is ast.Name and type(part.ctx) is ast.Load}
    held = [name for name in read if isinstance(around.env.get(name), (Tensor, Opaque, Sequence, Instance, Number))]
    return held[0] if len(held) == 1 else None


def _bound_in_blocks(scope: ast.AST) -> dict[str, list[tuple[int, int]]]:
    """By each name that statements of the scope bind, the first and the last line of the blocks in which they stand: behind
    `if c: n = len(x)` nothing may have that name, or what another round of a loop gave it."""
    found: dict[str, list[tuple[int, int]]] = {}
    if isinstance(arguments := getattr(scope, "args", None), ast.arguments):
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if each is not None:
                found[each.arg] = [(0, _LAST)]
    waiting = [body] if isinstance(body := getattr(scope, "body", None), list) else []
    for block in waiting:  # grows meanwhile
        lines = block[0].lineno, block[-1].end_lineno or _LAST
        for statement in block:
            inner = [] if isinstance(statement, _SCOPES) else _blocks_within(statement)
            waiting += inner
            if not inner:
                bound = bound_names([statement])
            else:
                headers = [getattr(statement, "target", None), *(each.optional_vars for each in _items_of(statement))]
                bound = {part.id for each in headers if each for part in walk(each) if isinstance(part, ast.Name)}
            of_loop = isinstance(statement, (ast.For, ast.AsyncFor))
            for name in bound:
                here = (inner[0][0].lineno, inner[0][-1].end_lineno or _LAST) if of_loop else lines
                found.setdefault(name, []).append(here)
    return found


def _blocks_within(statement: ast.stmt) -> list[list[ast.stmt]]:
    found = [part for name in ("body", "orelse", "finalbody") if (part := getattr(statement, name, None))]
    return found + [part.body for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))]


def _items_of(statement: ast.stmt) -> list[ast.withitem]:
    return statement.items if isinstance(statement, (ast.With, ast.AsyncWith)) else []


def _lasts(interp: State, owner: Instance, name: str) -> bool:
    """Whether the attribute holds the same in all methods."""
    cls = owner.cls
    if name in cls.unstable or name in cls.overridden or name in cls.scope.file.facts.foreign_attributes:
        return False
    return not interp.decided_elsewhere(owner, name)


def _number(value: Value | None) -> Size | None:
    if isinstance(value, Number):
        return value.size
    return value._symbol if isinstance(value, Opaque) else None


def _numbers(names: dict[str, Value]) -> Iterator[_Said]:
    for name, value in names.items():
        if (size := _number(value)) is not None:
            yield size, name, "{}"


def _items(names: dict[str, Value]) -> Iterator[_Said]:
    for name, value in names.items():
        if isinstance(value, Sequence) and value.kind == "tuple":
            for at, item in enumerate(value.items or ()):
                if (size := _number(item)) is not None:
                    yield size, name, f"{{}}[{at}]"


def _layers(names: dict[str, Value]) -> Iterator[_Said]:
    """`self.fc.out_features`, of layers that nothing has changed."""
    for name, value in names.items():
        if isinstance(value, LibraryObject) and not (value.fields or value.parts or value.several):
            for argument in _SIZES_OF_LAYERS.get(value.path, ()):
                if (size := _number(value.arguments.get(argument))) is not None:
                    yield size, name, f"{{}}.{argument}"


def _axes(interp: State, names: dict[str, Value]) -> Iterator[_Said]:
    for name, value in names.items():
        if id(value) in interp.reshaped:
            continue  # what it has at the end it did not have at every line
        if isinstance(value, Tensor):
            later: Tensor = interp.known_later(value)
            value = later
            for axis, size in enumerate(later.shape or ()):
                yield size, name, f"{{}}.shape[{axis}]"
        if isinstance(value, (Tensor, Opaque)) and value.axes:
            counted = isinstance(value, Opaque) and LENGTH in (value.fields or ()) and value.axes.keys() == {0}
            for axis, size in value.axes.items():
                # What is only counted may be a list.
                yield size, name, "len({})" if counted else f"{{}}.shape[{axis}]"
        if isinstance(value, Sequence) and value.length is not None:
            atom = S.single(value.length)
            if atom is not None and atom.written == f"len({name})":
                yield value.length, name, "len({})"  # the list has as many items to the end


def _axes_kept(interp: State, name: str, before: Value | None, axes: dict[int, Size]) -> Iterator[_Said]:
    """`x = self.fc(x)`: of an axis that is as long as it was, `x.shape[0]` says the same before and behind the line."""
    if not isinstance(before, (Tensor, Opaque)):
        return
    known = before.axes or {}
    if isinstance(before, Tensor):
        later: Tensor = interp.known_later(before)
        known = (later.axes or {}) if later.shape is None else dict(enumerate(later.shape))
    for axis, size in axes.items():
        if known.get(axis) == size:
            yield size, name, f"{{}}.shape[{axis}]"


def written_size(size: Size, frame: Frame | None, nearby: Names, target: Shown) -> int | str:
    if isinstance(size, int):
        return size
    return S.show(size, nearby) if frame is None or _speaks(size, frame, nearby, target) else "?"


def atoms_of(size: Size) -> set[S.Symbol]:
    """The symbols of a size, those inside quotients too."""
    found: set[S.Symbol] = set()
    for atom in S.symbols(size):
        found.add(atom)
        if atom.numerator is not None and atom.denominator is not None:
            found |= atoms_of(atom.numerator) | atoms_of(atom.denominator)
    return found


def _unnamed(size: Size, found: set[Size | S.Symbol], target: Shown) -> None:
    """The symbols that nothing names where the target stands, and the sizes that they are in, those inside quotients too."""
    before = len(found)
    for atom in S.symbols(size):
        of_item = atom.name is not None and atom.name.endswith("]")  # which a name may stand for: `h, w = size`
        if not atom.variant and (of_item or not atom.is_called(target.lineno, target.col_offset)):
            if atom.numerator is not None and atom.denominator is not None:
                _unnamed(atom.numerator, found, target)
                _unnamed(atom.denominator, found, target)
            else:
                found.add(atom)
    if len(found) > before and not any(atom.variant for atom in atoms_of(size)):
        found.add(size)


def _speaks(size: Size, frame: Frame, nearby: Names, target: Shown) -> bool:
    """Whether the names in the size mean in this function, and where the target stands, what they mean where they were
    given."""
    if size in nearby:
        return True
    for atom in S.symbols(size):
        if atom in nearby:
            continue
        if atom.written is not None and atom.name is None:
            own = frame.env.get(frame.first_argument or "")
            if atom.scope is frame.node and isinstance(own, Instance) and f"{frame.first_argument}." in atom.written:
                continue  # of the object, which is the same one at every line
            return False  # what it is called at this line is in `nearby`
        if atom.name is not None:
            if not atom.is_called(target.lineno, target.col_offset):
                return False
            root = atom.name.partition(".")[0].partition("[")[0]
            if atom.scope is not None and atom.scope is not frame.node and root in frame.env:
                return False
        elif atom.numerator is not None and atom.denominator is not None:
            if not all(_speaks(part, frame, nearby, target) for part in (atom.numerator, atom.denominator)):
                return False
    return True
