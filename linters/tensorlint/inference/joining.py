"""Tensors that are joined, and others of which torch asks that they have as many axes as one another."""

from __future__ import annotations

import ast

from tensorlint.inference import ranks
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.state import State
from tensorlint.inference.values import UNKNOWN, Const, Opaque, Sequence, Tensor, Value, copy, integer

# Functions whose first argument is a list of tensors.
JOINING = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.stack", "torch.hstack", "torch.vstack"})
# Functions that take tensors of one rank.
OF_ONE_RANK = frozenset(
    [f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "gather", "scatter", "scatter_add")]
    + ["gather", "scatter", "scatter_", "scatter_add", "scatter_add_"]
)


class Joining(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def joined_tensors(self, parts: Sequence) -> Sequence:
        """What `torch.cat` is given: objects nobody knows are tensors here."""
        if parts.items is None or all(isinstance(item, Tensor) for item in parts.items):
            return parts
        items: list[Value] = []
        for item in parts.items:
            if item is UNKNOWN:
                item = Tensor("torch")
            elif isinstance(item, Opaque) and item.kind is None:
                self.demand(item, ranks.ANY, torch=True)
                item = Tensor("torch", axes=item.axes, kin=item.kin)
            items.append(item)
        return Sequence(parts.kind, items)

    def after_joining(
        self, name: str, result: Tensor, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """`torch.cat`, `torch.stack` of tensors that have as many axes as one another."""
        for each in _names_joined(node):
            item = self.frame.env.get(each)
            if isinstance(item, Tensor) and (item.rank or 0) > 1:
                return copy(result, shape=_joined_shape(name, item, args, kwargs), made=node)
        parts = args[0]
        assert isinstance(parts, Sequence)
        if name.endswith(("hstack", "vstack")):
            return result
        items = parts.items if parts.items is not None else [parts.element]
        kins = [item.kin if isinstance(item, Tensor) and item.shape is None else None for item in items]
        if not kins or any(kin is None or kin != kins[0] for kin in kins):
            return result
        return self.keep_rank(result, items[0], 1 if name.endswith("stack") else 0)

    def demand_of_operands(self, name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
        """Operations that take tensors of one rank: beside one that is known the others have as many axes."""
        if name in JOINING:
            given = args[0] if args else kwargs.get("tensors", UNKNOWN)
            items = given.items if isinstance(given, Sequence) and given.items is not None else []
            # `torch.cat` passes over vectors without elements.
            fits = [each.rank for each in items if isinstance(each, Tensor) and each.rank is not None]
            if not fits or (name != "torch.stack" and min(fits) < 2):
                return
            mask = ranks.exactly(fits[0]) | (0 if name == "torch.stack" else ranks.exactly(1))
        else:
            index = kwargs.get("index", args[2] if len(args) > 2 else UNKNOWN)
            items = [args[0] if args else kwargs.get("input", UNKNOWN), index]
            known = [each.rank for each in items if isinstance(each, Tensor) and each.rank is not None]
            if len(known) != 1:
                return
            mask = ranks.exactly(*((0, 1) if known[0] < 2 else known))
        for each in items:
            self.demand(each, mask, torch=True)


def _names_joined(node: ast.AST | None) -> list[str]:
    """The names that are certainly among what is joined: `torch.cat(before + [x])`."""
    waiting: list[ast.expr] = node.args[:1] if isinstance(node, ast.Call) else []
    found: list[str] = []
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.left, part.right]
        elif isinstance(part, (ast.List, ast.Tuple)):
            found += [each.id for each in part.elts if isinstance(each, ast.Name)]
    return found


def _joined_shape(name: str, item: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Shape:
    """The shape of what is joined with a matrix, or a tensor of more axes, of which the others are nobody's business."""
    sizes = list(item.shape or ())
    dim = {"torch.hstack": 1, "torch.vstack": 0}.get(
        name, integer(kwargs.get("dim", args[1] if len(args) > 1 else Const(0)))
    )
    rank = len(sizes) + (name == "torch.stack")
    if dim is None or not -rank <= dim < rank:
        return tuple(S.symbol() for _ in range(rank))
    if name == "torch.stack":
        sizes.insert(dim % rank, S.symbol())
    else:
        sizes[dim] = S.symbol()
    return tuple(sizes)
