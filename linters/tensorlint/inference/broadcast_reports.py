"""A row that met a column, a loss of two shapes, a reduction along the wrong axis: what was seen, and what speaks for meaning it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

from tensorlint.findings import Evidence
from tensorlint.inference import sizes as S
from tensorlint.inference.advice import Operand, one_shape
from tensorlint.inference.deliberate import (
    adds_its_transpose,
    is_display,
    is_kept_again,
    is_output,
    is_predicted,
    is_prediction,
    of_itself,
    of_one_matrix,
    repeats,
)
from tensorlint.inference.frames import found_ones
from tensorlint.inference.hazards import BroadcastContext, BroadcastHazard, WrongAxisHazard
from tensorlint.inference.ops.broadcasting import chosen_alike
from tensorlint.inference.ops.results import MAGNITUDE, RETYPED
from tensorlint.inference.outcomes import WHOLE, Outcomes
from tensorlint.inference.own_reductions import meets_each, misplaced
from tensorlint.inference.sizes import Size, show_shape
from tensorlint.inference.source_text import operand_nodes
from tensorlint.inference.values import LibraryObject, Sequence, Tensor
from tensorlint.inference.walking import parameters_of, walk

# Of these the sum of the whole table is the product of two sums: nobody makes the table for it.
_SEPARATES = frozenset({"multiplication", "division"})
# Marks of an axis of size 1 that the code asked for.
_OWN_AXIS = frozenset({"spelled", "reshaped"})
# Methods that give the same numbers in the same places.
SAME_ITEMS = frozenset({"float", "double", "half", "astype", "to", "detach", "clone", "copy", "contiguous", "cpu"})
_DIAGONAL = re.compile(r"\b(?:diag|diagonal|trace)\b")
_OF_SOURCE = MAGNITUDE | RETYPED
# Marks of a vector that a table may be made of: a margin, a range, a column that was turned.
_OF_A_TABLE = frozenset({"reduction", "ramp", "coordinate", "transposed", "reshaped", "spelled", "squeezed"})
_OF_ERRORS = frozenset({"abs", "absolute", "pow", "square"})
_SELECTS = re.compile(r"argmax|argmin|max\(|topk")
_SHOWN_AGAIN = SAME_ITEMS | {"unsqueeze", "reshape", "view", "long", "int", "numpy"}
# Behind an expression: what makes a column of it.
_MADE_COLUMN = r"\)*\s*(?:\[\s*(?:\.\.\.|:)\s*,\s*(?:None|(?:\w+\.)?newaxis)|\.(?:unsqueeze|reshape|view)\()"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FollowOn:
    """A loss that was given the result of a row and a column: that result's shape, and the loss's other operand, which may
    be a column."""

    shape: str
    other: str
    column: bool


class BroadcastReports(Outcomes):
    """Mixed into the interpreter."""

    __slots__ = ()

    def report_broadcast(self, node: ast.AST, facts: dict[str, Any], loss: bool = False) -> None:
        left: Tensor = facts["left"]
        right: Tensor = facts["right"]
        if left.shape is None or right.shape is None or found_ones(self.frame, (*left.shape, *right.shape)):
            return
        more_axes = facts.get("more_axes")  # an operand that may have more of them in front
        left_node, right_node = facts.get("nodes") or operand_nodes(node, facts.get("at", (0, 1)))
        left_node, right_node = self.written_as(left_node, left), self.written_as(right_node, right)
        left_text, right_text = self.text_of(left_node, 40), self.text_of(right_node, 40)
        place = self.reported_place(node)
        grown = _growth(left.shape, right.shape)
        alike = chosen_alike(left, right)
        if alike and not S.cut_alike(left.shape[0], right.shape[0]) and not self.is_one_mask(left, right):
            return
        said = [tensor for tensor in (left, right) if "spelled" in tensor.marks]
        shaped = [tensor for tensor in (left, right) if "reshaped" in tensor.marks]
        ranges = [tensor for tensor in (left, right) if "ramp" in tensor.marks]
        images = _are_images(left.shape, right.shape)
        evidence = [
            self.made_evidence(left_text, left, left_node),
            self.made_evidence(right_text, right, right_node),
            *self.called_from(),
        ]
        operands = self.operand(left, left_node, "first"), self.operand(right, right_node, "second")
        hazard = BroadcastHazard(
            node=node, operation=str(facts["operation"]), left=left_text,
            left_shape=_shown(left.shape, left is more_axes), right=right_text,
            right_shape=_shown(right.shape, right is more_axes),
            result_shape=_shown(facts.get("shape"), more_axes is not None),
            context="loss" if loss else "plain",
            spelled="said" if said else "shaped" if shaped else "no",
            spelled_here=any(
                self.is_for_this(each, tensor, images)
                for each, tensor in ((left_node, left), (right_node, right))
                if tensor.marks & {"spelled", "reshaped"}
            ) or any(
                tensor.marks & _OWN_AXIS and self.is_asked_for_in(self.made_in_call(tensor), tensor, "spelled" in tensor.marks)
                for tensor in (left, right)
            ),
            written_column=any(
                tensor.marks & _OWN_AXIS and "kept" not in tensor.marks and self.is_asked_for_in(
                    each, tensor, "spelled" in tensor.marks and "column" not in tensor.marks)
                for each, tensor in ((left_node, left), (right_node, right))
            ),
            weighs_losses=_is_loss(left) or _is_loss(right) or _weighs_items(left, right)
            or (bool(said) and (self.is_error(left_node) or self.is_error(right_node))),
            predicted=any(
                self.is_shaped_by_callee(column) and (
                    is_predicted(self, row)
                    or is_prediction(self.frame.node, row_node)
                    # Of two outputs each may be compared with each, and of samples each with each that a network draws,
                    # where the operation itself makes the column.
                    or (is_output(self, row_node) and not is_output(self, column_node)
                        and not self.is_asked_for_in(column_node, column, said=False))
                )
                for column, column_node, row, row_node in (
                    (left, left_node, right, right_node), (right, right_node, left, left_node))
                if column.marks & _OWN_AXIS
            ),
            both_spelled=_both_spelled(left, right),
            both_said=len(said) == 2,
            same_length=alike or (grown is not None and (
                (grown[0] == grown[1] and _lines_up(left.shape, right.shape)) or self.are_filled_together(left, right, grown)
            )),
            same_rank=len(left.shape) == len(right.shape),
            selected=any(tensor.marks & {"spelled", "reshaped"} and self.is_selected(tensor) for tensor in (left, right)),
            own_axis=bool(said or shaped) and not any("kept" in tensor.marks for tensor in (*said, *shaped)),
            own_range=any("ramp" in tensor.marks for tensor in (*said, *shaped)),
            layer_column="column" in left.marks or "column" in right.marks,
            from_layer="column" in left.marks or "column" in right.marks or (
                "squeezed" in left.marks or "squeezed" in right.marks),
            suggestion=one_shape(*operands) if more_axes is None or more_axes.rank != 1 else self.behind(
                left_node if more_axes is left else right_node, ".squeeze(-1)"), column_suggestion=one_shape(*operands, columns=True),
            one_kept=_one_kept((left, left_node), (right, right_node), facts["operation"] in _SEPARATES),
            both_summed="dropped" in left.marks or "dropped" in right.marks,
            ratio=facts["operation"] == "division" and _is_ratio(left, right),
            updates=bool(said or shaped) and not ranges and len(left.shape) != len(right.shape)
            and self.updates_column(node, (left_node, left) if len(left.shape) > len(right.shape) else (right_node, right)),
            images=images,
            deliberate=repeats(node, left_node, right_node) or (
                facts["operation"] == "multiplication" and of_one_matrix(left_node, right_node)
            ) or of_itself(
                (left_node, left.made), (right_node, right.made)) or is_kept_again(left.made, right.made),
            written=self.is_written(left_node, left) and self.is_written(right_node, right),
            ranges=len(ranges), plain_ranges=all("coordinate" in tensor.marks for tensor in ranges),
            loss=loss, refused=bool(facts.get("refused")), both_grow=alike or grown is not None,
            misplaced="" if loss or len(left.shape) == len(right.shape) else misplaced(
                self, (left, left_node), (right, right_node)),
            meets_each="" if loss else meets_each(self, (left, left_node), (right, right_node)),
            ones_behind=not loss and _is_one_behind_ones(left.shape, right.shape),
            one_each=not loss and _is_one_of_each(left.shape, right.shape),
            rank=max(len(left.shape), len(right.shape)),
            evidence=tuple(each for each in evidence if each is not None),
        )  # fmt: skip
        self.add(node, hazard)
        if not loss:
            self.note_outer(place, left, right, facts.get("shape"))
            return
        for tensor, other, text in ((left, right, right_text), (right, left, left_text)):
            for mark in tensor.marks:
                if mark.startswith(WHOLE):
                    self.follow_ons.setdefault(place, {})[mark] = FollowOn(
                        show_shape(tensor.shape),
                        f"{text} {show_shape(other.shape)}",
                        (other.shape or ())[1:][-1:] == (1,),
                    )

    def is_for_this(self, node: ast.expr | None, tensor: Tensor, images: bool) -> bool:
        """Whether the operand's axis of size 1 was asked for in the expression, or by the function that is called: an axis
        that a reduction keeps there, it keeps for its own operand."""
        said = "spelled" in tensor.marks and "column" not in tensor.marks
        if "kept" not in tensor.marks and self.is_asked_for_in(node, tensor, said):
            return True
        # What a layer with one output made a column, no function makes one.
        return not images and "column" not in tensor.marks and self.is_shaped_by_callee(tensor)

    def is_asked_for_in(self, node: ast.expr | None, tensor: Tensor, said: bool) -> bool:
        """Whether the expression itself asks for the axis; `y[96:]` does not, of a `y` that has it already."""
        while isinstance(node, ast.Subscript):
            whole = self.peek(node.value)
            if not isinstance(whole, Tensor) or whole.rank != tensor.rank or tensor.marks & _OWN_AXIS - whole.marks:
                break
            node = node.value
        if said or node is None:
            return _spelled_here(node, said)
        return _spelled_here(node, said) and not any(
            isinstance(each, ast.Call) and self.is_given_column(each, tensor) for each in walk(node)
        )

    def is_given_column(self, call: ast.Call, tensor: Tensor) -> bool:
        """Whether the call is given a column of this shape already: `np.exp(column)`, `line(column, *found)`, `column.exp()`."""
        given = [*call.args, call.func.value] if isinstance(call.func, ast.Attribute) else call.args
        return any(
            isinstance(each, ast.Name)
            and isinstance(held := self.peek(each), Tensor)
            and held.shape == tensor.shape
            and bool(held.marks & _OWN_AXIS)
            for arg in given
            for each in walk(arg)
        )

    def is_selected(self, tensor: Tensor) -> bool:
        """Whether it is the index of a largest element, kept with its axis: `argmax(1, keepdim=True)`, `argmax(1)[:, None]`."""
        if tensor.how is not None and _SELECTS.match(tensor.how.rpartition(".")[2]):
            return True
        made, named = tensor.made, False
        while isinstance(made, (ast.Call, ast.Subscript, ast.Name)):
            if isinstance(made, ast.Name):  # `best = x.argmax(1)`, and then `best.unsqueeze(1)`
                held = self.peek(made)
                if named or not isinstance(held, Tensor) or held is tensor:
                    return False
                made, named = held.made, True
                continue
            func = made.func if isinstance(made, ast.Call) else made
            name = func.attr if isinstance(func, ast.Attribute) else ""
            if isinstance(made, ast.Call) and name not in _SHOWN_AGAIN:
                return name in ("argmax", "argmin")
            made = func.value if isinstance(func, (ast.Attribute, ast.Subscript)) else None
        return False

    def updates_column(self, node: ast.AST, column: tuple[ast.expr | None, Tensor]) -> bool:
        """Whether the result is given the name of the column itself, which was one before: `alpha = la * alpha + row`."""
        names = {
            each.id
            for each in (walk(column[0]) if column[0] is not None else ())
            if isinstance(each, ast.Name) and getattr(self.peek(each), "shape", None) == column[1].shape
        }
        return bool(names) and any(
            isinstance(each, ast.Assign)
            and len(each.targets) == 1
            and isinstance(each.targets[0], ast.Name)
            and each.targets[0].id in names
            and any(part is node for part in walk(each.value))
            for each in walk(self.frame.node)
        )

    def is_error(self, node: ast.expr | None) -> bool:
        """Whether it is the square or the absolute value of a difference, `(q - target).pow(2)`, also by a name."""
        if not isinstance(node, ast.Name):
            return _is_error(node)
        given = [
            each.value
            for each in walk(self.frame.node)
            if isinstance(each, ast.Assign) and any(getattr(target, "id", None) == node.id for target in each.targets)
        ]
        return len(given) == 1 and _is_error(given[0])

    def is_written(self, node: ast.expr | None, tensor: Tensor | None = None) -> bool:
        """Whether its numbers stand in the code, in the brackets that show their shape, or are computed of such and numbers."""
        if isinstance(node, ast.BinOp):
            return all(isinstance(side, ast.Constant) or self.is_written(side) for side in (node.left, node.right))
        value = self.peek(node) if tensor is None else tensor
        return (
            isinstance(node, (ast.Name, ast.Attribute, ast.Call))
            and isinstance(value, Tensor)
            and is_display(value.made)
        )

    def operand(self, tensor: Tensor, node: ast.AST | None, place: str) -> Operand:
        """What can be advised of an operand. Lists have no squeeze, and neither have distributions."""
        array = "distribution" not in tensor.marks and not isinstance(node, (ast.List, ast.Tuple, ast.ListComp))
        array = array and not isinstance(self.peek(node), (Sequence, LibraryObject))
        return Operand(tensor.shape or (), tensor.framework, self.whole_text(node), place, array)

    def are_filled_together(self, left: Tensor, right: Tensor, grown: tuple[Size, Size]) -> bool:
        """Whether they were joined of two lists that get their items side by side: `self.outputs` and `self.targets`."""
        if isinstance(grown[0], int) or isinstance(grown[1], int) or {left.rank, right.rank} != {1, 2}:
            return False
        first, second = (
            self.list_of(tensor, size) for tensor, size in zip((left, right), reversed(grown), strict=True)
        )
        if first is None or second is None or first == second:
            return False
        filled: dict[str, list[int]] | None = self.memory.get(_list_joined)
        if filled is None:
            filled = self.memory[_list_joined] = _blocks_that_fill(self.file.tree)
        return filled.get(first, []) == filled.get(second, ()) != []

    def list_of(self, tensor: Tensor, size: Size) -> str | None:
        """What the list is called that was joined to the tensor, or to one of whose length its own comes: `critic(obs)`."""
        found = _list_joined(tensor.made)
        if found is not None:
            return found
        alike = [
            held
            for held in self.frame.env.values()
            if isinstance(held, Tensor) and held.shape and held.shape[0] == size
        ]
        made = [
            part for held in alike if held.made is not None for part in walk(held.made) if isinstance(part, ast.Call)
        ]
        names = {_list_joined(part) for part in made} - {None}
        return names.pop() if len(names) == 1 else None

    def is_one_mask(self, left: Tensor, right: Tensor) -> bool:
        """Whether the name of the mask that chose both means one object: in one statement, or where it is bound once."""
        names = {each.id for each in walk(left.made) if isinstance(each, ast.Name)} if left.made is not None else set()
        if getattr(left.made, "lineno", None) == getattr(right.made, "lineno", None):
            return True
        facts, own = self.frame.facts, getattr(self.frame.node, "args", None)
        given = parameters_of(own) if isinstance(own, ast.arguments) else ()
        return all(facts.assigned.get(name, 0) + (name in given) <= 1 and name not in facts.shared for name in names)

    def is_shaped_by_callee(self, tensor: Tensor) -> bool:
        """Whether the called function made the column itself: `def rbf(x, y): x = x.reshape(-1, 1)`. That both of its
        arguments have one length is then a matter of this call."""
        line, code = getattr(tensor.made, "lineno", None), self.frame.node
        if not self.trail or line is None or not isinstance(code, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        return code.lineno <= line <= (code.end_lineno or code.lineno)

    def report_loss(self, node: ast.AST, facts: dict[str, Any]) -> None:
        if self.refused and any(map(self.never_is, operand_nodes(node, facts.get("at", (0, 1))))):
            return  # the program ends where the operand was to be made, which is reported
        self.report_broadcast(node, facts, loss=True)

    def never_is(self, node: ast.expr | None) -> bool:
        """Whether the expression is, or the name was given by, a call that was seen to raise."""
        if isinstance(node, ast.Name):
            return any(
                isinstance(each, ast.Assign) and node.id in map(ast.unparse, each.targets) and self.never_is(each.value)
                for each in walk(self.frame.node)
            )
        return node is not None and any(each in self.refused for each in walk(node))

    def with_outcome(
        self, node: ast.AST, hazard: BroadcastHazard, compared: list[tuple[ast.AST, FollowOn]]
    ) -> BroadcastHazard:
        """The hazard with what became of the result, and with the advice that goes with it."""
        outcome = self.outcomes.get(f"{WHOLE}{id(node)}")
        if outcome is None:
            return hazard
        context: BroadcastContext = (
            "reduced" if outcome.reduced else "partly" if outcome.partly else "compared" if compared else hazard.context
        )
        if context != hazard.context:
            evidence = (*self.reduction_evidence(node), *self.comparison_evidence(node, compared))
            hazard = replace(hazard, context=context, evidence=hazard.evidence + evidence)
        among_columns = outcome.column or any(each.column for _, each in compared)
        suggestion = hazard.column_suggestion if among_columns else hazard.suggestion
        return replace(
            hazard,
            reading=outcome.reading,
            mixed=outcome.mixed,
            averaged=outcome.averaged and not outcome.mixed,
            by_mean=outcome.by_mean,
            at_once=outcome.at_once,
            doubled=outcome.doubled,
            suggestion=suggestion,
        )

    def causes_of(self, node: ast.AST) -> dict[ast.AST, FollowOn]:
        """The operations that gave an operand of this loss its shape, a row that met a column, by their nodes. The shape
        says whether it is still theirs: what was summed over an axis since is not."""
        found = {}
        for mark, follow_on in self.follow_ons.get(node, {}).items():
            for (cause, _), hazard in self.hazards.items():
                if isinstance(hazard, BroadcastHazard) and mark == f"{WHOLE}{id(cause)}":
                    if hazard.result_shape == follow_on.shape:
                        found[cause] = follow_on
        return found

    def comparison_evidence(self, node: ast.AST, losses: list[tuple[ast.AST, FollowOn]]) -> list[Evidence]:
        """Where the result of the operation is compared with another shape: the reports that this one stands for."""
        found = [
            self.evidence_at(loss, f"compared with {each.other} here: {self.text_of(loss, 50)}")
            for loss, each in losses
            if getattr(loss, "lineno", None) != getattr(node, "lineno", None)
        ]
        return [evidence for evidence in found if evidence is not None]

    def report_one_sided(self, node: ast.AST, facts: dict[str, Any]) -> None:
        left: Tensor = facts["left"]
        right: Tensor = facts["right"]
        left_node, right_node = operand_nodes(node)
        for whole, part, part_node in ((left, right, right_node), (right, left, left_node)):
            whole_node = left_node if part is right else right_node
            if (
                part.reduced is None
                or whole.shape is None
                or part.shape is None
                or not (self.is_of(part, whole, whole_node) or _is_written_again(part.made, whole_node))
            ):
                continue
            rank = len(whole.shape)
            kept = [axis for axis in range(rank) if axis not in {each % rank for each in part.reduced}]
            # What is left lines up with the last axes; it was reduced over another one.
            aligned = list(range(rank - len(part.shape), rank))
            if len(kept) != len(part.shape) or kept == aligned or rank < 2:
                continue
            if any(whole.shape[axis] == 1 for axis in aligned) or any(whole.shape[axis] == 1 for axis in kept):
                continue
            if adds_its_transpose(whole.made) or self.meant_so(part_node, part):
                return
            reduced = self.text_of(part_node, 60)
            self.add(node, WrongAxisHazard(
                node=node, operation=str(facts["operation"]), left=self.text_of(left_node, 40),
                left_shape=show_shape(left.shape), right=self.text_of(right_node, 40), right_shape=show_shape(right.shape),
                suggestion=self.kept_axis(part_node, whole, part),
                evidence=tuple(each for each in [self.made_evidence(reduced, part, part_node), *self.called_from()] if each is not None),
            ))  # fmt: skip
            return

    def is_of(self, part: Tensor, whole: Tensor, node: ast.AST | None) -> bool:
        """Whether a reduction is one of the matrix, of its squares and their like, or of what the matrix is computed of item
        by item: `x - x.mean(1, keepdims=True)`."""
        if part.source is None:
            return False
        base = _root(part.source)
        if base is _root(whole):
            return True
        return part.source.shape == whole.shape and self.is_computed_of(node, base)

    def is_computed_of(self, node: ast.AST | None, base: Tensor, names: frozenset[str] = frozenset()) -> bool:
        """Whether the expression, or what made what a name in it holds, works on the matrix item by item. `names` were
        looked at: `x = x - 1` made what `x` holds."""
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                value = self.peek(node)
                if not isinstance(value, Tensor):
                    return False
                return _root(value) is base or (
                    name not in names
                    and isinstance(value.made, ast.BinOp)
                    and self.is_computed_of(value.made, base, names | {name})
                )
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                return any(self.is_computed_of(side, base, names) for side in (node.left, node.right))
            case ast.Call(func=ast.Attribute(attr=name, value=receiver)) if name in SAME_ITEMS:
                return self.is_computed_of(receiver, base, names)
        return False

    def meant_so(self, node: ast.expr | None, part: Tensor) -> bool:
        """Whether the code also makes a column of the same numbers, `A / np.sqrt(d) / np.sqrt(d)[:, None]`, which scales rows
        and columns of a symmetric matrix, or reads a diagonal, where the row's and the column's number are one."""
        wanted = {self.whole_text(node)}
        for each in walk(node) if node is not None else ():
            if isinstance(each, ast.Name) and getattr(self.peek(each), "rank", None) == part.rank:
                wanted.add(each.id)
        code = self.frame.node
        first, last = getattr(code, "lineno", 1), getattr(code, "end_lineno", None)
        text = "\n".join(self.lines[first - 1 : last]) if self.file is self.own_file else self.file.text
        if _DIAGONAL.search(text) is not None:
            return True
        return any(re.search(rf"(?<![\w.]){re.escape(each)}{_MADE_COLUMN}", text) for each in wanted if each)

    def kept_axis(self, node: ast.AST | None, whole: Tensor, part: Tensor) -> str:
        """Where the reduction is to keep its axis; if no call of this file is seen to make it, the index that gives it back."""
        keep = "keepdim=True" if whole.framework == "torch" else "keepdims=True"
        made = part.made
        if isinstance(made, ast.Call) and self.is_own(made) and self.reduces(made, part):
            far = made.lineno != getattr(node, "lineno", None)
            return f"{keep} in {self.call_text(made)}" + (f", line {made.lineno}" if far else "")
        text, rank = self.whole_text(node), len(whole.shape or ())
        gone = {axis % rank for axis in part.reduced or ()}
        index = ", ".join("None" if axis in gone else ":" for axis in range(max(gone) + 1))
        return f"{text}[{index}]" if text is not None else f"[{index}] behind {self.text_of(node, 40)}"

    def call_text(self, node: ast.Call) -> str:
        text = self.text_of(node, 60)
        return text if not text.endswith("…") else f"{self.text_of(node.func, 60)}(…)"

    def reduces(self, node: ast.Call, part: Tensor) -> bool:
        """Whether the call is the reduction itself: a call of the user's own function is not, and takes no keepdims."""
        return part.how is not None and part.how.partition("(")[0] == self.text_of(node.func).rpartition(".")[2]


