"""Which files are read, how, and what is said about those that cannot be."""

from __future__ import annotations

import codecs
import json
import os
import shutil
import subprocess
import sys

import pytest

from tensorlint import source
from tensorlint.config import ConfigFinder
from tensorlint.discovery import discover
from tensorlint.inference.interpreter import Interpreter
from tensorlint.rules.direct_forward import DirectForward
from tensorlint.source import PythonSource, SourceError

HEAD = "from torch import nn\nlayer = nn.Linear(2, 3)\n"
BAD = HEAD + "y = layer.forward(x)\n"


class TestDiscovery:
    def test_usual_folders_are_left_out_below_a_folder_and_read_when_named(self, project):
        for folder in (
            ".git",
            ".venv",
            "venv",
            "build",
            "dist",
            "node_modules",
            ".tox",
            "__pycache__",
            "site-packages",
        ):
            project.write(f"{folder}/m.py", BAD)
        project.write("environment/pyvenv.cfg", "")
        project.write("environment/lib/m.py", BAD)
        project.write("pkg/m.py", BAD)
        assert project.codes() == ["pkg/m.py:3:5 TOY101"]
        assert project.codes("build/m.py", "pkg") == ["build/m.py:3:5 TOY101", "pkg/m.py:3:5 TOY101"]
        assert project.codes("build") == ["build/m.py:3:5 TOY101"]

    def test_gitignore_as_git_has_it(self, project):
        """git itself says which files it would add; nested files, negation, anchors, folders, wildcards."""
        if shutil.which("git") is None:
            pytest.skip("needs git")
        project.write(".gitignore", "*.gen.py\n/top.py\nout/\n!keep.gen.py\ndeep/**/x.py\nsub/a?.py\n# c\n\\#odd.py\n")
        project.write("sub/.gitignore", "!*.gen.py\nlocal.py\n/only/\n*.tmp.py\n!important.tmp.py\n")
        project.write("sub/inner/.gitignore", "*\n!back.py\n")
        names = [
            "a.gen.py", "keep.gen.py", "top.py", "in/top.py", "out/m.py", "in/out/m.py", "deep/x.py", "deep/a/b/x.py",
            "sub/b.gen.py", "sub/local.py", "sub/deeper/local.py", "sub/only/m.py", "sub/k/only/m.py", "sub/ab.py",
            "sub/abc.py", "sub/x.tmp.py", "sub/important.tmp.py", "sub/inner/back.py", "sub/inner/gone.py", "#odd.py",
            "plain.py",
        ]  # fmt: skip
        for name in names:
            project.write(name, "x = 1\n")
        subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
        listed = subprocess.run(
            ["git", "ls-files", "--others", "--exclude-standard"],
            cwd=project.root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\n")
        by_git = {name.strip('"') for name in listed if name.endswith(".py")}
        ours = {os.path.relpath(path, project.root) for path in discover(["."], ConfigFinder()).files}
        assert ours == by_git
        below = {os.path.relpath(path, project.root) for path in discover(["sub"], ConfigFinder()).files}
        assert below == {name for name in by_git if name.startswith("sub/")}

    def test_gitignore_can_be_disregarded(self, project):
        project.write(".gitignore", "a.py\n")
        project.write("a.py", BAD)
        assert project.codes() == []
        project.table("respect-gitignore = false\n")
        assert project.codes() == ["a.py:3:5 TOY101"]

    def test_configured_exclude_but_not_for_what_is_named(self, project):
        project.table('exclude = ["legacy/", "*_pb2.py"]\n')
        project.write("legacy/a.py", BAD)
        project.write("x_pb2.py", BAD)
        assert project.codes() == []
        assert project.codes("x_pb2.py") == ["x_pb2.py:3:5 TOY101"]
        project.write("legacy/inner/b.py", BAD)
        assert project.codes("legacy") == ["legacy/a.py:3:5 TOY101", "legacy/inner/b.py:3:5 TOY101"]
        assert project.codes("legacy/inner") == ["legacy/inner/b.py:3:5 TOY101"]

    @pytest.mark.parametrize(
        ("named", "read"),
        [
            ("legacy/a.py", False),
            ("legacy/inner/b.py", False),
            ("legacy", False),
            ("pkg/legacy/a.py", False),
            ("legacy.py", True),
            ("pkg/a.py", True),
            ("pkg/x_pb2.py", False),
            ("pkg/kept_pb2.py", True),
            ("build/a.py", False),
            ("own/a.py", True),
            ("own/skipped/a.py", False),
            ("own/x_pb2.py", True),  # a folder with a table of its own does not inherit
        ],
    )
    def test_force_exclude_reads_of_what_is_named_what_a_walk_would_read(self, project, named, read):
        project.table('exclude = ["legacy/", "*_pb2.py", "!kept_pb2.py"]\n')
        project.write("own/pyproject.toml", '[tool.tensorlint]\nexclude = ["skipped/"]\n')
        for path in (
            "legacy/a.py",
            "legacy/inner/b.py",
            "pkg/legacy/a.py",
            "legacy.py",
            "pkg/a.py",
            "pkg/x_pb2.py",
            "pkg/kept_pb2.py",
            "build/a.py",
            "own/a.py",
            "own/skipped/a.py",
            "own/x_pb2.py",
        ):
            project.write(path, BAD)
        finder = ConfigFinder()
        named_files = discover([named], finder, force_exclude=True).files
        assert bool(named_files) == read
        assert (os.path.abspath(named) in discover(["."], finder).files) == read
        assert discover([named], finder).files

    def test_force_exclude_of_the_command(self, project):
        project.table('exclude = ["legacy/"]\n')
        project.write("legacy/a.py", BAD)
        project.write("legacy/broken.py", "import torch\n(")
        project.write("b.py", BAD)
        assert project.codes("legacy/a.py", "b.py", "--force-exclude") == ["b.py:3:5 TOY101"]
        outcome = project.check("--force-exclude", "--fix", "legacy/a.py", "legacy/broken.py")
        assert (outcome.code, outcome.err) == (0, "")
        assert (project.root / "legacy/a.py").read_text() == BAD

    def test_force_exclude_of_standard_input(self, project):
        project.table('exclude = ["legacy/"]\n')

        def run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "tensorlint", "check", "--stdin-filename", name, "-", *options]
            return subprocess.run(command, cwd=project.root, capture_output=True, text=True, input=BAD)

        assert run("legacy/a.py").returncode == 1
        assert run("a.py", "--force-exclude").returncode == 1
        assert run("legacy/a.py", "--force-exclude").returncode == 0
        assert run("legacy/a.py", "--force-exclude", "--fix").stdout == BAD
        assert run("a.py", "--force-exclude", "--fix").stdout != BAD

    def test_an_ignored_folder_that_is_named_is_read(self, project):
        (project.root / ".git").mkdir()
        project.write(".gitignore", "generated/\n")
        project.write("generated/a.py", BAD)
        project.write("generated/.gitignore", "b.py\n")
        project.write("generated/b.py", BAD)
        assert project.codes() == []
        assert project.codes("generated") == ["generated/a.py:3:5 TOY101"]

    def test_a_folder_named_like_a_file_is_walked(self, project):
        project.write("x.py/inner.py", BAD)
        assert project.codes() == ["x.py/inner.py:3:5 TOY101"]
        assert project.codes("x.py") == ["x.py/inner.py:3:5 TOY101"]

    def test_links(self, project):
        project.write("real/a.py", BAD)
        (project.root / "linked.py").symlink_to("real/a.py")
        (project.root / "folder").symlink_to("real")
        (project.root / ".#editor.py").symlink_to("nowhere")
        assert project.codes() == ["linked.py:3:5 TOY101", "real/a.py:3:5 TOY101"]
        (project.root / "dangling.py").symlink_to("nowhere")
        outcome = project.check()
        assert outcome.code == 2
        assert outcome.err == "error: dangling.py: the link leads nowhere\n"

    def test_a_link_to_itself_is_said_and_the_rest_is_read(self, project):
        project.write("z.py", BAD)
        (project.root / "loop.py").symlink_to("loop.py")
        (project.root / "back").symlink_to("forth")
        (project.root / "forth").symlink_to("back")
        (project.root / "through.py").symlink_to("back/a.py")
        outcome = project.check("--output-format", "concise")
        assert outcome.code == 2
        assert [line.partition(": Too many")[0] for line in outcome.err.splitlines()] == [
            "error: loop.py: cannot be read",
            "error: through.py: cannot be read",
        ]
        assert "z.py:3:5: TOY101" in outcome.out

    def test_a_pipe_below_a_folder_is_not_waited_for(self, project):
        os.mkfifo(project.root / "pipe.py")
        project.write("a.py", BAD)
        assert project.codes() == ["a.py:3:5 TOY101"]

    def test_stub_files_and_scripts_without_a_suffix(self, project):
        project.write("a.pyi", BAD)
        project.write("script", BAD)
        assert project.codes() == ["a.pyi:3:5 TOY101"]
        assert project.codes("script") == ["script:3:5 TOY101"]

    def test_paths_outside_are_printed_whole_and_have_their_own_rules(self, project, tmp_path_factory):
        other = tmp_path_factory.mktemp("elsewhere")
        (other / "a.py").write_text(BAD)
        for name in ("lint_rules.py", "pyproject.toml"):
            (other / name).write_bytes((project.root / name).read_bytes())
            (project.root / name).unlink()
        assert project.check(str(other / "a.py"), "--select", "TOY101").out.startswith(f"{other}/a.py:3:5: TOY101")
        assert project.check(str(other / "a.py"), "--select", "TOY301").code == 2


