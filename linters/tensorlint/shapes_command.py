"""`tensorlint shapes`: the source with what each line's tensors are, at the right."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tensorlint.checking import failure, open_source
from tensorlint.config import ConfigFinder
from tensorlint.discovery import discover, shown_path
from tensorlint.judging import Source
from tensorlint.project import Project
from tensorlint.source import read_bytes

if TYPE_CHECKING:
    from tensorlint.inference.reports import Binding

MAX_SOURCE_WIDTH = 100  # beyond it the shapes do not move further to the right


def _tuple(sizes: Iterable[object]) -> str:
    parts = [str(size) for size in sizes]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def describe(binding: Binding) -> str:
    """`x: (B, T, 3*C)`; `strided` where the tensor is not contiguous, the dtype and the device where they are known."""
    shape = "unknown shape" if binding.shape is None else _tuple(binding.shape)
    words = [f"{binding.name}: {shape}"]
    if binding.contiguous is False and binding.strides is not None:
        words.append("strided")
    if binding.dtype and binding.dtype not in ("float32", "torch.float32"):
        words.append(str(binding.dtype).removeprefix("torch."))
    if binding.device and binding.device != "cpu":
        words.append(str(binding.device))
    return " ".join(words)


def annotated(source: Source, bindings: Iterable[Binding]) -> str:
    """The source with the bindings of each line aligned in a column of their own."""
    by_line: dict[int, list[str]] = {}
    for binding in bindings:
        by_line.setdefault(binding.line, []).append(describe(binding))
    text = source.text.removesuffix("\n").split("\n")
    shown = [min(len(text[line - 1]), MAX_SOURCE_WIDTH) for line in by_line if line <= len(text)]
    column = max(shown, default=0) + 2
    out = []
    for number, line in enumerate(text, 1):
        words = "; ".join(dict.fromkeys(by_line.get(number, ())))
        out.append(f"{line.ljust(column - 2)}  # {words}" if words else line)
    return "\n".join(out) + "\n"


def _row(path: str, binding: Binding, source: Source) -> dict[str, object]:
    cell, line = source.cell_line(binding.line)
    # The tree's columns count UTF-8 bytes from 0, the contract's code points from 1.
    column = source.lines.column(binding.line, binding.column)
    row: dict[str, object] = {
        "path": path,
        "line": line,
        "column": column,
        "name": binding.name,
        "framework": binding.framework,
        "shape": None if binding.shape is None else list(binding.shape),
        "strides": None if binding.strides is None else list(binding.strides),
        "contiguous": binding.contiguous,
        "dtype": binding.dtype,
        "device": binding.device,
    }
    return row if cell is None else {**row, "cell": cell}


def shapes(arguments: argparse.Namespace) -> int:
    """Runs the command; 0, or 2 if a file could not be read."""
    from tensorlint.inference.analysis import analyse

    found = discover(arguments.paths or ["."], ConfigFinder())
    errors = list(found.errors)
    rows: list[dict[str, object]] = []
    project = Project()
    here = os.getcwd()
    for path in sorted(found.files):
        shown = shown_path(path, here)
        try:
            data = read_bytes(path)
            source = open_source(path, data)
            project.begin(path)
            bindings = sorted(
                analyse(source.tree, source.text, path=path, project=project).bindings,
                key=lambda binding: (binding.line, binding.column),
            )
            if arguments.output_format == "json":
                rows += [_row(shown, binding, source) for binding in bindings]
            else:
                heading = f"# {shown}\n" if len(found.files) > 1 else ""
                sys.stdout.write(heading + annotated(source, bindings) + ("\n" if heading else ""))
        except BrokenPipeError:
            raise
        except Exception as error:  # one file's failure must not end the run
            errors.append(failure(shown, error))
    if arguments.output_format == "json":
        sys.stdout.write(json.dumps({"version": 1, "shapes": rows}, indent=2, ensure_ascii=False) + "\n")
    for file_error in errors:
        print(f"error: {file_error}", file=sys.stderr)
    return 2 if errors else 0
