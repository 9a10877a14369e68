"""flake8, pre-commit, `tensorlint shapes` and the library functions give what the command gives."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tensorlint
from tensorlint import checking
from tensorlint.flake8_plugin import TensorlintPlugin
from tensorlint.linter import Linter

HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"
BAD = HEAD + "é = layer.forward(x)\n"


class TestFlake8:
    def flake8(self, project, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flake8", "--isolated", "--select", "TOY,TSR", *arguments],
            cwd=project.root, capture_output=True, text=True, input=stdin,
        )  # fmt: skip

    def test_columns_are_the_commands_own(self, project):
        """flake8 adds one to the column it is given."""
        project.write("a.py", BAD)
        assert self.flake8(project, "a.py").stdout == ("a.py:3:5: TOY101 layer.forward skips the hooks of the module\n")
        assert project.codes("a.py") == ["a.py:3:5 TOY101"]

    def test_a_file_that_flake8_has_decoded_is_not_decoded_again(self, project):
        project.write("a.py", ("# coding: shift_jis\n" + HEAD + "s = '表示', layer.forward(x)\n").encode("shift_jis"))
        assert self.flake8(project, "a.py").stdout.startswith("a.py:4:11: TOY101")
        assert project.codes("a.py") == ["a.py:4:11 TOY101"]

    def test_the_configuration_is_the_same_and_our_own_comments_count(self, project):
        project.table("strict = true\n")
        project.write("a.py", HEAD + "layer.forward(x)\nlayer.forward(y)  # tensorlint: ignore[toy-forward]\n")
        lines = self.flake8(project, "a.py").stdout.splitlines()
        assert [line.split()[1] for line in lines] == ["TOY101", "TOY102", "TOY102"]

    def test_standard_input(self, project):
        assert "3:5: TOY101" in self.flake8(project, "-", stdin=BAD).stdout

    def test_what_the_configuration_excludes_is_left_out(self, project):
        """flake8 does not tell what the user named from what it found."""
        project.table('exclude = ["legacy/"]\n')
        project.write("legacy/a.py", BAD)
        project.write("b.py", BAD)
        for named in (["."], ["legacy/a.py", "b.py"]):
            lines = self.flake8(project, *named).stdout.splitlines()
            assert [line.partition(":")[0].removeprefix("./") for line in lines if "TOY101" in line] == ["b.py"]

    def test_noqa_is_left_to_flake8(self, project):
        project.write("a.py", HEAD + "layer.forward(x)  # noqa: TOY101\n")
        assert self.flake8(project, "a.py").stdout == ""
        assert "TOY101" in self.flake8(project, "--disable-noqa", "a.py").stdout

    def test_it_is_registered(self):
        done = subprocess.run([sys.executable, "-m", "flake8", "--version"], capture_output=True, text=True)
        assert f"pytest-tensorcheck: {tensorlint.version()}" in done.stdout.replace("\n", "")

    def test_a_wrong_configuration_is_a_result_and_no_traceback(self, project):
        project.table("selct = 1\n")
        project.write("a.py", BAD)
        done = self.flake8(project, "a.py", "-j", "1")
        assert done.returncode == 1
        assert "a.py:1:1: TSR000" in done.stdout
        assert "unknown key 'selct'" in done.stdout

    def test_a_file_that_cannot_be_analysed_is_a_result(self, project, monkeypatch):
        monkeypatch.setattr(TensorlintPlugin, "_linter", None)
        (result,) = TensorlintPlugin(None, "a.py", ["import torch\n", "x = (\n"]).run()
        assert result[:3] == (2, 0, "TSR000 does not parse: '(' was never closed")


class TestLibrary:
    def test_a_file_and_a_text(self, project):
        path = project.write("a.py", BAD)
        linter = Linter()
        report = linter.check_file("a.py")
        assert [(each.path, each.span[:2], each.code) for each in report.findings] == [("a.py", (3, 5), "TOY101")]
        assert report.strict_only[0].code == "TOY102"
        assert linter.check_file(path).findings[0].path == str(path)
        assert linter.check_text(BAD, "not/on/disk.py").findings[0].path == "not/on/disk.py"
        assert linter.check_file("none.py").errors[0].message == "no such file or directory"

    @pytest.mark.parametrize("collects", [True, False])
    def test_garbage_collection_is_left_as_it_was(self, project, monkeypatch, collects):
        seen = []
        analyse = checking.hazards_of
        monkeypatch.setattr(checking, "hazards_of", lambda *args: seen.append(gc.isenabled()) or analyse(*args))
        project.write("a.py", BAD)
        before = gc.isenabled()
        (gc.enable if collects else gc.disable)()
        try:
            linter = Linter()
            assert linter.check_file("a.py").findings
            assert gc.isenabled() is collects
            monkeypatch.setattr(checking, "hazards_of", lambda *args: 1 / 0)
            assert linter.check_file("a.py").errors
            assert gc.isenabled() is collects
        finally:
            (gc.enable if before else gc.disable)()
        assert seen == [False]

    def test_no_tensor_library_and_no_pytest_is_imported(self, project):
        project.write("a.py", BAD)
        code = (
            "import sys\nfrom tensorlint.linter import Linter\nprint(len(Linter().check_file('a.py').findings),"
            " [m for m in ('torch', 'numpy', 'pytest', 'datasets', '_pytest') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True)
        assert done.stdout == "1 []\n"

    def test_the_code_that_is_linted_is_never_run(self, project):
        project.write("pkg/__init__.py", "import torch\nopen('ran', 'w')\n")
        project.write("pkg/a.py", "open('ran', 'w')\nfrom . import b\n" + BAD)
        project.write("pkg/b.py", "import torch\nopen('ran', 'w')\n")
        assert project.check().code == 1
        assert not (project.root / "ran").exists()
        assert project.run("shapes", ".").code == 0
        assert not (project.root / "ran").exists()

    def test_rule_files_do_not_import_libcst(self):
        code = "import sys\nfrom tensorlint.rules.registry import load\nload()\nprint('libcst' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


class TestShapes:
    PROGRAM = "import torch\nx = torch.zeros(2, 3)\ny = x.t()\nprint(y)\n"

    def test_text_has_the_source_and_the_shapes_in_one_column(self, project):
        project.write("a.py", self.PROGRAM)
        outcome = project.run("shapes", "a.py")
        lines = outcome.out.splitlines()
        assert [line.split("  # ")[0].rstrip() for line in lines] == self.PROGRAM.splitlines()
        marked = [line for line in lines if "# " in line]
        assert len(marked) == 2
        assert len({line.index("# ") for line in marked}) == 1
        assert outcome.code == 0

    def test_json_rows_have_the_keys_of_the_contract(self, project):
        project.write("a.py", self.PROGRAM)
        document = json.loads(project.run("shapes", "a.py", "--output-format", "json").out)
        assert document["version"] == 1
        assert [row["name"] for row in document["shapes"]] == ["x", "y"]
        for row in document["shapes"]:
            assert list(row) == [
                "path", "line", "column", "name", "framework", "shape", "strides", "contiguous", "dtype", "device",
                "known_axes",
            ]  # fmt: skip
        assert (document["shapes"][0]["path"], document["shapes"][0]["line"], document["shapes"][0]["column"]) == (
            "a.py",
            2,
            1,
        )

    def test_attributes_and_what_is_returned_are_shown_beside_their_lines(self, project):
        program = (
            "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
            "        self.w = nn.Parameter(torch.zeros(d, 4))\n        self.register_buffer('mask', torch.ones(8, 8))\n"
            "    def forward(self, x):\n        b, n = x.shape\n        return x @ self.w, x\n"
        )
        project.write("a.py", program)
        said = dict(line.split("  # ") for line in project.run("shapes", "a.py").out.splitlines() if "  # " in line)
        assert {line.strip(): words for line, words in said.items()} == {
            "self.w = nn.Parameter(torch.zeros(d, 4))": "self.w: (d, 4)",
            "self.register_buffer('mask', torch.ones(8, 8))": "self.mask: (8, 8)",
            "return x @ self.w, x": "return[0]: (b, 4); return[1]: (b, n)",
        }
        document = json.loads(project.run("shapes", "a.py", "--output-format", "json").out)
        assert list(document) == ["version", "shapes", "attributes", "returns"]
        assert document["shapes"] == []
        places = [(row["line"], row["column"], row["name"]) for row in document["attributes"] + document["returns"]]
        assert places == [(6, 9, "self.w"), (7, 9, "self.mask"), (10, 9, "return[0]"), (10, 9, "return[1]")]

    def test_columns_count_code_points(self, project):
        project.write("a.py", 'import torch\né = "ü"; x = torch.zeros(2, 3)\n')
        (row,) = json.loads(project.run("shapes", "a.py", "--output-format", "json").out)["shapes"]
        assert row["column"] == len('é = "ü"; ') + 1

    def test_positions_as_a_language_model_makes_them(self, project):
        """Ends of arange are converted to the dtype first: a size fits int64 as it is, and not always uint8."""
        program = "import torch\ndef f(x):\n    b, t = x.shape\n    p = torch.arange(0, t, dtype=torch.{})\n"
        for dtype, shape in (("long", ["t"]), ("float32", ["t"]), ("uint8", ["?"])):
            project.write("a.py", program.format(dtype))
            (row,) = json.loads(project.run("shapes", "a.py", "--output-format", "json").out)["shapes"]
            assert row["shape"] == shape, dtype

    def test_a_size_that_init_names_keeps_its_name_in_the_other_methods(self, project):
        head = "import torch\nfrom torch import nn\n"
        layer = "        self.heads = config.heads\n        self.w = nn.Parameter(torch.zeros(self.heads, 3))\n"
        project.write(
            "a.py",
            head
            + f"class A(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n{layer}"
            + "    def forward(self, x):\n        y = self.w\n        return x.view(1, self.heads)\n",
        )
        rows = json.loads(project.run("shapes", "a.py", "--output-format", "json").out)["shapes"]
        assert [row["shape"] for row in rows if row["name"] == "y"] == [["self.heads", 3]]

    def test_standard_input(self, project):
        outcome = project.command("shapes", "-", stdin=self.PROGRAM.encode())
        assert (outcome.code, outcome.err) == (0, "")
        assert "# y: (3, 2) strided" in outcome.out
        words = ("shapes", "-", "--stdin-filename", "pkg/m.py", "--output-format", "json")
        rows = json.loads(project.command(*words, stdin=self.PROGRAM.encode()).out)["shapes"]
        assert {row["path"] for row in rows} == {"pkg/m.py"}

    def test_cells_of_a_notebook_are_parted_and_a_broken_one_is_named(self, project):
        cells = ["import torch\nx = torch.zeros(2, 3)", "y = x.t(", "%time 1\nz = x.t()"]
        document = {
            "cells": [{"cell_type": "markdown", "metadata": {}, "source": "# T"}]
            + [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        project.write("nb.ipynb", json.dumps(document))
        outcome = project.run("shapes", "nb.ipynb")
        assert outcome.out == (
            "# cell 2\nimport torch\nx = torch.zeros(2, 3)  # x: (2, 3)\n\n"
            "# cell 3 (does not parse)\ny = x.t(\n\n"
            f"# cell 4\n%time 1\n{'z = x.t()':21}  # z: (3, 2) strided\n"
        )
        assert outcome.err == "error: nb.ipynb:cell 3:1: does not parse: '(' was never closed\n"
        assert outcome.code == 2
        rows = json.loads(project.run("shapes", "nb.ipynb", "--output-format", "json").out)["shapes"]
        assert [(row["cell"], row["line"], row["name"]) for row in rows] == [(2, 2, "x"), (4, 2, "z")]

    def test_errors(self, project):
        project.write("a.py", "import torch\n(")
        outcome = project.run("shapes", "a.py", "none.py")
        assert outcome.code == 2
        assert outcome.err.splitlines() == [
            "error: none.py: no such file or directory", "error: a.py:2: does not parse: '(' was never closed",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("reveal_shape(x.t())", "x.t() is a torch tensor (3, 2), strides (1, 3), float32"),
        ("y = reveal_shape(x, z)", "x is a torch tensor (2, 3), strides (3, 1), float32; z is a numpy array (4,)"),
        ("reveal_shape(x.shape)", "x.shape is the tuple (2, 3)"),
        ("reveal_shape((x, None))", "(x, None) is the tuple (torch (2, 3), None)"),
        ("reveal_shape([x.size(1)])", "[x.size(1)] is the list [3]"),
        ("reveal_shape(layer)", "layer is an object of nn.Linear"),
        ("reveal_shape(print(x))", "print(x) is not known to be a tensor"),
        ("reveal_shape()", "nothing is given"),
        ("print(f'{reveal_shape(x)}')", "x is a torch tensor (2, 3)"),
        (
            "def f(a, b):\n    B, T = a.shape\n    reveal_shape(a.T, B * T)",
            "a.T is an array (T, B); B * T is the number B*T",
        ),
        ("def f(a):\n    reveal_shape(torch.relu(a))", "torch.relu(a) is a torch tensor of unknown rank"),
    ],
)
def test_reveal_shape_is_answered_and_must_not_stay(project, question, answer):
    head = "import numpy as np\nimport torch\nlayer = torch.nn.Linear(2, 3)\nx = torch.zeros(2, 3)\nz = np.ones(4)\n"
    project.write("pyproject.toml", "")
    project.write("a.py", head + question + "\n")
    (finding,) = project.check("--output-format", "json").findings
    assert (finding["code"], finding["severity"]) == ("TSR901", "info")
    assert finding["message"].startswith(answer)
    assert finding["message"].endswith("— take reveal_shape out before the code runs")


class TestPreCommit:
    ROOT = Path(__file__).parents[3]

    def test_the_hooks_run_the_command(self):
        """The hook file is YAML of three keys a line; what each hook runs must exist."""
        yaml = pytest.importorskip("yaml", reason="needs PyYAML")
        hooks = yaml.safe_load((self.ROOT / ".pre-commit-hooks.yaml").read_text())
        assert [hook["id"] for hook in hooks] == ["tensorlint", "tensorlint-fix"]
        for hook in hooks:
            assert hook["types_or"] == ["python", "pyi", "jupyter"]
            assert hook["require_serial"] is True
            words = hook["entry"].split()
            assert words[:2] == ["tensorlint", "check"]
            assert "--force-exclude" in words  # pre-commit names every file

    @pytest.mark.skipif(
        find_spec("pre_commit") is None or shutil.which("git") is None, reason="needs pre-commit and git"
    )
    @pytest.mark.skipif(
        os.environ.get("TOX_ENV_NAME") in ("py312", "py313"), reason="tox's py311 makes the environment"
    )
    def test_both_hooks_of_a_clone(self, project, tmp_path_factory):
        """In the one environment that pre-commit makes itself from a clone of this checkout (`try-repo` makes one a hook)."""
        if not (self.ROOT / ".git").exists():
            pytest.skip("needs a git checkout of the project")
        hooks = tmp_path_factory.mktemp("hooks")
        env = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("store"))}
        env.pop("PYTHONPATH", None)
        subprocess.run(["git", "clone", "-q", str(self.ROOT), str(hooks)], check=True)
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@t"]
        project.write("pyproject.toml", "")
        (project.root / "lint_rules.py").unlink()
        project.write("model.py", HEAD + "y = layer.forward(x)\n")
        project.write("bad.py", "import torch\n(")
        project.write("pyproject.toml", '[tool.tensorlint]\nexclude = ["legacy/"]\n')
        project.write("legacy/old.py", HEAD + "y = layer.forward(x)\n")
        commit = subprocess.run(
            [*git, "rev-parse", "HEAD"], cwd=hooks, check=True, capture_output=True, text=True
        ).stdout
        project.write(
            ".pre-commit-config.yaml",
            f"repos: [{{repo: '{hooks}', rev: {commit.strip()}, hooks: [{{id: tensorlint}}, {{id: tensorlint-fix}}]}}]\n",
        )
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
            subprocess.run([*git, *words], cwd=project.root, check=True)

        def run(hook: str) -> str:
            done = subprocess.run(
                [sys.executable, "-m", "pre_commit", "run", hook, "--all-files"],
                cwd=project.root, env=env, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 1, done.stdout + done.stderr
            return done.stdout

        out = run("tensorlint")
        assert "model.py:3:5: TSR301" in out
        assert "bad.py:2: does not parse" in out
        assert "exit code: 2" in out
        assert "legacy" not in out
        (project.root / "bad.py").unlink()
        subprocess.run([*git, "rm", "-q", "--cached", "bad.py"], cwd=project.root, check=True)
        out = run("tensorlint-fix")
        assert "files were modified by this hook" in out
        assert (project.root / "model.py").read_text() == HEAD + "y = layer(x)\n"