def _is_written_again(reduction: ast.AST | None, node: ast.AST | None) -> bool:
    """Whether the expression is that which was reduced: `(A + 1) / (A + 1).sum(1)`, where nothing is drawn anew."""
    if not isinstance(reduction, ast.Call) or not isinstance(node, ast.BinOp) or reduction.lineno != node.lineno:
        return False
    function = reduction.func
    reduced = [*reduction.args[:1], *([function.value] if isinstance(function, ast.Attribute) else [])]
    if any(isinstance(each, (ast.Call, ast.NamedExpr)) for each in walk(node)):
        return False
    return any(isinstance(each, ast.BinOp) and ast.dump(each) == ast.dump(node) for each in reduced)


def _list_joined(node: ast.AST | None) -> str | None:
    """What the list is called that a call joins: `outputs` of `torch.cat(self.outputs).numpy()`, of `np.array(run["outputs"])`."""
    while isinstance(node, ast.Call):
        named = _last_part(node.args[0]) if node.args else None
        if named is not None:
            return named
        node = node.func.value if isinstance(node.func, ast.Attribute) else None
    return None


def _last_part(node: ast.expr) -> str | None:
    if isinstance(node, ast.Subscript):
        return node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else None
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _blocks_that_fill(tree: ast.AST) -> dict[str, list[int]]:
    """For each list, by what it is called, the blocks that add to it, once for each time they do."""
    found: dict[str, list[int]] = {}
    for node in walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            for statement in block if isinstance(block, list) else ():
                call = statement.value if isinstance(statement, ast.Expr) else None
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                    continue
                name = _last_part(call.func.value) if call.func.attr in ("append", "extend") else None
                if name is not None:
                    found.setdefault(name, []).append(id(block))
    return found


