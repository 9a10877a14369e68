"""The text of a file: its encoding, its line ends, its syntax tree, and where a place in the tree is in the text.

What is written back is what was read, byte for byte, but for the edits: encoding, byte order mark and the line ends
of every line that no edit touches.
"""

from __future__ import annotations

import ast
import codecs
import io
import os
import re
import sys
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from tensorlint.findings import Edit, Span

try:
    from _blake2 import blake2b  # as hashlib has it, which sets up OpenSSL first: a tenth of a start
except ImportError:
    from hashlib import blake2b

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_UTF_16_AND_32 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # UTF-32-LE begins like UTF-16-LE
_LINE_END = re.compile(r"\r\n|\r|\n")


class SourceError(Exception):
    """A file that cannot be read or parsed: one line for the user, and the line of the file (0: none)."""

    def __init__(self, message: str, line: int = 0, cell: int = 0) -> None:
        super().__init__(message, line, cell)
        self.message = message
        self.line = line
        self.cell = cell


def digest_of(data: bytes) -> bytes:
    """16 bytes that stand for these contents."""
    return blake2b(data, digest_size=16).digest()


def read_bytes(path: str | Path) -> bytes:
    """The file's bytes. Raises SourceError that says what to do about it."""
    try:
        with open(path, "rb", buffering=0) as stream:
            return stream.read()
    except FileNotFoundError:
        dangling = os.path.islink(path)
        raise SourceError("the link leads nowhere" if dangling else "no such file or directory") from None
    except IsADirectoryError:
        raise SourceError("is a directory although its name is a file's") from None
    except PermissionError:
        raise SourceError("no permission to read it") from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from None


