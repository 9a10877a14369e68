"""Rank-1 arrays that were transposed, multiplied with their transpose, given as a matrix, or created."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tensorlint.inference.hazards import RankOneCreationHazard, RankOneTransposeHazard, RankOneVectorHazard
from tensorlint.inference.sizes import show_shape, surely_differ
from tensorlint.inference.source_text import CALLED, operand_nodes, receiver_node
from tensorlint.inference.state import State
from tensorlint.inference.values import Tensor, Value
from tensorlint.inference.walking import walk

_IDENTITIES = frozenset({"eye", "identity"})
_FROM_LISTS = frozenset({"array", "asarray", "tensor"})


class RankOneReports(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def report_matrix_transpose(self, node: ast.AST, facts: dict[str, Any]) -> None:
        """The same transpose meets matrices too: code for either rank, as in `for x in (X, X[0])`."""
        self.matrix_transposes.add(node)

    def turn_others(self, rounds: list[set[ast.AST]]) -> None:
        """What is a vector in some rounds over known items only: in others it may be a matrix, as in
        `for shape in [(5,), (3, 4)]`."""
        if any(rounds):
            for turned in rounds:
                self.matrix_transposes.update(node for node in turned if not all(node in others for others in rounds))

    def turns_matrix(self, node: ast.AST) -> bool:
        """Whether the transpose, or one within the product, meets matrices too."""
        turned = self.matrix_transposes
        return bool(turned) and any(part in turned for part in walk(node))

    def report_rank_one_transpose(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        if _is_placeholder(tensor):
            return
        self.vectors_turned.append(node)
        receiver = self.text_of(receiver_node(node))
        framework: Any = tensor.framework or "numpy"
        self.add(node, RankOneTransposeHazard(
            node=node, framework=framework, receiver=receiver, shape=show_shape(tensor.shape),
            spelling=str(facts["spelling"]),
            suggestion=self.instead_of_transpose(node, tensor),
            evidence=tuple(each for each in [self.made_evidence(receiver, tensor, receiver_node(node)), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def instead_of_transpose(self, node: ast.AST, tensor: Tensor) -> str:
        """A column; of an array whose literal is in sight, the same as a row there, as what else is done with it is then
        done with a matrix: `H` of a Kalman filter as `[[1.0, 0.0]]`, where `P @ H[:, None]` would meet `K @ H` later."""
        row = self.row_form(tensor)
        if row is None:
            return f"{self.behind(receiver_node(node), '[:, None]')} for a column, or leave the transpose out"
        line = tensor.made.lineno if isinstance(tensor.made, ast.Call) else 0
        place = f" in line {line}" if line != getattr(node, "lineno", line) else ""
        return f"{row}{place}, a row whose transpose is a column, or leave the transpose out if a vector is meant"

    def row_form(self, tensor: Tensor) -> str | None:
        """The call that made the array of a list, with the list as the only row of a matrix."""
        made = tensor.made
        if not isinstance(made, ast.Call) or not made.args or not self.is_own(made):
            return None
        values = made.args[0]
        if not isinstance(values, ast.List) or self.text_of(made.func).rpartition(".")[2] not in _FROM_LISTS:
            return None
        text, listed = self.whole_text(made, 60), self.whole_text(values, 60, alone=True)
        if text is None or listed is None:
            return None
        return text.replace(listed, f"[{listed}]", 1)

    def report_rank_one_product(self, node: ast.AST, facts: dict[str, Any]) -> None:
        left: Tensor = facts["left"]
        right: Tensor = facts["right"]
        left_node, right_node = operand_nodes(node)
        if _is_placeholder(left):
            return
        if left.source is not right and right.source is not left:
            self.explain_transposes(node, (left_node, left), (right_node, right), str(facts["operation"]))
            return
        # One finding for the expression: the transposes in it are its cause.
        spelling = self.spellings.get(node, ".T")
        for part in (left_node, right_node):
            for inner in walk(part) if part is not None else ():
                cause = self.hazards.pop((inner, RankOneTransposeHazard), None)
                if isinstance(cause, RankOneTransposeHazard):
                    spelling = self.spellings[node] = cause.spelling
        plain_node, plain = (left_node, left) if "transposed" not in left.marks else (right_node, right)
        name = self.text_of(plain_node, 40)
        framework: Any = plain.framework or "numpy"
        outcome = f"{show_shape(plain.shape)} again" if facts["operation"] == "*" else "a single number"
        outer = "torch.outer" if framework == "torch" else "np.outer"
        whole = self.whole_text(plain_node)
        both = f"{outer}({whole}, {whole})" if whole is not None else f"{outer} of it with itself"
        number = f"{whole} @ {whole}" if whole is not None else "@ without the transpose"
        outer_first = f"{both} for the outer product, {number} for the inner one"
        if facts["operation"] == "*":
            each = f"{whole} * {whole}" if whole is not None else "* without the transpose"
            outer_first += f", {each} for the elementwise one"
        self.outer_first[node] = outer_first
        self.add(node, RankOneVectorHazard(
            node=node, framework=framework, operand=name, shape=show_shape(plain.shape),
            problem=f"{self.text_of(node, 50)} is {outcome}: {spelling} of a rank-1 array does nothing",
            # Of `a.T @ a`, which is a number for columns, the number comes first.
            suggestion=f"{number} for the inner product, {both} for the outer one" if plain is right and facts["operation"] != "*"
            else outer_first,
            evidence=tuple(each for each in [self.made_evidence(name, plain, plain_node), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def report_number_beside_identity(self, sign: str, left: Value, right: Value, node: ast.AST) -> None:
        """`np.eye(2) - K @ H`, as of a Kalman filter or a projection: of vectors the product is one number."""
        for number, matrix in ((left, right), (right, left)):
            if not (isinstance(number, Tensor) and isinstance(matrix, Tensor)) or number.shape != ():
                continue
            if matrix.shape is None or len(matrix.shape) != 2:
                continue
            product = _factor(number.made, self.inner_products.__contains__)
            made = _factor(matrix.made, self._is_identity)
            if product is None or made is None or not (self.is_own(product) and surely_differ(matrix.shape[0], 1)):
                continue
            operands = self.inner_products[product]
            beside = operand_nodes(node)[1 if number is left else 0]
            factor = operand_nodes(product)[0]
            if isinstance(beside, (ast.Name, ast.Attribute)) and self._is_filled(self.text_of(beside)):
                continue  # it was the identity once
            shown = [self.whole_text(each, alone=True) for each in operand_nodes(product)]
            outer = "torch.outer" if number.framework == "torch" else "np.outer"
            name, first = self.text_of(factor, 40), operands[0]
            framework: Any = number.framework or "numpy"
            identity = self.text_of(beside, 40)
            done = f"which is {'added to' if sign == '+' else 'taken from'} each element of {identity}"
            if sign == "-" and number is left:
                done = f"of which each element of {identity} is taken"
            evidence = [self.made_evidence(name, first, factor)]
            if self.is_own(made):
                evidence.append(self.evidence_at(made, f"the identity matrix {show_shape(matrix.shape)} was made here"))
            self.add(product, RankOneVectorHazard(
                node=product, framework=framework, operand=name, shape=show_shape(first.shape),
                problem=f"{self.text_of(product, 50)} is a single number, {done}",
                suggestion=f"{outer}({shown[0]}, {shown[1]}) for the matrix" if None not in shown else f"{outer} of the two",
                evidence=tuple(each for each in [*evidence, *self.called_from()] if each is not None),
            ))  # fmt: skip

    def _is_filled(self, name: str) -> bool:
        name = re.escape(name)
        return bool(re.search(rf"\b{name}(?:\[|\s*[-+*/@]=|\.fill_)|fill_diagonal\({name}\b", self.own_file.text))

    def _is_identity(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and self.text_of(node.func).rpartition(".")[2] in _IDENTITIES

    def explain_transposes(
        self, node: ast.AST, left: tuple[ast.expr | None, Tensor], right: tuple[ast.expr | None, Tensor], operation: str
    ) -> None:
        """Two vectors, an inner product with a transpose too many: leaving that out keeps it a number."""
        plain = [
            receiver_node(part) if part is not None and (part, RankOneTransposeHazard) in self.hazards else part
            for part, _ in (left, right)
        ]
        sizes = [tensor.shape[0] for _, tensor in (left, right) if tensor.shape]
        if surely_differ(*sizes):
            if 1 in sizes:
                return
            outcome = "raises, as the lengths differ"
        else:
            outcome = f"is {show_shape(left[1].shape)} again" if operation == "*" else "is a single number"
        outer = "torch.outer" if left[1].framework == "torch" else "np.outer"
        shown = [self.whole_text(part, alone=True) for part in plain]
        sides = [self.whole_text(part) for part in plain]
        suggestion = f"{outer}({shown[0]}, {shown[1]})" if None not in shown else f"{outer} of the two"
        suggestion += " for the matrix"
        if not surely_differ(*sizes):
            sign, meant = ("*", "elementwise product") if operation == "*" else ("@", "number")
            inner = f"{sides[0]} {sign} {sides[1]}" if None not in sides else f"{sign} without the transpose"
            inner += f" for the {meant}"
            outer_first = f"{suggestion}, {inner}"
            self.outer_first.update((part, outer_first) for part, _ in (left, right) if part is not None)
            first_turned = "transposed" not in right[1].marks
            suggestion = f"{inner}, {suggestion}" if first_turned else outer_first
        for at, (part, _) in enumerate((left, right)):
            hazard = self.hazards.get((part, RankOneTransposeHazard))
            if isinstance(hazard, RankOneTransposeHazard) and not hazard.product:
                other = (right, left)[at][1]
                made = self.made_evidence(self.text_of(plain[1 - at], 40), other.source or other, plain[1 - at])
                calls = [each for each in hazard.evidence if each.message.startswith(CALLED)]
                evidence = [each for each in hazard.evidence if each not in calls and each != made]
                self.hazards[part, RankOneTransposeHazard] = replace(
                    hazard, product=f"{self.text_of(node)} {outcome}", suggestion=suggestion,
                    evidence=(*evidence, *([] if made is None else [made]), *calls),
                )  # fmt: skip

    def report_rank_one_matrix(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        args = node.args if isinstance(node, ast.Call) else []
        given = self.written_as(args[0] if args else receiver_node(node), tensor)
        name = self.text_of(given, 40)
        framework: Any = tensor.framework or "numpy"
        self.add(node, RankOneVectorHazard(
            node=node, framework=framework, operand=name, shape=show_shape(tensor.shape),
            problem=f"{facts['operation']} needs a matrix and gets the rank-1 {name} {show_shape(tensor.shape)}",
            suggestion=f"{self.behind(given, '[:, None]')} for a column, {self.behind(given, '[None, :]')} for a row",
            evidence=tuple(each for each in [self.made_evidence(name, tensor, given), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def report_rank_one_join(self, node: ast.AST, facts: dict[str, Any]) -> None:
        """A vector among the matrices that are joined: the library refuses it."""
        tensor: Tensor = facts["tensor"]
        given = node.args if isinstance(node, ast.Call) else []
        if _is_placeholder(tensor):
            return
        item: ast.expr | None = None
        if facts["operation"] != "np.append":  # which takes the two as they are
            listed = given[0] if given else None
            given = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else []
        if facts["at"] < len(given):
            item = given[facts["at"]]
        item = self.written_as(item, tensor)
        starred = item is None or isinstance(item, ast.Starred)
        name = "the vector" if starred else self.text_of(item, 40)
        framework: Any = tensor.framework or "numpy"
        kind, index, stack = (
            ("row", "[None, :]", "np.vstack") if facts["axis"] == 0 else ("column", "[:, None]", "np.column_stack")
        )
        shown = "a rank-1 vector" if starred else f"the rank-1 {name}"
        change = f"{index} behind it" if starred else self.behind(item, index)
        self.add(node, RankOneVectorHazard(
            node=node, framework=framework, operand=name, shape=show_shape(tensor.shape),
            problem=f"{facts['operation']} cannot join {shown} as a {kind}",
            suggestion=f"{change} for a {kind}" + ("" if framework == "torch" else f", or {stack}"),
            evidence=tuple(each for each in [self.made_evidence(name, tensor, item), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def report_bare_features(
        self, node: ast.AST | None, tensor: Tensor, method: str, fitted: Value | None, *, series: bool
    ) -> None:
        """A vector, or a series, given to an estimator that wants `(n, features)`; `fitted` is what it was fitted to."""
        if not isinstance(node, ast.Call) or _is_placeholder(tensor):
            return
        given = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
        name = self.text_of(given, 40)
        evidence = [self.made_evidence(name, tensor, given)]
        called = self.text_of(node.func, 40)
        if called.endswith("…"):
            called = f"….{method}"
        if isinstance(fitted, Tensor) and fitted.made is not None and self.is_own(fitted.made):
            evidence.append(
                self.evidence_at(fitted.made, f"the matrix {show_shape(fitted.shape)} of the fit was made here")
            )
        self.add(node, RankOneVectorHazard(
            node=node, framework="numpy", operand=name, shape=show_shape(tensor.shape),
            problem=f"{called} wants a matrix (n, features) and gets the rank-1 {name}, which scikit-learn refuses",
            suggestion=self.as_features(given, method, fitted, series=series),
            evidence=tuple(each for each in [*evidence, *self.called_from()] if each is not None),
        ))  # fmt: skip

    def as_features(self, given: ast.expr | None, method: str, fitted: Value | None, *, series: bool) -> str:
        """A column of one feature or, where the estimator is fitted already, perhaps a row of one sample."""
        column = ".to_frame()" if series else ".reshape(-1, 1)"
        row = ".to_frame().T" if series else ".reshape(1, -1)"
        one_feature, one_sample = (
            f"{self.behind(given, column)} for one feature",
            f"{self.behind(given, row)} for one sample",
        )
        if series and isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant):
            frame, name = self.whole_text(given.value), self.text_of(given.slice)
            one_feature = f"{frame}[[{name}]] for one feature" if frame is not None else one_feature
        width = fitted.shape[1] if isinstance(fitted, Tensor) and fitted.rank == 2 and fitted.shape else None
        if "fit" in method or width == 1:
            return one_feature
        return one_sample if isinstance(width, int) else f"{one_feature}, {one_sample}"

    def report_bare_inputs(self, node: ast.AST, facts: dict[str, Any]) -> None:
        """A vector given to a layer of one input feature: it is one sample of n features to the layer."""
        tensor: Tensor = facts["tensor"]
        if not isinstance(node, ast.Call) or _is_placeholder(tensor):
            return
        given = self.written_as(node.args[0] if node.args else None, tensor)
        name = self.text_of(given, 40)
        self.refused.update((node, *self.trail))
        self.add(node, RankOneVectorHazard(
            node=node, framework="torch", operand=name, shape=show_shape(tensor.shape),
            problem=f"{facts['layer']} wants (n, 1) and gets the rank-1 {name} {show_shape(tensor.shape)}, and torch raises",
            suggestion=self.behind(given, ".unsqueeze(-1)"),
            evidence=tuple(each for each in [self.made_evidence(name, tensor, given), *self.called_from()] if each is not None),
        ))  # fmt: skip

    def report_rank_one_creation(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        if not isinstance(node, ast.Call) or self.trail or _is_placeholder(tensor):
            return
        framework: Any = tensor.framework or "numpy"
        self.add(node, RankOneCreationHazard(
            node=node, framework=framework, call=self.text_of(node), shape=show_shape(tensor.shape),
            replacement=_column_form(self, node, tensor),
        ))  # fmt: skip


def _is_placeholder(tensor: Tensor) -> bool:
    """Whether the tensor holds nothing: `if p.shape == (0,)` asks for a parameter whose values are elsewhere."""
    return 0 in (tensor.shape or ())


def _column_form(interpreter: State, node: ast.Call, tensor: Tensor) -> str | None:
    """The call with a column in place of the rank-1 array, where that is only a matter of writing it."""
    func = interpreter.text_of(node.func, 200)
    rest = "".join(f", {interpreter.text_of(keyword, 200)}" for keyword in node.keywords if keyword.arg != "size")
    if len(node.args) != 1 or len(rest) > 60 or any(keyword.arg is None for keyword in node.keywords):
        return None
    text = interpreter.text_of(node.args[0], 200)
    last = func.rpartition(".")[2]
    if last in _FROM_LISTS and isinstance(node.args[0], (ast.List, ast.Tuple)):
        rows = ", ".join(f"[{interpreter.text_of(element, 60)}]" for element in node.args[0].elts)
        return f"{func}([{rows}]{rest})"
    if isinstance(node.args[0], ast.Tuple):
        return None
    if last in ("randn", "rand"):
        return f"{func}({text}, 1{rest})"
    if last in ("zeros", "ones", "empty"):
        return f"{func}(({text}, 1){rest})"
    return None


def _factor(node: ast.AST | None, found: Callable[[ast.AST], bool]) -> ast.AST | None:
    """What is `found`, or such a factor of a product or a quotient: `2 * v @ v / s`."""
    if node is None or found(node):
        return node
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div))):
        return None
    inner = _factor(node.left, found)
    return inner if inner is not None or isinstance(node.op, ast.Div) else _factor(node.right, found)
