"""A Jupyter notebook as one program: its code cells joined, IPython's own lines blanked with their places kept.

Fixes are written into the JSON text where the strings of the changed lines stand; no other byte moves.
"""

from __future__ import annotations

import codecs
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tensorlint.findings import Edit, Span
from tensorlint.source import Lines, SourceError, parse

_SPACE = re.compile(r"[ \t\r\n]*")
# Cell magics whose cell is still Python of this notebook; any other makes the whole cell another language's.
_PYTHON_CELL_MAGICS = frozenset({"time", "timeit", "capture", "prun", "mprun", "memit", "heat", "snakeviz"})
# The prompts of an interpreter's session that was pasted into a cell, which IPython takes off.
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?:[ \t]|$)")
_LINE_MAGIC = re.compile(r"^(?P<indent>\s*)(?:[%!]|\?{1,2}\s*\S|/\w|[,;]\w)")
_HELP = re.compile(r"^(?P<indent>\s*)[\w.%*\[\]]+\?{1,2}\s*;?\s*$")
# What IPython takes for a magic without its %, where it is all that a cell says.
_BARE_MAGICS = frozenset({
    "alias", "alias_magic", "autoawait", "autocall", "automagic", "autoreload", "bookmark", "cat", "cd", "clear", "code_wrap", "colors",
    "conda", "config", "cp", "debug", "dhist", "dirs", "doctest_mode", "ed", "edit", "env", "gui", "hist", "history", "killbgscripts",
    "ldir", "less", "lf", "lk", "ll", "load", "load_ext", "loadpy", "logoff", "logon", "logstart", "logstate", "logstop", "ls", "lsmagic",
    "lx", "macro", "magic", "mamba", "man", "matplotlib", "micromamba", "mkdir", "more", "mv", "notebook", "page", "pastebin", "pdb",
    "pdef", "pdoc", "pfile", "pinfo", "pinfo2", "pip", "popd", "pprint", "precision", "prun", "psearch", "psource", "pushd", "pwd",
    "pycat", "pylab", "quickref", "recall", "rehashx", "reload_ext", "rep", "rerun", "reset", "reset_selective", "rm", "rmdir", "run",
    "save", "sc", "set_env", "store", "sx", "system", "tb", "time", "timeit", "unalias", "unload_ext", "uv", "who", "who_ls", "whos",
    "xdel", "xmode",
})  # fmt: skip
_BARE_MAGIC = re.compile(r"\s*(?P<name>[a-z_0-9]+)[ \t]+[^\n]*\s*\Z")
_ASSIGNED_MAGIC = re.compile(r"^(?P<left>\s*[\w.,\s\[\]\"'*]+?=\s*)[%!]")


@dataclass(frozen=True, slots=True)
class _Piece:
    """One JSON string of a cell's source and where its literal stands in the file's text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class _Cell:
    """A code cell: its number among all cells (from 1) and its source, as one JSON string or a list of them."""

    number: int
    pieces: tuple[_Piece, ...]
    is_list: bool
    start: int  # of the JSON value of "source"
    end: int

    @cached_property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


class _Scanner:
    """Walks JSON text and keeps the places of values, which json.loads does not."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.decoder = json.JSONDecoder(strict=False)

    def skip_space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value_end(self, at: int) -> int:
        return self.decoder.raw_decode(self.text, at)[1]

    def members(self, at: int) -> Iterator[tuple[str, int]]:
        """(key, where its value starts) of the object at `at`."""
        at = self.skip_space(at + 1)
        while self.text[at] != "}":
            key, at = self.decoder.raw_decode(self.text, at)
            at = self.skip_space(self.skip_space(at) + 1)
            yield key, at
            at = self.skip_space(self.value_end(at))
            if self.text[at] == ",":
                at = self.skip_space(at + 1)

    def items(self, at: int) -> Iterator[int]:
        """Where each item of the array at `at` starts."""
        at = self.skip_space(at + 1)
        while self.text[at] != "]":
            yield at
            at = self.skip_space(self.value_end(at))
            if self.text[at] == ",":
                at = self.skip_space(at + 1)


