"""One file's analysis: what the rules judge and what `tensorlint shapes` shows."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorlint.inference import import_effects, names, operated_objects
from tensorlint.inference import sizes as S
from tensorlint.inference.bindings import Binding
from tensorlint.inference.devices import default_device
from tensorlint.inference.frames import READ_EARLY, SourceFile
from tensorlint.inference.hazards import Hazard
from tensorlint.inference.interpreter import Interpreter
from tensorlint.inference.operated_objects import OperatedInterpreter
from tensorlint.inference.ops import reshaping
from tensorlint.inference.words import has_part, words_of

if TYPE_CHECKING:
    from tensorlint.project import Project

# A file with one of these may change what dtype a module computes in, so no dtype of a module's output is claimed. What
# `model.to(x)` does is looked at where the model is known.
_TYPES = frozenset(["float16", "bfloat16", "float64"])
_NAMED_TYPES = frozenset(["half", "double", "bfloat16"])
_NAMES_TYPE = re.compile(r"""\.(half|double|bfloat16)\b|["'](half|double)["']""")
_CONVERTS = re.compile(
    r"""\.to\(dtype\b(?!\s*=)|\.to\([^()]*\bdtype\s*=(?!\s*torch\.(float32|float|int\d*|long|bool|uint8)\b)"""
    r"""|\.to\([^()]*\*"""
    r"""|\.to\([^()=]*,\s*(?!True|False|\w+\s*=)[A-Za-z_]"""
)
# `load_state_dict(state, assign=True)` takes the tensors as they are.
_ASSIGNS = re.compile(r"assign\s*=\s*True")


@dataclass(slots=True, eq=False, repr=False)
class Analysis:
    """What the rules judge, and what `tensorlint shapes` shows: the names that are bound to tensors, the attributes that
    tensors are assigned to, and the tensors that functions return."""

    hazards: list[Hazard] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    attributes: list[Binding] = field(default_factory=list)
    returns: list[Binding] = field(default_factory=list)

    @property
    def shown(self) -> list[Binding]:
        """All of them, in the order of the source."""
        return sorted([*self.bindings, *self.attributes, *self.returns], key=lambda each: (each.line, each.column))


def _converts(source: str) -> bool:
    words = words_of(source)
    if not words.isdisjoint(_TYPES) or has_part(source, "default_dtype") or ("type" in words and ".type(" in source):
        return True
    if not words.isdisjoint(_NAMED_TYPES) and _NAMES_TYPE.search(source):
        return True
    return "to" in words and ".to(" in source and _CONVERTS.search(source) is not None


def analyse(
    tree: ast.Module,
    source: str,
    *,
    path: str = "<string>",
    project: Project | None = None,
    failures: list[Exception] | None = None,
    shapes: bool = True,
) -> Analysis:
    """Infer what every expression of a parsed file is.

    `source` is the text the tree was parsed from, with `\\n` line ends. `project` answers imports of the project's
    own modules; without it they are unknown. `shapes` asks for the bindings, which no rule needs. Never raises for any program that parses: past a bound on work or
    depth the answer is unknown. `failures` takes up the errors of the interpreter's own that left pieces of the file
    unknown.
    """
    analysis = _followed(tree, source, path, project, failures, shapes)
    if project is not None and any(hazard.elsewhere is not None for hazard in analysis.hazards):
        analysis.hazards = _without_known_there(analysis.hazards, project)
    return analysis


def _followed(
    tree: ast.Module, source: str, path: str, project: Project | None, failures: list[Exception] | None, shapes: bool
) -> Analysis:
    S.begin()
    READ_EARLY.clear()
    reshaping.forget(0)
    facts = names.collect(tree, source)
    names.begin(facts)
    imports = import_effects.of_imports(project, path, facts, source)
    sets_type = imports.dtype or import_effects.sets_default_dtype(source)
    default_dtype = None if sets_type else "float32"
    assigns = has_part(source, "load_state_dict") and _ASSIGNS.search(source) is not None
    file = SourceFile(
        path, source, tree, facts,
        default_dtype=default_dtype,
        module_dtypes=default_dtype is not None and not (_converts(source) or assigns or facts.distant.converts),
        autocast=has_part(source, "autocast"),
        # Modules that are converted return channels-last results whatever they are given.
        module_layouts=not (has_part(source, "channels_last") and has_part(source, "memory_format")),
        parameter_layouts=not (assigns or (has_part(source, "orthogonal") and has_part(source, "parametrizations"))),
        default_device=None if imports.device else default_device(source, facts),
    )  # fmt: skip
    follower = OperatedInterpreter if operated_objects.are_made(source) else Interpreter
    interpreter = follower(file, project, shows=shapes, imports=imports)
    interpreter.run()
    if failures is not None:
        failures += interpreter.failures
    analysis = Analysis(interpreter.finished_hazards())
    for row in interpreter.shown_bindings() if shapes else ():
        {"name": analysis.bindings, "attribute": analysis.attributes, "return": analysis.returns}[row.kind].append(row)
    interpreter.dispose()
    return analysis


def _without_known_there(hazards: list[Hazard], project: Project) -> list[Hazard]:
    """The hazards without those in statements of other files that are seen there too, whoever calls: one report for each."""
    known: set[tuple[str, int]] = set()
    for path in {hazard.elsewhere[0] for hazard in hazards if hazard.elsewhere is not None}:
        module = project.parsed(path)
        if module is not None:
            # A tree of its own: what was found out about the other one was asked from outside.
            found = _followed(ast.parse(module.source), module.source, path, project, None, False)
            known.update((path, getattr(each.node, "lineno", 0)) for each in found.hazards if each.elsewhere is None)
    return [each for each in hazards if each.elsewhere not in known]
