"""`np.sqrt(x.T @ x)` of a vector: the product is a number, and whether one was meant is seen by what is done with it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from tensorlint.inference.ops.elementwise import COMPARISONS
from tensorlint.inference.source_text import operand_nodes, receiver_node
from tensorlint.inference.state import State
from tensorlint.inference.values import Const, Number, Scalar, Tensor, Value
from tensorlint.inference.walking import children, walk

_REDUCTIONS = frozenset({
    "mean", "sum", "median", "std", "var", "average", "prod", "amax", "amin", "nanmean", "nansum", "nanmedian",
})  # fmt: skip
_ROOTS = frozenset({"sqrt", "rsqrt", "item"})
_ELEMENTWISE = frozenset({"exp", "log", "log1p", "log10", "log2", "abs", "absolute", "arccos", "acos", "isclose"})
# Words of a name that only a number has; "loss_matrix" and "cost_grad" are of others.
_OF_NUMBERS = re.compile(
    r"(?:^|_)(?:norm|dist|distance|length|magnitude|energy|loss|cost|objective|mse|rmse|sse|ssr|rss|mmd|penalty"
    r"|likelihood|loglik|chi2|divergence|discrepancy|cosine|reg|regularizer|regularization|similarity|variance|volatility|risk|ret|returns?|profit|pnl"
    r"|inner|dot)\d?(?:_|$)"
)
_OF_MATRICES = re.compile(r"(?:^|_)(?:mat|matrix|cov|covariance|scatter|outer|gram|hessian|grad|gradient)s?(?:_|$)")
# Methods of a test case that compare: of a matrix they raise.
_ASSERTIONS = frozenset({
    "assertEqual", "assertNotEqual", "assertAlmostEqual", "assertNotAlmostEqual", "assertLess", "assertLessEqual", "assertGreater",
    "assertGreaterEqual",
})  # fmt: skip
# What gives a number of a number.
_OF_ONE = frozenset({"abs", "np.abs", "np.isclose", "np.sqrt", "float", "bool", "torch.abs"})
_DEEPEST = 8


@dataclass(slots=True, eq=False, repr=False)
class VectorNumber:
    """A product of two vectors of which one was transposed.

    `inner` says that it was the first, `a.T @ b`: of columns that is a number, of rows a matrix. `fits` says that these
    are columns, or rows where it was the last. `wanted` says that what is done with the product is done with numbers
    only, `perhaps` that it hardly makes sense for matrices, `sums` are the places at which a number is added to it, `matrix` says that a matrix is, `taken` that
    the one that was not transposed is an item of a matrix, `w.T @ X[i]`, which is a vector whatever the other one is: as a
    column or a row that one gives a number or raises. `nodes` are the product and what is
    computed of it and other numbers, `vectors` what made the two.
    """

    inner: bool
    transposes: tuple[ast.AST, ...]
    fits: bool = False
    wanted: bool = False
    perhaps: bool = False
    matrix: bool = False
    taken: bool = False
    sums: list[ast.AST] = field(default_factory=list)
    nodes: set[ast.AST | None] = field(default_factory=set)
    vectors: set[ast.AST | None] = field(default_factory=set)


class VectorNumbers(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def note_factor(self, matrix: Value, vector: Value, side: str) -> None:
        """`A.T @ b`: whoever writes so takes `b` for a column, wherever else it stands."""
        if isinstance(matrix, Tensor) and matrix.rank == 2 and isinstance(vector, Tensor) and vector.source is None:
            self.factors.setdefault(vector.made, set()).add(side)

    def note_vector_number(
        self,
        node: ast.AST,
        first: ast.AST | None,
        last: ast.AST | None,
        fits: bool,
        vectors: tuple[Value, Value],
    ) -> None:
        """Two vectors meet in a product, `first` and `last` are what is transposed in it. `fits` says that, by the products
        with matrices that they come from, a row meets a column."""
        transposes = tuple(each for each in (first, last) if each is not None)
        known = self.vector_numbers.setdefault(node, VectorNumber(first is not None and last is None, transposes))
        known.nodes.add(node)
        known.fits = known.fits or fits
        known.vectors |= {
            each.source.made if each.source is not None else each.made for each in vectors if isinstance(each, Tensor)
        }
        known.wanted = known.wanted or self.is_wanted_here(node)
        if len(transposes) == 1:
            turned, other = vectors if first is not None else vectors[::-1]
            known.taken |= self._is_item(other) and (self._is_given(transposes[0]) or not self._is_item(turned))

    def _is_given(self, transpose: ast.AST) -> bool:
        """Whether a parameter is transposed, which to its function is any vector."""
        name, function = receiver_node(transpose), self.above(transpose)
        while function is not None and not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = self.above(function)
        return function is not None and getattr(name, "id", None) in {each.arg for each in function.args.args}

    def _is_item(self, vector: Value) -> bool:
        """Whether a vector is one of a matrix, `X[i]` or `X[:, j]`."""
        made = getattr(vector, "made", None)
        if not isinstance(made, ast.Subscript):
            return False
        whole = self.peek(made.value)
        return isinstance(whole, Tensor) and whole.rank == 2

    def note_number_use(self, operation: str, operands: tuple[Value, ...], node: ast.AST | None = None) -> None:
        """What is done with such a product, under whatever name: numbers keep `made` when they are computed with."""
        for at, operand in enumerate(operands):
            known = self.vector_numbers.get(getattr(operand, "made", None))
            if known is None or not isinstance(operand, Tensor) or operand.shape != ():
                continue
            name, other = operation.rpartition(".")[2], operands[1 - at] if len(operands) == 2 else None
            if name in _ROOTS or operation in COMPARISONS or operation.startswith(("math.", "builtins.")):
                known.wanted = True
            elif name in _ELEMENTWISE:
                known.perhaps = True
            elif operation == "**" and at == 0:
                known.wanted = known.wanted or (isinstance(other, Const) and other.value in (0.5, -0.5))
                known.perhaps = True
            elif operation == "/" and at == 1:
                rank = other.rank if isinstance(other, Tensor) else 0 if _is_number(other) else None
                known.wanted = known.wanted or rank in (0, 1)
                # `np.outer(v, v) / (v.T @ v)`
                known.perhaps = known.perhaps or (isinstance(other, Tensor) and "spelled" in other.marks)
            elif operation in ("+", "-"):
                known.matrix = known.matrix or (isinstance(other, Tensor) and (other.rank or 0) > 1)
                if node is not None and _is_number(other):
                    known.sums.append(node)
            if (
                node is not None
                and isinstance(other, Tensor)
                and other.shape == ()
                and operation in ("+", "-", "*", "/")
            ):
                # A number of two, `r.T @ r / (d.T @ d)`, which goes on for both; where both are so written, it is one of columns.
                beside = self.vector_numbers.get(other.made)
                known.perhaps = known.perhaps or (beside is not None and beside.inner and operation == "/")
                self.vector_numbers.setdefault(node, known)
                known.nodes.add(node)

    def note_number_kept(self, target: ast.expr, value: Tensor) -> None:
        """`K[i, j] = kernel(x, y)`, of a function that gives such a product back."""
        known = self.vector_numbers.get(value.made)
        if known is not None and value.shape == () and not known.wanted:
            known.wanted = self._holds_number(target)

    def is_number_meant(self, node: ast.AST) -> bool:
        """Whether the product is right: a number, with the transpose and without."""
        known = self.vector_numbers.get(node)
        if known is None or known.nodes & self.wanted_matrices:
            return False
        if known.wanted:
            return True
        if known.matrix:
            return False
        return (
            known.fits
            or (known.perhaps and known.inner)
            or any(not self._is_accumulated(each) for each in known.sums)
            or ((known.taken or (known.inner and self._are_columns(known.vectors))) and not self._is_added_up(node))
        )

    def _are_columns(self, vectors: set[ast.AST | None]) -> bool:
        """Whether the file multiplies matrices by them from the left, and not from the right."""
        return bool(vectors) and all(each and self.factors.get(each) == {"column"} for each in vectors)

    def _is_added_up(self, node: ast.AST) -> bool:
        """Whether the product's statement adds it to what it had: a covariance is made so."""
        above: ast.AST | None = node
        while isinstance(above, (ast.expr, ast.keyword)):
            node, above = above, self.above(above)
        return isinstance(above, ast.AugAssign) or self._is_accumulated(node)

    def meets_matrix(self, node: ast.AST) -> bool:
        """Whether a matrix is added to the product, or to the one that this transpose stands in."""
        known = self.vector_numbers.get(node) or next(
            (each for each in self.vector_numbers.values() if node in each.transposes), None
        )
        return known is not None and known.matrix

    def orientation(
        self, node: ast.AST | None, value: Value | None = None, depth: int = 0, *, reduced: bool = False
    ) -> str | None:
        """Whether a vector is a row or a column, by the products with matrices that it comes from: `X @ w - y` is a column.
        With `reduced` also by the axis of a matrix that was summed up: `X.mean(0)` is a row."""
        if depth > _DEEPEST or node is None:
            return None
        if node in self.sides:
            return self.sides[node]
        if isinstance(node, ast.BinOp):
            sides = {self.orientation(each, None, depth + 1, reduced=reduced) for each in (node.left, node.right)}
            sides -= {None}
            return sides.pop() if len(sides) == 1 else None
        if isinstance(node, ast.UnaryOp):
            return self.orientation(node.operand, None, depth + 1, reduced=reduced)
        if reduced and isinstance(node, ast.Call):
            return self._side_left(node)
        made = getattr(self.peek(node) if value is None else value, "made", None)
        return self.orientation(made, None, depth + 1, reduced=reduced) if made is not node else None

    def _side_left(self, call: ast.Call) -> str | None:
        """What a reduction of a matrix along one axis leaves: a row of `X.mean(0)`, a column of `np.sum(X, axis=1)`."""
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="np" | "numpy" | "torch"), attr=name), args=[matrix, *rest]
            ):
                pass
            case ast.Call(func=ast.Attribute(value=matrix, attr=name), args=rest):
                pass
            case _:
                return None
        keywords = {each.arg: each.value for each in call.keywords}
        axis = rest[0] if rest else keywords.get("axis", keywords.get("dim"))
        value = self.peek(matrix)
        if name not in _REDUCTIONS or axis is None or not isinstance(value, Tensor) or value.rank != 2:
            return None
        return {"0": "row", "-2": "row", "1": "column", "-1": "column"}.get(ast.unparse(axis))

    def is_given_back(self, node: ast.AST) -> bool:
        """Whether a function gives the product back, or what is computed of it and numbers."""
        above = self.above(node)
        while isinstance(above, (ast.UnaryOp, ast.BinOp)):
            above = self.above(above)
        return isinstance(above, ast.Return)

    # -- what stands around the product --------------------------------------------------------------------------------

    def above(self, node: ast.AST) -> ast.AST | None:
        """The node that this one of the file's own stands in."""
        if not self.parents:
            for each in walk(self.own_file.tree):
                for child in children(each):
                    self.parents[child] = each
        return self.parents.get(node)

    def is_wanted_here(self, node: ast.AST) -> bool:
        """Whether the expression's value goes where only numbers go: `K[i, j] = x @ y.T`, `-> float`, `loss = …`."""
        above = self.above(node)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div) and _is_cosine(node, above.right):
            return True
        while isinstance(above, ast.UnaryOp) or (
            isinstance(above, ast.BinOp) and not isinstance(above.op, (ast.MatMult, ast.BitAnd, ast.BitOr))
        ):
            node, above = above, self.above(above)
        match above:
            case ast.FormattedValue(format_spec=ast.JoinedStr()):
                return True
            case ast.Attribute(attr="item"):
                return True
            case ast.Call(func=ast.Attribute(attr=name)):
                return name in _ASSERTIONS
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                return self._holds_number(target)
            case ast.AnnAssign(target=target, annotation=annotation):
                return _is_float(annotation) or self._holds_number(target)
            case ast.Return():
                function: ast.AST | None = above
                while function is not None and not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    function = self.above(function)
                return function is not None and (_is_float(function.returns) or _is_of_numbers(function.name))
        return False

    def is_asked(self, node: ast.AST) -> bool:
        """Whether a condition asks for the expression's value, or compares it: of several numbers that raises."""
        above = self.above(node)
        while (
            isinstance(above, (ast.UnaryOp, ast.Compare, ast.BoolOp))
            or (isinstance(above, ast.BinOp) and not isinstance(above.op, (ast.MatMult, ast.BitAnd, ast.BitOr)))
            or (isinstance(above, ast.Call) and ast.unparse(above.func) in _OF_ONE)
        ):
            node, above = above, self.above(above)
        match above:
            case ast.Assert(test=test) | ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                return test is node
            case ast.comprehension(ifs=ifs):
                return node in ifs
        return False

    def _holds_number(self, target: ast.expr) -> bool:
        """Whether what is assigned to can only be a number: an element, or a name that says so."""
        if isinstance(target, ast.Subscript):
            items = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
            value = self.peek(target.value)
            rank = value.rank if isinstance(value, Tensor) else None
            whole = all(isinstance(each, (ast.Name, ast.BinOp)) or _is_integer(each) for each in items)
            return whole and len(items) == (rank or 2) and (rank is not None or isinstance(target.slice, ast.Tuple))
        return _is_of_numbers(target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", ""))

    def _is_accumulated(self, sum_: ast.AST) -> bool:
        """`S = S + x.T @ x`, which begins as a number whatever is added up."""
        if isinstance(sum_, ast.AugAssign):
            return True
        above: ast.AST | None = sum_
        while isinstance(above, ast.expr):
            above = self.above(above)
        if not isinstance(above, ast.Assign):
            return False
        names = {each.id for each in walk(above.value) if isinstance(each, ast.Name)}
        return any(isinstance(each, ast.Name) and each.id in names for each in above.targets)


def _is_cosine(node: ast.AST, divisor: ast.expr) -> bool:
    """`a @ b.T / (norm(a) * norm(b))`: divided by the lengths of both vectors, which are two."""
    lengths = set()
    for each in walk(divisor):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "norm":
            lengths.add(ast.dump(each.args[0] if each.args else each.func.value))
    operands = [
        receiver_node(each) if _is_transpose(each) else each for each in operand_nodes(node) if each is not None
    ]
    return len(lengths) > 1 and {ast.dump(each) for each in operands if each is not None} == lengths


def _is_transpose(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    return isinstance(func, ast.Attribute) and func.attr in ("T", "t", "transpose")


def _is_number(value: Value | None) -> bool:
    """A number of Python's other than 0, at which sums of anything begin."""
    if isinstance(value, Const):
        return isinstance(value.value, (int, float)) and value.value != 0
    return isinstance(value, (Number, Scalar))


def _is_integer(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_integer(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_float(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in ("float", "int", "bool")


def _is_of_numbers(name: str) -> bool:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return _OF_NUMBERS.search(words) is not None and _OF_MATRICES.search(words) is None
