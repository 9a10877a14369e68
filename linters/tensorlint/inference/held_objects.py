"""Tables, estimators and other objects of libraries that the program's objects hold: whether code changes them by the object
that holds them, or has them in hand for more than to read them, whenever that is.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Any

from tensorlint.inference.changes import CHANGES, DOUBLE, PERHAPS_IN_PLACE, changes_of
from tensorlint.inference.elsewhere import imports
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.handed_out import Search, is_changed_for
from tensorlint.inference.handling import last_name
from tensorlint.inference.table_values import READ_TABLES
from tensorlint.inference.walking import parameters_of, walk

# Methods that change a table or an estimator, whatever they are given.
_ALWAYS = CHANGES | DOUBLE | {
    "isetitem", "pipe", "fit", "partial_fit", "fit_transform", "fit_predict", "set_params", "sparsify", "set_bandwidth", "resize",
}  # fmt: skip
_COMPUTED = re.compile(r"\bgetattr\([^,\n]+,\s*+(?![\"'])")
# By way of these a table is changed itself.
_OF_TABLES = frozenset(["loc", "iloc", "at", "iat", "__dict__"])
_COPIES = frozenset(["copy", "deepcopy", "clone"])
# Functions that are given an estimator and fit copies of it, or none.
_READING = frozenset(
    ["cross_val_score", "cross_validate", "cross_val_predict", "learning_curve", "validation_curve", "check_is_fitted", "dump", "dumps",
     "permutation_importance", "GridSearchCV", "RandomizedSearchCV", "plot_tree", "export_text"]
)  # fmt: skip


def is_changed(file: SourceFile, name: str, *, table: bool, in_functions: bool = False) -> bool:
    """Whether code of the file may change what objects hold as `name`: a table, or another object of a library's."""
    search = _OfObjects(file)
    search.name, search.deep, search.table = name, True, table
    search.followed = _made_once(search.outside) if in_functions else frozenset()
    if _COMPUTED.search(file.text) is not None:
        search.words = frozenset({"getattr"})
    return is_changed_for(search, in_functions)


def is_reshaped(file: SourceFile, name: str, *, in_functions: bool = False) -> bool:
    """Whether code of the file may give an array that objects hold as `name` another shape."""
    if _RESHAPES.search(file.text) is None:
        return False
    search = _OfArrays(file)
    search.name, search.deep = name, True
    return is_changed_for(search, in_functions)


def _made_once(module: ast.Module) -> frozenset[str]:
    """The names that stand for one new object: what the module's statements do by these, they do where they stand."""
    nodes = walk(module)
    bound = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return frozenset(
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_class(node.value.func)
        for target in node.targets
        if isinstance(target, ast.Name) and bound[target.id] == 1
    )


def _is_class(func: ast.expr) -> bool:
    return (last_name(func) or "")[:1].isupper()


