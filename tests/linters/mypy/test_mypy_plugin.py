"""The mypy plugin, run by mypy itself: over stubs with torch's full names, and over torch where it is installed."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="needs mypy")

from mypy.version import __version__ as mypy_version

import tensorlint.mypy_plugin as mypy_plugin

from mypy_cases import DATA, Remark, check, difference, expected, remarks  # isort: skip

if tuple(map(int, mypy_version.split(".")[:2])) < (1, 18):
    pytest.skip(f"needs mypy 1.18 or newer; this is {mypy_version}", allow_module_level=True)

CASES = sorted((DATA / "cases").glob("*.py"))
CONTAINERS = sorted((DATA / "containers").glob("*.py"))
STUBS = DATA / "stubs"
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")


def _kept(config: pytest.Config, name: str, otherwise: Path) -> Path:
    """A cache of mypy's that outlives the run: its key holds the plugin, mypy, the test and the stubs."""
    digest = hashlib.sha256()
    for path in sorted([*Path(mypy_plugin.__file__).parent.glob("*.py"), *STUBS.rglob("*.pyi")]):
        digest.update(path.read_bytes())
    name = f"tensorlint-mypy-{mypy_version}-{name}-{digest.hexdigest()[:12]}"
    kept = getattr(config, "cache", None)  # absent under -p no:cacheprovider
    return Path(kept.mkdir(name)) if kept is not None else otherwise / name


@pytest.fixture
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return _kept(request.config, request.node.originalname, tmp_path)


def _modules() -> list[str]:
    """The layers of torch.nn whose `__call__` is Module's."""
    import torch

    return sorted(
        name
        for name, member in vars(torch.nn).items()
        if isinstance(member, type)
        and issubclass(member, torch.nn.Module)
        and member.__call__ is torch.nn.Module.__call__  # ParameterList and ParameterDict have their own
        and name != "DataParallel"
    )


