"""A project with a rule of its own, so that the pipeline is tested whatever the built-in rules say."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tensorlint.cli import main
from tensorlint.rules.registry import load

RULES = '''
from tensorlint.inference.hazards import DirectForwardHazard
from tensorlint.rules.rule import Example, Rule

HEAD = "from torch import nn\\nlayer = nn.Linear(2, 3)\\n"


class ToyForward(Rule[DirectForwardHazard]):
    """Hooks are skipped."""

    code = "TOY101"
    name = "toy-forward"
    summary = "forward is called by its name"
    hazard = DirectForwardHazard
    flagged = (Example(HEAD + "layer.forward(x)\\n", fixed=HEAD + "layer(x)\\n"),)
    silent = (Example(HEAD + "layer(x)\\n"),)

    def judge(self, hazard, node):
        return f"{hazard.receiver}.forward skips the hooks of the module"

    def fix(self, hazard, node):
        return node.with_changes(func=node.func.value)


class ToyStrict(Rule[DirectForwardHazard]):
    """Only the strict want it."""

    code = "TOY102"
    name = "toy-strict"
    summary = "a strict toy"
    default = "strict"
    hazard = DirectForwardHazard

    def judge(self, hazard, node):
        return "strictly speaking"


class ToyOff(Rule[DirectForwardHazard]):
    """Nobody wants it unasked."""

    code = "TOY201"
    name = "toy-off"
    summary = "a toy that is off"
    default = "off"
    fix_applicability = "unsafe"
    hazard = DirectForwardHazard

    def judge(self, hazard, node):
        return "off by default"

    def fix(self, hazard, node):
        return node.with_changes(func=node.func.with_changes(value=node.func.value, attr=node.func.attr.with_changes(value="run")))
'''

# `TSR` rules would speak about the same calls; only the toys are under test.
OTHERS = [rule.code for rule in load()]
TABLE = f'[tool.tensorlint]\nrules = ["lint_rules.py"]\nignore = {OTHERS}\n'
HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def findings(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.out)["findings"]
        return found


@dataclass
class LintProject:
    """A folder with the toy rules, which is the current one."""

    root: Path
    read: Callable[[], tuple[str, str]]

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        return path

    def table(self, text: str) -> None:
        self.write("pyproject.toml", TABLE + text)

    def run(self, *arguments: str) -> Outcome:
        """The command in this process."""
        self.read()
        try:
            code = main(arguments)
        except SystemExit as exit:
            code = int(exit.code or 0)
        return Outcome(code, *self.read())

    def check(self, *arguments: str) -> Outcome:
        return self.run("check", "--no-cache", "--jobs", "1", *arguments)

    def codes(self, *arguments: str) -> list[str]:
        """`path:line:column code` of each finding."""
        found = self.check("--output-format", "json", *arguments).findings
        return [f"{each['path']}:{each['line']}:{each['column']} {each['code']}" for each in found]

    def command(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Outcome:
        """The installed console script."""
        script = Path(sys.executable).parent / "tensorlint"
        done = subprocess.run([str(script), *arguments], input=stdin, capture_output=True, cwd=self.root, env=env)
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> LintProject:
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def read() -> tuple[str, str]:
        out, err = capsys.readouterr()
        return out, err

    made = LintProject(tmp_path, read)
    made.write("lint_rules.py", RULES)
    made.table("")
    return made
