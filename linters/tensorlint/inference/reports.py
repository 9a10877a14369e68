"""From what the tables and the interpreter notice to hazards, with the evidence a user reads; and what is shown."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

from tensorlint.findings import Evidence
from tensorlint.inference import ops
from tensorlint.inference import sizes as S
from tensorlint.inference.frames import Frame
from tensorlint.inference.hazards import (
    BroadcastHazard,
    DirectForwardHazard,
    Hazard,
    RankOneCreationHazard,
    RankOneTransposeHazard,
    RankOneVectorHazard,
    RevealShapeHazard,
    ViewHazard,
    WrongAxisHazard,
)
from tensorlint.inference.layout import ViewResult
from tensorlint.inference.ops import modules
from tensorlint.inference.sizes import Size, show_shape
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    PLAIN,
    Attribute,
    Class,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Tensor,
    Value,
    copy,
)

_CALLED = "called here"
_PATCHES_FORWARD = re.compile(r"\.forward\s*=[^=]|[\"']forward[\"']\s*,")
# Libraries whose modules do something else when called: ExactGP.forward is the prior, calling it gives the posterior.
_OWN_CALLS = re.compile(r"^\s*(?:import|from) gpytorch\b", re.MULTILINE)
_OPERATION_WORDS = {
    "+": "addition", "-": "subtraction", "*": "multiplication", "/": "division", "//": "division", "%": "remainder",
    "**": "power",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binding:
    """A name that was given a tensor, as `tensorlint shapes` shows it. Unknown parts are None (or "?" in a shape)."""

    line: int
    column: int
    name: str
    framework: str
    shape: tuple[int | str, ...] | None
    strides: tuple[int | str, ...] | None
    contiguous: bool | None
    dtype: str | None
    device: str | None
    end_line: int


@dataclass(slots=True)
class Attempt:
    hazards: dict[Any, Hazard]
    bindings: dict[Any, tuple[ast.Name, Tensor]]


class Reports(State):
    """Mixed into the interpreter."""

    def start_reports(self) -> None:
        self.hazards: dict[Any, Hazard] = {}
        self.bindings: dict[Any, tuple[ast.Name, Tensor]] = {}
        self.contexts: dict[str, str] = {}
        self.refined: dict[int, tuple[Tensor, Tensor]] = {}
        self.last_broadcast: str | None = None
        self.matrix_transposes: set[ast.AST] = set()
        self.patches_forward = _PATCHES_FORWARD.search(self.own_file.text) is not None
        self.lines = self.own_file.text.split("\n")

    # -- loops are followed more than once: only the last round counts -------------------------------------------

    def begin_attempt(self) -> Attempt:
        saved = Attempt(self.hazards, self.bindings)
        self.hazards, self.bindings = {}, {}
        return saved

    def keep_attempt(self, saved: Attempt) -> None:
        for key, hazard in self.hazards.items():
            if key not in saved.hazards or not any(each.message.startswith(_CALLED) for each in hazard.evidence):
                saved.hazards[key] = hazard
        saved.bindings.update(self.bindings)
        self.hazards, self.bindings = saved.hazards, saved.bindings

    def drop_attempt(self, saved: Attempt) -> None:
        self.hazards, self.bindings = saved.hazards, saved.bindings

    def note_binding(self, target: ast.Name, value: Tensor) -> None:
        if value.framework is not None and self.file is self.own_file:
            self.bindings[target] = (target, value)

    def shown_bindings(self) -> list[Binding]:
        """All rows of `tensorlint shapes`, in the order of the source."""
        rows: list[Binding] = []
        for target, value in self.bindings.values():
            shape = strides = None
            for _ in range(4):
                value = self.refined[id(value)][1] if id(value) in self.refined else value
            if value.shape is not None:
                shape = tuple(_json_size(size) for size in value.shape)
                if value.strides is not None:
                    strides = tuple(_json_size(size) for size in value.strides)
            dtype = value.dtype
            if self.own_file.autocast and dtype is not None and "float" in dtype:
                dtype = None
            rows.append(
                Binding(target.lineno, target.col_offset, target.id, value.framework or "", shape, strides,
                        value.contiguous, dtype, value.device, target.end_lineno or target.lineno)
            )  # fmt: skip
        rows.sort(key=lambda row: (row.line, row.column))
        return rows

    # -- text ----------------------------------------------------------------------------------------------------

    def text_of(self, node: ast.AST | None, limit: int = 60) -> str:
        """The source of an expression of this file, on one line."""
        if node is None or not hasattr(node, "lineno"):
            return "the value"
        line, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1  # type: ignore[attr-defined]
        if end >= len(self.lines):
            return "the value"
        start, stop = node.col_offset, node.end_col_offset or 0  # type: ignore[attr-defined]
        if line == end:
            text = self.lines[line].encode()[start:stop].decode(errors="replace")
        else:
            parts = [self.lines[line].encode()[start:].decode(errors="replace"), *self.lines[line + 1 : end],
                     self.lines[end].encode()[:stop].decode(errors="replace")]  # fmt: skip
            text = " ".join(part.strip() for part in parts)
        return text if len(text) <= limit else text[: limit - 1] + "…"

    def evidence_at(self, node: ast.AST | None, message: str) -> Evidence | None:
        line = getattr(node, "lineno", None)
        if line is None:
            return None
        return Evidence(line, getattr(node, "col_offset", 0) + 1, message)

    def made_evidence(self, name: str, tensor: Tensor) -> Evidence | None:
        if tensor.made is None or not self.is_own(tensor.made):
            return None
        how = tensor.how or self.text_of(tensor.made, 40)
        return self.evidence_at(tensor.made, f"{name} was made {show_shape(tensor.shape)} by {how}")

    def is_own(self, node: ast.AST) -> bool:
        """Evidence lines are those of this file; a tensor made in another file has none here."""
        return self.file is self.own_file or not self.trail

    def called_from(self) -> list[Evidence]:
        """The calls that led here, from the outermost."""
        found = [
            self.evidence_at(node, f"{_CALLED}: {self.text_of(node, 50)}") for node in self.trail if node is not None
        ]
        return [evidence for evidence in found if evidence is not None]

    # -- hazards -------------------------------------------------------------------------------------------------

    def add(self, node: ast.AST, hazard: Hazard) -> None:
        if self.file is self.own_file and hasattr(node, "lineno"):
            # What holds for every call says more than what one call shows.
            if not self.trail or (node, type(hazard)) not in self.hazards:
                self.hazards[node, type(hazard)] = hazard

    def report(self, call: ops.Call, kind: str, facts: dict[str, Any]) -> None:
        """A table noticed something; `kind` and `facts` are described in `ops/table.py`."""
        node = call.node
        if node is None:
            return
        handler = _REPORTS.get(kind)
        if handler is not None and (self.file is self.own_file or kind == "reduced"):
            handler(self, node, facts)

    def report_view(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        result: ViewResult = facts["result"]
        assert tensor.shape is not None
        receiver = self.text_of(
            node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        )
        merged, reason = _merged(tensor, result)
        evidence = [
            self.evidence_at(step, words)
            for step, words in tensor.layout_trail
            if getattr(step, "lineno", None) is not None
        ]
        evidence += self.called_from()
        self.add(node, ViewHazard(
            node=node, receiver=receiver, shape=show_shape(tensor.shape), strides=show_shape(tensor.strides),
            target=show_shape(facts["target"]), merged=merged, reason=reason,
            evidence=tuple(each for each in evidence if each is not None),
        ))  # fmt: skip

    def report_broadcast(self, node: ast.AST, facts: dict[str, Any], loss: bool = False) -> None:
        left: Tensor = facts["left"]
        right: Tensor = facts["right"]
        if left.shape is None or right.shape is None:
            return
        left_node, right_node = operand_nodes(node, facts.get("at", (0, 1)))
        left_text, right_text = self.text_of(left_node, 40), self.text_of(right_node, 40)
        grown = _growth(left.shape, right.shape)
        key = f"outer:{id(node)}"
        said = [tensor for tensor in (left, right) if "spelled" in tensor.marks]
        shaped = [tensor for tensor in (left, right) if "reshaped" in tensor.marks]
        column, column_text = (left, left_text) if _has_unit(left.shape, right.shape) else (right, right_text)
        evidence = [self.made_evidence(left_text, left), self.made_evidence(right_text, right), *self.called_from()]
        hazard = BroadcastHazard(
            node=node, operation=str(facts["operation"]), left=left_text, left_shape=show_shape(left.shape),
            right=right_text, right_shape=show_shape(right.shape), result_shape=show_shape(facts.get("shape")),
            context="loss" if loss else "plain",
            spelled="said" if said else "shaped" if shaped else "no",
            spelled_here=any(
                (_spelled_here(each) or self.is_shaped_by_callee(tensor))
                and bool(tensor.marks & {"spelled", "reshaped"})
                for each, tensor in ((left_node, left), (right_node, right))
            ),
            both_spelled=all(tensor.marks & {"spelled", "reshaped", "literal"} for tensor in (left, right)),
            same_length=grown is not None and grown[0] == grown[1] and _lines_up(left.shape, right.shape),
            same_rank=len(left.shape) == len(right.shape),
            selected=any("spelled" in tensor.marks and _selects(tensor.how) for tensor in (left, right)),
            from_layer="column" in left.marks or "column" in right.marks or (
                "squeezed" in left.marks or "squeezed" in right.marks),
            suggestion=_suggestion(column, column_text, left.shape, right.shape),
            loss=loss, both_grow=grown is not None,
            evidence=tuple(each for each in evidence if each is not None),
        )  # fmt: skip
        self.add(node, hazard)
        if not loss:
            self.last_broadcast = key

    def is_shaped_by_callee(self, tensor: Tensor) -> bool:
        """Whether the called function made the column itself: `def rbf(x, y): x = x.reshape(-1, 1)`. That both of its
        arguments have one length is then a matter of this call."""
        line, code = getattr(tensor.made, "lineno", None), self.frame.node
        if not self.trail or line is None or not isinstance(code, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        return code.lineno <= line <= (code.end_lineno or code.lineno)

    def report_loss(self, node: ast.AST, facts: dict[str, Any]) -> None:
        self.report_broadcast(node, facts, loss=True)

    def with_outer(self, result: Value) -> Value:
        """The result of an operation in which a row met a column remembers it, so that a reduction of it is noticed."""
        key, self.last_broadcast = self.last_broadcast, None
        if key is not None and isinstance(result, Tensor):
            return copy(result, marks=result.marks | {key})
        return result

    def report_reduced(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        result = facts.get("result")
        if isinstance(result, Tensor) and result.shape not in (None, ()):
            return
        for mark in tensor.marks:
            if mark.startswith("outer:"):
                self.contexts[mark] = "reduced"

    def report_one_sided(self, node: ast.AST, facts: dict[str, Any]) -> None:
        left: Tensor = facts["left"]
        right: Tensor = facts["right"]
        left_node, right_node = operand_nodes(node)
        for whole, part, whole_node, part_node in (
            (left, right, left_node, right_node),
            (right, left, right_node, left_node),
        ):
            if part.source is not whole or part.reduced is None or whole.shape is None or part.shape is None:
                continue
            rank = len(whole.shape)
            kept = [axis for axis in range(rank) if axis not in {each % rank for each in part.reduced}]
            # What is left lines up with the last axes; it was reduced over another one.
            aligned = list(range(rank - len(part.shape), rank))
            if len(kept) != len(part.shape) or kept == aligned or rank < 2:
                continue
            if any(whole.shape[axis] == 1 for axis in aligned) or any(whole.shape[axis] == 1 for axis in kept):
                continue
            name, reduced = self.text_of(whole_node, 40), self.text_of(part_node, 60)
            keep = "keepdim=True" if whole.framework == "torch" else "keepdims=True"
            self.add(node, WrongAxisHazard(
                node=node, operation=str(facts["operation"]), left=self.text_of(left_node, 40),
                left_shape=show_shape(left.shape), right=self.text_of(right_node, 40), right_shape=show_shape(right.shape),
                suggestion=f"{keep} in {reduced}" if part_node is not None else keep,
                evidence=tuple(each for each in [self.made_evidence(reduced, part), *self.called_from()] if each is not None),
            ))  # fmt: skip
            del name
            return

    def report_matrix_transpose(self, node: ast.AST, facts: dict[str, Any]) -> None:
        """The same transpose meets matrices too: code for either rank, as in `for x in (X, X[0])`."""
        self.matrix_transposes.add(node)

    def report_rank_one_transpose(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        if _is_placeholder(tensor):
            return
        receiver = self.text_of(_receiver(node))
        framework: Any = tensor.framework or "numpy"
        suggestion = f"{receiver}[:, None]" if receiver.isidentifier() else "x[:, None]"
        self.add(node, RankOneTransposeHazard(
            node=node, framework=framework, receiver=receiver, shape=show_shape(tensor.shape),
            spelling=str(facts["spelling"]), suggestion=suggestion,
            evidence=tuple(each for each in [self.made_evidence(receiver, tensor), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def report_rank_one_product(self, node: ast.AST, facts: dict[str, Any]) -> None:
        left: Tensor = facts["left"]
        right: Tensor = facts["right"]
        left_node, right_node = operand_nodes(node)
        if _is_placeholder(left):
            return
        if left.source is not right and right.source is not left:
            return  # two arrays: an inner product, with a transpose too many
        # One finding for the expression: the transposes in it are its cause.
        for part in (left_node, right_node):
            for inner in ast.walk(part) if part is not None else ():
                self.hazards.pop((inner, RankOneTransposeHazard), None)
        plain_node, plain = (left_node, left) if "transposed" not in left.marks else (right_node, right)
        name = self.text_of(plain_node, 40)
        framework: Any = plain.framework or "numpy"
        operation = str(facts["operation"])
        elementwise = operation in ("*", "+", "-", "/", "multiplication", "addition", "subtraction", "division")
        outcome = f"{show_shape(plain.shape)} again" if elementwise else "a single number"
        outer = "torch.outer" if framework == "torch" else "np.outer"
        self.add(node, RankOneVectorHazard(
            node=node, framework=framework, operand=name, shape=show_shape(plain.shape),
            problem=f"{self.text_of(node, 50)} is {outcome}: .T of a rank-1 array does nothing",
            suggestion=f"{outer}({name}, {name}) for the outer product, {name} @ {name} for the inner one",
            evidence=tuple(each for each in [self.made_evidence(name, plain), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def report_rank_one_matrix(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        args = node.args if isinstance(node, ast.Call) else []
        name = self.text_of(args[0] if args else _receiver(node), 40)
        framework: Any = tensor.framework or "numpy"
        self.add(node, RankOneVectorHazard(
            node=node, framework=framework, operand=name, shape=show_shape(tensor.shape),
            problem=f"{facts['operation']} needs a matrix and gets the rank-1 {name} {show_shape(tensor.shape)}",
            suggestion=f"{name}[:, None] for a column, {name}[None, :] for a row",
            evidence=tuple(each for each in [self.made_evidence(name, tensor), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def report_rank_one_creation(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        if not isinstance(node, ast.Call) or self.trail:
            return
        framework: Any = tensor.framework or "numpy"
        self.add(node, RankOneCreationHazard(
            node=node, framework=framework, call=self.text_of(node), shape=show_shape(tensor.shape),
            replacement=_column_form(self, node, tensor),
        ))  # fmt: skip

    # -- modules called through .forward -------------------------------------------------------------------------

    def saw_forward(self, receiver: Value | None, node: ast.Call, *, called: bool, known: bool) -> None:
        """`receiver.forward(...)`: a hazard where the receiver is known to be an nn.Module."""
        if self.file is not self.own_file:
            return
        func = node.func
        receiver_node = func.value if isinstance(func, ast.Attribute) else None
        enclosing = [code for code in self.active if isinstance(code, (ast.FunctionDef, ast.AsyncFunctionDef))]
        current = enclosing[-1] if enclosing else None
        why = module = None
        if isinstance(receiver, Instance) and receiver.cls.is_module:
            if self.find_in_class(receiver.cls, "__call__") is not None or "forward" in receiver.fields:
                return
            if any(self.is_scripted(base) for base in receiver.cls.bases) or self.has_own_call(receiver.cls):
                return
            module = receiver.cls.name
            why = f"{module} is an nn.Module"
        elif isinstance(receiver, LibraryObject) and modules.known(receiver.path) and "forward" not in receiver.fields:
            module = receiver.path.replace("torch.nn.", "nn.")
            why = f"it is an {module}"
        elif isinstance(receiver, Opaque) and receiver.kind is not None and receiver.kind.startswith("model of "):
            module = receiver.kind
            why = f"it is a {module}"
        elif isinstance(receiver, Opaque) and receiver.kind is not None and receiver.kind != PLAIN:
            module = receiver.kind.replace("torch.nn.", "nn.").removeprefix("class ")
            why = f"it is annotated as {module}"
        if why is None or module is None:
            return
        if current is not None:
            owners = self.methods_of(receiver)
            own_call = any(getattr(method, "name", "") == "__call__" for method in owners)
            if own_call or (owners and self.patches_forward) or self.is_exported(current):
                return
            if (
                current.name == "forward"
                and isinstance(receiver_node, ast.Name)
                and receiver_node.id == self.frame.first_argument
            ):
                return
        text = self.text_of(receiver_node if called else func)
        self.add(node, DirectForwardHazard(
            node=node, receiver=text, module=module, why=why, called=called, arguments_carry_over=called,
            evidence=tuple(each for each in [
                self.evidence_at(receiver.made, f"{text} was made here")
                if isinstance(receiver, (Instance, LibraryObject)) and not getattr(receiver, "generic", False) else None
            ] if each is not None),
        ))  # fmt: skip

    def saw_kept_forward(self, function: Value, node: ast.Call) -> None:
        """A bound `module.forward` that was kept under another name, called."""
        if self.patches_forward or self.file is not self.own_file:
            return
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "forward":
            return
        if isinstance(func, ast.Name) and self.active:
            code = self.active[-1]
            arguments = getattr(code, "args", None)
            if arguments is not None and any(
                func.id == each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            ):
                return
        if (isinstance(function, Attribute) and function.name == "forward") or (
            isinstance(function, Function)
            and function.receiver is not None
            and getattr(function.node, "name", "") == "forward"
        ):
            self.saw_forward(function.receiver, node, called=False, known=True)

    def is_scripted(self, base: Value) -> bool:
        path = getattr(base, "path", "")
        return isinstance(path, str) and ("ScriptModule" in path or "torch.jit" in path)

    def has_own_call(self, cls: Class) -> bool:
        """Whether instances are called in another way: an interface of TorchScript, which only has `forward`, or a
        model of a library whose `__call__` computes something else."""
        if any("jit" in ast.dump(decorator) for decorator in cls.node.decorator_list):
            return True
        return any(_OWN_CALLS.search(file.text) is not None for file in (self.own_file, cls.scope.file))

    def methods_of(self, receiver: Value | None) -> list[ast.AST]:
        """The methods of `receiver` that the current code stands in, from the innermost."""
        found: list[ast.AST] = []
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.env.get(frame.first_argument or "self") is receiver:
                found.append(frame.node)
            frame = frame.parent
        return found

    def is_exported(self, code: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether the code is (also) compiled by TorchScript, which does not call modules as Python does."""
        if any("jit" in ast.dump(decorator) or "export" in ast.dump(decorator) for decorator in code.decorator_list):
            return True
        return any(isinstance(node, ast.Attribute) and node.attr == "is_scripting" for node in ast.walk(code))

    def reveal(self, args: list[Value], node: ast.AST | None) -> None:
        if node is None or not isinstance(node, ast.Call):
            return
        value = args[0] if args else None
        if isinstance(value, Tensor):
            parts = [show_shape(value.shape) if value.shape is not None else "rank unknown"]
            if value.strides is not None:
                parts.append(f"strides {show_shape(value.strides)}")
            if value.dtype:
                parts.append(value.dtype)
            revealed = f"{value.framework or 'array'} {', '.join(parts)}"
        else:
            revealed = "not known to be a tensor"
        self.add(
            node,
            RevealShapeHazard(node=node, argument=self.text_of(node.args[0] if node.args else None), revealed=revealed),
        )

    def finished_hazards(self) -> list[Hazard]:
        """All hazards, with what became of the results known, in the order of the source."""
        found: list[Hazard] = []
        for (node, kind), hazard in self.hazards.items():
            if kind is RankOneTransposeHazard and node in self.matrix_transposes:
                continue
            if isinstance(hazard, BroadcastHazard):
                context: Any = self.contexts.get(f"outer:{id(node)}")
                if context is not None:
                    hazard = replace(hazard, context=context)
            found.append(hazard)
        found.sort(key=lambda hazard: (hazard.node.lineno, hazard.node.col_offset))  # type: ignore[attr-defined]
        return found


