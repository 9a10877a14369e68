"""`w.T @ cov @ w` of a vector: the transpose does nothing there, and the number is right without it and with it. So it is
with the inverse, `w.T @ np.linalg.solve(cov, w)`."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from tensorlint.inference.hazards import RankOneTransposeHazard
from tensorlint.inference.ops.products import rank_of
from tensorlint.inference.sizes import show_shape, surely_differ
from tensorlint.inference.source_text import operand_nodes, receiver_node
from tensorlint.inference.state import State
from tensorlint.inference.values import Tensor, Value
from tensorlint.inference.walking import walk

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)
_WITHOUT = "it without the transpose"
# Behind or around a transpose: the same vector, conjugated, copied or in another type.
_SAME_AXES = frozenset({
    "conj", "conjugate", "copy", "clone", "astype", "to", "float", "double", "contiguous", "detach", "ascontiguousarray",
})  # fmt: skip
# Languages of optimisation problems, whose variables have one axis unless they are given two.
_MODELS = re.compile(r"^\s*(?:import|from)\s+(?:cvxpy|gurobipy|picos|casadi)\b", re.MULTILINE)


class QuadraticForms(State):
    """Mixed into the interpreter. `sides` says of products of a vector and a matrix whether they are rows or columns,
    `harmless_transposes` of transposes, and of names of such, which quadratic form they stand in."""

    __slots__ = ()

    def report_vector_product(self, node: ast.AST, facts: dict[str, Any]) -> None:
        left, right = rank_of(facts["left"]), rank_of(facts["right"])
        left_node, right_node = operand_nodes(node)
        row, column = self._product_behind(left_node, facts["left"]), self._product_behind(right_node, facts["right"])
        if (left != 1 and row is None) or (right != 1 and column is None):
            self.sides[node] = "row" if left == 1 else "column"
            if left == 1:
                self.note_factor(facts["right"], facts["left"], "row")
            else:
                self.note_factor(facts["left"], facts["right"], "column")
            vector = left_node if left == 1 else right_node
            self._note_beside_matrix(node, facts, vector)
            if (right if left == 1 else left) is None:
                self._note_beside_unknown(node, vector)
            return
        first, last = self._end(row or left_node, 0), self._end(column or right_node, 1)
        transposes = [self._transpose_in(each) or self._turned_name(each) for each in (first, last)]
        turned = self._transpose_in(left_node), self._transpose_in(right_node)
        if left == right == 1 and turned == (None, None):
            self.inner_products[node] = facts["left"], facts["right"]
        if left == right == 1 and turned != (None, None):
            # What is made of means may be meant for a matrix, of the scatter between classes, unless it is given back.
            fits = None in transposes and any(
                self._fits(node, facts, turned, reduced=reduced)
                for reduced in ((False, True) if self.is_given_back(node) else (False,))
            )
            self.note_vector_number(node, *turned, fits, (facts["left"], facts["right"]))
        for each in turned:  # what stands in the product beside a factor, `0.5 * w.T @ w`, is not explained there
            if each is not None:
                same = "which gives the same number" if left == right == 1 else "which gives the same"
                self.beside_matrices[each] = f"{self._with_receiver(node, each, '') or _WITHOUT}, {same}"
        if (row is None and column is None) or self.sides.get(row) == "column" or self.sides.get(column) == "row":
            return  # a column times a row is a matrix, had they two axes
        if None in transposes:
            self.harmless_transposes.update((each, node) for each in transposes if each is not None)

    def _fits(
        self, node: ast.AST, facts: dict[str, Any], turned: tuple[ast.AST | None, ast.AST | None], *, reduced: bool
    ) -> bool:
        """Whether, by what the two vectors come from, a row meets a column."""
        ends = [
            self.orientation(receiver_node(at) if at is not None else each, facts[side], reduced=reduced)
            for at, each, side in zip(turned, operand_nodes(node), ("left", "right"), strict=True)
        ]
        # Of columns the first is to be transposed, of rows the last.
        fits = ("column" in ends and turned[1] is None) or ("row" in ends and turned[0] is None)
        return fits and not {"row", "column"} <= {*ends}

    def report_number_as_matrix(self, node: ast.AST, facts: dict[str, Any]) -> None:
        """`np.linalg.inv(H @ P @ H.T + R)`: a matrix was meant, of one element at least."""
        self.wanted_matrices.add(facts["tensor"].made)

    def in_quadratic_form(self, transpose: ast.AST, hazard: RankOneTransposeHazard) -> RankOneTransposeHazard | None:
        """The hazard with what became of the quadratic form that it stands in; None where that is right as it is."""
        ends = [transpose] if transpose in self.harmless_transposes else self._uses_of_name(transpose)
        if not ends:
            better = self.beside_matrices.get(transpose)
            return hazard if better is None or hazard.product else replace(hazard, suggestion=better)
        wanted = [each for each in ends if self.harmless_transposes[each] in self.wanted_matrices]
        if not wanted:
            return None
        form = self.harmless_transposes[wanted[0]]
        first = self._end(operand_nodes(form)[0], 0)
        index = "[:, None]" if wanted[0] in (self._transpose_in(first), self._turned_name(first)) else "[None, :]"
        return replace(
            hazard,
            product=f"{self.text_of(form)} is a single number where a matrix is wanted",
            suggestion=f"{self.behind(receiver_node(transpose), index)} for each {hazard.receiver} in it",
        )

    def _uses_of_name(self, transpose: ast.AST) -> list[ast.AST]:
        """`turned = w.T`, of which only quadratic forms are made: where they are; empty where something else is, too."""
        node, above = transpose, self.above(transpose)
        while isinstance(above, ast.IfExp) and node is not above.test:
            node, above = above, self.above(above)
        if not isinstance(above, ast.Assign) or len(above.targets) != 1 or not isinstance(above.targets[0], ast.Name):
            return []
        name = above.targets[0].id
        scope: ast.AST | None = above
        while scope is not None and not isinstance(scope, _SCOPES):
            scope = self.above(scope)
        uses: list[ast.AST] = [
            each
            for each in walk(scope or self.own_file.tree)
            if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
        ]
        return uses if all(each in self.harmless_transposes for each in uses) else []

    def _note_beside_unknown(self, node: ast.AST, vector: ast.expr | None) -> None:
        """`b.T @ y < 0` in a condition, of a `y` that nobody knows: a number is meant. So it is where `y` is a variable of a
        modelling language, of which `q.T @ y` is a term of an objective or a constraint."""
        transpose = self._transpose_in(vector)
        if transpose is not None and (
            _MODELS.search(self.own_file.text) is not None or self.is_wanted_here(node) or self.is_asked(node)
        ):
            self.harmless_transposes[transpose] = node

    def _note_beside_matrix(self, node: ast.AST, facts: dict[str, Any], vector: ast.expr | None) -> None:
        """What to write in place of the transpose in `q.T @ x`: first what gives the same."""
        transpose = self._transpose_in(vector)
        first = rank_of(facts["left"]) == 1
        tensor, other = (facts["left"], facts["right"]) if first else (facts["right"], facts["left"])
        if transpose is None or (not first and self.row_form(tensor) is not None):
            return
        name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else name
        if isinstance(node, ast.Call) and "solve" not in name and name not in ("matmul", "dot", "mv"):
            return
        if tensor.framework == "torch" and (name == "dot" or (name == "mv" and first)):
            return  # raises
        shape = other.shape if isinstance(other, Tensor) else None
        if shape is not None and len(shape) > 1 and surely_differ(tensor.shape[0], shape[-2 if first else -1]):
            return
        plain, grown = (
            self._with_receiver(node, transpose, index) for index in ("", "[None, :]" if first else "[:, None]")
        )
        if plain is None or grown is None:
            self.beside_matrices[transpose] = f"{_WITHOUT}, which gives the same"
            return
        kind = "row" if first else "column"
        if shape is None or len(shape) != 2 or name == "mv":
            self.beside_matrices[transpose] = f"{plain}, which gives the same"
            return
        now, then = (shape[1:], (1, *shape[1:])) if first else (shape[:1], (*shape[:1], 1))
        self.beside_matrices[transpose] = (
            f"{plain}, which gives the same {show_shape(now)}, or {grown} for a {kind} {show_shape(then)}"
        )

    def _with_receiver(self, node: ast.AST, transpose: ast.AST, index: str) -> str | None:
        """The product's source with what was transposed in place of its transpose."""
        receiver = receiver_node(transpose)
        text, turned, plain = self.whole_text(node, 60, alone=True), self.text_of(transpose), self.whole_text(receiver)
        if text is None or plain is None or text.count(turned) != 1:
            return None
        return text.replace(turned, plain + index)

    def _product_behind(self, node: ast.expr | None, value: Value) -> ast.AST | None:
        """The product of a vector and a matrix that the operand is, or that a name of it was given."""
        if rank_of(value) not in (1, None):
            return None
        return next((each for each in (node, getattr(value, "made", None)) if each in self.sides), None)

    def _end(self, node: ast.AST | None, side: int) -> ast.AST | None:
        """The first factor of a product, or the last."""
        while node in self.sides:
            node = operand_nodes(node)[side]  # type: ignore[arg-type]
        return node

    def _turned_name(self, node: ast.AST | None) -> ast.AST | None:
        """The name of such a transpose that is the factor, likewise."""
        match node:
            case ast.Name():
                value = self.peek(node)
                return node if isinstance(value, Tensor) and value.rank == 1 and "transposed" in value.marks else None
            case ast.UnaryOp(operand=inner):
                return self._turned_name(inner)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
                return self._turned_name(left) or self._turned_name(right)
        return None

    def _transpose_in(self, node: ast.AST | None) -> ast.AST | None:
        """The transpose of a vector that is the factor, but for numbers and signs: `-0.5 * w.T`."""
        if (node, RankOneTransposeHazard) in self.hazards:
            return node
        match node:
            case ast.UnaryOp(operand=inner):
                return self._transpose_in(inner)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
                return self._transpose_in(left) or self._transpose_in(right)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy" | "torch"), attr=name), args=[inner]) if (
                name in _SAME_AXES
            ):
                return self._transpose_in(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _SAME_AXES:
                return self._transpose_in(inner)
        return None
