"""The names and attributes that were given tensors, and the tensors that functions return, as `tensorlint shapes` and
`reveal_shape` show them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tensorlint.inference import sizes as S
from tensorlint.inference.frames import Environment, Frame
from tensorlint.inference.hazards import RevealShapeHazard
from tensorlint.inference.inheritance import answers_otherwise
from tensorlint.inference.layout import Strides
from tensorlint.inference.shown import Kind, Returned, Shown, Stored, has_name, kind_of, written
from tensorlint.inference.sizes import Size, show_shape
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    Class,
    Const,
    Instance,
    LibraryObject,
    Number,
    Sequence,
    Tensor,
    Value,
    is_shown,
)
from tensorlint.inference.written_sizes import MOST_NAMES, Names, Surroundings, atoms_of, names_nearby, written_size

_MOST_RETURNED = 8  # items of a tuple


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binding:
    """A name that was given a tensor, as `tensorlint shapes` shows it. Unknown parts are None (or "?" in a shape).

    `name` may be an attribute's (`self.weight`), or `return` for what a function gives back (`return[1]` in a tuple): `kind`
    tells which. Where not even the rank is known, `axes` may have the sizes of single axes all the same: -1 is the last, 0 the first.
    `framework` is None where it may be torch's or numpy's.
    """

    line: int
    column: int
    name: str
    framework: str | None
    shape: tuple[int | str, ...] | None
    strides: tuple[int | str, ...] | None
    contiguous: bool | None
    dtype: str | None
    device: str | None
    end_line: int
    axes: dict[int, int | str] | None = None
    kind: Kind = "name"


class Bindings(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def note_stored(self, node: ast.expr, owner: ast.expr, name: str, receiver: Value, value: Value) -> None:
        """The attribute of `owner`, which is `receiver`, was given the value; it is shown where it is read as it was stored."""
        if not (self.shows and self.frame.record and has_name(owner)):
            return
        if isinstance(receiver, Instance):
            if self.may_store_otherwise(receiver.cls, name):
                return
        elif not (isinstance(receiver, LibraryObject) and receiver.path.startswith("torch.nn.")):
            return
        self.note_shown(Stored(node, owner, name), value)

    def may_store_otherwise(self, cls: Class, name: str) -> bool:
        """Whether something of the class, or of one derived from it, may make another value of what the attribute is given."""
        if name in cls.overridden or answers_otherwise(cls):
            return True
        if "__getattribute__" in cls.scope.file.facts.foreign_attributes:
            return True
        return any(self.find_in_class(cls, each) is not None for each in (name, "__setattr__"))

    def note_registered(self, node: ast.AST | None, receiver: Value, args: list[Value]) -> None:
        """`self.register_buffer("mask", mask)`."""
        name = args[0]
        if (
            self.shows
            and isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(name, Const)
        ):
            if isinstance(name.value, str) and name.value.isidentifier():
                self.note_stored(node, node.func.value, name.value, receiver, args[1])

    def note_returned(self, node: ast.Return, value: Value) -> None:
        if not (self.shows and self.frame.record):
            return
        self.note_shown(Returned(node), value)
        if isinstance(value, Sequence) and value.kind == "tuple":
            for at, item in enumerate((value.items or ())[:_MOST_RETURNED]):
                self.note_shown(Returned(node, at), item)

    def note_shown(self, target: Stored | Returned, value: Value) -> None:
        self.binding_frames[target] = self.frame
        if self.rounds is not None:
            self.note_round(target, value)
        elif isinstance(value, Tensor):
            self.note_binding(target, value)
        else:
            self.bindings.pop(target, None)

    def note_binding(self, target: Shown, value: Tensor, *, again: bool = False) -> None:
        """The statement has bound the name; `again`, if it has in an earlier round, of which `value` is true as well."""
        if is_shown(value) and self.file is self.own_file:
            # What is asked of it further down is not known here yet.
            self.bindings[target] = (target, value, dict(value.axes) if value.axes else {})
            if self.shows and len(self.frame.env) <= MOST_NAMES:
                place = self.places[-1] if self.places else None
                if place is not None:
                    env = dict(self.frame.env)
                    if again:  # what the names stand for in each round
                        around: Surroundings | None = self.surroundings.get(target)
                        earlier: Environment = {} if around is None else around.env
                        env = {name: held for name, held in earlier.items() if env.get(name) is held}
                    self.surroundings[target] = Surroundings(value, env, place[1][place[2]])

    def hide_first(self, entry: Environment, changed: list[str]) -> None:
        """What the names held where the first round of a loop began tells no size there: the later rounds find something
        else, which they do not read."""
        if self.surroundings:
            for target in self.bindings:
                around: Surroundings | None = self.surroundings.get(target)
                if around is None:
                    continue
                for name in changed:
                    if around.env.get(name) is entry[name]:
                        del around.env[name]

    def shown_bindings(self) -> list[Binding]:
        """All rows of `tensorlint shapes`, in the order of the source."""
        rows: list[Binding] = []
        for target, value, known in self.bindings.values():
            shape = strides = axes = None
            given = value
            value = self.known_later(value)
            if "item" in value.marks and value.shape is None and not known:
                continue
            if value.shape is not None:
                frame = self.binding_frames.get(target)
                laid = known_strides(value)
                nearby = self.names_nearby(target, given, dict(enumerate(value.shape)), laid or (), frame)
                shape = tuple(written_size(size, frame, nearby, target) for size in value.shape)
                if laid is not None:
                    strides = tuple(written_size(size, frame, nearby, target) for size in laid)
            elif known:
                axes = self.shown_axes(target, given, known)
            dtype = value.dtype
            if self.own_file.autocast and dtype is not None and "float" in dtype:
                dtype = None
            rows.append(
                Binding(target.lineno, target.col_offset, written(target), value.framework, shape, strides,
                        value.contiguous, dtype, value.device, target.end_lineno or target.lineno, axes, kind_of(target))
            )  # fmt: skip
        rows.sort(key=lambda row: (row.line, row.column))
        return rows

    def shown_axes(self, target: Shown, given: Tensor, known: dict[int, Size]) -> dict[int, int | str] | None:
        """The known axes of a tensor of unknown rank that can be told, in the user's names."""
        certain = {axis: size for axis, size in known.items() if not atoms_of(size) & self.asked_perhaps}
        frame = self.binding_frames.get(target)
        nearby = self.names_nearby(target, given, certain, (), frame)
        told = {axis: written_size(size, frame, nearby, target) for axis, size in sorted(certain.items())}
        return told if any(size != "?" for size in told.values()) else None

    def names_nearby(
        self, target: Shown, given: Tensor, axes: dict[int, Size], strides: Strides, frame: Frame | None
    ) -> Names:
        around: Surroundings | None = self.surroundings.get(target)
        if around is None or around.value is not given or frame is None:
            return {}
        return names_nearby(self, around, target, axes, strides, frame)

    def known_later(self, value: Tensor) -> Tensor:
        """The tensor with what lines that every run comes by told of it since."""
        for _ in range(4):
            value = self.refined[id(value)][1] if id(value) in self.refined else value
        return value

    def reveal(self, args: list[Value], node: ast.AST | None) -> None:
        if node is None or not isinstance(node, ast.Call):
            return
        pairs = [(self.text_of(argument), description(value)) for argument, value in zip(node.args, args, strict=False)]
        argument, first = pairs[0] if pairs else ("nothing", "given")
        revealed = "; ".join([first, *(f"{text} is {words}" for text, words in pairs[1:])])
        self.add(node, RevealShapeHazard(node=node, argument=argument, revealed=revealed))


