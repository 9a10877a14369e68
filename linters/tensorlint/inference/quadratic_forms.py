"""`w.T @ cov @ w` of a vector: the transpose does nothing there, and the number is right without it and with it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from tensorlint.inference.hazards import RankOneTransposeHazard
from tensorlint.inference.ops.products import rank_of
from tensorlint.inference.source_text import operand_nodes, receiver_node
from tensorlint.inference.state import State
from tensorlint.inference.values import Value


class QuadraticForms(State):
    """Mixed into the interpreter. `sides` says of products of a vector and a matrix whether they are rows or columns,
    `harmless_transposes` of transposes which quadratic form they stand in."""

    def report_vector_product(self, node: ast.AST, facts: dict[str, Any]) -> None:
        left, right = rank_of(facts["left"]), rank_of(facts["right"])
        left_node, right_node = operand_nodes(node)
        row, column = self._product_behind(left_node, facts["left"]), self._product_behind(right_node, facts["right"])
        if (left != 1 and row is None) or (right != 1 and column is None):
            self.sides[node] = "row" if left == 1 else "column"
            return
        if (row is None and column is None) or self.sides.get(row) == "column" or self.sides.get(column) == "row":
            return  # a column times a row is a matrix, had they two axes
        first, last = self._end(row or left_node, 0), self._end(column or right_node, 1)
        transposes = [self._transpose_in(first), self._transpose_in(last)]
        if None in transposes:
            self.harmless_transposes.update((each, node) for each in transposes if each is not None)

    def report_number_as_matrix(self, node: ast.AST, facts: dict[str, Any]) -> None:
        """`np.linalg.inv(H @ P @ H.T + R)`: a matrix was meant, of one element at least."""
        self.wanted_matrices.add(facts["tensor"].made)

    def in_quadratic_form(self, transpose: ast.AST, hazard: RankOneTransposeHazard) -> RankOneTransposeHazard | None:
        """The hazard with what became of the quadratic form that it stands in; None where that is right as it is."""
        form = self.harmless_transposes.get(transpose)
        if form is None:
            return hazard
        if form not in self.wanted_matrices:
            return None
        first = self._transpose_in(self._end(operand_nodes(form)[0], 0))
        index = "[:, None]" if first is transpose else "[None, :]"
        return replace(
            hazard,
            product=f"{self.text_of(form)} is a single number where a matrix is wanted",
            suggestion=f"{self.behind(receiver_node(transpose), index)} for each {hazard.receiver} in it",
        )

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

    def _transpose_in(self, node: ast.AST | None) -> ast.AST | None:
        """The transpose of a vector that is the factor, but for numbers and signs: `-0.5 * w.T`."""
        if (node, RankOneTransposeHazard) in self.hazards:
            return node
        match node:
            case ast.UnaryOp(operand=inner):
                return self._transpose_in(inner)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
                return self._transpose_in(left) or self._transpose_in(right)
        return None