def _read_cells(text: str) -> tuple[_Cell, ...]:
    """The code cells of a notebook's JSON text; none if its language is not Python. Raises SourceError."""
    try:
        document = json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        raise SourceError(f"is not a notebook: {error.msg}", error.lineno) from None
    except RecursionError:
        raise SourceError("is not a notebook: nested too deeply") from None
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise SourceError("is not a notebook of format 4 (no list of cells); convert it with `jupyter nbconvert`")
    metadata = document.get("metadata") or {}
    language = (metadata.get("language_info") or {}).get("name") or (metadata.get("kernelspec") or {}).get("language")
    if isinstance(language, str) and language.lower() not in ("python", "python3", "ipython"):
        return ()
    scanner = _Scanner(text)
    cells_at = dict(scanner.members(scanner.skip_space(0)))["cells"]
    cells: list[_Cell] = []
    for number, at in enumerate(scanner.items(cells_at), 1):
        if text[at] != "{":
            continue
        members = dict(scanner.members(at))
        if "source" not in members or scanner.decoder.raw_decode(text, members.get("cell_type", at))[0] != "code":
            continue
        start = members["source"]
        end = scanner.value_end(start)
        is_list = text[start] == "["
        starts = list(scanner.items(start)) if is_list else [start]
        pieces = tuple(_Piece(*_string_at(scanner, each)) for each in starts)
        cells.append(_Cell(number, pieces, is_list, start, end))
    return tuple(cells)


def _string_at(scanner: _Scanner, at: int) -> tuple[str, int, int]:
    value, end = scanner.decoder.raw_decode(scanner.text, at)
    return value if isinstance(value, str) else "", at, end


def _parses(text: str) -> bool:
    try:
        parse(text)
    except SourceError:
        return False
    return True


def dedented(cell: str) -> tuple[str, list[str]]:
    """A cell's text without prompts and the indentation of its first line, as IPython runs it, and what each line has of
    those."""
    lines = cell.split("\n")
    first = next((line for line in lines if line.strip() and line.lstrip()[0] != "#"), "")
    if first.lstrip().startswith(">>>"):
        cut = [prompt.group() if (prompt := _PROMPT.match(line)) else "" for line in lines]
    else:
        margin = first[: len(first) - len(first.lstrip(" \t"))]
        cut = [margin if line.startswith(margin) else "" for line in lines]
    return "\n".join(map(str.removeprefix, lines, cut)), cut


def blank_magics(cell: str) -> str:
    """A cell's text with IPython's own lines made `pass`: as many lines, and the Python in the same places."""
    lines = cell.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        words = first[2:].split()
        if not words or words[0] not in _PYTHON_CELL_MAGICS:
            return "\n" * (len(lines) - 1)
        lines[lines.index(first)] = "pass"
    elif _parses(cell):
        return cell  # a line that begins with % inside a string or an expression is not a magic
    elif (bare := _BARE_MAGIC.match(cell)) and bare["name"] in _BARE_MAGICS:
        return "pass" + "\n" * cell.count("\n")
    continued = False
    for index, line in enumerate(lines):
        ends_open = line.rstrip().endswith("\\")
        if continued:
            lines[index] = ""
        elif assigned := _ASSIGNED_MAGIC.match(line):
            lines[index] = assigned["left"] + "get_ipython()"
        elif magic := _LINE_MAGIC.match(line) or _HELP.match(line):
            lines[index] = magic["indent"] + "pass"
        else:
            continue
        continued = ends_open
    return "\n".join(lines)


