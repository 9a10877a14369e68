"""`tensorlint shapes`: the source with what each line's tensors are, at the right."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tensorlint.check_command import STDIN, error_lines, refuse_mixed_input, stdin_path
from tensorlint.checking import failure, open_source
from tensorlint.config import ConfigFinder
from tensorlint.discovery import discover, shown_path
from tensorlint.findings import FileError
from tensorlint.judging import Source
from tensorlint.notebook import NotebookSource
from tensorlint.project import Project
from tensorlint.source import read_bytes

if TYPE_CHECKING:
    from tensorlint.inference.bindings import Binding

MAX_SOURCE_WIDTH = 100  # beyond it the shapes do not move further to the right


def _tuple(sizes: Iterable[object]) -> str:
    parts = [str(size) for size in sizes]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def describe(binding: Binding) -> str:
    """`x: (B, T, 3*C)`; `strided` where the tensor is not contiguous, the dtype and the device where they are known."""
    from tensorlint.inference.bindings import partial_shape

    if binding.shape is not None:
        shape = _tuple(binding.shape)
    else:
        shape = "unknown shape" if binding.axes is None else partial_shape(binding.axes)
    words = [f"returns {shape}" if binding.name == "return" else f"{binding.name}: {shape}"]
    if binding.contiguous is False and binding.strides is not None:
        words.append("strided")
    if binding.dtype and binding.dtype not in ("float32", "torch.float32"):
        words.append(str(binding.dtype).removeprefix("torch."))
    if binding.device and binding.device != "cpu":
        words.append(str(binding.device))
    return " ".join(words)


def annotated(lines: Sequence[str], words: Mapping[int, Sequence[str]]) -> list[str]:
    """The lines with what is said of each (by its number from 1), aligned in a column of its own."""
    shown = [min(len(line), MAX_SOURCE_WIDTH) for number, line in enumerate(lines, 1) if number in words]
    column = max(shown, default=0)
    return [
        f"{line.ljust(column)}  # {'; '.join(words[number])}" if number in words else line
        for number, line in enumerate(lines, 1)
    ]


def _texts(source: Source) -> list[tuple[str, int, list[str]]]:
    """(heading, number of its first line, lines) of a file, or of each code cell of a notebook with its magics."""
    if not isinstance(source, NotebookSource):
        return [("", 1, source.text.removesuffix("\n").split("\n"))]
    broken = {error.cell for error in source.broken_cells}
    texts = []
    for cell, first in source.cells_with_first_lines:
        mark = " (does not parse)" if cell.number in broken else ""
        lines = cell.text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
        texts.append((f"# cell {cell.number}{mark}", first, lines))
    return texts


def rendered(source: Source, bindings: Iterable[Binding]) -> str:
    """The source with what each line's tensors are; the cells of a notebook under a heading each."""
    words: dict[int, dict[str, None]] = {}
    for binding in bindings:
        words.setdefault(binding.line, {})[describe(binding)] = None
    texts = _texts(source)
    # One column for the whole file: a notebook's cells are short.
    lines = [line for _, _, of_text in texts for line in of_text]
    numbers = [number for _, first, of_text in texts for number in range(first, first + len(of_text))]
    said = {index: list(words[number]) for index, number in enumerate(numbers, 1) if number in words}
    out = iter(annotated(lines, said))
    blocks = []
    for heading, _, of_text in texts:
        block = [next(out) for _ in of_text]
        blocks.append("\n".join([heading, *block] if heading else block) + "\n")
    return "\n".join(blocks)


def _row(path: str, binding: Binding, source: Source) -> dict[str, object]:
    cell, line = source.cell_line(binding.line)
    # The tree's columns count UTF-8 bytes from 0, the contract's code points from 1.
    column = source.lines.column(binding.line, binding.column) + len(source.margin(binding.line))
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
        "known_axes": None if binding.axes is None else {str(axis): size for axis, size in binding.axes.items()},
    }
    return row if cell is None else {**row, "cell": cell}


def _inputs(arguments: argparse.Namespace) -> tuple[list[tuple[str, str, bytes | None]], list[FileError]]:
    """(path, the name it is shown under, its contents unless they are still to be read) of each file."""
    refuse_mixed_input(arguments.paths, arguments.stdin_filename)
    if arguments.paths == [STDIN]:
        data = sys.stdin.buffer.read()
        path = stdin_path(arguments.stdin_filename, data)
        return [(path, arguments.stdin_filename or "<stdin>", data)], []
    found = discover(arguments.paths or ["."], ConfigFinder())
    here = os.getcwd()
    return [(path, shown_path(path, here), None) for path in sorted(found.files)], list(found.errors)


def shapes(arguments: argparse.Namespace) -> int:
    """Runs the command; 0, or 2 if a file could not be read. Raises ConfigError."""
    from tensorlint.inference.analysis import analyse

    inputs, errors = _inputs(arguments)
    rows: dict[str, list[dict[str, object]]] = {"shapes": [], "attributes": [], "returns": []}
    project = Project()
    for path, shown, data in inputs:
        try:
            source = open_source(path, read_bytes(path) if data is None else data)
            project.begin(path)
            analysis = analyse(source.tree, source.text, path=path, project=project)
            errors += [failure(shown, error) for error in source.broken_cells]
            text = ""
            if arguments.output_format == "json":
                for kind, bindings in (
                    ("shapes", analysis.bindings), ("attributes", analysis.attributes), ("returns", analysis.returns)
                ):  # fmt: skip
                    rows[kind] += [_row(shown, binding, source) for binding in bindings]
            elif len(inputs) > 1:
                text = f"# {shown}\n{rendered(source, analysis.shown)}\n"
            else:
                text = rendered(source, analysis.shown)
        except Exception as error:  # one file's failure must not end the run
            errors.append(failure(shown, error))
        else:
            sys.stdout.write(text)
    if arguments.output_format == "json":
        sys.stdout.write(json.dumps({"version": 1, **rows}, indent=2, ensure_ascii=False) + "\n")
    for line in error_lines(errors):
        print(f"error: {line}", file=sys.stderr)
    return 2 if errors else 0