def decode(data: bytes) -> tuple[str, str, bool]:
    """Text without byte order mark, encoding, and whether there was a mark (PEP 263). Raises SourceError."""
    bom = data.startswith(codecs.BOM_UTF8)
    if data.startswith(_UTF_16_AND_32):
        raise SourceError("is UTF-16 or UTF-32 text, which Python does not read; save it as UTF-8")
    encoding = "utf-8"
    if b"coding" in data[:1000]:
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError as error:
            if bom:
                raise SourceError(
                    "begins with the byte order mark of UTF-8, but its coding comment names another encoding; "
                    "take one of them out",
                    1,
                ) from None
            raise SourceError(f"{error.msg}; correct the coding comment in the first two lines", 1) from None
    try:
        text = data[3:].decode("utf-8") if bom else data.decode(encoding)
    except LookupError:
        raise SourceError(
            f"{encoding} is not an encoding of text; correct the coding comment in the first two lines", 1
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if b"\0" in data:
            raise SourceError("is a binary file, not Python source", line) from None
        raise SourceError(
            f"is not {encoding} (byte 0x{data[error.start]:02x}); save it as UTF-8 or name its encoding "
            "in a coding comment in the first line",
            line,
        ) from None
    if "\0" in text:
        raise SourceError(
            "contains null bytes: a binary file, not Python source", text.count("\n", 0, text.index("\0")) + 1
        )
    return text, "utf-8" if bom else encoding, bom


# Syntax that a newer Python has, told by the line where the parser stopped: (version, what it is, pattern).
_NEWER_SYNTAX: tuple[tuple[tuple[int, int], str, str], ...] = (
    ((3, 15), "lazy imports", r"^\s*lazy\s+(import|from)\s"),
    ((3, 14), "template strings", r"""(?<![\w"'])[tT][rR]?["']|(?<![\w"'])[rR][tT]["']"""),
    ((3, 14), "except without parentheses", r"^\s*except\*?\s+[\w.]+\s*(,\s*[\w.]+)+\s*:"),
    ((3, 13), "defaults of type parameters", r"^\s*(?:async\s+def|def|class|type)\s+\w+\s*\[[^]]*="),
    ((3, 12), "type parameters", r"^\s*(?:async\s+def|def|class)\s+\w+\s*\["),
    ((3, 12), "the type statement", r"^\s*type\s+\w+\s*(\[|=)"),
)


def _syntax_message(error: SyntaxError, lines: Sequence[str]) -> str:
    """The parser's message, or which Python would read this."""
    message = error.msg or "invalid syntax"
    running = sys.version_info[:2]
    line = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""
    needed: tuple[tuple[int, int], str] | None = None
    for version, what, pattern in _NEWER_SYNTAX:
        if version > running and re.search(pattern, line):
            needed = (version, what)
            break
    else:
        if running < (3, 12) and message.startswith("f-string"):
            needed = ((3, 12), "quotes, backslashes or comments inside f-string fields")
    if needed is None:
        return f"does not parse: {message}"
    (major, minor), what = needed
    return (
        f"does not parse: {message}. If this is syntax of Python {major}.{minor} ({what}), run tensorlint under "
        f"Python {major}.{minor} or newer; this is Python {running[0]}.{running[1]}"
    )


def parse(text: str) -> ast.Module:
    """The tree of a text. Raises SourceError for every way in which parsing can fail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are not our subject
            return ast.parse(text)
    except SyntaxError as error:
        raise SourceError(_syntax_message(error, text.split("\n")), error.lineno or 1) from None
    except (RecursionError, MemoryError):
        raise SourceError("is nested too deeply for Python's parser") from None
    except ValueError as error:
        raise SourceError(f"does not parse: {error}") from None


class Lines:
    """A text by lines, with conversions between (line, column), offsets and the tree's UTF-8 columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        if "\r" in text:
            self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        else:  # in a third of the time
            self.starts = [0, *accumulate([len(line) + 1 for line in text.split("\n")[:-1]])]

    def __getitem__(self, line: int) -> str:
        """The text of a line (from 1) without its end; empty beyond the last."""
        if not 1 <= line <= len(self.starts):
            return ""
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.text[self.starts[line - 1] : end].rstrip("\r\n")

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, line: int, utf8_offset: int) -> int:
        """The column (code points, from 1) of a byte offset in a line."""
        text = self[line]
        if text.isascii():
            return utf8_offset + 1
        return len(text.encode()[:utf8_offset].decode(errors="replace")) + 1

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column - 1

    def position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def span(self, node: ast.AST) -> Span:
        """Where a node with a position is."""
        start, end = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return Span(
            start,
            self.column(start, node.col_offset),  # type: ignore[attr-defined]
            end,
            self.column(end, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def slice(self, span: Span) -> str:
        return self.text[self.offset(span.line, span.column) : self.offset(span.end_line, span.end_column)]

    def replace(self, edits: Iterable[Edit], newline: str = "\n") -> str:
        """The text with edits that do not overlap made."""
        pieces: list[str] = []
        at = 0
        for edit in sorted(edits, key=lambda edit: edit.span):
            start = self.offset(edit.span.line, edit.span.column)
            pieces += [self.text[at:start], edit.text if newline == "\n" else edit.text.replace("\n", newline)]
            at = self.offset(edit.span.end_line, edit.span.end_column)
        return "".join([*pieces, self.text[at:]])


@dataclass(frozen=True)
class PythonSource:
    """A `.py` or `.pyi` file. `raw` has the line ends of the file; `text` has `\\n` only, in the same places."""

    path: str
    raw: str
    encoding: str = "utf-8"
    bom: bool = False

    @classmethod
    def of_bytes(cls, path: str, data: bytes) -> PythonSource:
        return cls(path, *decode(data))

    @cached_property
    def text(self) -> str:
        return _LINE_END.sub("\n", self.raw) if "\r" in self.raw else self.raw

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text)

    @cached_property
    def tree(self) -> ast.Module:
        return parse(self.text)

    @property
    def newline(self) -> str:
        """The line end that new lines get: the file's most frequent."""
        windows = self.raw.count("\r\n")
        counts = {"\n": self.raw.count("\n") - windows, "\r\n": windows, "\r": self.raw.count("\r") - windows}
        return max(counts, key=counts.__getitem__)

    def with_edits(self, edits: Sequence[Edit]) -> PythonSource:
        """The source after edits that do not overlap."""
        raw = Lines(self.raw).replace(edits, self.newline if "\r" in self.raw else "\n")
        return PythonSource(self.path, raw, self.encoding, self.bom)

    def to_bytes(self) -> bytes:
        return (codecs.BOM_UTF8 if self.bom else b"") + self.raw.encode(self.encoding)

    # A plain file is one cell without a number; a notebook has several (see notebook.py).
    def cell_line(self, line: int) -> tuple[int | None, int]:
        return None, line

    def margin(self, line: int) -> str:
        return ""

    @property
    def broken_cells(self) -> tuple[SourceError, ...]:
        return ()


def write_atomically(path: str | Path, data: bytes, *, expected: bytes | None = None) -> None:
    """Replaces the file's contents whole or not at all; keeps its mode, and a link stays a link.

    `expected` is the digest of what was read: if the file has changed since, it is left alone. What is no regular file
    (a pipe, /dev/null) is written to and not replaced. Raises SourceError.
    """
    target = os.path.realpath(path)
    temporary = None
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as stream:
                stream.write(data)
            return
        if expected is not None and digest_of(read_bytes(target)) != expected:
            raise SourceError("changed while it was being fixed; nothing written, run again")
        # Root may write to anything; a file whose mode lets nobody write is meant to stay as it is all the same.
        if os.path.exists(target) and not (os.stat(target).st_mode & 0o222 and os.access(target, os.W_OK)):
            raise SourceError("is read-only; nothing written")
        import tempfile

        try:
            handle, temporary = tempfile.mkstemp(prefix=".tensorlint-", dir=os.path.dirname(target))
        except PermissionError:
            raise SourceError("cannot be written: no permission to make a file in its folder") from None
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.exists(target):
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise SourceError(f"cannot be written: {error.strerror or error}") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
