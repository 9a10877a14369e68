"""A function of another file that is given what does not go together: reported at the call, once, with the statement it
happens in."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.project import Project
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

HELPERS = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def rmse(y_true, y_pred):
    diff = y_true - y_pred
    return np.sqrt(np.mean(diff**2))


def report(y_true, y_pred):
    mae = np.mean(np.abs(y_true - y_pred))
    mse = np.mean((y_true - y_pred) ** 2)
    return mae, mse, 1 - mse / np.var(y_true)


def log_cosh(pred, target):
    d = pred - target
    return d + F.softplus(-2.0 * d) - 0.6931


def scaled(pred, target):
    return torch.mean(torch.abs(pred * 2.0 - target))


def deeper(pred, target, weight=1.0):
    return weight * log_cosh(pred, target).mean()


def flatten(x):
    return x.view(x.size(0), -1)


def pairwise(a, b):
    return (a[:, None] - b[None, :]).abs().mean()


def kernel(x, y):
    x = x.reshape(-1, 1)
    return np.exp(-((x - y) ** 2)).mean()


def difference(a, b):
    return a - b


def wrong_for_all(x):
    target = torch.zeros(8)
    return ((torch.zeros(8, 1) - target) * x.sum()).mean()


def fit(model, criterion, x, y):
    for _ in range(3):
        loss = criterion(model(x), y)
        loss.backward()


def with_a_grid(pred, target):
    grid = torch.arange(8.0)[:, None] * torch.arange(8.0)
    return (pred - target).abs().mean() + grid.sum()


def of_pair(pair):
    pred, target = pair
    return (pred - target).abs().mean()


def two_sums(x, mu):
    error = x.sum(1)
    return (error + mu.sum(1, keepdim=True)).mean()


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(1, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))

    def loss(self, x, y):
        return F.mse_loss(self(x), y)
"""
HEAD = """\
import numpy as np
import torch
from torch import nn

import helpers
from helpers import Curve, deeper, difference, fit, flatten, kernel, log_cosh, of_pair, pairwise, report, rmse, scaled, two_sums, with_a_grid, wrong_for_all

p, y = torch.rand(8, 1), torch.rand(8)
a, b = np.random.rand(8, 1), np.random.rand(8)
images = torch.rand(4, 8, 3)
"""
LINE = HEAD.count("\n") + 1
# The statement, its code, and how the message begins. Each is run: it raises, or shows what is written last.
ACCIDENTS = [
    ("e = rmse(a, b)", "TSR112", "in rmse (helpers.py:8): a (8, 1) and b (8,) became (8, 8) in subtraction", "difference(a, b).size == 64"),
    ("e = helpers.rmse(b, y_pred=a)", "TSR112", "in rmse (helpers.py:8): b (8,) and a (8, 1) became (8, 8)", "difference(a, b).size == 64"),
    ("e = report(a, b)", "TSR112", "in report (helpers.py:13): a (8, 1) and b (8,) became (8, 8)", "difference(a, b).size == 64"),
    ("e = log_cosh(p, y).mean()", "TSR112", "in log_cosh (helpers.py:19): p (8, 1) and y (8,) became (8, 8)", "log_cosh(p, y).numel() == 64"),
    ("e = deeper(p, y)", "TSR112", "in log_cosh (helpers.py:19): p (8, 1) and y (8,) became (8, 8)", "log_cosh(p, y).numel() == 64"),
    ("e = scaled(p, y)", "TSR112", "in scaled (helpers.py:24): pred * 2.0 (8, 1) and y (8,) became (8, 8)", "log_cosh(p, y).numel() == 64"),
    ("e = of_pair((p, y))", "TSR112", "in of_pair (helpers.py:66): pred (8, 1) and target (8,)", "log_cosh(p, y).numel() == 64"),
    ("e = with_a_grid(p, y)", "TSR112", "in with_a_grid (helpers.py:61): p (8, 1) and y (8,)", "log_cosh(p, y).numel() == 64"),
    ("e = Curve().loss(p, y)", "TSR112", "in loss (helpers.py:83): F.mse_loss of self(x) (8, 1) and y (8,)", "log_cosh(p, y).numel() == 64"),
    ("fit(Curve(), nn.MSELoss(), p, y)", "TSR112", "in fit (helpers.py:55): nn.MSELoss of model(x) (8, 1) and y (8,)", "log_cosh(p, y).numel() == 64"),
    ("e = flatten(images.transpose(1, 2))", "TSR201", "in flatten (helpers.py:32): images.transpose(1, 2) (4, 3, 8): view(x.size(0), -1) would merge", None),
    ("e = Curve()(y)", "TSR102", "in forward (helpers.py:80): nn.Linear(1, 16) wants (n, 1) and gets the rank-1 y (8,)", None),
    ("e = np.mean(difference(a, b) ** 2)", "TSR112", "in difference (helpers.py:45): a (8, 1) and b (8,) became (8, 8)", "difference(a, b).size == 64"),
]  # fmt: skip
MEANT = [
    "e = rmse(a[:, 0], b)",
    "e = rmse(a, b[:, None])",
    "e = log_cosh(p.squeeze(-1), y).mean()",
    "e = scaled(p, y.unsqueeze(1))",
    "e = flatten(images)",
    "e = pairwise(y, y)",
    "e = kernel(b, b)",
    "e = difference(b[:, None], b)",
    "e = np.abs(difference(b[:, None], b)).mean()",
    "e = scaled(y.unsqueeze(1), torch.rand(8))",
    "e = of_pair((y[:, None], torch.rand(8)))",
    "e = of_pair([torch.rand(8), y.unsqueeze(1)])",
    "e = two_sums(images[0], torch.rand(8, 2))",
    "e = difference(a, np.random.rand(5))",
    "e = Curve().loss(p, p)",
    "e = wrong_for_all(y)",
]
HELPERS_LINES = HELPERS.split("\n")


