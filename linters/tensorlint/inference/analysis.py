"""One file's analysis: what the rules judge and what `tensorlint shapes` shows."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorlint.inference import names
from tensorlint.inference import sizes as S
from tensorlint.inference.bindings import Binding
from tensorlint.inference.frames import READ_EARLY, SourceFile
from tensorlint.inference.hazards import Hazard
from tensorlint.inference.interpreter import Interpreter
from tensorlint.inference.ops import reshaping

if TYPE_CHECKING:
    from tensorlint.project import Project

# A file with one of these may change what dtype a module computes in, so no dtype of a module's output is claimed.
_DTYPE_WORDS = (".half()", ".double()", ".bfloat16()", "float16", "float64", "default_dtype", ".to(dtype", ".type(")


@dataclass(slots=True)
class Analysis:
    hazards: list[Hazard] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)


def default_device(source: str) -> str | None:
    """Where tensors go that are made without a device, as far as this file says."""
    return None if "set_default_device" in source or "with torch.device" in source else "cpu"


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
    S.begin()
    names.begin(source)
    READ_EARLY.clear()
    reshaping.forget(0)
    default_dtype = None if "default_dtype" in source or "default_tensor_type" in source else "float32"
    file = SourceFile(
        path, source, tree, names.collect(tree, source),
        default_dtype=default_dtype,
        module_dtypes=default_dtype is not None and not any(word in source for word in _DTYPE_WORDS),
        autocast="autocast" in source,
        # Modules that are converted return channels-last results whatever they are given.
        module_layouts=not ("channels_last" in source and "memory_format" in source),
        default_device=default_device(source),
    )  # fmt: skip
    interpreter = Interpreter(file, project, shows=shapes)
    interpreter.run()
    if failures is not None:
        failures += interpreter.failures
    analysis = Analysis(interpreter.finished_hazards(), interpreter.shown_bindings() if shapes else [])
    interpreter.dispose()
    return analysis
