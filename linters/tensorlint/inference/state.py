"""What the parts of the interpreter share: its state. Each part is a class over it, in a file of its own."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorlint.inference.frames import Frame, SourceFile
from tensorlint.inference.hazards import Hazard
from tensorlint.inference.rebinding import Rebound
from tensorlint.inference.shown import Shown
from tensorlint.inference.sizes import Size, Symbol
from tensorlint.inference.values import (
    Class,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Sequence,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from tensorlint.inference.import_effects import ImportEffects
    from tensorlint.inference.module_tensors import Around
    from tensorlint.inference.outside_changes import Assigned
    from tensorlint.inference.reports import Attempt
    from tensorlint.inference.reports_at_calls import CalledFrom
    from tensorlint.project import Project


class Exhausted(Exception):
    """More was asked about code that is not followed than a file may: the analysis ends, with what it has found."""


class State:
    """`frame` is the activation that is being followed, `file` the file it belongs to (`own_file` is the one that is
    analysed). `conditional` counts the branches around the current statement, `part_begun` is what it was where the innermost branch
    or round of a loop began, and the step at which that was, `left_early` says that a
    `return` in a branch before it may have left the function or one that called it, `left_round` is the
    step at which a `break` or `continue` may have left the round of a loop, 0 where none has; `mutations` logs what was changed in
    place, so that loops know what the next round may meet, `overwritten` what fields of instances held before; `trail` holds
    the calls that led here;
    `names_given` are the sizes and objects that took a name's;
    `appended` holds what was last appended to a list at a place, or by how many items it was extended there;
    `noticed` counts what was reported, or may have been but for the place that led there;
    `loops_ended` are the serials of sizes between which one was followed that is in no other;
    `possible_exits` counts the places where the program may have been left, `blocks` the blocks that were entered;
    `reshaped` holds the objects that changed their shape in place, `expected_errors` counts the `pytest.raises` and
    short `try` blocks around the current statement."""

    file: SourceFile
    own_file: SourceFile
    project: Project | None
    frame: Frame
    module_frame: Frame
    steps: int
    depth: int
    budget: int
    unseen: int  # how much may still be asked about code that is not followed
    conditional: int
    part_begun: tuple[int, float]
    left_early: bool
    left_round: int
    nesting: int
    loop_start: int | None
    loops_ended: list[tuple[int, int]]
    expected_errors: int
    noticed: int
    possible_exits: int
    blocks: int
    reshaped: dict[int, Value]
    reshaped_together: list[Value] | None  # that may be any tensor, and wait for the others
    uses_torch: bool
    not_only_arrays: bool
    has_matrices: bool  # or tables: whether what has two axes may be one of them
    asks_arguments: bool
    # Whether the file has classes whose objects torch's functions (and operators) leave it to what they give.
    stand_ins: bool
    shares_namespaces: (
        bool  # whether objects of the file may have a dictionary for their attributes that others have, too
    )
    reflects: bool
    decided: frozenset[str]  # operators that classes of the file define, for what stands on the left
    parameters: frozenset[str]
    pending: list[Function]
    active: list[ast.AST]
    trail: list[ast.AST | None]
    being_made: list[Instance]
    raised: list[Value]
    mutations: list[tuple[Any, str | None]]
    overwritten: list[tuple[Any, str, Any]]
    memory: dict[Any, Any]
    appended: dict[ast.Name, tuple[Frame, Value | Size | None]]
    named: set[str]
    names_given: list[tuple[Symbol, Opaque | None]]
    modules: dict[str, Frame | None]
    frames: list[Frame]
    classes: list[Class]
    quiet_classes: dict[Class, bool]
    assigned_to_layers: set[str]
    class_attributes_assigned: set[str]
    set_on_classes: set[str]
    changed_before_use: dict[str, set[str]]
    reach: list[str] | None
    assigned_anywhere: Assigned | None
    class_names: tuple[int, set[str]]
    attributes_stored: set[str]
    changed_by_calls: list[tuple[Any, str | None]]
    calls_made: list[tuple[int, int]]
    tells_nothing: set[ast.AST]
    unused: ast.expr | None
    unread: bool
    iterators_named: bool
    items_changed: dict[int, Opaque]
    completing: int
    quiet: frozenset[ast.AST] | None
    rebound: Rebound
    scopes_within: list[Frame]
    named_within: list[tuple[str, Value]]
    patched: frozenset[str]
    patches_any: bool
    patched_signs: frozenset[str]
    patched_in_layers: frozenset[str]
    analysed: set[tuple[ast.AST, int]]
    handlers: dict[type[ast.AST], Callable[[Any], Any]]
    hazards: dict[Any, Hazard]
    bindings: dict[Any, tuple[Shown, Tensor, dict[int, Size]]]
    first_round: Any
    asked_perhaps: set[Symbol]
    kept: list[Value]
    not_kept: list[Value]
    shared_names: dict[str, tuple[Value, ...]]
    crowd: Opaque
    strayed: dict[int, Value]
    given_by_strays: dict[ast.AST, list[Value]]
    strays_changed: tuple[int, int, tuple[str | None, ...]]
    derived: list[tuple[Class | None, Dictionary]]
    changed_later: dict[str, bool]
    lines_changing: dict[tuple[str, str], list[int]]
    private: set[str] | None
    distributions_change: bool | None
    estimators_change: bool | None
    refused: set[ast.AST | None]
    unset: dict[tuple[str, str], bool]
    around: dict[int, Around]
    reached: dict[Any, Any]
    shows: bool
    starred: Any
    unsure: tuple[list[Value], dict[str, Value]]
    open_call: tuple[list[Value], dict[str, Value]] | None
    surroundings: dict[Any, Any]
    outcomes: dict[str, Any]
    follow_ons: dict[ast.AST, dict[str, Any]]
    refined: dict[int, tuple[Tensor, Tensor]]
    last_broadcast: str | None
    matrix_transposes: set[ast.AST]
    vectors_turned: list[ast.AST]
    harmless_transposes: dict[ast.AST, ast.AST]
    wanted_matrices: set[ast.AST | None]
    sides: dict[ast.AST | None, str]
    keeps_numbers: bool
    vector_numbers: dict[ast.AST | None, Any]
    factors: dict[ast.AST | None, set[str]]  # of vectors, on which side matrices are multiplied by them
    inner_products: dict[ast.AST | None, tuple[Tensor, Tensor]]  # of vectors, without a transpose
    beside_matrices: dict[ast.AST, str]
    spellings: dict[ast.AST, str]
    outer_first: dict[ast.AST | None, str]
    parents: dict[ast.AST, ast.AST]
    patches_forward: bool
    takes_forward: bool
    lines: list[str]
    overrides: dict[ast.AST, set[str]] | None
    binding_frames: dict[Shown, Frame]
    rounds: dict[Shown, Value] | None
    places: list[Any]
    learnt: dict[ast.AST, dict[tuple[int, int], tuple[int, int]]]
    solved: dict[ast.AST, dict[tuple[int, int], tuple[int, int]]]
    solved_regions: set[tuple[int, int]]
    exits: dict[int, list[int]]
    known_torchs: dict[Value, tuple[Frame, list[int]]]
    called_from_here: CalledFrom | None
    places_at_calls: dict[tuple[ast.AST, ast.AST], ast.AST]
    operations_elsewhere: dict[int, int]  # by the ids of those places
    imports: ImportEffects
    lasting: Attempt
    failures: list[Exception]

    # Whatever is declared above, as a dataclass has it, which takes ten times as long to make.
    __slots__ = tuple(__annotations__)

    @property
    def perhaps_left(self) -> bool:
        """Whether the current statement may not be reached: what it changes for others may be as it was."""
        return bool(self.conditional) or self.left_early or bool(self.left_round)

    def changes_surely(self, held: Sequence | Dictionary) -> bool:
        """Whether the current statement, which changes it, is reached wherever the list or dictionary is looked at later."""
        if self.conditional or (held.shared and self.left_early):
            return False
        return not self.left_round or held.born > self.left_round  # what has left the round does not know a younger one

    def begin_part(self, outer: tuple[int, float], deeper: int = 1) -> None:
        """A branch or a round begins. What is skipped for other reasons (a `try`) notes nothing: there the counts differ."""
        self.part_begun = self.conditional, self.steps if outer[0] == self.conditional - deeper else math.inf

    def is_of_this_part(self, held: LibraryObject) -> bool:
        """Whether it was made in the branch or the round that the current statement stands in, and not in one around it:
        whoever finds it finds it changed."""
        conditional, begun = self.part_begun
        if conditional != self.conditional or self.left_early or held.born <= begun:
            return False
        return not self.left_round or held.born > self.left_round

    if TYPE_CHECKING:
        # The parts call one another; each method is checked where it is defined.
        def __getattr__(self, name: str) -> Any: ...
