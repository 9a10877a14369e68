"""The cache answers what has not changed, and nothing else; processes give what one process gives."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tensorlint import runner
from tensorlint.linter import Linter
from tensorlint.project import Project, imported_names
from tensorlint.runner import RunOptions, run

HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"
BAD = HEAD + "y = layer.forward(x)\n"


@pytest.fixture
def analysed(monkeypatch):
    """The files that were analysed, and not answered by the cache."""
    seen: list[str] = []
    real = Linter.lint

    def lint(self, path, **options):
        seen.append(os.path.basename(path))
        return real(self, path, **options)

    monkeypatch.setattr(Linter, "lint", lint)
    return seen


def cached(project, *arguments):
    return project.run("check", "--jobs", "1", "--output-format", "json", *arguments)


class TestCache:
    def test_the_second_run_analyses_nothing_and_says_the_same(self, project, analysed):
        project.write("a.py", BAD)
        project.write("b.py", HEAD + "y = layer.forward(x)  # tensorlint: ignore[toy-strict]\n")
        project.write("nb.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": BAD}]}))
        first = cached(project)
        assert set(analysed) == {"a.py", "b.py", "nb.ipynb", "lint_rules.py"}
        analysed.clear()
        second = cached(project)
        assert analysed == []
        assert (second.out, second.err, second.code) == (first.out, first.err, first.code)
        assert len(second.findings) == 3

    def test_a_change_is_seen_even_if_size_and_time_stay(self, project, analysed):
        path = project.write("a.py", BAD)
        status = path.stat()
        cached(project)
        analysed.clear()
        path.write_text(BAD.replace("y =", "z ="))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        cached(project)
        assert analysed == ["a.py"]

    def test_other_options_other_answers(self, project):
        project.write("a.py", BAD)
        assert len(cached(project).findings) == 1
        assert len(cached(project, "--strict").findings) == 2
        assert len(cached(project, "--select", "TOY201").findings) == 1
        assert len(cached(project).findings) == 1

    def test_another_configuration_another_answer(self, project):
        project.write("a.py", BAD)
        assert len(cached(project).findings) == 1
        project.table("strict = true\n")
        assert len(cached(project).findings) == 2
        project.table('[tool.tensorlint.per-file-ignores]\n"a.py" = ["TOY101"]\n')
        assert len(cached(project).findings) == 0

    def test_changed_rules_of_ones_own_are_asked_again(self, project):
        """The installed command, as a process imports a rules file once."""
        project.write("a.py", BAD)
        assert "skips the hooks" in project.command("check").out
        text = (project.root / "lint_rules.py").read_text()
        project.write("lint_rules.py", text.replace("skips the hooks", "passes by the hooks"))
        assert "passes by the hooks" in project.command("check").out

    def test_errors_are_not_remembered(self, project, analysed):
        project.write("a.py", "import torch\n(")
        assert cached(project).code == 2
        analysed.clear()
        assert cached(project).code == 2
        assert analysed == ["a.py"]

    def test_a_changed_import_is_seen(self, project, analysed):
        """a imports b imports c: a change of c may change what is said about a, and what is said about d does not."""
        project.write("a.py", "from b import layer\nlayer.forward(x)\n")
        project.write("b.py", "from c import *\nfrom torch import nn\nlayer = nn.Linear(1, 1)\n")
        project.write("c.py", "one = 1\n")
        project.write("d.py", "import numpy\n")
        # What the interpreter looks up is up to it; the import of b by a is enough for this test.
        cached(project)
        analysed.clear()
        cached(project)
        assert analysed == []
        project.write("b.py", "from torch import nn\nlayer = nn.Linear(1, 2)\n")
        cached(project)
        assert "a.py" in analysed
        assert "b.py" in analysed
        assert "d.py" not in analysed

    def test_a_module_that_appears_is_seen(self, project, analysed):
        project.write("a.py", "from b import layer\nlayer.forward(x)\n")
        assert cached(project).findings == []
        analysed.clear()
        project.write("b.py", HEAD)
        found = cached(project).findings
        assert "a.py" in analysed
        assert [each["path"] for each in found] == ["a.py"]

    def test_no_cache_neither_reads_nor_writes(self, project, analysed):
        project.write("a.py", BAD)
        project.run("check", "--no-cache")
        assert not (project.root / ".tensorlint_cache").exists()
        cached(project)
        analysed.clear()
        project.run("check", "--no-cache")
        assert "a.py" in analysed

    def test_it_hides_itself_from_git_and_moves_where_it_is_told(self, project):
        project.table('cache-dir = "x/cache"\n')
        cached(project)
        assert (project.root / "x/cache/.gitignore").read_text().endswith("*\n")

    @pytest.mark.parametrize(
        "damage", [b"", b"{", b"[]", b'{"format": 1}', b'{"format":1,"files":3,"modules":{}}', b"\xff"]
    )
    def test_damage_is_as_if_there_were_none(self, project, damage):
        project.write("a.py", BAD)
        cached(project)
        (file,) = (project.root / ".tensorlint_cache").glob("*.json")
        file.write_bytes(damage)
        assert len(cached(project).findings) == 1

    def test_a_damaged_entry_is_analysed_again(self, project):
        project.write("a.py", BAD)
        cached(project)
        (file,) = (project.root / ".tensorlint_cache").glob("*.json")
        document = json.loads(file.read_text())
        for entry in document["files"].values():
            if entry[2]:
                entry[2]["findings"][0].pop("code")
        file.write_text(json.dumps(document))
        assert len(cached(project).findings) == 1

    def test_a_fix_is_made_although_the_finding_is_cached(self, project):
        path = project.write("a.py", BAD)
        cached(project)
        assert cached(project, "--fix").code == 0
        assert path.read_text() == HEAD + "y = layer(x)\n"
        assert cached(project).findings == []
        path.write_text(BAD)  # as it was: what is known of it is not what was found after the fix
        assert len(cached(project).findings) == 1

    def test_a_warm_run_imports_neither_libcst_nor_the_interpreter(self, project):
        project.write("a.py", BAD)
        project.write("b.py", HEAD)
        project.run("check")
        code = (
            "import sys\nfrom tensorlint.cli import main\ncode = main(['check', '--output-format', 'concise'])\n"
            "heavy = [m for m in sys.modules if m == 'libcst' or (m.startswith('tensorlint.inference.')"
            " and m != 'tensorlint.inference.hazards') or m in ('torch', 'numpy', 'pytest', 'concurrent.futures.process')]\n"
            "print(code, heavy)"
        )
        import subprocess

        done = subprocess.run([sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "1 []"
        assert "a.py:3:5: TOY101" in done.stdout

    def test_1000_unchanged_files_are_answered_quickly(self, project):
        """The goal is half a second. Function calls are counted, which are as many on every machine: 273 a file."""
        for number in range(1000):
            project.write(
                f"p{number % 20}/m{number}.py",
                f"import torch\nfrom .m{(number + 20) % 1000} import x\n" + "y = 1\n" * 50,
            )
        project.run("check")
        calls = 0

        def count(_frame, event, _argument):
            nonlocal calls
            calls += event == "call"

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            outcome = project.run("check")
        finally:
            sys.setprofile(before)
        assert outcome.code == 0
        assert 1000 < calls < 400_000


class TestProcesses:
    def make(self, project, number=40):
        for index in range(number):
            body = BAD if index % 3 else "import torch\n(\n"
            project.write(f"m{index:02}.py", body + "x = 1\n" * 2000 * (index % 3 > 0))

    def test_the_output_is_that_of_one_process(self, project, monkeypatch):
        self.make(project)
        monkeypatch.setattr(runner, "PARALLEL_BYTES", 0)
        alone = project.run("check", "--no-cache", "--jobs", "1", "--output-format", "json")
        together = project.run("check", "--no-cache", "--jobs", "3", "--output-format", "json")
        assert together == alone
        assert len(alone.findings) == 26
        assert alone.code == 2

    def test_fixes_by_several_processes(self, project, monkeypatch):
        self.make(project, 12)
        monkeypatch.setattr(runner, "PARALLEL_BYTES", 0)
        outcome = project.run("check", "--no-cache", "--jobs", "2", "--fix")
        assert outcome.out.startswith("fixed 8 findings in 8 files; no findings")
        assert "forward" not in (project.root / "m01.py").read_text()

    def test_a_process_that_dies_is_named_and_the_others_go_on(self, project, monkeypatch):
        text = (project.root / "lint_rules.py").read_text()
        dying = '        if "kill" in str(node.args[0].value):\n            import os\n            os.kill(os.getpid(), 9)\n'
        project.write("lint_rules.py", text.replace("        return f", dying + "        return f"))
        self.make(project, 12)
        project.write("m01.py", HEAD + "layer.forward('kill')\n")
        project.write("m07.py", HEAD + "layer.forward('kill')\n")
        monkeypatch.setattr(runner, "PARALLEL_BYTES", 0)
        outcome = project.run("check", "--no-cache", "--jobs", "2", "--output-format", "json")
        assert outcome.code == 2
        died = [each["path"] for each in json.loads(outcome.out)["errors"] if "died" in each["message"]]
        assert died == ["m01.py", "m07.py"]
        assert [each["path"] for each in outcome.findings] == [
            "m02.py",
            "m04.py",
            "m05.py",
            "m08.py",
            "m10.py",
            "m11.py",
        ]

    def test_a_few_small_files_start_no_process(self, project, monkeypatch):
        self.make(project, 3)

        def refuse(*_args):
            raise AssertionError("no pool is wanted here")

        monkeypatch.setattr(runner, "_in_processes", refuse)
        run(RunOptions((".",), jobs=4, cache=False))


class TestProject:
    """Where a module is: Python itself is asked, with the same folders on its path."""

    FILES = (
        "pyproject.toml", "train.py", "model.py", "pkg/__init__.py", "pkg/a.py", "pkg/model.py", "pkg/sub/__init__.py",
        "pkg/sub/b.py", "pkg/random.py", "space/c.py", "src/lib/__init__.py", "src/lib/d.py", "torch_like/x.py",
    )  # fmt: skip

    @pytest.fixture
    def files(self, project):
        for name in self.FILES:
            if name != "pyproject.toml":
                project.write(name, "import torch\n")
        return project.root

    @pytest.mark.parametrize(
        ("importer", "name", "level", "found"),
        [
            ("train.py", "model", 0, "model.py"),
            ("train.py", "pkg", 0, "pkg/__init__.py"),
            ("train.py", "pkg.a", 0, "pkg/a.py"),
            ("train.py", "pkg.sub.b", 0, "pkg/sub/b.py"),
            ("train.py", "pkg.nothing", 0, None),
            ("train.py", "space.c", 0, "space/c.py"),
            ("train.py", "space", 0, None),
            ("train.py", "lib.d", 0, "src/lib/d.py"),
            ("pkg/a.py", "model", 1, "pkg/model.py"),
            ("pkg/a.py", "", 1, "pkg/__init__.py"),
            ("pkg/a.py", "model", 0, "model.py"),  # not pkg/model.py: absolute
            ("pkg/sub/b.py", "a", 2, "pkg/a.py"),
            ("pkg/sub/b.py", "sub.b", 2, "pkg/sub/b.py"),
            ("pkg/sub/__init__.py", "b", 1, "pkg/sub/b.py"),
            ("pkg/sub/__init__.py", "a", 2, "pkg/a.py"),
            ("pkg/a.py", "random", 0, None),  # the standard library's
            ("pkg/a.py", "random", 1, "pkg/random.py"),
            ("space/c.py", "model", 0, "model.py"),
            ("src/lib/d.py", "lib", 0, "src/lib/__init__.py"),
            ("train.py", "torch", 0, None),
        ],
    )
    def test_where_a_module_is(self, files, importer, name, level, found):
        located = Project().locate(name, importer=str(files / importer), level=level)
        assert located == (found and str(files / found))

    def test_nothing_above_the_root_is_read(self, project, tmp_path):
        (tmp_path / "inner").mkdir()
        project.write("inner/pyproject.toml", "")
        project.write("inner/a.py", "import outer\n")
        project.write("outer.py", "import torch\n")
        assert Project().locate("outer", importer=str(tmp_path / "inner/a.py")) is None

    UNMARKED = ("top.py", "pkg/__init__.py", "pkg/a.py", "pkg/scripts/run.py", "pkg/scripts/net.py", "other/b.py")

    @pytest.mark.parametrize(
        ("here", "importer", "name", "found"),
        [
            ("elsewhere", "pkg/a.py", "top", "top.py"),
            ("elsewhere", "pkg/scripts/run.py", "pkg.a", "pkg/a.py"),  # run.py lies in no package, but under one
            ("elsewhere", "pkg/scripts/run.py", "net", "pkg/scripts/net.py"),
            ("elsewhere", "pkg/scripts/run.py", "a", None),
            ("elsewhere", "other/b.py", "top", None),  # any folder may be beside that one
            ("elsewhere", "other/b.py", "pkg.a", None),
            (".", "other/b.py", "top", "top.py"),
            (".", "other/b.py", "pkg.a", "pkg/a.py"),
            (".", "pkg/scripts/run.py", "other.b", "other/b.py"),
            ("pkg/scripts", "pkg/scripts/run.py", "pkg.a", "pkg/a.py"),
            ("other", "other/b.py", "top", None),
        ],
    )
    def test_where_nothing_marks_the_project(self, tmp_path, monkeypatch, here, importer, name, found):
        root = tmp_path / "root"
        for each in self.UNMARKED:
            (root / each).parent.mkdir(parents=True, exist_ok=True)
            (root / each).write_text("import torch\n")
        (tmp_path / "top.py").write_text("import torch\n")  # above the root, and not to be found
        (root / "elsewhere").mkdir()
        monkeypatch.chdir(root / here)
        located = Project().locate(name, importer=str(root / importer))
        assert located == (found and str(root / found))

    def test_parsed_once_and_within_the_budget(self, project):
        for number in range(5):
            project.write(f"m{number}.py", f"x = {number}\n")
        looker = Project(max_modules=3)
        importer = str(project.root / "main.py")
        looker.begin(importer)
        found = [looker.module(f"m{number}", importer=importer) for number in range(5)]
        assert [module and module.source for module in found] == ["x = 0\n", "x = 1\n", None, None, None]
        looker.begin(importer)
        assert looker.module("m4", importer=importer).source == "x = 4\n"
        assert looker.module("m4", importer=importer) is looker.module("m4", importer=importer)

    def test_a_module_that_does_not_parse_is_none(self, project):
        project.write("bad.py", "(")
        assert Project().module("bad", importer=str(project.root / "main.py")) is None

    def test_import_cycles_end(self, project):
        project.write("a.py", "import b\n")
        project.write("b.py", "import a\n")
        path = str(project.root / "a.py")
        assert Project().matters(path, b"import b\n") is False

    def test_a_file_that_gets_its_tensors_from_a_sibling_matters(self, project):
        project.write("pkg/__init__.py", "from .model import Net\n")
        project.write("pkg/model.py", "import torch\n")
        project.write("pkg/names.py", "x = 1\n")
        for text, matters in [
            (b"from .model import Net\n", True),
            (b"from . import model\n", True),
            (b"from . import (\n    names,\n    model,  # c\n)\n", True),
            (b"from . import \\\n    model\n", True),
            (b"from pkg import Net\n", True),
            (b"import os, pkg.model as m\n", True),
            (b"def f():\n    from pkg.model import Net\n", True),
            (b"x = 1; import pkg.model\n", True),
            (b"from os import path\nimport sys\n", False),
            (b"# import nothing\n", False),
        ]:
            assert Project().matters(str(project.root / "pkg/user.py"), text) is matters, text

    @pytest.mark.parametrize(
        "program",
        [
            "import a.b, c as d\nfrom e import f\nfrom .g import h as i, j\nfrom .. import k\nfrom l.m import *\n",
            "if x:\n\timport a\nelse: from b import (c,\n  d as e, # f\n  g)\ntry: import h; import i\nexcept: pass\n",
        ],
    )
    def test_imports_as_the_parser_sees_them(self, program):
        import ast

        expected = set()
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.Import):
                expected |= {(alias.name, 0) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                expected.add((node.module or "", node.level))
        assert expected <= set(imported_names(program.encode()))


def test_version_imports_next_to_nothing():
    """What makes it start fast, on a machine of any speed: no rule, no inference and nobody else's package is loaded."""
    import subprocess
    from pathlib import Path

    def imported(*command):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *command], check=True, capture_output=True, text=True
        )
        return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}

    # Reading the version of a package imports more in one Python than in the next.
    reading = "import argparse, importlib.metadata; importlib.metadata.version('pytest-tensorcheck')"
    made = imported(str(Path(sys.executable).parent / "tensorlint"), "--version") - imported("-c", reading)
    assert {name for name in made if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "tensorlint",
        "tensorlint.cli",
    }
    heavy = {"ast", "asyncio", "concurrent.futures", "multiprocessing", "sqlite3", "subprocess", "tomllib", "unittest"}
    assert not made & heavy