@pytest.fixture(scope="module")
def over_torch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[set[Remark], str]:
    """One run over torch, which takes mypy 10 s to read: the cases, and every layer of torch.nn."""
    folder = tmp_path_factory.mktemp("over_torch")
    lines = ["from torch import nn"]
    for name in _modules():
        lines += [f"def f_{name}(m: nn.{name}) -> None:", "    reveal_type(m.__call__)", "    reveal_type(m.forward)"]
    (folder / "modules.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return check([*CASES, folder / "modules.py"], _kept(request.config, "over_torch", folder))


def test_there_are_enough_cases():
    assert len(expected(CASES)) >= 80
    calls = (DATA / "cases" / "typed_calls.py").read_text(encoding="utf-8")
    assert calls.count("reveal_type(") + calls.count("# E:") + calls.count("# silent") == 57


def test_cases_over_stubs(cache: Path):
    found, output = check(CASES, cache, stubs=STUBS)
    assert not difference(expected(CASES), found), output


@needs_torch
def test_cases_over_torch(over_torch: tuple[set[Remark], str]):
    found, output = over_torch
    assert not difference(expected(CASES), {each for each in found if each[0] != "modules.py"}), output


def test_containers_over_stubs(cache: Path):
    found, output = check(CONTAINERS, cache, stubs=STUBS, containers=True)
    assert not difference(expected(CONTAINERS), found), output


@needs_torch
def test_containers_over_torch(cache: Path):
    found, output = check(CONTAINERS, cache, containers=True)
    assert not difference(expected(CONTAINERS), found), output


def test_containers_are_off_by_default(cache: Path):
    found, _ = check(CONTAINERS, cache, stubs=STUBS)
    assert {text for _, _, kind, text in found if kind == "N"} == {
        'Revealed type is "Any"',
        'Revealed type is "str"',  # a key
        'Revealed type is "torch._tensor.Tensor"',  # the pool that its class gives to self
    }


@needs_torch
def test_every_module_of_torch_is_called_as_its_forward(over_torch: tuple[set[Remark], str]):
    """mypy is its own oracle: `m.__call__` has the type of `m.forward`, or stays Any where torch says nothing."""
    names = _modules()
    assert len(names) > 120
    found, output = over_torch
    found = {each for each in found if each[0] == "modules.py"}
    said = {line: text for _, line, kind, text in found if kind == "N"}
    assert len(said) == 2 * len(names), output
    typed = 0
    for index, name in enumerate(names):
        call, forward = said[3 * index + 3], said[3 * index + 4]
        if call == 'Revealed type is "def (*Any, **Any) -> Any"' != forward:
            assert forward.endswith('-> Any"'), f"{name}: {forward}"
        else:
            assert call == forward, name
            typed += 1
    assert typed > 120


DIRECT = """
from torch import Tensor, nn, zeros

class Foo(nn.Module):
    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        reveal_type(self(x))  # N: Revealed type is "torch._tensor.Tensor"
        return x

class Own(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x
    def __call__(self, x: Tensor) -> int:  # type: ignore[override]
        return 1

x = zeros(1)
reveal_type(nn.Linear(1, 1)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.LSTM(1, 1)(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, tuple[torch._tensor.Tensor, torch._tensor.Tensor]]"
reveal_type(Own()(x))  # N: Revealed type is "int"
reveal_type(nn.Sequential()(x))  # N: Revealed type is "Any"
Foo()(1)  # E: Argument 1 to "forward" of "Foo" has incompatible type "int"; expected "Tensor"  [arg-type]
"""


def test_call_declared_as_a_method(tmp_path: Path):
    """What torch plans: a generic Module whose `__call__` is a method."""
    stubs = tmp_path / "stubs"
    for path in STUBS.rglob("*.pyi"):
        copy = stubs / path.relative_to(STUBS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if path.name == "module.pyi":
            text = text.replace("from typing import Any\n", "from typing import Any, Generic\n")
            text = text.replace("import Self\n", "import ParamSpec, Self, TypeVar\n")
            text = text.replace(
                "class Module:",
                'P = ParamSpec("P", default=...)\nR = TypeVar("R", default=Any)\n\nclass Module(Generic[P, R]):',
            )
            variable = "    __call__: Callable[..., Any]\n"
            assert variable in text
            text = text.replace(variable, "    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...\n")
        copy.write_text(text, encoding="utf-8")
    program = tmp_path / "direct.py"
    program.write_text(DIRECT, encoding="utf-8")
    found, output = check([program], tmp_path / "cache", stubs=stubs)
    assert not difference(expected([program]), found), output
    without, _ = check([program], tmp_path / "without", stubs=stubs, plugin=False)
    assert difference(expected([program]), without), "the plugin makes no difference here"


A = "from torch import Tensor, nn, zeros\nclass A(nn.Module):\n    def forward(self, x: Tensor) -> {}: ...\n"
B = (
    "from torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom a import A\n"
    "class B(A): ...\nclass Holder(nn.Module):\n    def __init__(self) -> None:\n        self.a = A()\n"
    '        self.register_buffer("{}", None)\n        self.pool = nn.MaxPool2d({})\n        self.ddp = DDP(A())\n'
)
C = (
    "from torch import zeros\nfrom b import B, Holder\nx = zeros(1)\nh = Holder()\ndef f() -> None:\n"
    "    reveal_type(B()(x))\n    reveal_type(h.a(x))\n    reveal_type(h.pe)\n    reveal_type(h.pool(x))\n"
    "    reveal_type(h.ddp(x))\n"
)
# Of different lengths: mypy takes a file of the same size and second for the same file.
STEPS = [
    ("int", "pe", "2"),
    ("int", "pe", "2"),  # from the cache
    ("bytes", "pe", "2"),  # a.py alone
    ("bytes", "other", "2"),  # b.py alone
    ("bytes", "other", "2, return_indices=True"),
    ("complex", "pe", "2"),
]


def _answers(found: set[tuple[str, int, str, str]]) -> list[str]:
    return [text.removeprefix("Revealed type is ").strip('"') for _, _, kind, text in sorted(found) if kind == "N"]


def _wanted(result: str, buffer: str, pool: str) -> list[str]:
    missing = "torch._tensor.Tensor | torch.nn.modules.module.Module"
    return [
        result,
        result,
        "torch._tensor.Tensor | Any" if buffer == "pe" else missing,
        "torch._tensor.Tensor" if pool == "2" else "Any",
        result,
    ]


def _write(folder: Path, result: str, buffer: str, pool: str) -> list[Path]:
    texts = {"a": A.format(result), "b": B.format(buffer, pool), "c": C}
    for name, text in texts.items():
        path = folder / f"{name}.py"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return [folder / f"{name}.py" for name in texts]


def test_incremental_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A class changes in one module; what is read of it in a third follows, whatever is cached."""
    monkeypatch.chdir(tmp_path)
    for step in STEPS:
        files = _write(tmp_path, *step)
        found, output = check(files, tmp_path / "cache", stubs=STUBS, options=("--disable-error-code=empty-body",))
        assert _answers(found) == _wanted(*step), f"{step}\n{output}"


def test_daemon(tmp_path: Path):
    """dmypy's fine-grained updates. (What a wrapper was made with is read again when its own module changes.)"""
    files = _write(tmp_path, *STEPS[0])
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = tensorlint.mypy_plugin\n", encoding="utf-8")

    def dmypy(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "mypy.dmypy", "--status-file", str(tmp_path / "status"), *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "MYPYPATH": str(STUBS), "TENSORLINT_MYPY_DEBUG": "1"},
            timeout=1200,
        )
        return done.stdout + done.stderr

    try:
        for step in STEPS:
            _write(tmp_path, *step)
            names = [path.name for path in files]
            output = dmypy("run", "--", "--disable-error-code=empty-body", *names)
            assert _answers(remarks(output))[:4] == _wanted(*step)[:4], f"{step}\n{output}"
    finally:
        dmypy("kill")


def test_parallel_workers(tmp_path: Path):
    """`mypy -n 2`: each worker loads the plugin, and reads what the other has written to the cache."""
    help_text = subprocess.run([sys.executable, "-m", "mypy", "--help"], capture_output=True, text=True).stdout
    if "--num-workers" not in help_text:
        pytest.skip(f"mypy {mypy_version} has no parallel workers")
    for _ in ("cold", "warm"):
        found, output = check(CASES, tmp_path / "cache", stubs=STUBS, options=("--num-workers", "2"))
        assert not difference(expected(CASES), found), output


def test_options_are_read_from_either_kind_of_file(tmp_path: Path):
    from tensorlint.mypy_plugin.settings import read_options

    toml, ini = tmp_path / "pyproject.toml", tmp_path / "mypy.ini"
    toml.write_text("[tool.tensorlint-mypy]\ncontainers = true\n")
    ini.write_text("[mypy]\n[tensorlint-mypy]\ncontainers = True\n")
    off = {"containers": False}
    assert read_options(str(toml)) == read_options(str(ini)) == {"containers": True}
    toml.write_text("[tool.mypy]\n")
    ini.write_text("[tensorlint-mypy]\ncontainers = no\n")
    assert read_options(str(toml)) == read_options(str(ini)) == read_options(None) == off
    toml.write_text("not toml [")
    assert read_options(str(toml)) == read_options(str(tmp_path / "missing.ini")) == off


def test_an_unknown_option_is_said_as_mypy_says_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from tensorlint.mypy_plugin.settings import read_options

    toml, ini = tmp_path / "pyproject.toml", tmp_path / "mypy.ini"
    toml.write_text("[tool.tensorlint-mypy]\ncontainer = true\n")
    ini.write_text("[DEFAULT]\nhere = 1\n[tensorlint-mypy]\ncontainers = yes\nmode = 1\n")
    assert (read_options(str(toml)), read_options(str(ini))) == ({"containers": False}, {"containers": True})
    assert capsys.readouterr().err == "".join(
        f"{file}: [tensorlint-mypy]: Unrecognized option: {name} (there is one: containers)\n"
        for file, name in ((toml, "container"), (ini, "mode"))
    )


class TestAnExceptionInTheplugin:
    def check(self, tmp_path: Path, environment: dict[str, str]) -> str:
        program = tmp_path / "program.py"
        program.write_text("from torch import nn, zeros\nreveal_type(nn.Linear(1, 1)(zeros(1)))\n")
        (tmp_path / "broken.py").write_text(
            "import tensorlint.mypy_plugin as ours\n\ndef broken(ctx):\n    raise KeyError('broken on purpose')\n\n"
            "ours.call_of_attribute = broken\nplugin = ours.plugin\n"
        )
        (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = broken.py\n")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "program.py"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "MYPYPATH": str(STUBS), **environment},
        )
        return done.stdout + done.stderr

    def test_becomes_mypys_own_type(self, tmp_path: Path):
        output = self.check(tmp_path, {})
        assert 'Revealed type is "Any"' in output
        assert "INTERNAL" not in output

    def test_is_shown_for_debugging(self, tmp_path: Path):
        assert "INTERNAL ERROR" in self.check(tmp_path, {"TENSORLINT_MYPY_DEBUG": "1"})


def test_the_plugin_loads_neither_torch_nor_pytest():
    code = (
        "import sys, tensorlint.mypy_plugin; "
        "print([name for name in ('torch', 'numpy', 'pytest', 'libcst') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_case_files_are_programs():
    for path in [*CASES, *CONTAINERS]:
        ast.parse(path.read_text(encoding="utf-8"))