def _shown(shape: tuple[Size, ...] | None, more: bool) -> str:
    """The shape as messages show it; with `more` there may be other axes in front."""
    return show_shape(shape).replace("(", "(..., ", 1).replace(",)", ")") if more else show_shape(shape)


def _root(tensor: Tensor) -> Tensor:
    """The matrix of whose numbers these are the squares, absolute values, exponentials or those in another type."""
    while tensor.source is not None and tensor.marks & _OF_SOURCE:
        tensor = tensor.source
    return tensor


def _one_kept(
    left: tuple[Tensor, ast.expr | None], right: tuple[Tensor, ast.expr | None], separates: bool = False
) -> bool:
    """Whether a reduction that kept its last axis met one that did not, `x.sum(1, keepdim=True)` and `y.sum(1)`, or a
    number for each of its rows, as labels are."""
    (column, node), (row, _) = (left, right) if len(left[0].shape or ()) > len(right[0].shape or ()) else (right, left)
    if "kept" not in column.marks or not _is_one_each(row) or _is_picked(node, called=not separates):
        return False
    return (column.shape or ())[-1:] == (1,) and 1 not in (column.shape or ())[:-1]


def _is_loss(tensor: Tensor) -> bool:
    """Whether a loss gave it, one for each item: `F.cross_entropy(x, y, reduction="none")`, or an object that is one."""
    function = tensor.made.func if isinstance(tensor.made, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.endswith(("loss", "cross_entropy", "criterion")) or name == "binary_cross_entropy_with_logits"


def _is_error(node: ast.AST | None) -> bool:
    match node:
        case ast.BinOp(left=ast.BinOp(op=ast.Sub()), op=ast.Pow()):
            return True
        case ast.Call(func=ast.Attribute(value=ast.BinOp(op=ast.Sub()), attr=name)):
            return name in _OF_ERRORS
        case ast.Call(func=ast.Attribute(attr=name), args=[ast.BinOp(op=ast.Sub()), *_]):
            return name in _OF_ERRORS
    return False


def _weighs_items(left: Tensor, right: Tensor) -> bool:
    """Whether what a reduction over the last axis left of each item meets a column of something else:
    `error.mean(1) * weights.unsqueeze(1)`."""
    column, row = (left, right) if len(left.shape or ()) > len(right.shape or ()) else (right, left)
    return row.rank == 1 and "dropped" in row.marks and not column.marks & {"dropped", "kept", "reduction"}


def _is_ratio(left: Tensor, right: Tensor) -> bool:
    """Whether one reduction over the last axis is divided by another one, and only one of them kept it."""
    column, row = (left, right) if len(left.shape or ()) > len(right.shape or ()) else (right, left)
    return "kept" in column.marks and "dropped" in row.marks and (column.shape or ())[-1:] == (1,)


def _both_spelled(left: Tensor, right: Tensor) -> bool:
    """Whether the code says of both how many axes they have: of one that grows by axes it has not, nothing of its own axes
    of size 1 does."""
    marks = {"spelled", "reshaped", "literal"}
    if not (left.marks & marks and right.marks & marks):
        return False
    a, b = left.shape or (), right.shape or ()
    if len(a) == len(b):
        return True
    shorter, longer = (left, b) if len(a) < len(b) else (right, a)
    return "literal" not in shorter.marks or bool(shorter.marks & {"spelled", "reshaped"}) or any(
        own == 1 != met for own, met in zip(reversed(shorter.shape or ()), reversed(longer), strict=False)
    )  # fmt: skip


def _are_images(left: tuple[Size, ...], right: tuple[Size, ...]) -> bool:
    """Whether both have two or more last axes in common behind the one that grew: `(n, 1, h, w)` and `(n, h, w)`."""
    return min(len(left), len(right)) > 2 and left[-2:] == right[-2:] and 1 not in left[-2:]


def _is_one_of_each(left: tuple[Size, ...], right: tuple[Size, ...]) -> bool:
    """Whether one of them has a number for each item of the other, with an axis too many: `(n, 1, 1)` and `(n, t)`."""
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    if len(longer) != len(shorter) + 1 or len(shorter) < 2 or 1 in shorter:
        return False
    # A bandwidth for each of several kernels over a table of pairs has no items: `(h, 1, 1)` and `(n, n)`.
    return longer[0] == shorter[0] and shorter.count(longer[0]) == 1 and all(size == 1 for size in longer[1:])


def _is_one_behind_ones(left: tuple[Size, ...], right: tuple[Size, ...]) -> bool:
    """Whether a number for each image, `(n, 1, 1, 1)`, meets one for each image, `(n,)`."""
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    return len(shorter) == 1 != shorter[0] and len(longer) > 2 and longer == (shorter[0], *(1,) * (len(longer) - 1))


def _is_picked(node: ast.expr | None, *, called: bool) -> bool:
    """Whether the expression takes a part of something, or, if `called`, calls a function by its name: the axis may be what
    it is for, as in `lengths(x) + row`. A `keepdim=True` that stands in it keeps the axis for the reduction's own operand."""
    return node is not None and any(
        isinstance(each, ast.Subscript) or (called and isinstance(each, ast.Call) and isinstance(each.func, ast.Name))
        for each in walk(node)
    )


def _is_one_each(row: Tensor) -> bool:
    """Whether it was reduced over its last axis, or is a vector of its own: no margin of a matrix, no part of one, no range."""
    if "dropped" in row.marks:
        return True
    return row.rank == 1 and not (row.marks & _OF_A_TABLE or isinstance(row.made, ast.Subscript))


def _growth(left: tuple[Size, ...], right: tuple[Size, ...]) -> tuple[Size, Size] | None:
    """What the right grows the left to, and the left the right: the two sizes of a row that met a column."""
    rank = max(len(left), len(right))
    a = (1,) * (rank - len(left)) + left
    b = (1,) * (rank - len(right)) + right
    to_left = [y for x, y in zip(a, b, strict=True) if x == 1 and y != 1]
    to_right = [x for x, y in zip(a, b, strict=True) if y == 1 and x != 1]
    if not to_left or not to_right:
        return None
    for x in to_left:
        if x in to_right:
            return x, x
    return to_left[-1], to_right[-1]


def _lines_up(left: tuple[Size, ...], right: tuple[Size, ...]) -> bool:
    """Whether the shapes line up once the longer one has lost its axes of size 1: `(2, 3, 1)` and `(3, 2)` do not, nor
    do `(h, 1, 1)` and `(n, n)`, where the axes of size 1 stand for all of the shorter one's."""
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    if len(longer) == len(shorter):
        return True
    squeezed = tuple(size for size in longer if size != 1)
    if len(squeezed) > 2 and squeezed == tuple(size for size in shorter if size != 1):
        return True
    if len(squeezed) < len(shorter):
        return False
    return all(x in (1, y) or y == 1 for x, y in zip(reversed(squeezed), reversed(shorter), strict=False))


def _spelled_here(node: ast.expr | None, said: bool) -> bool:
    """Whether the operand's expression may be what gave it the axis. Arithmetic on names (`3 * column`) is not, unless the
    axis was asked for so plainly that any such step may be the table it was for."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME_ITEMS:
        node = node.func.value
    if node is None or isinstance(node, (ast.Name, ast.Attribute, ast.Constant)):
        return False
    return said or any(
        isinstance(each, ast.Subscript) or (isinstance(each, ast.Call) and not _keeps_places(each))
        for each in walk(node)
    )


def _keeps_places(node: ast.Call) -> bool:
    """`v.detach()`: what stands in an expression and gives no axis."""
    return isinstance(node.func, ast.Attribute) and node.func.attr in SAME_ITEMS