def test_a_file_that_others_import_is_parsed_once(project, monkeypatch):
    from tensorlint import source

    parsed: list[str] = []
    real = source.parse

    def parse(text):
        parsed.append(text)
        return real(text)

    monkeypatch.setattr(source, "parse", parse)
    helper = "import torch\n\n\ndef make():\n    return torch.nn.Linear(2, 3)\n"
    first = "import torch\nfrom helper import make\ny = make().forward(torch.zeros(1, 2))\n"
    project.write("pyproject.toml", "")
    for name, text in (("a.py", first), ("helper.py", helper), ("z.py", first + "print(y)\n")):
        project.write(name, text)
    result = project.run("check", "--no-cache", "--jobs", "1", "--select", "TSR301", "--output-format", "json")
    assert {os.path.basename(finding["path"]) for finding in result.findings} == {"a.py", "z.py"}
    assert parsed.count(helper) == 1


def test_an_unsaved_text_of_an_imported_file_is_what_is_checked(project):
    """An editor checks a text that is not on disk yet, after a file was checked that imports what is there."""
    project.write("pyproject.toml", "")
    path = project.write("helper.py", "import torch\n\n\ndef make():\n    return torch.nn.Linear(2, 3)\n")
    user = project.write("a.py", "import torch\nfrom helper import make\ny = make()(torch.zeros(1, 2))\n")
    linter = Linter()
    assert linter.check_file(user).findings == []
    report = linter.check_text(path.read_text() + "\n\nz = make().forward(torch.zeros(1, 2))\n", path)
    assert [finding.code for finding in report.findings] == ["TSR301"]
