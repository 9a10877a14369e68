"""TSR302's fix: what it writes, what mypy reads in it, and that it leaves nothing behind at run time."""

from __future__ import annotations

import copy
import pickle
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.fixes import fix
from tensorlint.inference.typed_calls import find_untyped_calls
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

import type_checkers  # isort: skip
from mypy_cases import DATA, check, difference, expected  # isort: skip

STUBS = DATA / "stubs"
PROGRAM = DATA / "typed_calls" / "program.py"
REGISTRY = load()
HEAD = "from typing import TYPE_CHECKING\nfrom torch import Tensor, nn\n"


def findings(source: PythonSource) -> list[Finding]:
    return findings_of(source, REGISTRY, Selection(frozenset({"TSR302"})), None)[0]


def fixed(text: str) -> str:
    """The program after the fix, which is also looked at again: nothing is left to find."""
    outcome = fix(PythonSource("program.py", text), findings, unsafe=False)
    again = fix(outcome.source, findings, unsafe=False)
    assert again.source.text == outcome.source.text
    return outcome.source.text


@pytest.fixture(scope="module")
def program() -> str:
    return fixed(PROGRAM.read_text(encoding="utf-8"))


def test_messages():
    source = PythonSource("p.py", HEAD + "class Net(nn.Module):\n    def forward(self, x: Tensor) -> Tensor: ...\n")
    [finding] = findings(source)
    assert finding.span[:2] == (4, 5)
    assert finding.message == (
        "calling a Net gives Any to type checkers, although its forward is annotated (torch declares Module.__call__ "
        "as Callable[..., Any]) — declare __call__ with forward's signature under TYPE_CHECKING"
    )
    stale = fixed(source.text).replace("def forward(self, x: Tensor)", "def forward(self, x: Tensor, y: int)")
    [finding] = findings(PythonSource("p.py", stale))
    assert finding.message == (
        "the __call__ that Net declares to type checkers is not what its forward has become — "
        "copy forward's parameters and result"
    )


def test_mypy_reads_what_was_written(program: str, tmp_path: Path):
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    for plugin in (False, True):
        found, output = check([path], tmp_path / f"cache{plugin}", stubs=STUBS, plugin=plugin, options=("--strict",))
        assert not difference(expected([path]), found), output
    path.write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    found, _ = check([path], tmp_path / "cacheFalse", stubs=STUBS, plugin=False)
    wanted = expected([path])
    unknown = {remark for remark in wanted if remark[2] == "N"}
    missed = wanted - found
    assert missed == wanted, "mypy knows without the fix what it should not"
    assert len(found - wanted) == len(unknown), "Any, and nothing else"


@pytest.mark.parametrize("checker", type_checkers.CHECKERS)
def test_other_checkers_read_what_was_written(checker: str, program: str, tmp_path: Path):
    if type_checkers.executable(checker) is None:
        pytest.skip(f"needs {checker} on the path; benchmarks/typed_call_checkers.py runs all four")
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    assert type_checkers.wrong(type_checkers.check(checker, path, STUBS), path) == []
    path.write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    assert type_checkers.wrong(type_checkers.check(checker, path, STUBS), path), "it needs no fix"