@dataclass(frozen=True)
class NotebookSource:
    """A notebook; `text` is the joined program that is analysed. Line and column of an edit count in `text`."""

    path: str
    raw: str
    bom: bool = False

    @classmethod
    def of_bytes(cls, path: str, data: bytes) -> NotebookSource:
        bom = data.startswith(codecs.BOM_UTF8)
        try:
            return cls(path, data[3 if bom else 0 :].decode("utf-8"), bom)
        except UnicodeDecodeError:
            raise SourceError("is not a notebook: not UTF-8 text") from None

    @cached_property
    def cells(self) -> tuple[_Cell, ...]:
        return _read_cells(self.raw)

    @cached_property
    def _blanked(self) -> tuple[tuple[str, ...], tuple[SourceError, ...], tuple[str, ...]]:
        texts: list[str] = []
        broken: list[SourceError] = []
        margins: list[str] = []
        for cell in self.cells:
            text, cut = dedented(cell.text.replace("\r\n", "\n").replace("\r", "\n"))
            text = blank_magics(text)
            try:
                parse(text)
            except SourceError as error:
                broken.append(SourceError(error.message, error.line, cell.number))
                text = "\n" * text.count("\n")
            texts.append(text)
            margins += cut[:-1] if text.endswith("\n") else cut
        return tuple(texts), tuple(broken), tuple(margins)

    @property
    def broken_cells(self) -> tuple[SourceError, ...]:
        """Cells that do not parse; the others are analysed without them."""
        return self._blanked[1]

    @cached_property
    def text(self) -> str:
        return "".join(text if text.endswith("\n") else text + "\n" for text in self._blanked[0])

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text)

    @cached_property
    def tree(self):  # type: ignore[no-untyped-def]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(self.text)

    @cached_property
    def _first_lines(self) -> list[int]:
        """The joined line that each cell begins on."""
        starts, line = [], 1
        for text in self._blanked[0]:
            starts.append(line)
            line += text.count("\n") + (not text.endswith("\n"))
        return starts

    @property
    def cells_with_first_lines(self) -> tuple[tuple[_Cell, int], ...]:
        """Each code cell with the joined line that it begins on."""
        return tuple(zip(self.cells, self._first_lines, strict=True))

    def _cell_at(self, line: int) -> int:
        return max(0, bisect_right(self._first_lines, line) - 1)

    def cell_line(self, line: int) -> tuple[int | None, int]:
        """(cell number, line in the cell) of a joined line."""
        if not self.cells:
            return None, line
        index = self._cell_at(line)
        return self.cells[index].number, line - self._first_lines[index] + 1

    def margin(self, line: int) -> str:
        """The indentation of a joined line that its cell's first line has, too: it is not in `text`."""
        margins = self._blanked[2]
        return margins[line - 1] if line <= len(margins) else ""

    def line_of_cell(self, number: int, line: int) -> str:
        """The text of a line as the notebook has it, magics and all."""
        for cell in self.cells:
            if cell.number == number:
                return Lines(cell.text)[line]
        return ""

    def with_edits(self, edits: Sequence[Edit]) -> NotebookSource:
        """The notebook after edits that do not overlap. Raises SourceError for an edit across cells."""
        by_cell: dict[int, list[Edit]] = {}
        for edit in edits:
            index = self._cell_at(edit.span.line)
            if index != self._cell_at(edit.span.end_line):
                raise SourceError("a fix would reach across cells")
            shift = self._first_lines[index] - 1
            line, column, end_line, end_column = edit.span
            margin, end_margin = self.margin(line), self.margin(end_line)
            span = Span(line - shift, column + len(margin), end_line - shift, end_column + len(end_margin))
            by_cell.setdefault(index, []).append(Edit(span, edit.text.replace("\n", "\n" + margin)))
        pieces: list[str] = []
        at = 0
        for index in sorted(by_cell):
            cell = self.cells[index]
            pieces += [self.raw[at : cell.start], self._rewritten(cell, Lines(cell.text).replace(by_cell[index]))]
            at = cell.end
        return NotebookSource(self.path, "".join([*pieces, self.raw[at:]]), self.bom)

    def _rewritten(self, cell: _Cell, text: str) -> str:
        """The JSON of the cell's source with a new text: only the strings that differ are written anew."""
        escaped = self.raw[cell.start : cell.end].isascii()

        def literal(value: str) -> str:
            return json.dumps(value, ensure_ascii=escaped)

        if not cell.is_list:
            return literal(text)
        new = re.findall(r"[^\n]*\n|[^\n]+", text)
        if len(new) == len(cell.pieces):
            out, at = [], cell.start
            for piece, value in zip(cell.pieces, new, strict=True):
                out += [
                    self.raw[at : piece.start],
                    self.raw[piece.start : piece.end] if piece.text == value else literal(value),
                ]
                at = piece.end
            return "".join([*out, self.raw[at : cell.end]])
        between = self.raw[cell.pieces[0].end : cell.pieces[1].start] if len(cell.pieces) > 1 else ", "
        opening = self.raw[cell.start : cell.pieces[0].start]
        closing = self.raw[cell.pieces[-1].end : cell.end]
        if len(cell.pieces) == 1 and "\n" in opening:
            between = "," + opening[1:]
        return opening + between.join(map(literal, new)) + closing

    def to_bytes(self) -> bytes:
        return (codecs.BOM_UTF8 if self.bom else b"") + self.raw.encode()
