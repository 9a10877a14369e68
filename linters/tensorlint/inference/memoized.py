"""Items of a dictionary in which an object keeps what it has worked out before.

    if key not in self.biases:
        self.biases[key] = self.table[:, self.index]
    return self.biases[key]

Whoever filled it, and when: where all that a class puts into it is worked out from attributes that no method assigns
anew, an item has the shape that these have now. Nothing else may be done with the dictionary in the file, by its name,
than to make it empty, to ask what is in it, and to take an item out.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from dataclasses import dataclass, field

from tensorlint.inference.class_order import method_order
from tensorlint.inference.joins import join_tensors
from tensorlint.inference.kept import kept_with
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.state import State
from tensorlint.inference.values import Class, Instance, Library, Tensor, copy
from tensorlint.inference.walking import children
from tensorlint.inference.words import is_of_word, places_of, words_of

# What an item may be worked out with: nothing that has a name of its own in the method.
_CLOSED = (ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.Constant, ast.UnaryOp, ast.BinOp, ast.Name)
_ASKED_FOR = re.compile(r"not in (\w+\.\w+)")
_ASKED = frozenset({"clear", "pop", "get", "keys"})


@dataclass(slots=True, eq=False, repr=False)
class _Uses:
    """Of a dictionary's name in a file: by class what is put into it; None where something else is done with it."""

    put: dict[ast.ClassDef, list[ast.expr]] | None = field(default_factory=dict)


def item(interp: State, node: ast.Attribute) -> Tensor | None:
    """An item of `self.name`, whichever."""
    owner, name = node.value, node.attr
    frame, file = interp.frame, interp.file
    if type(owner) is not ast.Name or owner.id != frame.first_argument:
        return None
    asked = kept_with(file.tree, "asked for items", lambda: _ASKED_FOR.findall(file.text))
    path = f"{owner.id}.{name}" if asked else ""
    if not any(each.startswith(path) for each in asked) or not _is_filled(f"{path}[", owner.id, file.text):
        return None
    instance = frame.env.get(frame.first_argument)
    if not isinstance(instance, Instance) or not instance.generic or interp.initialising(instance):
        return None
    cls = instance.cls
    if cls.scope.file is not file or frame.owner is not cls or interp.decided_elsewhere(instance, name):
        return None
    uses: dict[str, _Uses] = kept_with(file.tree, "memoized", dict)
    known = uses.get(name)
    if known is None:
        known = uses[name] = _uses(file.tree, file.text, name, frame.first_argument)
    if known.put is None or name in cls.overridden or _has_kin(interp, cls, known.put):
        return None
    found: Tensor | None = None
    for value in known.put.get(cls.node, ()):
        fixed = cls.unstable | cls.overridden | file.facts.foreign_attributes
        if any(isinstance(part, ast.Attribute) and part.attr in fixed for part in ast.walk(value)):
            return None
        made = interp.eval(value)
        if not isinstance(made, Tensor) or made.shape is None:
            return None
        plain = copy(made, strides=None, dtype=None, device=None, marks=frozenset(), source=None, made=value, how=None)
        found = plain if found is None else join_tensors(found, plain)
    return found


def _has_kin(interp: State, cls: Class, put: dict[ast.ClassDef, list[ast.expr]]) -> bool:
    """Whether another class that uses the name may be a base of this one, or this one of it."""
    order = method_order(cls)
    for other in interp.classes:
        if other.node in put and other is not cls:
            if other in order or cls in method_order(other) or not _has_known_bases(other):
                return True
    return False


def _has_known_bases(cls: Class) -> bool:
    return all(isinstance(base, (Class, Library)) for base in cls.bases)


def _uses(tree: ast.Module, text: str, name: str, first: str) -> _Uses:
    found = _Uses()
    if not RESHAPING.isdisjoint(words_of(text)) or ".data =" in text:
        found.put = None  # a shape that is changed in place
        return found
    assert found.put is not None
    lines = [text.count("\n", 0, at) + 1 for at in places_of(name, text)]
    seen = unrecorded = 0
    waiting: list[tuple[ast.AST, ast.AST, ast.ClassDef | None]] = [(tree, tree, None)]
    while waiting:
        node, parent, cls = waiting.pop()
        if isinstance(node, ast.stmt) and not _spans(node, lines):
            continue
        if isinstance(node, ast.Attribute) and node.attr == name:
            seen += 1
            unrecorded += isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store)
            if cls is None or not isinstance(node.value, ast.Name) or node.value.id != first:
                found.put = None
                return found
            found.put.setdefault(cls, [])
            if not _only_asks(node, parent):
                found.put = None
                return found
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            seen += node.value is None and isinstance(parent, ast.ClassDef)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                kept = target.value if isinstance(target, ast.Subscript) else None
                if isinstance(kept, ast.Attribute) and kept.attr == name and cls is not None:
                    unrecorded -= 1
                    found.put.setdefault(cls, []).append(node.value)
                    if not _is_closed(node.value, first):
                        found.put = None
                        return found
                elif isinstance(target, ast.Attribute) and target.attr == name and not _is_empty(node.value):
                    found.put = None
                    return found
        inner = node if isinstance(node, ast.ClassDef) else cls
        waiting += [(child, node, inner) for child in children(node)]
    if unrecorded or seen != _times(name, text):
        found.put = None  # `self.kept[key] += 1`, a text says the name, or another object has it
    return found


def _is_filled(begin: str, first: str, text: str) -> bool:
    """Whether an item is made of an attribute, by the text: `self.kept[key] = self.table`."""
    return any(f"] = {first}." in text[at : text.find("\n", at)] for at in places_of(begin, text))


def _spans(node: ast.stmt, lines: list[int]) -> bool:
    """Whether one of the lines is the statement's."""
    at = bisect_left(lines, node.lineno)
    return at < len(lines) and lines[at] <= (node.end_lineno or node.lineno)


def _only_asks(node: ast.Attribute, parent: ast.AST) -> bool:
    """Whether the dictionary is made empty, asked, or an item of it is taken or put into it."""
    if isinstance(parent, ast.Subscript):
        return parent.value is node
    if isinstance(parent, ast.Compare):
        return all(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in parent.ops)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ASKED
    if isinstance(parent, ast.Assign):
        return node in parent.targets and _is_empty(parent.value)
    if isinstance(parent, ast.AnnAssign):
        return parent.target is node and parent.value is not None and _is_empty(parent.value)
    if isinstance(parent, (ast.If, ast.While, ast.IfExp)):
        return parent.test is node
    return isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict) and not node.keys


def _is_closed(node: ast.expr, first: str) -> bool:
    """Whether the value rests on attributes of the object alone."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, _CLOSED) or (isinstance(part, ast.Name) and part.id != first):
            return False
        waiting += [each for each in children(part) if isinstance(each, ast.expr)]
    return True


def _times(name: str, text: str) -> int:
    """How often the name stands in the text, as a word of its own."""
    end = len(name)
    return sum(
        not (is_of_word(text[at - 1 : at]) or is_of_word(text[at + end : at + end + 1])) for at in places_of(name, text)
    )