class _OfObjects(Search):
    table = False
    looks_outside = True
    followed: frozenset[str] = frozenset()
    by_name: frozenset[str] = frozenset()

    def begin(
        self, names: set[str], getters: set[str], scope: ast.AST, local: set[str] | None = None, depth: int = 0
    ) -> None:
        self.by_name = self.followed if scope is self.outside else frozenset()
        super().begin(names, getters, scope, local, depth)
        if (
            self.first and not self.changed
        ):  # a function that an initialiser defines may be called later, as by a callback
            inner = type(self).__new__(type(self))
            for each in walk(scope):
                if isinstance(each, ast.Lambda):
                    inner.__dict__.update(self.__dict__)
                    inner.begin(names, getters, each, local, depth)
                    self.changed = self.changed or inner.changed

    def is_it(self, node: ast.expr | None) -> bool:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.by_name:
            return False
        if isinstance(node, ast.Attribute) and not super().is_it(node):
            # `self.frame.loc`; of an estimator any part: `self.pipeline.steps`
            return (not self.table or node.attr in _OF_TABLES) and self.is_it(node.value)
        if isinstance(node, ast.Subscript) and self.table:
            return isinstance(node.value, (ast.List, ast.Tuple, ast.Dict)) and super().is_it(node)
        if isinstance(node, ast.Call):
            called = last_name(node.func)
            if called in _COPIES:
                return False
            if called == "getattr" and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
                return True  # `for name in ("scaler", "model"): getattr(self, name).fit(rows)`
        return super().is_it(node)

    def look_at_attribute(self, node: ast.Attribute, called: set[ast.expr]) -> None:
        if isinstance(node.ctx, ast.Load):
            handed = node.attr in _ALWAYS or node.attr in PERHAPS_IN_PLACE or node.attr.startswith("__")
            if handed and node not in called and self.is_it(node.value):
                self.changed = True  # `fit = self.model.fit`
        elif self.is_it(node.value):
            self.changed = True  # `self.frame.columns = ...`

    def bound(self, target: ast.expr, value: ast.expr | None) -> None:
        super().bound(target, value)
        if isinstance(target, ast.Subscript) and value is not None and self.is_it(value):
            self.changed = True  # `KEPT["frame"] = self.frame`

    def look(self, node: Any) -> None:
        if isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Attribute) and self.is_it(func.value) and _changes(func.attr, node):
                self.changed = True
        elif isinstance(node, ast.Subscript):
            if not isinstance(node.ctx, ast.Load) and self.is_it(node.value):
                self.changed = True
        elif isinstance(node, ast.AugAssign) and self.is_it(node.target):
            self.changed = True
        super().look(node)

    def hand_on(self, call: ast.Call, given: list[ast.expr]) -> None:
        name, root = last_name(call.func) or "", call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if name in _READING:
            return
        if name in ("setattr", "delattr") or any(map(self.changes_given, given)):
            self.changed = True
            return
        if name == "getattr":
            asked = call.args[1] if len(call.args) > 1 else None
            self.changed = self.changed or not isinstance(asked, ast.Constant) or _changes(str(asked.value), None)
            return
        super().hand_on(call, given)
        known = name in self.functions or name in self.defined.makers
        if not (known or self.is_read_by(name, root)):
            self.changed = self.changed or name in CHANGES or self.may_change(root)

    def changes_given(self, function: ast.expr) -> bool:
        """`map(lambda frame: frame.pop("a"), [self.frame])`"""
        if not isinstance(function, ast.Lambda):
            return isinstance(function, ast.Name) and function.id in self.functions
        changes = changes_of(function)
        return not (changes.names | changes.lent).isdisjoint(parameters_of(function.args))

    def may_change(self, root: ast.expr) -> bool:
        """Whether a function of which the file shows nothing, called by that name or that of its module, may change it."""
        if not self.table or not isinstance(root, ast.Name):
            return True
        come_from = imports(self.file).get(root.id)
        if come_from is not None:
            return come_from[0].partition(".")[0] not in READ_TABLES
        return root.id in self.file.facts.imported


def _changes(method: str, call: ast.Call | None) -> bool:
    if method in _ALWAYS or method.startswith("__"):
        return True
    if call is None:
        return method in PERHAPS_IN_PLACE
    return any(
        word.arg is None
        or (word.arg == "inplace" and not (isinstance(word.value, ast.Constant) and not word.value.value))
        for word in call.keywords
    )


_DECIDING = frozenset(["shape", "dtype", "strides"])
_RESHAPES = re.compile(r"\.(?:shape|dtype|strides)\b[^\n=]*=(?!=)|\bresize\b|setattr|__setstate__|\.shape in\b")


class _OfArrays(Search):
    """An array has another shape where one of these is assigned to it, or `resize` is called."""

    def is_it(self, node: ast.expr | None) -> bool:
        if isinstance(node, ast.Call):
            # `np.asarray(self.rows)` may be the array itself, and so may what many functions and methods give.
            func = node.func
            if any(map(self.is_it, node.args)) or any(self.is_it(word.value) for word in node.keywords):
                return True
            return (isinstance(func, ast.Attribute) and self.is_it(func.value)) or super().is_it(node)
        return not isinstance(node, ast.Subscript) and super().is_it(node)

    def look_at_attribute(self, node: ast.Attribute, called: set[ast.expr]) -> None:
        changes = node.attr in _DECIDING if not isinstance(node.ctx, ast.Load) else node.attr in _RESHAPING
        if changes and self.is_it(node.value):
            self.changed = True

    def look(self, node: Any) -> None:
        if isinstance(node, ast.Call):
            given = [*node.args, *(word.value for word in node.keywords)]
            if any(map(self.is_it, given)):
                self.hand_on(node, given)
        elif isinstance(node, (ast.Return, ast.Yield)):
            self.given = self.given or self.is_it(node.value)

    def hand_on(self, call: ast.Call, given: list[ast.expr]) -> None:
        if last_name(call.func) in _RESHAPING or isinstance(call.func, ast.Lambda):
            self.changed = True
        else:
            super().hand_on(call, given)


_RESHAPING = frozenset(["resize", "__setattr__", "__setstate__", "setattr", "__set__"])
