"""From what the tables and the interpreter notice to hazards: which are kept, and what became of their results."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

from tensorlint.inference import ops
from tensorlint.inference.bindings import Bindings
from tensorlint.inference.broadcast_reports import BroadcastReports, FollowOn
from tensorlint.inference.demands import ALWAYS
from tensorlint.inference.expanded_writes import ExpandedWrites
from tensorlint.inference.forward_reports import ForwardReports, patches_forward
from tensorlint.inference.frames import Frame
from tensorlint.inference.hazards import (
    BroadcastHazard,
    ExpandedWriteHazard,
    Hazard,
    RankOneTransposeHazard,
    RankOneVectorHazard,
    ViewHazard,
    WrongAxisHazard,
)
from tensorlint.inference.kept import lines_of
from tensorlint.inference.outcomes import Outcome
from tensorlint.inference.quadratic_forms import QuadraticForms
from tensorlint.inference.rank_one_reports import RankOneReports
from tensorlint.inference.reports_at_calls import ReportsAtCalls
from tensorlint.inference.shown import Shown
from tensorlint.inference.sizes import Size
from tensorlint.inference.source_text import CALLED, SourceText
from tensorlint.inference.values import Tensor, is_shown
from tensorlint.inference.vector_numbers import VectorNumber, VectorNumbers
from tensorlint.inference.view_reports import ViewReports
from tensorlint.inference.written_sizes import Surroundings

# By what it ends with: a pattern that begins with one of several letters takes ten times as long.
_TAKES_FORWARD = re.compile(r"forward(?<=[.\"']forward)")


@dataclass(slots=True, eq=False, repr=False)
class Attempt:
    """What has been reported and shown so far, to go back to."""

    hazards: dict[Any, Hazard]
    bindings: dict[Any, tuple[Shown, Tensor, dict[int, Size]]]
    names: int = 0  # how many names sizes had been given


@dataclass(slots=True, eq=False, repr=False)
class FirstRound:
    """The first round of a loop while it is followed, with what is known before the loop. `sure` are the hazards that
    every program meets that enters the loop."""

    frame: Frame
    place: int
    left_early: bool
    sure: dict[tuple[ast.AST, type[Hazard]], Hazard]


class Reports(
    Bindings,
    SourceText,
    ReportsAtCalls,
    ViewReports,
    ExpandedWrites,
    BroadcastReports,
    RankOneReports,
    QuadraticForms,
    VectorNumbers,
    ForwardReports,
):
    """Mixed into the interpreter."""

    __slots__ = ()

    def start_reports(self) -> None:
        self.noticed = 0
        self.hazards: dict[Any, Hazard] = {}
        self.bindings: dict[Any, tuple[Shown, Tensor, dict[int, Size]]] = {}
        self.first_round: FirstRound | None = None
        self.surroundings: dict[Any, Surroundings] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.follow_ons: dict[ast.AST, dict[str, FollowOn]] = {}
        self.refined: dict[int, tuple[Tensor, Tensor]] = {}
        self.last_broadcast: str | None = None
        self.keeps_numbers = False
        self.matrix_transposes: set[ast.AST] = set()
        self.vectors_turned: list[ast.AST] = []
        self.harmless_transposes: dict[ast.AST, ast.AST] = {}
        self.wanted_matrices: set[ast.AST | None] = set()
        self.sides: dict[ast.AST | None, str] = {}
        self.vector_numbers: dict[ast.AST | None, VectorNumber] = {}
        self.factors: dict[ast.AST | None, set[str]] = {}
        self.inner_products = {}
        self.beside_matrices: dict[ast.AST, str] = {}
        self.spellings: dict[ast.AST, str] = {}
        self.outer_first: dict[ast.AST | None, str] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.patches_forward = patches_forward(self.own_file.text)
        self.takes_forward = _TAKES_FORWARD.search(self.own_file.text) is not None
        self.lines = lines_of(self.own_file.tree, self.own_file.text)
        self.start_reports_at_calls()

    def begin_attempt(self) -> Attempt:
        saved = Attempt(self.hazards, self.bindings, len(self.names_given))
        self.hazards, self.bindings = {}, {}
        return saved

    def keep_attempt(self, saved: Attempt) -> None:
        for key, hazard in self.hazards.items():
            if key not in saved.hazards or not any(each.message.startswith(CALLED) for each in hazard.evidence):
                saved.hazards[key] = hazard
        for target, value in self.rounds.items() if self.rounds else ():
            if not is_shown(value):
                saved.bindings.pop(target, None)  # no tensor in this round
        saved.bindings.update(self.bindings)
        for target, value in (self.rounds or {}).items():
            if not is_shown(value):
                saved.bindings.pop(target, None)  # what an earlier round of a loop around showed
        self.hazards, self.bindings = saved.hazards, saved.bindings

    def drop_attempt(self, saved: Attempt) -> None:
        self.hazards, self.bindings = saved.hazards, saved.bindings
        self.take_back_names(saved.names)

    def add(self, node: ast.AST, hazard: Hazard) -> None:
        self.noticed += 1
        if self.expected_errors and (
            isinstance(hazard, (ViewHazard, ExpandedWriteHazard, RankOneVectorHazard))
            or (isinstance(hazard, BroadcastHazard) and hazard.refused)
        ):
            return
        if self.called_from_here is not None:
            node, hazard = self.called_from_here.place, self.at_call(hazard)
        elif self.file is not self.own_file:
            return
        if hasattr(node, "lineno"):
            # What holds for every call says more than what one call shows.
            if not self.trail or (node, type(hazard)) not in self.hazards:
                self.hazards[node, type(hazard)] = hazard
                self.note_first_round(node, hazard)

    # -- the first round of a loop -------------------------------------------------------------------------------

    def begin_first_round(self) -> FirstRound | None:
        outer = self.first_round
        self.first_round = FirstRound(self.frame, len(self.places), self.left_early, {})
        return outer

    def note_first_round(self, node: ast.AST, hazard: Hazard) -> None:
        """A column that meets a row in the first round is a mistake, whatever shapes it leaves for the next one:
        `w = w - rate * X.T @ (X @ w - y)` makes a matrix of the column `w`, and then nothing is known of `w`."""
        first = self.first_round
        if first is None or first.frame.continues or first.frame.breaks or first.left_early != self.left_early:
            return
        if isinstance(hazard, BroadcastHazard):
            if not (hazard.both_grow and hazard.same_length):
                return
        elif not isinstance(hazard, WrongAxisHazard):
            return
        if all(place is not None and place[3] is ALWAYS for place in self.places[first.place + 1 :]):
            first.sure[node, type(hazard)] = hazard

    def report(self, call: ops.Call, kind: str, facts: dict[str, Any]) -> None:
        """A table noticed something; `kind` and `facts` are described in `ops/table.py`."""
        if call.node is not None:
            self.report_of(call.node, kind, facts)

    def report_of(self, node: ast.AST, kind: str, facts: dict[str, Any]) -> None:
        handler = _REPORTS.get(kind)
        if handler is None:
            return
        self.noticed += 1
        if self.file is self.own_file or kind in ("reduced", "weighed", "nearest"):
            handler(self, node, facts)
        elif kind in _AT_CALLS and self.trail:
            self.report_at_call(handler, node, facts)

    def finished_hazards(self) -> list[Hazard]:
        """All hazards, with what became of the results known, in the order of the source."""
        found: list[Hazard] = []
        causes = {node: self.causes_of(node) for node, kind in self.hazards if node in self.follow_ons}
        broadcasts: dict[ast.AST, BroadcastHazard] = {}
        numbers = [node for node in self.vector_numbers if node is not None and self.is_number_meant(node)]
        right = {each for node in numbers for each in (node, *self.vector_numbers[node].transposes)}
        for (node, _), hazard in self.hazards.items():
            if node in right and isinstance(hazard, (RankOneTransposeHazard, RankOneVectorHazard)):
                continue
            if node in self.outer_first and isinstance(hazard, (RankOneTransposeHazard, RankOneVectorHazard)):
                if self.meets_matrix(node):
                    hazard = replace(hazard, suggestion=self.outer_first[node])
            if isinstance(hazard, (RankOneTransposeHazard, RankOneVectorHazard)) and self.turns_matrix(node):
                continue
            if isinstance(hazard, RankOneTransposeHazard):
                kept = self.in_quadratic_form(node, hazard)
                found += [] if kept is None else [kept]
                continue
            if isinstance(hazard, BroadcastHazard):
                compared = [(loss, of[node]) for loss, of in causes.items() if node in of]
                broadcasts[node] = self.with_outcome(node, hazard, compared)
            else:
                found.append(hazard)
        for node, hazard in broadcasts.items():
            found.append(replace(hazard, follows=tuple(broadcasts[cause] for cause in causes.get(node, ()))))
        found.sort(key=lambda hazard: (hazard.node.lineno, hazard.node.col_offset))  # type: ignore[attr-defined]
        return found


# What a function of another file does only to what it is given: two shapes that are not one, and what the library refuses.
_AT_CALLS = frozenset(
    {"broadcast", "loss", "view", "expanded_write", "in_place", "bare_inputs", "rank_one_matrix", "rank_one_join"}
)
_REPORTS: dict[str, Any] = {
    "view": Reports.report_view,
    "expanded_write": Reports.report_expanded_write,
    "in_place": Reports.report_in_place,
    "broadcast": Reports.report_broadcast,
    "loss": Reports.report_loss,
    "one_sided": Reports.report_one_sided,
    "reduced": Reports.report_reduced,
    "weighed": Reports.report_weighed,
    "nearest": Reports.report_nearest,
    "matrix_transpose": Reports.report_matrix_transpose,
    "rank_one_transpose": Reports.report_rank_one_transpose,
    "rank_one_product": Reports.report_rank_one_product,
    "vector_product": Reports.report_vector_product,
    "number_as_matrix": Reports.report_number_as_matrix,
    "rank_one_matrix": Reports.report_rank_one_matrix,
    "rank_one_join": Reports.report_rank_one_join,
    "bare_inputs": Reports.report_bare_inputs,
    "rank_one_creation": Reports.report_rank_one_creation,
}