_REPORTS: dict[str, Any] = {
    "view": Reports.report_view,
    "broadcast": Reports.report_broadcast,
    "loss": Reports.report_loss,
    "one_sided": Reports.report_one_sided,
    "reduced": Reports.report_reduced,
    "matrix_transpose": Reports.report_matrix_transpose,
    "rank_one_transpose": Reports.report_rank_one_transpose,
    "rank_one_product": Reports.report_rank_one_product,
    "rank_one_matrix": Reports.report_rank_one_matrix,
    "rank_one_creation": Reports.report_rank_one_creation,
}


def _json_size(size: Size) -> int | str:
    return size if isinstance(size, int) else S.show(size)


def operand_nodes(node: ast.AST, at: tuple[int, int] = (0, 1)) -> tuple[ast.expr | None, ast.expr | None]:
    """The two operands of an operator, a comparison or a call; `at` are their places among a call's arguments."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Compare):
        return node.left, node.comparators[0]
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    if isinstance(node, ast.Call):
        args = [arg for arg in node.args if not isinstance(arg, ast.Starred)] + [
            keyword.value for keyword in node.keywords if keyword.arg in ("input", "target", "other")
        ]
        if len(args) > max(at):
            return args[at[0]], args[at[1]]
        if len(args) == 1 and isinstance(node.func, ast.Attribute):
            return node.func.value, args[0]
    return None, None


def _is_primary(text: str) -> bool:
    """Whether `.squeeze()` may be written behind the text as it is."""
    try:
        parsed = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return isinstance(parsed, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def _selects(how: str | None) -> bool:
    """Whether the operand is the index of a largest element, kept with its axis: `argmax(1, keepdim=True)`."""
    return how is not None and how.rpartition(".")[2].startswith(("argmax", "argmin", "max(", "topk"))


def _is_placeholder(tensor: Tensor) -> bool:
    """Whether the tensor holds nothing: `if p.shape == (0,)` asks for a parameter whose values are elsewhere."""
    return 0 in (tensor.shape or ())


def _receiver(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Attribute):
        return node.value
    if isinstance(node, ast.Call):
        if node.args:
            return node.args[0]
        if isinstance(node.func, ast.Attribute):
            return node.func.value
    return None


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
    """Whether the shapes line up once the longer one has lost its axes of size 1: `(2, 3, 1)` and `(3, 2)` do not."""
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    if len(longer) == len(shorter):
        return True
    squeezed = tuple(size for size in longer if size != 1)
    return all(x in (1, y) or y == 1 for x, y in zip(reversed(squeezed), reversed(shorter), strict=False))


def _has_unit(shape: tuple[Size, ...], other: tuple[Size, ...]) -> bool:
    """Whether this operand is the column: it has a size-1 axis of its own (the last, if both have)."""
    mine, theirs = 1 in shape, 1 in other
    if mine and theirs:
        return len(shape) >= len(other) and shape[-1] == 1
    return mine


def _suggestion(column: Tensor, name: str, left: tuple[Size, ...], right: tuple[Size, ...]) -> str:
    assert column.shape is not None
    axis = max((position for position, size in enumerate(column.shape) if size == 1), default=-1)
    position = -1 if axis == len(column.shape) - 1 else axis
    if not _is_primary(name):
        name = f"({name})"
    if column.framework == "numpy":
        return f"{name}.squeeze({position})"
    return f"{name}.squeeze({position})"


def _spelled_here(node: ast.expr | None) -> bool:
    return node is not None and not isinstance(node, (ast.Name, ast.Attribute, ast.Constant))


def _merged(tensor: Tensor, result: ViewResult) -> tuple[str, str]:
    """Which axes the view merges, and why they are not adjacent, in the user's sizes."""
    assert tensor.shape is not None
    if result.broken is None or tensor.strides is None:
        return "axes", "the axes are not adjacent in memory"
    first, second = result.broken
    sizes = f"{S.show(tensor.shape[first])} and {S.show(tensor.shape[second])}"
    wanted = S.multiply(tensor.shape[second], tensor.strides[second])
    return (
        f"axes {first} and {second} ({sizes})",
        f"axis {first} has stride {S.show(tensor.strides[first])}, merging needs {S.show(wanted)}",
    )


def _column_form(interpreter: Reports, node: ast.Call, tensor: Tensor) -> str | None:
    """The call with a column in place of the rank-1 array, where that is only a matter of writing it."""
    func = interpreter.text_of(node.func, 200)
    rest = "".join(f", {interpreter.text_of(keyword, 200)}" for keyword in node.keywords if keyword.arg != "size")
    if len(node.args) != 1 or len(rest) > 60 or any(keyword.arg is None for keyword in node.keywords):
        return None
    text = interpreter.text_of(node.args[0], 200)
    last = func.rpartition(".")[2]
    if last in ("array", "tensor", "asarray") and isinstance(node.args[0], (ast.List, ast.Tuple)):
        rows = ", ".join(f"[{interpreter.text_of(element, 60)}]" for element in node.args[0].elts)
        return f"{func}([{rows}]{rest})"
    if isinstance(node.args[0], ast.Tuple):
        return None
    if last in ("randn", "rand"):
        return f"{func}({text}, 1{rest})"
    if last in ("zeros", "ones", "empty"):
        return f"{func}(({text}, 1){rest})"
    return None
