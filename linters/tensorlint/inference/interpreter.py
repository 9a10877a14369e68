"""The abstract interpreter: follows a file's statements and knows what every expression is.

Work is bounded. Each statement of the file is followed a fixed number of times (loops at most three rounds, three
levels deep); following the file's own functions at their calls is paid from a budget that is proportional to the
length of the file. At the bound the answer is unknown. So is what may be asked about code that is not followed; at that
bound the analysis of the file ends.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tensorlint.inference import (
    aliases,
    caught,
    data_loading,
    declared,
    import_effects,
    module_containers,
    ops,
    rebinding,
    unseen,
)
from tensorlint.inference import sizes as S
from tensorlint.inference.assignments import Assignments
from tensorlint.inference.branches import Branches
from tensorlint.inference.calls import Calls
from tensorlint.inference.changed_names import ChangedNames
from tensorlint.inference.chosen_classes import ChosenClasses
from tensorlint.inference.class_making import ClassMaking
from tensorlint.inference.classes import Classes
from tensorlint.inference.demands import ALWAYS, FUNCTION, Demands
from tensorlint.inference.effects import Effects
from tensorlint.inference.expressions import Expressions
from tensorlint.inference.filled_lists import FilledLists
from tensorlint.inference.following import Following
from tensorlint.inference.forgetting import Forgetting
from tensorlint.inference.frames import READ_EARLY, Frame, SourceFile
from tensorlint.inference.handling import Handling
from tensorlint.inference.implicit_calls import ImplicitCalls
from tensorlint.inference.import_effects import ImportEffects
from tensorlint.inference.imports import Imports
from tensorlint.inference.instances import Instances
from tensorlint.inference.iteration import Iteration
from tensorlint.inference.joining import Joining
from tensorlint.inference.late_initialisers import LateInitialisers
from tensorlint.inference.late_methods import MethodMaking
from tensorlint.inference.loops import Loops
from tensorlint.inference.methods import Methods
from tensorlint.inference.module_tensors import Around
from tensorlint.inference.names import bound_names
from tensorlint.inference.operators import OPERATORS, Operators, decided_by_classes
from tensorlint.inference.quiet_functions import is_quiet, is_unread
from tensorlint.inference.reached import Reaching
from tensorlint.inference.reports import Attempt, Reports
from tensorlint.inference.shared_names import SharedNames
from tensorlint.inference.shown import Shown
from tensorlint.inference.state import Exhausted
from tensorlint.inference.statements import Statements
from tensorlint.inference.strays import Strays
from tensorlint.inference.values import (
    PLAIN,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Imported,
    Instance,
    LibraryObject,
    Number,
    Opaque,
    Rank,
    Sequence,
    Tensor,
    Unknown,
    Value,
    copy,
    number,
)
from tensorlint.inference.words import words_of

if TYPE_CHECKING:
    from tensorlint.inference.outside_changes import Assigned
    from tensorlint.project import Project

T = TypeVar("T")
# Statements of the file's own functions that may be followed at their calls, for each statement of the file.
BUDGET_PER_STATEMENT = 6
BUDGET_BASE = 2_000
# Of what code that is not followed may change: what is kept for later, read and looked up, which may be all functions of the
# file at each of its lines.
UNSEEN_PER_STATEMENT = 100
UNSEEN_BASE = 100_000
# Words of a file in which what numpy's functions are given may be no array and give something else.
_ARRAY_LIKE = frozenset({"pandas", "pd", "polars", "xarray", "statsmodels", "tocsr", "issparse", "isspmatrix"})
# Words of a file that has sparse matrices or makes numpy's of them, and what makes these without: an object with two axes may
# be one, which keeps both where an array loses one, and multiplies as a matrix does.
_SPARSE = frozenset({
    "bsr_matrix", "coo_matrix", "csc_matrix", "csr_matrix", "dia_matrix", "dok_matrix", "issparse", "isspmatrix", "lil_matrix", "spmatrix",
    "tocsc", "tocsr", "todense",
})  # fmt: skip
_MATRICES = frozenset({"asmatrix", "bmat", "mat", "matlib", "matrix"})
_OF_NUMPY = re.compile(
    r"\b(?:np|numpy)\.(?:asmatrix|bmat|mat|matlib|matrix)\b|\bfrom\s+numpy(?:\.\w+)*\s+import\s+"
    r"(?:\*|(?:\([^)]*?|[^\n(#]*?)\b(?:asmatrix|bmat|mat|matlib|matrix)\b)"
)
# Words of a file whose arrays may be others', which numpy's functions ask what they give.
_ASKED = frozenset({"dask", "cupy", "xarray", "pint", "awkward", "__array_function__"})
# Methods by which the right operand's class decides what an operator gives.
_OF_TORCH = frozenset({"F", "nn", "functional", "torch"})
_REFLECTED = re.compile(r"def __r(?:add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor)__")
# Attributes of a class by which its objects go before numpy's arrays.
_BEFORE_ARRAYS = frozenset({"__array_ufunc__", "__array_priority__"})
# Expressions nested deeper than this are not followed (the interpreter recurses; Python's own stack is finite).
MAX_NESTING = 120


class Interpreter(
    Expressions,
    Operators,
    Iteration,
    Statements,
    Branches,
    Handling,
    Assignments,
    Loops,
    FilledLists,
    Calls,
    ChosenClasses,
    Joining,
    Methods,
    Following,
    Effects,
    Forgetting,
    Strays,
    ChangedNames,
    Reaching,
    Classes,
    Instances,
    LateInitialisers,
    MethodMaking,
    ClassMaking,
    ImplicitCalls,
    Imports,
    SharedNames,
    Demands,
    Reports,
):
    """One analysis of one file."""

    __slots__ = ()

    def __init__(
        self,
        file: SourceFile,
        project: Project | None = None,
        *,
        shows: bool = True,
        imports: ImportEffects = import_effects.NONE,
    ) -> None:
        aliases.begin(file.text, shaping=bool(file.facts.shaping))
        self.shows = shows
        self.file = file
        self.own_file = file
        self.project = project
        self.frame = Frame(file.tree, file, None, facts=file.facts.scopes[file.tree], record=True)
        self.module_frame = self.frame
        self.steps = 0
        self.depth = 0
        self.budget = BUDGET_BASE + BUDGET_PER_STATEMENT * file.facts.statements
        self.unseen = UNSEEN_BASE + UNSEEN_PER_STATEMENT * file.facts.statements
        self.conditional = 0
        self.part_begun: tuple[int, float] = (0, 0)
        self.left_early = False
        self.left_round = 0
        self.nesting = 0
        self.loop_start: int | None = None
        self.loops_ended: list[tuple[int, int]] = []
        self.expected_errors = 0
        self.possible_exits = 0
        self.blocks = 0
        self.reshaped: dict[int, Value] = {}
        self.reshaped_together: list[Value] | None = None
        self.parameters: frozenset[str] = frozenset()
        self.pending: list[Function] = []
        self.failures: list[Exception] = []
        self.unread = (
            False  # whether only findings are asked for, and nothing in the file asks for what the statement makes
        )
        self.unused: ast.expr | None = None  # what the last statement was that is an expression alone
        self.iterators_named = False  # whether a name stands for one, as far as has been followed
        self.tells_nothing: set[ast.AST] = (
            set()
        )  # functions of other files and containers of which a call was followed in vain
        self.active: list[ast.AST] = []
        self.trail: list[ast.AST | None] = []
        self.being_made: list[Instance] = []
        # Objects with errors that the program has raised, which handlers get.
        self.raised: list[Value] = []
        self.mutations: list[tuple[Any, str | None]] = []
        self.overwritten: list[tuple[Any, str, Any]] = []
        self.rounds: dict[Shown, Value] | None = None
        self.overrides: dict[ast.AST, set[str]] | None = None
        self.binding_frames: dict[Shown, Frame] = {}
        self.memory: dict[Any, Any] = {}
        self.appended: dict[ast.Name, tuple[Frame, Value | S.Size | None]] = {}
        self.named: set[str] = set()  # what `:=` has bound
        self.named_within: list[tuple[str, Value]] = []  # and to what, in the comprehension that is followed
        self.names_given: list[tuple[S.Symbol, Opaque | None]] = []
        self.crowd = Opaque(None, variant=True)  # what many lists may hold after calls of what nobody knows
        self.shared_names: dict[str, tuple[Value, ...]] = {}  # what names have held that functions may bind anew
        self.kept: list[Value] = []  # functions that lists, dictionaries and attributes hold
        self.not_kept: list[Value] = []  # those of which there are too many, while what they do is looked at
        self.scopes_within: list[Frame] = []  # of functions that the comprehension makes which is followed
        self.strayed: dict[int, Value] = {}  # objects that are kept where nobody looks for them: see `strays.py`
        self.given_by_strays: dict[ast.AST, list[Value]] = {}
        self.strays_changed: tuple[int, int, tuple[str | None, ...]] = (
            0,
            0,
            (),
        )  # how many changes and strays there were
        self.derived: list[tuple[Class | None, Dictionary]] = []  # of `type("Name", (Base,), {...})`
        self.changed_later: dict[str, bool] = {}
        self.lines_changing: dict[tuple[str, str], list[int]] = {}
        self.private: set[str] | None = None
        self.estimators_change: bool | None = None
        self.refused: set[ast.AST | None] = set()  # calls that were seen to raise
        self.distributions_change: bool | None = None  # whether the file may assign what a distribution is made of
        self.around: dict[int, Around] = {}  # by the module's frame: the tensors that its names lead to
        self.unset: dict[tuple[str, str], bool] = {}  # by file and name: whether what is called so may be None
        self.reached: dict[Any, Any] = {}
        self.asked_perhaps: set[S.Symbol] = set()  # sizes that not every run asks for: the axis may be missing
        self.modules: dict[str, Frame | None] = {}
        self.frames: list[Frame] = [self.frame]
        self.classes: list[Class] = []
        self.quiet_classes: dict[Class, bool] = {}  # whether making an object of it changes nothing else
        self.assigned_to_layers: set[str] = set()  # attributes of layers, where this is followed
        self.class_attributes_assigned: set[str] = set()  # by code that is not the class's body
        self.set_on_classes: set[str] = set()  # by code that is not followed
        self.changed_before_use: dict[str, set[str]] = {}  # names of modules, by their files
        self.reach: list[str] | None = None  # the modules in reach, and what they assign: see `shared_names.py`
        self.assigned_anywhere: Assigned | None = None
        self.class_names: tuple[int, set[str]] = 0, set()
        self.attributes_stored: set[str] = set()
        self.items_changed: dict[int, Opaque] = {}  # objects nobody knows, of which items were assigned
        self.changed_by_calls: list[tuple[Any, str | None]] = []
        self.calls_made: list[tuple[int, int]] = []  # how many changes there were by then, and the step
        self.completing = 0  # initialisers that are followed late
        self.quiet: frozenset[ast.AST] | None = None
        self.rebound = unseen.may_have_changed(rebinding.rebound(file.tree, file.text), file)
        if imports.replaced:
            self.rebound = replace(self.rebound, attributes=self.rebound.attributes | imports.replaced)
        self.imports = imports
        self.patched = file.facts.library_attributes() | imports.replaced
        if self.rebound.patched:
            imported = file.facts.imported | {"torch", "numpy", "builtins"}
            self.patched |= {name for root, name in self.rebound.patched if root in imported}
        self.patches_any = False  # with names that are computed
        self.patched_signs = decided_by_classes(self.patched)  # `torch.Tensor.__add__ = f`
        # `F.linear = f`, which `nn.Linear` calls.
        patched = (*file.facts.stored_below, *self.rebound.patched) if self.patched else ()
        self.patched_in_layers = frozenset(
            name
            for root, name in patched
            if root in _OF_TORCH
            and name in self.patched
            and (ops.function(f"torch.nn.functional.{name}") or ops.function(f"torch.{name}"))
        )
        rebinding.share_globals(self.rebound, file.facts.scopes[file.tree])
        self.analysed: set[tuple[ast.AST, int]] = set()
        self.uses_torch = "torch" in file.text
        self.shares_namespaces = "__dict__ =" in file.text
        self.stand_ins = "__torch_function__" in file.text
        words = words_of(file.text)
        self.reflects = self.stand_ins or (
            "def __r" in file.text
            and (self.uses_torch or not _BEFORE_ARRAYS.isdisjoint(words))
            and bool(_REFLECTED.search(file.text))
        )
        self.decided = decided_by_classes(words)
        tables = not _ARRAY_LIKE.isdisjoint(words)
        self.has_matrices = (
            (tables and not self.uses_torch)  # most of what has two axes is a tensor there
            or not _SPARSE.isdisjoint(words)
            or (not _MATRICES.isdisjoint(words) and bool(_OF_NUMPY.search(file.text)))
        )
        self.not_only_arrays = self.uses_torch or self.has_matrices or tables
        self.asks_arguments = not _ASKED.isdisjoint(words)
        self.start_reports()
        self.lasting = Attempt(self.hazards, self.bindings)
        self.start_demands()
        self.handlers: dict[type[ast.AST], Callable[[Any], Any]] = {
            ast.Attribute: self.eval_attribute,
            ast.Call: self.eval_call,
            ast.BinOp: self.eval_binary,
            ast.UnaryOp: self.eval_unary,
            ast.Compare: self.eval_compare,
            ast.BoolOp: self.eval_bool,
            ast.Subscript: self.eval_subscript,
            ast.Slice: self.eval_slice,
            ast.Tuple: self.eval_tuple,
            ast.List: self.eval_tuple,
            ast.Set: self.eval_tuple,
            ast.Dict: self.eval_dict,
            ast.IfExp: self.eval_conditional,
            ast.Lambda: self.eval_lambda,
            ast.ListComp: self.eval_comprehension,
            ast.SetComp: self.eval_comprehension,
            ast.GeneratorExp: self.eval_comprehension,
            ast.DictComp: self.eval_dict_comprehension,
            ast.JoinedStr: self.eval_joined_string,
            ast.NamedExpr: self.eval_named,
            ast.Starred: self.eval_starred,
            ast.Await: self.eval_await,
            ast.Yield: self.eval_yield,
            ast.YieldFrom: self.eval_yield,
            ast.Expr: self.exec_expression,
            ast.Assign: self.exec_assign,
            ast.AnnAssign: self.exec_annotated,
            ast.AugAssign: self.exec_augmented,
            ast.Return: self.exec_return,
            ast.Raise: self.exec_raise,
            ast.Assert: self.exec_assert,
            ast.Delete: self.exec_delete,
            ast.Global: self.exec_global,
            ast.Nonlocal: self.exec_global,
            ast.Break: self.exec_break,
            ast.Continue: self.exec_continue,
            ast.If: self.exec_if,
            ast.Try: self.exec_try,
            ast.TryStar: self.exec_try,
            ast.With: self.exec_with,
            ast.AsyncWith: self.exec_with,
            ast.Match: self.exec_match,
            ast.For: self.exec_for,
            ast.AsyncFor: self.exec_for,
            ast.While: self.exec_while,
            ast.Import: self.exec_import,
            ast.ImportFrom: self.exec_import_from,
            ast.FunctionDef: self.exec_function,
            ast.AsyncFunctionDef: self.exec_function,
            ast.ClassDef: self.exec_class,
        }

    # -- the whole file ------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Follow the module, then every function and method once from unknown arguments."""
        if self.imports.modes or import_effects.has_modes(self.file.text):
            return
        with contextlib.suppress(Exhausted):
            self.follow_all()

    def follow_all(self) -> None:
        for statement in self.file.tree.body:
            self.unread = not self.shows and is_unread(statement, self.file.text)
            self.guarded(self.follow_statement, statement, [statement])
            self.module_frame.dead = False
        self.unread = False
        self.module_frame.finished = True
        for name, value in self.module_frame.env.items():
            self.outlives(name, value, of_file=True)
        self.forget_class_attributes()
        self.forget_changed_between_calls(self.module_frame, 0, 0)
        self.mutations.append((self, None))
        for owner, changed in self.changed_by_calls:
            self.forget_change(owner, changed)
        while self.pending:
            self.guarded(self.analyse_pending, self.pending.pop(0), [])

    def follow_statement(self, statement: ast.stmt) -> None:
        self.block([statement], ALWAYS)

    def dispose(self) -> None:
        """Part what refers to one another, so that the trees of a file are freed with it, without garbage collection."""
        outer = [module for module in self.modules.values() if module is not None]
        for cls in self.classes:
            cls.generic = cls.order = cls.record = cls.late = None
            cls.held.clear()
        for frame in {*self.frames, *outer}:
            frame.env.clear()
            frame.returns.clear()
            # What refers to itself all the same, as objects do that hold one another, holds no tree.
            del frame.node, frame.facts, frame.file
        for cls in self.classes:
            del cls.node, cls.scope
        self.handlers.clear()
        self.memory.clear()
        self.quiet_classes.clear()
        self.appended.clear()
        READ_EARLY.clear()
        aliases.end()
        self.mutations.clear()
        self.overwritten.clear()
        self.changed_by_calls.clear()
        self.items_changed.clear()
        self.names_given.clear()
        self.pending.clear()
        self.surroundings.clear()

    def guarded(self, work: Callable[[T], None], piece: T, statements: list[ast.stmt]) -> None:
        """Do one piece of the file. Should the interpreter fail there (an error of ours, or nesting beyond Python's own
        stack), that piece is unknown and the rest goes on. TENSORLINT_DEBUG=1 lets the error out."""
        try:
            work(piece)
        except Exhausted:
            self.hazards, self.bindings = self.lasting.hazards, self.lasting.bindings
            raise
        except Exception as error:
            if os.environ.get("TENSORLINT_DEBUG"):
                raise
            if not isinstance(error, RecursionError):
                self.failures.append(error)
            self.frame, self.file = self.module_frame, self.own_file
            self.depth = self.nesting = self.conditional = self.frame.loops = 0
            self.active.clear()
            self.trail.clear()
            self.being_made.clear()
            self.places.clear()
            self.rounds = self.loop_start = self.first_round = None
            self.reshaped_together = None
            self.learnt, self.solved, self.solved_regions = {}, {}, set()
            self.hazards, self.bindings = self.lasting.hazards, self.lasting.bindings
            for name in bound_names(statements):
                self.module_frame.env[name] = UNKNOWN

    def analyse_pending(self, function: Function) -> None:
        if not (self.shows or isinstance(function.node, ast.Lambda)) and is_quiet(function.node, self.own_file):
            return
        self.frame = self.module_frame
        self.conditional = 0
        receiver: Value | None = None
        if function.owner is not None and function.kind != "static":
            receiver = function.owner if function.kind == "class" else self.generic_instance(function.owner)
            if function.kind == "class" and self.overridden_in_subclasses(function.owner):
                receiver = Opaque(None)
        self.analyse_function(function, receiver)

    def analyse_function(self, function: Function, receiver: Value | None) -> None:
        """Follow a function from unknown arguments: what is seen holds for every call."""
        code = function.node
        if isinstance(code, ast.Lambda) or (code, id(receiver)) in self.analysed:
            return
        self.analysed.add((code, id(receiver)))
        file = function.scope.file
        own = file is self.own_file
        facts = file.facts.scopes.get(code)
        if facts is None:
            return
        outer_learnt, outer_solved, outer_regions = self.learnt, self.solved, self.solved_regions
        outer_attempt = self.begin_attempt()
        outer_rounds, self.rounds = self.rounds, None
        outer_start, self.loop_start = self.loop_start, None
        self.learnt, self.solved, self.solved_regions = {}, {}, set()
        waiting = len(self.pending)
        frame = self.follow_unknown(function, code, receiver, facts)
        if own and self.is_solved(code) and not (isinstance(receiver, Instance) and self.initialising(receiver)):
            # What its statements demand of their objects holds from the start: once more, knowing it.
            self.solved, self.learnt = self.learnt, {}
            self.solved_regions = {region for regions in self.solved.values() for region in regions}
            self.hazards, self.bindings = {}, {}
            self.pending[waiting:] = [each for each in self.pending[waiting:] if each.scope is not frame]
            self.follow_unknown(function, code, receiver, facts)
        self.learnt, self.solved, self.solved_regions = outer_learnt, outer_solved, outer_regions
        self.rounds, self.loop_start = outer_rounds, outer_start
        if isinstance(receiver, Instance) and receiver.cls is not function.owner:
            self.bindings = {}  # what the objects of a derived class show need not be true of the others
        self.keep_attempt(self.lasting)
        self.hazards, self.bindings = outer_attempt.hazards, outer_attempt.bindings

    def follow_unknown(
        self, function: Function, code: ast.FunctionDef | ast.AsyncFunctionDef, receiver: Value | None, facts: Any
    ) -> Frame:
        file = function.scope.file
        frame = Frame(code, file, function.scope, {}, facts, file is self.own_file)
        frame.owner = function.owner
        self.frames.append(frame)
        spec = code.args
        names = [*spec.posonlyargs, *spec.args]
        frame.first_argument = names[0].arg if names else None
        dimensions: dict[str, Any] = {}
        since = S.symbol_serial()
        own = names[0] if receiver is not None and names and function.kind != "static" else None
        for parameter in (*names, *spec.kwonlyargs):
            name = parameter.arg
            if parameter is own and receiver is not None:
                frame.env[name] = receiver
                continue
            if name in facts.shared:
                frame.env[name] = UNKNOWN  # a function within may bind it anew at any call
                continue
            value = frame.env[name] = self.parameter_value(function, parameter, facts, dimensions, since)
            if type(value) is Tensor or (type(value) is Opaque and value.kind is None):
                value.kin = (Rank(parameter, frame), 0, 0)
        if spec.vararg is not None:
            frame.env[spec.vararg.arg] = Sequence("tuple")
        if spec.kwarg is not None:
            frame.env[spec.kwarg.arg] = Dictionary(None)
        outer = (self.frame, self.file, self.parameters, self.conditional, self.depth, self.left_early, self.left_round)
        self.frame, self.file, self.conditional = frame, file, 0
        self.left_early, self.left_round = False, 0
        self.parameters = frozenset([parameter.arg for parameter in (*names, *spec.kwonlyargs)])
        self.active.append(code)
        changed, begun = len(self.mutations), self.steps
        calls, waiting = len(self.calls_made), len(self.pending)
        lost = aliases.exchange_lost({})  # what other functions lost sight of is nothing that this one meets
        strayed = self.strayed
        self.strayed = dict(strayed)
        try:
            self.block(code.body, FUNCTION)
        finally:
            aliases.exchange_lost(lost)
            self.strayed = strayed
            self.active.pop()
            self.frame, self.file, self.parameters, self.conditional, self.depth, self.left_early, self.left_round = (
                outer
            )
            self.forget_what_function_changed(changed, begun)
            if len(self.pending) > waiting and not self.being_made:
                self.forget_changed_between_calls(frame, changed, calls)
                for name, value in frame.env.items():  # functions within may run again and again
                    self.outlives(name, value)
                self.mutations.append((self, None))  # what they gave when they were called does not hold any more
        frame.finished = True
        return frame

    def fails_quietly(self) -> frozenset[ast.AST]:
        """The functions of the file whose errors may be caught where they are called."""
        if self.quiet is None:
            self.quiet = caught.may_fail_quietly(self.own_file)
        return self.quiet

    def parameter_value(
        self, function: Function, parameter: ast.arg, facts: Any, dimensions: dict[str, Any], since: int
    ) -> Value:
        name, annotation = parameter.arg, parameter.annotation
        known = Opaque(name if facts.assigned.get(name, 0) == 0 else None)
        known.scope, known.since = function.node, since
        known.optional = declared.may_be_none(annotation, function.defaults.get(name))
        if name in declared.CONFIGURATIONS:
            known.kind = PLAIN
        if annotation is not None:
            stated = self.annotation_in(function.scope, annotation, dimensions)
            if isinstance(stated, Opaque):
                if isinstance(annotation, ast.Name) and annotation.id == "int" and not known.optional:
                    return Number(known.size)
                known.kind, known.told = stated.kind, stated.told
                if declared.may_be_so_long(function.defaults.get(name), stated.lengths):
                    known.lengths = stated.lengths
            elif isinstance(stated, Tensor) and known.optional:
                return copy(stated, marks=stated.marks | {"optional"})
            elif isinstance(stated, Tensor) and not isinstance(function.defaults.get(name, stated), (Tensor, Unknown)):
                known.array = True  # or a number, or an object that says that nothing was given
            elif stated is not None:
                return stated
            else:
                known.stated = ((annotation, function.scope),)
                known.array = declared.may_be_array(annotation)
        return known

    # -- names ---------------------------------------------------------------------------------------------------

    def operator_sign(self, op: ast.operator) -> str:
        return OPERATORS[type(op)]

    def call_context(self, name: str, node: ast.AST | None) -> ops.Call:
        return ops.Call(name, node, self, self.file.default_dtype, self.file.default_device)

    def annotation(self, node: ast.expr) -> Value | None:
        return declared.read(self, node, {})

    def annotation_in(self, scope: Frame, node: ast.expr, dimensions: dict[str, Any] | None = None) -> Value | None:
        """An annotation, with its names looked up where the function was defined."""
        outer = self.frame, self.file
        self.frame, self.file = scope, scope.file
        try:
            return declared.read(self, node, {} if dimensions is None else dimensions)
        finally:
            self.frame, self.file = outer

    def unify(self, a: S.Size, b: S.Size) -> None:
        """Two sizes that the program has just relied on being one: `nn.Linear(d, n)` met a last axis of size C.

        The one that is a plain name gives way to the other wherever the current scope holds it.
        """
        if a == b or (isinstance(a, int) and isinstance(b, int)):
            return
        atom = S.single(a)
        other: S.Size = b
        if atom is None or (atom.name is not None and "." in atom.name):
            second = S.single(b)
            if second is None or (second.name is not None and "." in second.name and atom is not None):
                return
            atom, other = second, a
        if atom in S.symbols(other) or atom.variant:
            return
        values: dict[S.Symbol, S.Size] = {atom: other}
        env = self.frame.env
        for name, value in env.items():
            if isinstance(value, Tensor) and value.shape is not None:
                if any(atom in S.symbols(size) for size in value.shape):
                    env[name] = copy(
                        value,
                        shape=tuple(S.substitute(size, values) for size in value.shape),
                        strides=None
                        if value.strides is None
                        else tuple(S.substitute(s, values) for s in value.strides),
                    )
            elif isinstance(value, Number) and atom in S.symbols(value.size):
                env[name] = number(S.substitute(value.size, values))

    # -- what the tables ask for ---------------------------------------------------------------------------------

    def members(self, value: LibraryObject) -> Sequence | Dictionary | None:
        return module_containers.members_of(self, value)

    def iterate_library_object(self, value: LibraryObject) -> Sequence:
        return data_loading.iterate_object(self, value)

    def eval(self, node: ast.expr) -> Value:
        # Half of all expressions are one of these two.
        kind = type(node)
        if kind is ast.Name:
            found = self.frame.env.get(node.id)  # type: ignore[attr-defined]
            if found is None or found is UNKNOWN or type(found) is Imported:
                return self.eval_name(node)  # type: ignore[arg-type]
            return found
        if kind is ast.Constant:
            return Const(node.value)  # type: ignore[attr-defined]
        handler = self.handlers.get(kind)
        nesting = self.nesting
        if handler is None or nesting >= MAX_NESTING:
            return UNKNOWN
        self.nesting = nesting + 1
        value: Value = handler(node)
        self.nesting = nesting
        return value
