"""Whether code of the file changes what is held under a name, now or later: read off its text and its statements."""

from __future__ import annotations

import ast
import re

from tensorlint.inference import own_lists
from tensorlint.inference.changes import CHANGES, DOUBLE, changes_of
from tensorlint.inference.contents import items_of
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.names import INITIALISERS
from tensorlint.inference.state import State
from tensorlint.inference.values import Dictionary, LibraryObject, Sequence, Tensor, Value
from tensorlint.inference.words import places_of

# `rows[...`, `rows.append(`, `rows +=`: what follows the name
_CHANGING = re.compile(rf"\s*(?:\[|\.(?:{'|'.join(sorted(CHANGES | DOUBLE))})\(|[-+*|&]=)")
# `rows = self.`: what goes before the name
_GIVES = re.compile(r"[ \t]+(\w+) = (?:\w+\.)*$")
_GIVES_AT_ALL = re.compile(r"[ \t]*(\w+) = [\w.]*$")
_BEGINS = re.compile(r"\b")
# Libraries whose objects hold arrays, and change.
_OF_LIBRARIES = ("pandas.", "sklearn.", "scipy.")


def _names_given(ending: str, text: str, begins: re.Pattern[str]) -> set[str]:
    """What `begins` names, of the lines of which it matches what goes before `ending`."""
    found: set[str] = set()
    for at in places_of(ending, text):
        end = at + len(ending)
        if text[end : end + 1] in ("\n", "") and (line := begins.match(text, text.rfind("\n", 0, at) + 1, at)):
            found.add(line[1])
    return found


def _holds_lists(value: Sequence | Dictionary) -> bool:
    """Whether an item is a list or a dictionary, or a tuple of such."""
    waiting, seen = [value], {id(value)}
    for tuples in waiting:  # grows meanwhile
        for item in items_of(tuples):
            if type(item) is Dictionary or (type(item) is Sequence and item.kind != "tuple"):
                return True
            if type(item) is Sequence and id(item) not in seen:
                seen.add(id(item))
                waiting.append(item)
    return False


class ChangedNames(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def is_changed_later(self, name: str) -> bool:
        """Whether a function of the file changes what is held under that name, by an object that is made already."""
        known = self.changed_later.get(name)
        if known is None:
            known = self.changed_later[name] = self.is_changed_by_functions(name) or any(
                map(self.is_changed_by_functions, self.other_names(name))
            )
        return known

    def is_changed_by_functions(self, name: str) -> bool:
        lines = self.changing_lines(name, self.own_file)
        return bool(lines) and any(
            any(node.lineno <= line <= (node.end_lineno or 0) for line in lines)
            and (self.changes_of_others if node.name in INITIALISERS else self.changes_name)(node, name)
            for node in self.own_file.facts.scopes
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        )

    def is_changed_anywhere(self, name: str) -> bool:
        """Whether the attribute's list is changed by a function, or by the statements of the file itself: `a.rows.append(x)`.

        What methods find in an object that stands for any of its class may have been changed so, whichever came first.
        """
        return self.is_changed_later(name) or self.is_changed_by_module(name)

    def is_handed_on(self, name: str, value: Sequence | Dictionary, *, in_functions: bool = False) -> bool:
        """Whether code that has the list, or one that is in it, by another name may change it."""
        deep = _holds_lists(value)
        if not deep and isinstance(value, Sequence) and value.kind == "tuple":
            return False
        key = "handed on", name, deep, in_functions
        known: bool | None = self.memory.get(key)
        if known is None:
            from tensorlint.inference import handed_out

            known = self.memory[key] = handed_out.is_changed(self.own_file, name, deep=deep, in_functions=in_functions)
        return known

    def change_held_object(self, name: str, value: Value, *, in_functions: bool = False) -> None:
        """What is held under that name is found by code of which nobody knows what has run before: a table or an estimator is
        not known where other code changes it."""
        if type(value) is LibraryObject and value.path.startswith(_OF_LIBRARIES):
            table = value.path.startswith("pandas.")
            key = "object changed", name, table, in_functions
            known: bool | None = self.memory.get(key)
            if known is None:
                from tensorlint.inference import held_objects

                known = held_objects.is_changed(self.own_file, name, table=table, in_functions=in_functions)
                self.memory[key] = known
            if known:
                self.touch_all(value)
        elif type(value) is Tensor and value.framework == "numpy" and value.shape is not None:
            place = "array reshaped", name, in_functions
            reshaped: bool | None = self.memory.get(place)
            if reshaped is None:
                from tensorlint.inference import held_objects

                reshaped = held_objects.is_reshaped(self.own_file, name, in_functions=in_functions)
                self.memory[place] = reshaped
            if reshaped:
                self.forget_tensor(value)

    def is_changed_by_module(self, name: str) -> bool:
        key = "changed by module", name
        known: bool | None = self.memory.get(key)
        if known is None:
            from tensorlint.inference import handed_out

            others = self.other_names(name).union(self.given_by(name))
            known = self.memory[key] = (
                self.is_changed_at_top(name, False)
                or any(self.is_changed_at_top(each, True) for each in others)
                or any(map(self.is_changed_by_functions, others))
                or handed_out.is_changed(self.own_file, name)
            )
        return known

    def is_changed_at_top(self, name: str, plain: bool) -> bool:
        """Whether a statement outside of functions changes what an attribute of that name holds, or a plain name."""
        lines = self.changing_lines(name, self.own_file)
        waiting = list(self.own_file.tree.body) if lines else []
        for node in waiting:  # grows meanwhile
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if isinstance(node, ast.ClassDef):
                waiting += node.body
                continue
            if any(node.lineno <= line <= (node.end_lineno or 0) for line in lines):
                changes = changes_of(node)
                if name in changes.attributes or (plain and name in changes.names):
                    return True
        return False

    def given_by(self, name: str) -> set[str]:
        """Names that lines as `rows = model.rows` give what any object holds under that name."""
        return _names_given(f".{name}", self.own_file.text, _GIVES_AT_ALL)

    def other_names(self, name: str) -> set[str]:
        """Names that lines of functions as `rows = self.rows` give what is held under that name."""
        return _names_given(name, self.own_file.text, _GIVES) - {name}

    def changes_name(self, code: ast.AST, name: str) -> bool:
        changes = self.changes_in(code)
        return name in changes.attributes or (name in changes.names and not own_lists.holds_only_own(code, name))

    def changes_of_others(self, code: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
        """Whether an initialiser changes what another object than the one that it makes holds under that name."""
        first = code.args.args[0].arg if code.args.args else ""
        return any(attribute == name and owner != first for owner, attribute in self.changes_in(code).attributes_of)

    def changing_lines(self, name: str, file: SourceFile) -> list[int]:
        """The lines of the file's text that may change what the name holds: no others are looked for in its tree."""
        key = file.path, name
        known = self.lines_changing.get(key)
        if known is None:
            known = self.lines_changing[key] = []
            text, line, counted = file.text, 1, 0
            for at in places_of(name, text):
                if _CHANGING.match(text, at + len(name)) and _BEGINS.match(text, at):
                    line, counted = line + text.count("\n", counted, at), at
                    known.append(line)
        return known
