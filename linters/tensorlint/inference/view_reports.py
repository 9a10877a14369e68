"""A view that torch refuses: which axes it merges, and why they are not adjacent in memory."""

from __future__ import annotations

import ast
from typing import Any

from tensorlint.inference import sizes as S
from tensorlint.inference.default_ones import default_ones
from tensorlint.inference.frames import found_ones
from tensorlint.inference.hazards import ViewHazard
from tensorlint.inference.layout import Shape, ViewResult, view
from tensorlint.inference.sizes import show_shape
from tensorlint.inference.state import State
from tensorlint.inference.values import Tensor
from tensorlint.inference.written_views import written_at

_LONGEST = 60


class ViewReports(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def report_view(self, node: ast.AST, facts: dict[str, Any]) -> None:
        tensor: Tensor = facts["tensor"]
        result: ViewResult = facts["result"]
        assert tensor.shape is not None
        if facts.get("branch") and facts["met"] != self.way_here():
            return  # a test or an exit behind the branch may have asked for what it decided
        if not self.refused_of_ones(tensor, facts["target"]):
            return
        viewed = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        receiver = self.text_of(self.written_as(viewed, tensor))
        merged, reason = _merged(tensor, result)
        if (
            facts.get("branch")
            and tensor.made is not None
            and hasattr(tensor.made, "lineno")
            and self.is_own(tensor.made)
        ):
            reason += f", where line {tensor.made.lineno} was taken"
        evidence = [
            self.evidence_at(step, words)
            for step, words in tensor.layout_trail
            if getattr(step, "lineno", None) is not None
        ]
        written = written_at(node, self.frame.node)
        if written is not None and getattr(written, "lineno", None) != getattr(node, "lineno", None):
            evidence.append(self.evidence_at(written, f"written into here: {self.text_of(written, 50)}"))
        evidence += self.called_from()
        self.add(node, ViewHazard(
            node=node, receiver=receiver, shape=show_shape(tensor.shape), strides=show_shape(tensor.strides),
            target=self.view_written(node, facts["target"]), merged=merged, reason=reason,
            written=written is not None, unless=self.view_unless(tensor, facts["target"]),
            evidence=tuple(each for each in evidence if each is not None),
        ))  # fmt: skip

    def view_written(self, node: ast.AST, target: Shape) -> str:
        """The sizes that the view asks for, with the -1 where it leaves one over."""
        asked = list(node.args) if isinstance(node, ast.Call) else []
        if len(asked) == 1 and isinstance(asked[0], (ast.Tuple, ast.List)):
            asked = asked[0].elts
        if any(isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub) for each in asked):
            texts = [self.text_of(each) for each in asked]
            if sum(map(len, texts)) <= _LONGEST:
                return f"({', '.join(texts)})"
        return f"({', '.join(map(S.show, target))})"

    def refused_of_ones(self, tensor: Tensor, target: Shape) -> bool:
        """Whether torch refuses the view where a test has found some of the sizes to be 1, if there are such."""
        ones = found_ones(self.frame, (*(tensor.shape or ()), *target))
        return not ones or _is_refused(tensor, target, ones)

    def view_unless(self, tensor: Tensor, target: Shape) -> str:
        """Which sizes are 1 by default, where torch does not refuse the view of those: `groups is 1`."""
        ones = default_ones(self.frame, (*(tensor.shape or ()), *target))
        if not ones or _is_refused(tensor, target, ones):
            return ""
        enough = [atom.name or "" for atom in ones if not _is_refused(tensor, target, {atom: 1})]
        return f"{' or '.join(enough)} is 1" if enough else f"{' and '.join(atom.name or '' for atom in ones)} are 1"


def _is_refused(tensor: Tensor, target: Shape, values: dict[S.Symbol, S.Size]) -> bool:
    """Whether torch refuses the view where these sizes have those values."""
    shape, strides, wanted = (
        tuple(S.substitute(size, values) for size in sizes)
        for sizes in (tensor.shape or (), tensor.strides or (), target)
    )
    return view(shape, strides, wanted).legal is False


def _merged(tensor: Tensor, result: ViewResult) -> tuple[str, str]:
    """Which axes the view merges, and why they are not adjacent, in the user's sizes."""
    assert tensor.shape is not None
    if result.broken is None or tensor.strides is None:
        return "axes", "the axes are not adjacent in memory"
    first, second = result.broken
    sizes = f"{S.show(tensor.shape[first])} and {S.show(tensor.shape[second])}"
    axes = f"axes {first} and {second} ({sizes})"
    repeated = next((axis for axis in (first, second) if tensor.strides[axis] == 0), None)
    if repeated is not None:
        return axes, f"axis {repeated} has stride 0: it repeats the same elements, as expand does"
    wanted = S.multiply(tensor.shape[second], tensor.strides[second])
    return (
        axes,
        f"axis {first} has stride {S.show(tensor.strides[first])}, merging needs {S.show(wanted)}",
    )
