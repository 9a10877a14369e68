"""pyright, pyrefly and ty over one program, each with its own way to say what it found.

What the program expects of mypy (`# E:`, `# N:`) is compared by line: an error where one is expected, and the revealed
type by its classes' last names, as each checker writes names in its own way.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from mypy_cases import expected

CHECKERS = ("pyright", "pyrefly", "ty")


@dataclass
class Answers:
    """What a checker said of a program: lines with errors, with the message, and the revealed type of each line."""

    errors: dict[int, str] = field(default_factory=dict)
    types: dict[int, str] = field(default_factory=dict)


def executable(name: str) -> str | None:
    """The checker on the path, or in the folder that TENSORCHECK_TYPE_CHECKERS names."""
    return shutil.which(name, path=os.environ.get("TENSORCHECK_TYPE_CHECKERS")) or shutil.which(name)


def short(name: str) -> str:
    """`tuple[torch._tensor.Tensor, int]` as `tuple[Tensor, int]`."""
    return re.sub(r"(?:\w+\.)+(\w+)", r"\1", name)


def version(name: str) -> str:
    found = executable(name)
    said = subprocess.run([found or name, "--version"], capture_output=True, text=True, check=False).stdout
    return (re.findall(r"\d+\.\d+[.\d]*", said) or ["?"])[0]


def check(name: str, program: Path, stubs: Path) -> Answers:
    """Runs a checker over a program in a folder of its own; `stubs` hold torch."""
    folder, program_name = program.parent, program.name
    (folder / "pyrightconfig.json").write_text(json.dumps({"stubPath": str(stubs)}), encoding="utf-8")
    arguments = {
        "pyright": ["--outputjson", program_name],
        "pyrefly": ["check", "--search-path", str(stubs), "--output-format", "min-text", program_name],
        "ty": ["check", "--extra-search-path", str(stubs), "--output-format", "concise", program_name],
    }[name]
    done = subprocess.run(
        [executable(name) or name, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    answers = Answers()
    if name == "pyright":
        for each in json.loads(done.stdout)["generalDiagnostics"]:
            _note(answers, each["range"]["start"]["line"] + 1, each["severity"] == "error", each["message"])
    else:
        row = re.compile(
            r"^\s*(?:(?P<level>ERROR|INFO|WARN) )?[^:\n]*:(?P<line>\d+):[\d-]+:? (?P<text>.*)$", re.MULTILINE
        )
        for match in row.finditer(done.stdout):
            error = match["level"] == "ERROR" or match["text"].startswith("error[")
            _note(answers, int(match["line"]), error, match["text"])
    return answers


def _note(answers: Answers, line: int, error: bool, text: str) -> None:
    revealed = re.search(r"""(?:is "|revealed type: |Revealed type: `)(?P<type>.*?)(?:"$|`$| \[reveal-type\]$)""", text)
    if error:
        answers.errors[line] = text
    elif revealed:
        answers.types[line] = short(revealed["type"])


def wrong(answers: Answers, program: Path) -> list[str]:
    """Every line of the program of which a checker does not say what the comments do."""
    wanted = expected([program])
    types = {line: short(text.partition('"')[2].rstrip('"')) for _, line, kind, text in wanted if kind == "N"}
    errors = {line for _, line, kind, _ in wanted if kind == "E"}
    lines = [
        f"{line}: {answers.types.get(line)} where {each} is right"
        for line, each in types.items()
        if answers.types.get(line) != each
    ]
    lines += [f"{line}: no error" for line in errors - answers.errors.keys()]
    return sorted(lines + [f"{line}: {text}" for line, text in answers.errors.items() if line not in errors])