class TestUnreadable:
    @pytest.mark.parametrize(
        ("contents", "said"),
        [
            (b"import torch\nx = (\n", ":2: does not parse: '(' was never closed"),
            (b"import torch\n\0\n", ":2: contains null bytes: a binary file, not Python source"),
            (b"\x7fELF torch \0\xff\xfe", ":1: is a binary file, not Python source"),
            (b"# torch\nx = '\xe9'\n", ":2: is not utf-8 (byte 0xe9); save it as UTF-8 or name its encoding"),
            (b"# coding: klingon\nimport torch\n", ":1: unknown encoding: klingon; correct the coding comment"),
            (
                codecs.BOM_UTF8 + b"# coding: latin-1\nimport torch\n",
                ":1: begins with the byte order mark of UTF-8, but its coding comment names another encoding",
            ),
            (b"# coding: rot13\nimport torch\n", ":1: rot13 is not an encoding of text; correct the coding comment"),
            (codecs.BOM_UTF16_LE + "import torch".encode("utf-16-le"), ": is UTF-16 or UTF-32 text, which Python does"),
            (codecs.BOM_UTF32_BE + "import torch".encode("utf-32-be"), ": is UTF-16 or UTF-32 text, which Python does"),
            ("import torch".encode("utf-16-be"), ":1: contains null bytes: a binary file, not Python source"),
            (b"import torch\nx = 1" + b"0" * 5000 + b"\n", ":2: does not parse: Exceeds the limit"),
            (b"import torch\ndef f():\n\tif 1:\n        x\n", ":4: does not parse: "),
            (b"import torch\nx = " + b"(" * 3000 + b"1" + b")" * 3000 + b"\n", "a.py:"),
        ],
    )
    def test_one_line_exit_2_and_the_others_go_on(self, project, contents, said):
        project.write("a.py", contents)
        project.write("b.py", BAD)
        outcome = project.check("--output-format", "concise")
        assert outcome.code == 2
        assert said in outcome.err
        assert outcome.err.startswith("error: a.py:")
        assert outcome.err.count("\n") == 1
        assert outcome.out == "b.py:3:5: TOY101 [*] layer.forward skips the hooks of the module (toy-forward)\n"

    @pytest.mark.parametrize("cache", [[], ["--no-cache"]])
    def test_a_file_without_a_tensor_library_is_parsed_if_it_is_named(self, project, cache):
        """Below a folder it is none of our business; who names it wants to hear that it cannot be read."""
        project.write("a.py", "def f(:\n")
        project.write("nb.ipynb", "{")
        assert project.run("check", *cache).code == 0
        for _ in range(2):
            outcome = project.run("check", *cache, "a.py", "nb.ipynb")
            assert outcome.code == 2
            assert [line.split(" ")[1] for line in outcome.err.splitlines()] == ["a.py:1:", "nb.ipynb:1:"]
        assert project.run("check", *cache).code == 0
        assert (
            project.command("check", "-", stdin=b"def f(:\n").err
            == "error: <stdin>:1: does not parse: invalid syntax\n"
        )

    def test_files_of_a_mac_beside_the_files_are_left_alone(self, project):
        project.write("._a.py", b"\0\x05\x16\x07\0 torch")
        assert project.check().code == 0

    def test_a_path_that_does_not_exist(self, project):
        project.write("b.py", BAD)
        outcome = project.check("none.py", "b.py")
        assert outcome.code == 2
        assert outcome.err == "error: none.py: no such file or directory\n"
        assert "b.py:3:5: TOY101" in outcome.out
        assert outcome.out.endswith("1 finding (1 fixable with --fix) in 1 file; 1 file could not be checked\n")

    def test_no_permission(self, project, monkeypatch):
        """root may read everything, so the refusal of the system is put in by hand."""
        path = project.write("a.py", BAD)
        if os.geteuid() == 0:
            real = open

            def refuse(name, *args, **kwargs):
                if str(name) == str(path):
                    raise PermissionError(13, "Permission denied")
                return real(name, *args, **kwargs)

            monkeypatch.setattr(source, "open", refuse, raising=False)
        else:
            path.chmod(0)
        outcome = project.check()
        assert (outcome.code, outcome.err) == (2, "error: a.py: no permission to read it\n")

    def test_a_folder_that_cannot_be_read_is_said(self, project, monkeypatch):
        project.write("closed/a.py", BAD)
        project.write("b.py", BAD)
        real = os.scandir

        def refuse(path):
            if str(path).endswith("closed"):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, "scandir", refuse)
        outcome = project.check("--output-format", "concise")
        assert (outcome.code, outcome.err) == (2, "error: closed: the folder cannot be read: Permission denied\n")
        assert outcome.out.startswith("b.py:3:5")

    def test_errors_are_in_the_json(self, project):
        project.write("a.py", "import torch\nx = (\n")
        outcome = project.check("--output-format", "json")
        assert '"errors": [\n    {\n      "path": "a.py",\n      "line": 2,' in outcome.out
        assert outcome.code == 2

    def test_two_wins_over_one(self, project):
        project.write("a.py", "import torch\nx = (\n")
        project.write("b.py", BAD)
        assert project.check("b.py").code == 1
        assert project.check().code == 2

    def test_a_failing_rule_is_one_line_and_the_other_rules_and_files_go_on(self, project):
        rules = (project.root / "lint_rules.py").read_text()
        project.write(
            "lint_rules.py",
            rules.replace(
                '        return "strictly',
                '        if node.args[0].value.value == "boom":\n            raise KeyError("oh")\n        return "strictly',
            ),
        )
        project.write("a.py", HEAD + "layer.forward(boom)\n")
        project.write("b.py", BAD)
        outcome = project.check("--output-format", "concise")
        assert outcome.code == 2
        assert outcome.err.startswith(
            "error: a.py: a rule of your own failed: TOY102 raised KeyError at lint_rules.py:"
        )
        assert outcome.err.endswith(": 'oh' (TENSORLINT_DEBUG=1 shows the traceback)\n")
        assert outcome.err.count("\n") == 1
        assert [line[:16] for line in outcome.out.splitlines()] == ["a.py:3:1: TOY101", "b.py:3:5: TOY101"]

    def test_two_failing_rules_are_both_said_once_each(self, project):
        rules = (project.root / "lint_rules.py").read_text()
        rules = rules.replace('        return "strictly', '        raise KeyError("oh")\n        return "')
        rules = rules.replace("return node.with_changes(func=node.func.value)", "return 3")
        project.write("lint_rules.py", rules)
        project.write("a.py", BAD + BAD)
        outcome = project.check("--fix", "--output-format", "concise")
        assert [line.partition(" raised ")[0] for line in outcome.err.splitlines()] == [
            "error: a.py: a rule of your own failed: TOY101",
            "error: a.py: a rule of your own failed: TOY102",
        ]
        assert (outcome.code, (project.root / "a.py").read_text()) == (2, BAD + BAD)

    def test_a_failing_rule_of_tensorlint_is_an_internal_error(self, project, monkeypatch):
        def stumble(rule, hazard, node):
            raise KeyError("oh")

        monkeypatch.setattr(DirectForward, "judge", stumble)
        project.write("pyproject.toml", "")
        project.write("a.py", BAD)
        outcome = project.check()
        assert outcome.err.startswith("error: a.py: internal error of tensorlint at test_pipeline_files.py:")
        assert "KeyError: 'oh'; a part of the file was left out, please report it" in outcome.err
        assert outcome.code == 2

    def test_an_internal_error_in_a_part_of_a_file_is_said_and_the_rest_is_checked(self, project, monkeypatch):
        follow = Interpreter.analyse_pending

        def stumble(interpreter, function):
            if function.node.name == "boom":
                raise KeyError("oh")
            follow(interpreter, function)

        monkeypatch.setattr(Interpreter, "analyse_pending", stumble)
        project.write("a.py", HEAD + "def boom(x):\n    layer.forward(x)\ndef well(x):\n    layer.forward(x)\n")
        outcome = project.check("--output-format", "concise")
        assert [line[:8] for line in outcome.out.splitlines()] == ["a.py:6:5"]
        assert outcome.err.count("\n") == 1
        assert "KeyError: 'oh'; a part of the file was left out, please report it" in outcome.err
        assert outcome.code == 2

    def test_a_failing_rule_that_many_files_share_is_said_once(self, project):
        rules = (project.root / "lint_rules.py").read_text()
        project.write(
            "lint_rules.py", rules.replace('        return "strictly', '        raise KeyError("oh")\n        return "')
        )
        for name in "abcd":
            project.write(f"{name}.py", BAD)
        outcome = project.check()
        assert outcome.err.count("\n") == 1
        assert outcome.err.startswith(
            "error: a.py: a rule of your own failed: TOY102 raised KeyError at lint_rules.py:"
        )
        assert outcome.err.endswith("(the same in 3 other files)\n")
        assert "4 files could not be checked" in outcome.out
        assert outcome.code == 2
        assert len(json.loads(project.check("--output-format", "json").out)["errors"]) == 4