_KINDS = {"torch": "a torch tensor", "numpy": "a numpy array", "jax": "a jax array", None: "an array"}


def known_strides(value: Tensor) -> Strides | None:
    """What is said of the layout. Without elements the strides are whatever an operation leaves there; of an array that
    numpy makes they are then 0, and a selection by a mask may have none."""
    shape = value.shape or ()
    if 0 in shape:
        return None
    if value.framework == "numpy" and not all(isinstance(size, int) or S.surely_not_one(size) for size in shape):
        return None
    return value.strides


def description(value: Value) -> str:
    """What a value is, for the person who asks with `reveal_shape`: `a torch tensor (B, 3), strides (3, 1), float32`."""
    match value:
        case Tensor():
            parts = [show_shape(value.shape) if value.shape is not None else _with_known_axes(value)]
            if (strides := known_strides(value)) is not None:
                parts.append(f"strides {show_shape(strides)}")
            if value.dtype:
                parts.append(value.dtype)
            if "optional" in value.marks:
                parts.append("or None")
            if "item" in value.marks and value.shape is None:
                parts.append("or an item of one")
            return f"{_KINDS.get(value.framework, f'a {value.framework} array')} {', '.join(parts)}"
        case Const():
            return f"the constant {value.value!r}" if len(repr(value.value)) <= 40 else "a constant"
        case Number():
            return f"the number {S.show(value.size)}"
        case Sequence(items=list() as items) if value.kind in ("tuple", "list"):
            shown = ", ".join(_short(item) for item in items[:6]) + (", …" if len(items) > 6 else "")
            comma = "," if value.kind == "tuple" and len(items) == 1 else ""
            return f"the tuple ({shown}{comma})" if value.kind == "tuple" else f"the list [{shown}]"
        case LibraryObject():
            return f"an object of {value.path.replace('torch.nn.', 'nn.', 1)}"
        case Instance():
            return f"an object of {value.cls.name}"
    return "not known to be a tensor"


def partial_shape(axes: dict[int, int | str]) -> str:
    """`(B, ..., 3, ?)`: the first and the last sizes of a tensor of unknown rank."""
    first = [str(axes.get(axis, "?")) for axis in range(max(axes) + 1)]
    last = [str(axes.get(axis, "?")) for axis in range(min(*axes, 0), 0)]
    return f"({', '.join([*first, '...', *last])})"


def _with_known_axes(value: Tensor) -> str:
    axes = {axis: S.show(size) for axis, size in (value.axes or {}).items() if S.is_named(size)}
    return f"of unknown rank {partial_shape(dict(axes))}" if axes else "of unknown rank"


def _short(value: Value) -> str:
    """An item of a tuple or list: a tensor by its shape, a size by its name."""
    match value:
        case Tensor():
            return f"{value.framework or 'array'} {'?' if value.shape is None else show_shape(value.shape)}"
        case Const() if len(repr(value.value)) <= 20:
            return repr(value.value)
        case Number():
            return S.show(value.size)
    return "?"