def project(folder: Path, program: str, helpers: str = HELPERS) -> list[Finding]:
    (folder / "helpers.py").write_text(helpers)
    (folder / "program.py").write_text(program)
    return check(folder / "program.py")


def check(path: Path) -> list[Finding]:
    defaults = frozenset(rule.code for rule in load() if rule.default == "on")
    return findings_of(PythonSource(str(path), path.read_text()), load(), Selection(defaults), Project())[0]


def test_the_libraries_agree(tmp_path: Path) -> None:
    """All statements in one process: each is an error, or gives what is shown."""
    pytest.importorskip("torch", reason="torch and numpy are the oracle")
    (tmp_path / "helpers.py").write_text(HELPERS)
    program = HEAD + "\n".join(statement for statement, _, _, shows in ACCIDENTS if shows) + "\n"
    program += "\n".join(f"assert {shows}" for _, _, _, shows in ACCIDENTS if shows) + "\n"
    for statement, _, _, shows in ACCIDENTS:
        if shows is None:
            program += f"try:\n    {statement}\nexcept RuntimeError:\n    pass\nelse:\n    raise AssertionError\n"
    program += "\n".join(MEANT) + "\n"
    (tmp_path / "run.py").write_text(program)
    ran = subprocess.run([sys.executable, "-W", "ignore", "run.py"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(("statement", "code", "begins", "_"), ACCIDENTS, ids=[each[0] for each in ACCIDENTS])
def test_the_call_is_reported_with_the_statement(
    statement: str, code: str, begins: str, _: str | None, tmp_path: Path
) -> None:
    (found,) = project(tmp_path, f"{HEAD}{statement}\n")
    assert (found.code, found.span.line) == (code, LINE)
    assert found.message.startswith(begins)
    assert found.fix is None  # the statement to change is not in this file
    assert all(step.line <= LINE for step in found.evidence)


@pytest.mark.parametrize("statement", MEANT)
def test_a_call_that_is_right(statement: str, tmp_path: Path) -> None:
    assert project(tmp_path, f"{HEAD}{statement}\n") == []


def test_all_right_calls_beside_a_wrong_one(tmp_path: Path) -> None:
    """What one call made of a function is not said of another."""
    program = HEAD + "\n".join([*MEANT, "e = rmse(a, b)", *MEANT]) + "\n"
    assert [each.span.line for each in project(tmp_path, program)] == [LINE + len(MEANT)]


def test_each_wrong_call_is_reported(tmp_path: Path) -> None:
    program = HEAD + "e = rmse(a, b)\nf = rmse(np.random.rand(5, 1), np.random.rand(5))\n"
    assert [each.message.partition(" became ")[0] for each in project(tmp_path, program)] == [
        "in rmse (helpers.py:8): a (8, 1) and b (8,)",
        "in rmse (helpers.py:8): np.random.rand(5, 1) (5, 1) and np.random.rand(5) (5,)",
    ]


def test_what_is_wrong_whoever_calls_is_reported_there(tmp_path: Path) -> None:
    assert project(tmp_path, f"{HEAD}e = wrong_for_all(y)\n") == []
    assert [(each.code, HELPERS_LINES[each.span.line - 1].strip()) for each in check(tmp_path / "helpers.py")] == [
        ("TSR111", "return ((torch.zeros(8, 1) - target) * x.sum()).mean()")
    ]


def test_in_a_function_of_this_file_that_is_called(tmp_path: Path) -> None:
    """The call of the other file's function is the place, and the calls that led to it the evidence."""
    program = f"{HEAD}\n\ndef score(left, right):\n    return rmse(left, right)\n\n\nscore(a, b)\n"
    (found,) = project(tmp_path, program)
    assert found.span.line == LINE + 3
    assert found.evidence[-1].message == "called here: score(a, b)"


def test_a_callback_is_reported_where_it_stands(tmp_path: Path) -> None:
    """The other file calls back: the statement is one of this file."""
    helpers = "def apply(f, a, b):\n    return f(a, b)\n"
    program = (
        "import numpy as np\nfrom helpers import apply\n\n\ndef mse(a, b):\n    return np.mean((a - b) ** 2)\n\n\n"
        "e = apply(mse, np.random.rand(8, 1), np.random.rand(8))\n"
    )
    (found,) = project(tmp_path, program, helpers)
    assert found.span.line == 6
    assert not found.message.startswith("in ")


def test_a_comment_silences_the_call(tmp_path: Path) -> None:
    assert project(tmp_path, f"{HEAD}e = rmse(a, b)  # noqa: TSR112\n") == []
    assert len(project(tmp_path, f"{HEAD}e = rmse(a, b)  # noqa: TSR111\n")) == 1


def test_the_path_is_shown_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    for name, text in {
        "lib/__init__.py": "",
        "lib/metrics.py": HELPERS,
        "scripts/train.py": "import numpy as np\nfrom lib.metrics import rmse\n\nrmse(np.ones((4, 1)), np.ones(4))\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (found,) = check(tmp_path / "scripts/train.py")
    assert found.message.startswith("in rmse (../lib/metrics.py:8): np.ones((4, 1)) (4, 1) and np.ones(4) (4,)")


def test_a_change_of_the_other_file_is_seen_by_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorlint.cli import main

    monkeypatch.chdir(tmp_path)

    def lines() -> list[str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main(["check", "--jobs", "1", "--output-format", "concise", "program.py"])
        return [line for line in out.getvalue().splitlines() if line.startswith("program.py")]

    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "program.py").write_text(f"{HEAD}e = rmse(a, b)\n")
    (first,) = lines()
    assert lines() == [first]
    (tmp_path / "helpers.py").write_text("\n" + HELPERS)
    assert [each.replace("helpers.py:9", "helpers.py:8") for each in lines()] == [first]
    (tmp_path / "helpers.py").write_text(HELPERS.replace("y_true - y_pred\n", "y_true.ravel() - y_pred.ravel()\n"))
    assert lines() == []