class TestNewerSyntax:
    CASES = (
        ((3, 12), "type parameters", "def f[T](x: T) -> T: ...\n"),
        ((3, 12), "type parameters", "class A[T]: ...\n"),
        ((3, 12), "the type statement", "type X = int\n"),
        ((3, 12), "f-string", "x = f'{'a'}'\n"),
        ((3, 12), "f-string", "x = f'{\"\\n\"}'\n"),
        ((3, 13), "defaults of type parameters", "class A[T = int]: ...\n"),
        ((3, 14), "template strings", "x = t'{a}'\n"),
        ((3, 14), "except without parentheses", "try:\n    a\nexcept A, B:\n    b\n"),
    )

    @pytest.mark.parametrize(("version", "what", "text"), CASES)
    def test_the_python_that_is_needed_is_named(self, project, version, what, text):
        """Each case must really be refused by this Python, else it proves nothing."""
        project.write("a.py", "import torch\n" + text)
        outcome = project.check()
        if sys.version_info >= version:
            assert outcome.code == 0
            compile(text, "a.py", "exec")
            return
        with pytest.raises(SyntaxError):
            compile(text, "a.py", "exec")
        assert outcome.code == 2
        needed = f"syntax of Python {version[0]}.{version[1]}"
        assert needed in outcome.err
        assert what in outcome.err
        assert f"this is Python {sys.version_info[0]}.{sys.version_info[1]}" in outcome.err
        assert outcome.err.count("\n") == 1

    @pytest.mark.parametrize("text", ["def f(:\n", "type = = 3\n", "x = 'abc\n", "print 1\n"])
    def test_plain_mistakes_are_not_blamed_on_the_version(self, project, text):
        project.write("a.py", "import torch\n" + text)
        outcome = project.check()
        assert outcome.code == 2
        assert "syntax of Python" not in outcome.err