def _module(name: str, text: str, folder: Path) -> types.ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text.replace("reveal_type(", "("), encoding="utf-8")
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    return module


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
class TestAtRunTime:
    @pytest.fixture
    def net(self, program: str, tmp_path: Path):
        name = "typed_call_program"
        # TorchScript reads no annotation that is a string of a union of today's spelling.
        yield _module(name, program, tmp_path)
        del sys.modules[name]

    def test_nothing_is_left_in_the_class(self, net):
        for cls in (net.Foo, net.Bar, net.Many, net.Box):
            assert "__call__" not in vars(cls)
            assert "__call__" not in vars(cls).get("__annotations__", {})

    def test_hooks_copies_and_pickles(self, net):
        import torch

        foo, x, calls = net.Foo(), torch.randn(2, 3), []
        foo.register_forward_pre_hook(lambda *_: calls.append("pre"))
        foo.register_forward_hook(lambda *_: calls.append("post"))
        y = foo(x, scale=2.0)
        assert calls == ["pre", "post"]
        assert torch.equal(y, foo.forward(x, 2.0))  # noqa: TSR301 - without its hooks it gives the same
        plain = net.Foo()
        for other in (copy.deepcopy(plain), pickle.loads(pickle.dumps(plain))):
            assert torch.equal(other(x), plain(x))
        assert torch.equal(net.Bar()(x, bias=x), x + x)

    def test_compile_export_script_and_functional_call(self, net):
        import torch

        foo, x = net.Foo(), torch.randn(2, 3)
        y = foo(x)
        assert torch.equal(torch.compile(foo, backend="eager", fullgraph=True)(x), y)
        assert torch.equal(torch.export.export(foo, (x,)).module()(x), y)
        assert torch.equal(torch.jit.trace(foo, x)(x), y)
        assert torch.equal(torch.jit.script(foo)(x), y)
        assert torch.equal(torch.func.functional_call(foo, dict(foo.named_parameters()), (x,)), y)

    def test_every_class_runs(self, net):
        import torch

        x = torch.randn(2, 3)
        assert torch.equal(net.Positional()(x, gain=3.0, names=["c"]), x * 3)
        assert torch.equal(net.Applies(net.shift)(x, by=2), x + 2)
        assert net.Sized(4)(x)[1] == 4
        assert isinstance(net.Outer.Inner()(x)[0], net.Outer.Inner)
        assert torch.equal(net.Decorated()(x), x)

    @pytest.mark.filterwarnings("ignore:.*NO_SHARD")
    def test_in_parallel_wrappers(self, net):
        """One process: what wraps or replaces `__call__` finds Module's."""
        import torch
        import torch.distributed as dist

        if not dist.is_available() or not dist.is_gloo_available():
            pytest.skip("this torch has no gloo")
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
        from torch.nn.parallel import DistributedDataParallel

        x, calls = torch.randn(2, 3), []
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        try:
            foo = net.Foo()
            foo.register_forward_hook(lambda *_: calls.append("hook"))
            wanted = foo(x, scale=2.0)
            assert torch.allclose(DistributedDataParallel(foo)(x, scale=2.0), wanted)
            sharded = fully_shard(foo, mesh=init_device_mesh("cpu", (1,)))
            result = sharded(x, scale=2.0)
            assert torch.allclose(result, wanted)
            result.sum().backward()
            assert foo.layer.weight.grad is not None
            assert calls == ["hook"] * 3
            # FSDP1: a wrapper that flattens the parameters and calls the module it holds.
            bar = net.Foo()
            wanted = bar(x, scale=2.0)
            bar.register_forward_hook(lambda *_: calls.append("first"))
            whole = ShardingStrategy.NO_SHARD  # what one process has
            wrapped = FullyShardedDataParallel(bar, sharding_strategy=whole, device_id=torch.device("cpu"))
            result = wrapped(x, scale=2.0)
            assert torch.allclose(result, wanted)
            result.sum().backward()
            assert all(parameter.grad is not None for parameter in wrapped.parameters())
            assert calls == ["hook"] * 3 + ["first"]
        finally:
            dist.destroy_process_group()


