"""scikit-learn's splitters: `for train, test in KFold(5).split(X, y)` gives positions, as many as nobody knows."""

from __future__ import annotations

import ast

from tensorlint.inference import sizes as S
from tensorlint.inference.values import Sequence, Tensor, Value

SPLITTERS = frozenset([
    "KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit",
    "StratifiedShuffleSplit", "GroupShuffleSplit", "TimeSeriesSplit", "LeaveOneOut", "LeavePOut", "LeaveOneGroupOut",
    "LeavePGroupsOut", "PredefinedSplit",
])  # fmt: skip


_LEAVES_FEW = frozenset(["LeaveOneOut", "LeavePOut", "LeaveOneGroupOut", "LeavePGroupsOut", "PredefinedSplit"])


def split(kind: str, node: ast.AST | None) -> Value:
    """The pairs that a splitter's `split` gives: each has other sizes than the one before."""
    parts: list[Value] = []
    for plural in (True, kind not in _LEAVES_FEW):
        rows = S.of_symbol(S.Symbol(None, variant=True, plural=plural))
        parts.append(Tensor("numpy", (rows,), (1,), "int64", None, node))
    return Sequence("iterator", None, Sequence("tuple", parts))
