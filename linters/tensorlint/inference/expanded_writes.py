"""Writes into a tensor that repeats its elements, as `expand` leaves it: what is written at one index is read at others.

torch refuses an operation in place whose result would be written to the same memory more than once
(`at::assert_no_internal_overlap`); where a mask or an index array chooses what is written it warns that this is deprecated,
and refuses it in the backward pass; it says nothing where one of the repeated rows is written: all of them change. numpy's
`broadcast_to` gives an array that nobody may write.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Literal

from tensorlint.inference import sizes as S
from tensorlint.inference.default_ones import default_ones
from tensorlint.inference.frames import found_ones
from tensorlint.inference.handling import last_name
from tensorlint.inference.hazards import ExpandedWriteHazard
from tensorlint.inference.kept import kept_with
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops.results import REPEATS
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.perhaps_one import may_be_one
from tensorlint.inference.sizes import Size, show_shape
from tensorlint.inference.source_bindings import names_in, values_behind
from tensorlint.inference.state import State
from tensorlint.inference.values import Const, Number, Scalar, Sequence, Slice, Tensor, Value, integer, is_none
from tensorlint.inference.walking import walk

# In-place operations of which torch lets an expanded tensor be the receiver: what they write is the same at each of the
# places that are one in memory, or they change the shape alone. The tests try every method of `torch.Tensor`.
_ALLOWED = frozenset([
    "as_strided_", "conj_physical_", "detach_", "fill_", "fill_diagonal_", "requires_grad_", "resize_", "resize_as_",
    "retain_grad_", "set_", "share_memory_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "tril_", "triu_",
    "unsqueeze_", "zero_", "rename_", "apply_", "map_", "map2_",
    "sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "coalesce_",
    "constant_", "ones_", "zeros_", "dirac_", "eye_",  # of torch.nn.init
])  # fmt: skip
# What torch warns of, and refuses in the backward pass.
_CHOOSING = frozenset({"masked_fill_", "index_fill_", "index_put_"})
_OF_THE_SHAPE = RESHAPING | {"detach_", "requires_grad_", "retain_grad_", "share_memory_", "rename_"}
# What gives a module's tensors memory of their own.
_MOVES = re.compile(r"\.(?:to|cuda|cpu|double|half|float|bfloat16|type|to_empty)\(")
# Functions and methods of numpy that write into an array.
NUMPY_WRITES = frozenset({"fill", "sort", "partition", "put"})
NUMPY_WRITERS = frozenset(
    {"numpy.copyto", "numpy.put", "numpy.place", "numpy.putmask", "numpy.fill_diagonal", "numpy.random.shuffle"}
)
# What gives an expanded tensor, of its receiver or first argument.
_EXPANDS = frozenset({"expand", "expand_as", "broadcast_to"})
_MOST_NAMES = 24

Write = Literal["refused", "read-only", "all", "merged", "deprecated", "unsure"]


class ExpandedWrites(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def write_over(self, value: Value, written: ast.expr, node: ast.AST) -> None:
        """`x += 1`, `self.x *= 2`."""
        if type(value) is Tensor and not (
            value.framework == "torch" and isinstance(node, ast.AugAssign) and isinstance(node.op, ast.MatMult)
        ):  # torch has no product in place
            self.write_all(value, written, node)

    def write_all(self, tensor: Tensor, written: ast.expr | None, node: ast.AST | None) -> None:
        """`x += 1`, `x.add_(1)`: every element is written."""
        if repeated := repeated_axes(tensor):
            self.tell_of_write(
                tensor, written, node, "refused" if tensor.framework == "torch" else "read-only", repeated
            )

    def write_part(self, tensor: Tensor, index: Value, written: ast.Subscript, node: ast.AST | None) -> None:
        """`x[i] = 1`, `x[:, 0] += 1`: what the index chooses is written."""
        repeated = repeated_axes(tensor)
        if not repeated:
            if isinstance(written.value, ast.Subscript) and node is not None:
                self.write_into_chosen(written.value, node)  # `x[0][1] = 2`
            return
        if tensor.framework == "numpy":
            self.tell_of_write(tensor, written.value, node, "read-only", repeated)
            return
        items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
        if items is not None and len(items) == 1 and isinstance(items[0], Tensor) and items[0].dtype == "bool":
            self.write_masked(tensor, items[0], written.slice, written.value, node, offset=0)
            return
        kind, axes = ("unsure", repeated) if items is None else _what_comes_of(items, tensor.shape or (), repeated)
        if kind == "all" and node is written and self.is_same_for_all(written):
            return
        if kind is not None:
            self.tell_of_write(tensor, written.value, node, kind, axes, self.text_of(written, 40))

    def write_by_method(self, tensor: Tensor, name: str, args: list[Value], node: ast.AST | None) -> None:
        """`x.add_(1)`, `x[i].zero_()`, `x.masked_fill_(mask, 0)`."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        written = node.func.value
        if tensor.framework == "numpy":
            if name in NUMPY_WRITES:
                self.write_all(tensor, written, node)
            return
        if name in _CHOOSING:
            mask = args[0] if name == "masked_fill_" and args else None
            if isinstance(mask, Tensor) and mask.shape is not None and tensor.shape is not None and node.args:
                self.write_masked(tensor, mask, node.args[0], written, node, offset=len(tensor.shape) - len(mask.shape))
            elif repeated := repeated_axes(tensor):
                self.tell_of_write(tensor, written, node, "deprecated", repeated)
        elif _is_in_place(written):
            pass  # of `x.mul_(2).add_(1)` the first is refused
        elif name not in _ALLOWED:
            self.write_all(tensor, written, node)
        if isinstance(written, ast.Subscript) and name not in _OF_THE_SHAPE:
            self.write_into_chosen(written, node)

    def write_by_function(self, tensor: Tensor, path: str, node: ast.AST | None) -> None:
        """`torch.relu_(x)`, `nn.init.normal_(x)`, `torch.add(x, y, out=x)`, `F.relu(x, inplace=True)`."""
        if path.rpartition(".")[2] in _ALLOWED or not isinstance(node, ast.Call):
            return
        given = [each.value for each in node.keywords if each.arg == "out"] if path == "out" else node.args
        self.write_all(tensor, given[0] if given else None, node)

    def report_in_place(self, node: ast.AST, facts: dict[str, Any]) -> None:
        if isinstance(facts["tensor"], Tensor):
            self.write_by_function(facts["tensor"], "", node)

    def write_into_chosen(self, written: ast.Subscript, node: ast.AST) -> None:
        """`x[i].add_(1)`: one of the rows that are the same in memory."""
        whole = self.peek(written.value)
        if not isinstance(whole, Tensor) or whole.framework != "torch" or not repeated_axes(whole):
            return
        if any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Await)) for part in walk(written.slice)):
            return  # which would be asked for twice
        index, repeated = self.eval(written.slice), repeated_axes(whole)
        items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
        if items is not None and _what_comes_of(items, whole.shape or (), repeated)[0] == "all":
            self.tell_of_write(whole, written.value, node, "all", repeated, self.text_of(written, 40))

    def is_same_for_all(self, written: ast.Subscript) -> bool:
        """`for i in range(n): x[i] = 0`, which gives all rows what the others get, too."""
        parts = written.slice.elts if isinstance(written.slice, ast.Tuple) else [written.slice]
        index = {part.id for part in parts if isinstance(part, ast.Name)}
        others = [part for each in parts if not isinstance(each, ast.Name) for part in walk(each)]
        loops = kept_with(self.frame.node, "loops by name", lambda: _loops(self.frame.node))
        for loop in (loop for name in index for loop in loops.get(name, ())):
            nodes = list(walk(loop))
            bound = {part.id for part in nodes if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
            for each in nodes:
                if isinstance(each, ast.Assign) and written in each.targets:
                    if not any(
                        isinstance(part, ast.Call) or (isinstance(part, ast.Name) and part.id in bound)
                        for part in (*others, *walk(each.value))
                    ):
                        return True
        return False

    def is_copied_later(self, tensor: Tensor, written: ast.expr | None) -> bool:
        """What a module holds has memory of its own once the module has another type or device; an array may be made one
        that is written."""
        if tensor.framework == "numpy":
            return "writeable" in self.file.text or "setflags" in self.file.text
        return isinstance(written, ast.Attribute) and _MOVES.search(self.file.text) is not None

    def write_masked(
        self, tensor: Tensor, mask: Tensor, chosen: ast.expr, written: ast.expr, node: ast.AST | None, *, offset: int
    ) -> None:
        """What is written where a mask is true is written for all the rows that are one in memory, if it is true for one
        of them; `offset` is how many axes of the tensor come before the mask's."""
        repeated = repeated_axes(tensor)
        if not repeated:
            return
        shape, same = mask.shape or (), repeated_axes(mask)
        differing = [
            axis
            for axis in repeated
            if 0 <= axis - offset < len(shape) and axis - offset not in same and S.surely_not_one(shape[axis - offset])
        ]
        if differing and not self.is_made_of(chosen, tensor):
            self.tell_of_write(tensor, written, node, "merged", differing, self.text_of(chosen, 40))
        else:
            self.tell_of_write(tensor, written, node, "deprecated", repeated)

    def is_made_of(self, mask: ast.expr, tensor: Tensor) -> bool:
        """Whether the expression names a tensor that is, or helped to make, what is written into."""
        env = self.frame.env
        own = names_in(tensor.made) if isinstance(tensor.made, ast.expr) else set()
        own |= {name for name, value in env.items() if value is tensor}
        _, names = values_behind(self.frame.node, names_in(mask), _MOST_NAMES)
        return len(names) > _MOST_NAMES or any(isinstance(env.get(name), Tensor) for name in names & own)

    def tell_of_write(
        self,
        tensor: Tensor,
        written: ast.expr | None,
        node: ast.AST | None,
        kind: Write,
        axes: list[int],
        region: str = "",
    ) -> None:
        if kind == "read-only" and not _is_read_only(tensor):
            return  # what `as_strided` gives may be written
        sizes = [(tensor.shape or ())[axis] for axis in axes]
        if node is None or found_ones(self.frame, sizes) or default_ones(self.frame, sizes):
            return  # of size 1 by default, or where a test has found that: nothing is repeated
        if may_be_one(sizes, self.frame.node, self.file.tree) or self.is_copied_later(tensor, written):
            return
        self.report_of(
            node,
            "expanded_write",
            {"tensor": tensor, "written": written, "write": kind, "axes": axes, "region": region},
        )

    def report_expanded_write(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        shape, axis = tensor.shape or (), facts["axes"][0]
        written = self.written_as(facts["written"], tensor)
        steps = tensor.layout_trail or (((tensor.made, "expanded"),) if tensor.made is not None else ())
        line = next((step.lineno for step, words in steps[::-1] if words == "expanded" and hasattr(step, "lineno")), 0)
        here = getattr(node, "lineno", 0) if self.called_from_here is None else line
        evidence = [self.evidence_at(step, words) for step, words in steps if getattr(step, "lineno", None) is not None]
        operation = self.text_of(node, 50) + (" = ..." if isinstance(node, ast.Subscript) else "")
        self.add(node, ExpandedWriteHazard(
            node=node, receiver=self.text_of(written, 40), shape=show_shape(shape), axis=axis, size=S.show(shape[axis]),
            write=facts["write"], region=facts["region"], by=_made_by(tensor), line=0 if line == here else line,
            operation=operation, evidence=tuple(each for each in (*evidence, *self.called_from()) if each),
        ))  # fmt: skip


def _loops(code: ast.AST) -> dict[str, list[ast.AST]]:
    """The loops by the names that go through something."""
    found: dict[str, list[ast.AST]] = {}
    for node in walk(code):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            for part in walk(node.target):
                if isinstance(part, ast.Name):
                    found.setdefault(part.id, []).append(node)
    return found


def repeated_axes(tensor: Tensor) -> list[int]:
    """The axes along which the same elements are read again: their stride is 0, and their size is not 1.

    A size with a name is taken to be neither 0 nor 1.
    """
    shape = tensor.shape
    if shape is None:
        return []
    if tensor.strides is None:
        marked = next((mark for mark in tensor.marks if mark.startswith(REPEATS)), None)
        if marked is None or not _is_expanding(tensor.made):
            return []
        axes = [int(axis) for axis in marked.removeprefix(REPEATS).split(",")]
    elif 0 in tensor.strides:
        axes = [axis for axis, stride in enumerate(tensor.strides) if stride == 0]
    else:
        return []
    if 0 in shape:
        return []  # nothing to write
    return [axis for axis in axes if axis < len(shape) and S.surely_not_one(shape[axis])]


def forget_repeated(result: Tensor, operation: str) -> None:
    """What an operation makes of a tensor that repeats its elements has memory of its own, or other axes."""
    if operation.rpartition(".")[2] not in _EXPANDS:
        for mark in result.marks:
            if mark.startswith(REPEATS):
                result.marks -= {mark}
                return


def _what_comes_of(items: list[Value], shape: Shape, repeated: list[int]) -> tuple[Write | None, list[int]]:
    """What comes of a write by an index into a tensor that repeats its elements along these axes, and by which of them;
    None where nothing is written."""
    consumed = sum(not (is_none(item) or _is_ellipsis(item)) for item in items)
    left: set[int] = set()  # the axes of which more than one index is written
    some = listed = False
    at = 0
    for item in items:
        if is_none(item):
            continue
        if _is_ellipsis(item):
            left.update(range(at, at := at + len(shape) - consumed))
            continue
        if isinstance(item, Slice):
            taken = _length(item, shape[at] if at < len(shape) else None)
            if taken == 0:
                return None, []
            if taken is None and at in repeated:
                return "unsure", repeated
            if taken != 1:
                left.add(at)
        elif isinstance(item, Sequence) and item.kind == "list" and item.items:
            listed = True
            left.add(at)
            some = some or (at in repeated and _is_some_of(item, shape[at]))
        elif integer(item) is None and not (
            isinstance(item, Number) or (isinstance(item, Scalar) and item.kind == "int")
        ):
            return "unsure", repeated
        at += 1
    left.update(range(at, len(shape)))
    axes = [axis for axis in repeated if axis in left]
    if not axes or some:
        return "all", repeated
    return ("deprecated" if listed else "refused"), axes


def _is_some_of(item: Sequence, size: Size) -> bool:
    """Whether the list chooses by numbers, fewer than there are: `x[[0, 2]]`."""
    chosen = [integer(each) for each in item.items or ()]
    return isinstance(size, int) and None not in chosen and len(set(chosen)) < size


def _length(item: Slice, size: Size | None) -> int | None:
    """How many elements the slice takes: 0, 1, 2 for more than one, None where nobody knows."""
    bounds = [None if is_none(each) else integer(each) for each in (item.start, item.stop, item.step)]
    if isinstance(size, int) and all(
        is_none(each) or bound is not None
        for each, bound in zip((item.start, item.stop, item.step), bounds, strict=True)
    ):
        return min(2, len(range(*slice(*bounds).indices(size)))) if bounds[2] != 0 else None
    if is_none(item.start) and is_none(item.stop):
        return 2
    start, stop = 0 if is_none(item.start) else integer(item.start), integer(item.stop)
    if start is None or stop is None or not is_none(item.step) or (start >= 0) != (stop >= 0) or stop <= start:
        return None
    return min(2, stop - start)


def _is_in_place(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (last_name(node.func) or "").endswith("_")


def _is_ellipsis(item: Value) -> bool:
    return isinstance(item, Const) and item.value is Ellipsis


def _is_expanding(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _EXPANDS


def _is_read_only(tensor: Tensor) -> bool:
    nodes = [step for step, _ in tensor.layout_trail] + [tensor.made]
    return any(isinstance(node, ast.Call) and last_name(node.func) == "broadcast_to" for node in nodes)


def _made_by(tensor: Tensor) -> str:
    """What repeats the elements, in a word: `expand`."""
    for node in (*(step for step, words in reversed(tensor.layout_trail) if words == "expanded"), tensor.made):
        if isinstance(node, ast.Call) and (name := last_name(node.func)) is not None:
            return name
    return "expand"