LAYOUTS = {
    "two spaces": (
        "class Net(nn.Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return x\n",
        "class Net(nn.Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return x\n\n"
        "  if TYPE_CHECKING:\n    def __call__(self, x: Tensor) -> Tensor: ...\n",
    ),
    "tabs": (
        "class Net(nn.Module):\n\tdef forward(\n\t\tself, x: Tensor\n\t) -> Tensor:\n\t\treturn x\n",
        "class Net(nn.Module):\n\tdef forward(\n\t\tself, x: Tensor\n\t) -> Tensor:\n\t\treturn x\n\n"
        "\tif TYPE_CHECKING:\n\t\tdef __call__(\n\t\t\tself, x: Tensor\n\t\t) -> Tensor: ...\n",
    ),
    "one line": (
        "class Net(nn.Module):\n    def forward(self, x: Tensor) -> Tensor: return x\n",
        "class Net(nn.Module):\n    def forward(self, x: Tensor) -> Tensor: return x\n\n"
        "    if TYPE_CHECKING:\n        def __call__(self, x: Tensor) -> Tensor: ...\n",
    ),
    "a class in a class in a function": (
        "def f():\n    class Out:\n        class Net(nn.Module):\n            def forward(self, x: Tensor) -> Tensor:\n"
        "                return x\n",
        "def f():\n    class Out:\n        class Net(nn.Module):\n            def forward(self, x: Tensor) -> Tensor:\n"
        "                return x\n\n            if TYPE_CHECKING:\n"
        "                def __call__(self, x: Tensor) -> Tensor: ...\n",
    ),
    "text that is not ASCII": (
        "class Nét(nn.Module):\n    def forward(self, größe: Tensor, /, mode: str = '→') -> 'Tensor':\n        return größe\n",
        "class Nét(nn.Module):\n    def forward(self, größe: Tensor, /, mode: str = '→') -> 'Tensor':\n        return größe\n\n"
        "    if TYPE_CHECKING:\n        def __call__(self, größe: Tensor, /, mode: str = '→') -> 'Tensor': ...\n",
    ),
    "a comment behind a decorated forward": (
        "class Net(nn.Module):\n    @typing.override\n    def forward(self, x: Tensor) -> Tensor:\n        return x  # x\n"
        "    def more(self): ...\n",
        "class Net(nn.Module):\n    @typing.override\n    def forward(self, x: Tensor) -> Tensor:\n        return x  # x\n"
        "    if TYPE_CHECKING:\n        def __call__(self, x: Tensor) -> Tensor: ...\n\n    def more(self): ...\n",
    ),
    "no safe place": (
        "class Net(nn.Module):\n    @typing.override\n    def forward(self, x: Tensor) -> Tensor:\n        return x  # x\n"
        "    size = 1\n",
    )
    * 2,
    "stale overloads": (
        "class Net(nn.Module):\n    def forward(self, x: Tensor) -> Tensor:\n        return x\n\n"
        "    if TYPE_CHECKING:\n        # what checkers read\n        @typing.overload\n        def __call__(self, x: int) -> int: ...\n"
        "        @typing.overload\n        def __call__(self, x: str) -> str: ...\n        def __call__(self, x): ...\n\n    size = 1\n",
        "class Net(nn.Module):\n    def forward(self, x: Tensor) -> Tensor:\n        return x\n\n"
        "    if TYPE_CHECKING:\n        # what checkers read\n        def __call__(self, x: Tensor) -> Tensor: ...\n\n    size = 1\n",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str):
    before, after = LAYOUTS[layout]
    assert fixed(HEAD + "import typing\n" + before) == HEAD + "import typing\n" + after


def test_the_import_is_added_once():
    text = "from torch import Tensor, nn\n" + "".join(
        f"class N{n}(nn.Module):\n    def forward(self, x: Tensor) -> Tensor:\n        return x\n" for n in range(3)
    )
    done = fixed(text)
    assert done.count("import TYPE_CHECKING") == 1
    assert done.count("def __call__") == 3


def test_it_is_off_unless_it_is_named():
    from tensorlint.config import Config, Overrides, select_rules

    assert "TSR302" not in select_rules(Config(DATA), Overrides(), str(DATA / "x.py")).enabled


def test_a_program_without_forward_costs_nothing():
    class Untouchable:
        def __getattr__(self, name: str) -> object:
            raise AssertionError("the tree was looked at")

    assert find_untyped_calls(Untouchable(), "import torch\n") == []  # type: ignore[arg-type]
