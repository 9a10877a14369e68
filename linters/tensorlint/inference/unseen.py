"""What runs where no call stands: `__del__`, the rest of a context manager behind its `yield`, callbacks, threads.

Such code may have run before any line. What it assigns, or changes of what names hold, is not known anywhere in the file.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from tensorlint.inference import caught
from tensorlint.inference.elsewhere import by_name, changes_in
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.handling import last_name
from tensorlint.inference.rebinding import Rebound
from tensorlint.inference.walking import parameters_of
from tensorlint.inference.words import words_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Words of a file that has functions called at some other time, by what they were handed to.
_LATER = (
    ".callback(",
    ".push(",
    "finalize(",
    "weakref.ref(",
    "atexit.register",
    "Thread(",
    "ThreadPool",
    "threading.Timer",
    "showwarning",
)
# One of these is in any such file, or the letters of "Thread".
_OF_LATER = frozenset(["callback", "push", "finalize", "weakref", "atexit", "threading", "showwarning"])
# Methods of the program's own that a library calls, of files with such a word.
_CALLED = {"addHandler": "emit", "load_state_dict": "set_extra_state"}
# `exec(text)`; not what runs a file, as an import does, nor with names of its own: `exec(text, names)`.
_EXEC = r"(?<![.\w])(?<!def )exec\((?!open\()(?![^\n]*,\s*(?:(?!globals\b|locals\b)\w+|\{[^\n]*)\s*\)\s*$)"
# What runs a text may change attributes of any object, and names of the module if it stands in a function or is given them.
_RUNS = re.compile(rf"{_EXEC}|(?<![.\w])eval\(\s*[\"'][^\n]*(?:attr\(|:=|_\()", re.MULTILINE)
_RUNS_WITHIN = re.compile(
    rf"^[ \t]+[^#\n]*{_EXEC}"
    r"|(?:exec|timeit|repeat|run\w*|Interpreter|Console|interact|embed)\([^\n]*\bglobals\(\)",
    re.MULTILINE,
)
_MANAGERS = frozenset(["contextmanager", "asynccontextmanager"])

# Special methods that are followed where they are called.
_FOLLOWED = frozenset(
    ["__init__", "__new__", "__post_init__", "__call__", "__enter__", "__exit__", "__init_subclass__", "__class_getitem__",
     "__set_name__", "__del__"]
)  # fmt: skip
_MOST_CALLED = 40


def may_have_changed(found: Rebound, file: SourceFile) -> Rebound:
    """`found`, and what the file's code changes that runs without a call."""
    text = file.text
    found = _changed_by_texts(found, file)
    found = changed_by_operators_of(found, file)
    words = words_of(text)
    later = not (words.isdisjoint(_OF_LATER) and "Thread" not in text) and any(word in text for word in _LATER)
    managers = not words.isdisjoint(_MANAGERS)
    called = {_CALLED[word] for word in _CALLED.keys() & words}
    if not (later or managers or called or "__del__" in words):
        return found
    held: set[str] | None = caught.held(file) if later else set()
    names: set[str] = set()
    attributes = set(found.attributes)
    for node in file.facts.scopes:
        if isinstance(node, _FUNCTIONS) and (
            node.name == "__del__"
            or node.name in called
            or (later and (held is None or node.name in held))
            or (managers and any(last_name(each) in _MANAGERS for each in node.decorator_list))
        ):
            changes = changes_in(node)
            attributes |= changes.attributes
            names |= changes.names - {each.arg for each in node.args.args}
    modules = _modules(file)
    for scope in file.facts.scopes.values():
        scope.shared |= (names & scope.assigned.keys()) - modules
    return replace(found, attributes=attributes)


def changed_by_operators_of(found: Rebound, file: SourceFile) -> Rebound:
    """`found`, and what operators, `len(x)`, `if x:` and loops change of classes and of the module, by methods that nobody
    calls by name. What they change of their own object is seen to where its attributes are read."""
    if "def __" not in file.text:
        return found
    named = by_name(file)
    waiting = [each for name, nodes in named.items() if _is_special(name) for each in nodes]
    attributes: set[str] = set()
    names: set[str] = set()
    seen: set[ast.AST] = set()
    while waiting and len(seen) < _MOST_CALLED:
        node = waiting.pop()
        seen.add(node)
        changes = changes_in(node)
        scope = file.facts.scopes[node]
        parameters = parameters_of(node.args)
        own = scope.assigned.keys() - scope.shared
        if "type" not in changes.functions:  # `cls = type(self)`
            given = parameters if _is_special(node.name) else set()  # elsewhere they may be classes
            attributes |= {name for owner, name in changes.of_classes if owner not in own | given}
        else:
            attributes |= {name for _, name in changes.of_classes}
        names |= changes.names - own - parameters
        called = changes.functions | changes.methods
        waiting += [each for name in called & named.keys() for each in named[name] if each not in seen]
    if not (attributes or names):
        return found
    modules = _modules(file)
    for scope in file.facts.scopes.values():
        scope.shared |= (names & scope.assigned.keys()) - modules
    return replace(found, attributes=found.attributes | attributes)


def _modules(file: SourceFile) -> set[str]:
    """The names that stand for modules: `np.append(x, y)` changes none."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in file.facts.imports
        if isinstance(node, ast.Import)
        for alias in node.names
    }


def _is_special(name: str) -> bool:
    """Whether Python calls the method where no call stands."""
    return name.startswith("__") and name.endswith("__") and name not in _FOLLOWED


def _changed_by_texts(found: Rebound, file: SourceFile) -> Rebound:
    """`found`, and what `exec` and `eval` may change: a text that the module runs has its effects where it runs."""
    text = file.text
    words = words_of(text)
    runs = "exec" in words and "exec(" in text
    if (runs or ("eval" in words and ('eval("' in text or "eval('" in text))) and _RUNS.search(text):
        found = replace(found, everything=True)
    if (runs or ("globals" in words and "globals()" in text)) and _RUNS_WITHIN.search(text):
        found = replace(found, globals=None)
    return found