class TestText:
    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
    def test_what_no_edit_touches_is_kept_byte_for_byte(self, project, newline, bom):
        body = "# ü\x0c\nfrom torch import nn\nlayer = nn.Linear(2, 3)\n\ty = '\u2028'\n".replace("\n\ty", "\ny")
        before = bom + (body + "z = layer.forward(x)").replace("\n", newline).encode()
        path = project.write("a.py", before)
        assert project.check("--fix").code == 0
        assert path.read_bytes() == before.replace(b"layer.forward(x)", b"layer(x)")

    def test_mixed_line_ends_stay_as_they_are(self, project):
        path = project.write("a.py", b"from torch import nn\r\nlayer = nn.Linear(2, 3)\n\r\ny = layer.forward(x)\r")
        project.check("--fix")
        assert path.read_bytes() == b"from torch import nn\r\nlayer = nn.Linear(2, 3)\n\r\ny = layer(x)\r"

    def test_pep_263_encodings(self, project):
        text = "# -*- coding: latin-1 -*-\n" + HEAD + "é = 'ß', layer.forward(x)\n"
        path = project.write("a.py", text.encode("latin-1"))
        (finding,) = project.check("--output-format", "json").findings
        assert finding["column"] == len("é = 'ß', ") + 1
        project.check("--fix")
        assert path.read_bytes() == text.replace(".forward", "").encode("latin-1")

    def test_mode_and_link_survive_a_fix(self, project):
        real = project.write("bin/run.py", BAD)
        real.chmod(0o750)
        (project.root / "run.py").symlink_to("bin/run.py")
        project.check("--fix", "run.py")
        assert (project.root / "run.py").is_symlink()
        assert real.stat().st_mode & 0o777 == 0o750
        assert real.read_text() == HEAD + "y = layer(x)\n"
        assert [path.name for path in real.parent.iterdir()] == ["run.py"]  # no temporary file is left

    def test_a_file_that_changed_meanwhile_is_left_alone(self, project):
        path = project.write("a.py", BAD)
        with pytest.raises(SourceError, match="changed while it was being fixed"):
            source.write_atomically(path, b"new", expected=source.digest_of(b"something else"))
        assert path.read_text() == BAD

    def test_what_is_no_file_is_written_to_and_not_replaced(self, tmp_path):
        import threading

        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        got = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
        reader.start()
        source.write_atomically(pipe, b"report")
        reader.join(300)
        assert got == [b"report"]
        assert not pipe.is_file()

    def test_an_unwritable_folder_is_one_line(self, project, monkeypatch):
        project.write("a.py", BAD)

        def refuse(*_args, **_kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tempfile.mkstemp", refuse)
        outcome = project.check("--fix")
        assert outcome.code == 2
        assert outcome.err == "error: a.py: cannot be written: no permission to make a file in its folder\n"
        assert (project.root / "a.py").read_text() == BAD

    def test_a_file_whose_mode_lets_nobody_write_is_left_alone_by_root_too(self, project, monkeypatch):
        project.write("a.py", BAD)
        (project.root / "a.py").chmod(0o444)
        monkeypatch.setattr(source.os, "access", lambda path, mode: True)
        outcome = project.check("--fix")
        assert (outcome.code, outcome.err) == (2, "error: a.py: is read-only; nothing written\n")
        assert (project.root / "a.py").read_text() == BAD

    def test_a_read_only_file_is_left_alone_and_still_reported(self, project, monkeypatch):
        project.write("a.py", BAD)
        project.write("b.py", BAD)
        monkeypatch.setattr(source.os, "access", lambda path, mode: not str(path).endswith("a.py"))
        outcome = project.check("--fix", "--output-format", "concise")
        assert outcome.code == 2
        assert outcome.err == "error: a.py: is read-only; nothing written\n"
        assert outcome.out.startswith("a.py:3:5: TOY101")
        assert outcome.out.count("\n") == 1
        assert (project.root / "a.py").read_text() == BAD
        assert (project.root / "b.py").read_text() != BAD

    def test_offsets_agree_with_the_tree_of_python(self):
        import ast

        text = "é = (ü,\n  𝔘ñ + 'x')\n\x0cßß = 1\n"
        lines = PythonSource("x.py", text).lines
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.expr):
                assert lines.slice(lines.span(node)) == ast.get_source_segment(text, node)
