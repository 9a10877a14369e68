"""A failure that needs what earlier tests did to a shared object: who did it is said, and the command repeats it."""

from __future__ import annotations

import json
import re
import shlex

import pytest

numpy = pytest.importorskip("numpy", reason="shares numpy's arrays and generators")
torch = pytest.importorskip("torch", reason="shares torch's modules")

HEAD = """
    import random
    import unittest
    import numpy as np
    import pytest
    import torch
    from torch import nn
"""
# what is shared; what a test does with it; what the next one believes; what is said to have changed
CHANGES = {
    "parameter": ("nn.Linear(2, 1)", "nn.init.zeros_(shared.weight)", "shared.weight.abs().sum() > 0", "shared.weight"),
    "parameter by data": ("nn.Linear(2, 1)", "shared.weight.data.zero_()", "shared.weight.any()", "shared.weight"),
    "mode": ("nn.Sequential(nn.Dropout())", "shared.eval()", "shared.training", "shared.training, shared.0.training"),
    "frozen": (
        "nn.Linear(2, 1)",
        "shared.requires_grad_(False)",
        "shared.bias.requires_grad",
        "shared.weight, shared.bias",
    ),
    "gradient": (
        "nn.Linear(2, 1)",
        "shared(torch.ones(2)).backward()",
        "shared.bias.grad is None",
        "shared.weight.grad",
    ),
    "hook": (
        "nn.Linear(2, 1)",
        "shared.register_forward_hook(print)",
        "not shared._forward_hooks",
        "the hooks of shared",
    ),
    "layer": ("nn.Sequential(nn.ReLU())", "shared.append(nn.ReLU())", "len(shared) == 1", "the layers of shared"),
    "step": (
        "torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1)",
        "shared.param_groups[0].update(lr=1)",
        "shared.param_groups[0]['lr'] == 0.1",
        "shared.param_groups[0]['lr']",
    ),
    "tensor": ("torch.zeros(3)", "shared.add_(1)", "shared.sum() == 0", ""),
    "large tensor": ("torch.zeros(400_000)", "shared.add_(1)", "shared.sum() == 0", ""),
    "array": ("np.arange(3.0)", "np.multiply(shared, 2, out=shared)", "shared.sum() == 3", ""),
    "list": ("[1]", "shared.append(2)", "len(shared) == 1", "shared[1]"),
    "nested": ("{'a': [torch.zeros(2)]}", "shared['a'][0].fill_(1)", "not shared['a'][0].any()", "shared['a'][0]"),
    "set": ("{1}", "shared.add(2)", "len(shared) == 1", ""),
    "numpy generator": ("np.random.default_rng(0)", "shared.random()", "shared.random() > 0.6", ""),
    "torch generator": (
        "torch.Generator().manual_seed(0)",
        "torch.rand(1, generator=shared)",
        "torch.rand(1, generator=shared) < 0.5",
        "",
    ),
    "python generator": ("random.Random(1)", "shared.random()", "shared.random() < 0.2", ""),
    "object": ("Trainer()", "shared.seen.append(1)", "not shared.seen", "shared.seen[0]"),
    "attribute": ("Trainer()", "setattr(shared, 'lr', 2)", "shared.lr == 1", "shared.lr"),
}
OWNERS = {
    "session fixture": (
        "the session fixture shared",
        '@pytest.fixture(scope="session")\n    def shared(): return {made}\n',
        "shared",
        "",
    ),
    "module": ("shared of the test module", "shared = {made}\n", "", ""),
    "class": ("shared of TestIt", "class TestIt:\n        shared = {made}\n", "self", "shared = self.shared"),
}


def _module(owner: str, made: str, does: str, believes: str) -> str:
    _, definition, argument, lead = OWNERS[owner]
    indent = "        " if argument == "self" else "    "
    lines = [HEAD, "    class Trainer:\n        def __init__(self): self.lr, self.seen = 1, []\n"]
    lines.append("    " + definition.format(made=made))
    for name, body in (("changes", does), ("uninvolved", "pass"), ("believes", f"assert {believes}")):
        lead_line = f"{indent}    {lead}\n" if lead and name != "uninvolved" else ""
        lines.append(
            f"{indent}def test_{name}({'self' if argument == 'self' else argument if name != 'uninvolved' else ''}):\n{lead_line}{indent}    {body}\n"
        )
    return "\n".join(lines)


def _run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider", "--tensorcheck", *options)


def _commands(result: pytest.RunResult) -> list[list[str]]:
    return [shlex.split(line.partition("reproduce: ")[2]) for line in result.outlines if line.startswith("reproduce: ")]


def _node_ids(command: list[str]) -> list[str]:
    return [word.partition("::")[2] for word in command if "::" in word]


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("change", CHANGES)
def test_who_changed_a_shared_object_is_named_and_the_command_repeats_the_failure(
    pytester: pytest.Pytester, owner: str, change: str
) -> None:
    made, does, believes, part = CHANGES[change]
    pytester.makepyfile(_module(owner, made, does, believes))
    result = _run(pytester)
    result.assert_outcomes(passed=2, failed=1)
    prefix = "TestIt::" if owner == "class" else ""
    file = f"{next(pytester.path.glob('test_*.py')).name}::"
    said = next(line for line in result.outlines if line.startswith(OWNERS[owner][0]))
    assert said.startswith(f"{OWNERS[owner][0]} was changed by {file}{prefix}test_changes")
    assert said.endswith("; alone, this test starts without that")
    assert part in said
    [command] = _commands(result)
    assert _node_ids(command) == [f"{prefix}test_changes", f"{prefix}test_believes"]
    words = command[command.index("pytest") + 1 :]
    _run(pytester, *words).assert_outcomes(passed=1, failed=1)
    _run(pytester, f"{file}{prefix}test_believes").assert_outcomes(passed=1)


SILENT = {
    "unchanged": ("[1]", "len(shared)"),
    "put back": ("torch.zeros(3)", "shared.add_(1).sub_(1)"),
    "read": ("nn.Linear(2, 1)", "shared(torch.ones(1, 2))"),
    "a global generator": ("torch.default_generator", "torch.rand(1, generator=shared)"),
    "numpy's": ("np.random.mtrand._rand", "shared.rand()"),
    "a module": ("np", "shared.ones(3)"),
    "what cannot be compared": ("iter([1, 2])", "next(shared)"),
    "attributes that refuse": ("Refuses()", "shared"),
    "a proxy": ("Proxy()", "shared"),
    "a lazy layer": ("nn.LazyLinear(3)", "shared"),
}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("case", SILENT)
def test_nothing_is_said_of_what_is_as_it_was(pytester: pytest.Pytester, owner: str, case: str) -> None:
    made, does = SILENT[case]
    refuses = "    class Refuses:\n        @property\n        def __dict__(self): raise RuntimeError\n"
    refuses += "    class Proxy:\n        @property\n        def __class__(self): raise RuntimeError\n"
    pytester.makepyfile(_module(owner, made, does, "shared is None").replace(HEAD, HEAD + refuses))
    result = _run(pytester)
    result.assert_outcomes(passed=2, failed=1)
    assert "was changed by" not in result.stdout.str()
    assert [len(_node_ids(command)) for command in _commands(result)] == [1]


def test_of_what_cannot_be_compared_it_is_said_who_may_have_changed_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        HEAD
        + """
    @pytest.fixture(scope="module")
    def lines(): return iter("abc")
    @pytest.fixture(scope="module")
    def number(tmp_path_factory, pytestconfig): return 3
    @pytest.fixture(scope="module")
    def many(): return list(range(3000))

    def test_first(lines, number, many): assert next(lines) is None
    def test_second(lines, number): next(lines)
    def test_third(lines, number): assert next(lines) == "a"
    def test_number(number): assert number == 4
    def test_many(many): assert not many
    """
    )
    result = _run(pytester)
    result.assert_outcomes(passed=1, failed=4)
    end = "before, and whether that changed it cannot be seen here"
    assert [line for line in result.outlines if "in use by" in line] == [
        f"the module fixture lines (of type str_ascii_iterator) was in use by 2 tests {end}",
        f"the module fixture many (of type list) was in use by a test {end}",
    ]


def test_the_users_own_kinds_hear_nothing_of_our_looks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        HEAD
        + """
    from torch.overrides import TorchFunctionMode
    HEARD = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            HEARD.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Listening(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            HEARD.append(func)
            return func(*args, **(kwargs or {}))

    class Table(dict):
        def __getitem__(self, key): HEARD.append(key)
        def __iter__(self): HEARD.append("iter"); return iter(())

    class Row(list):
        def __iter__(self): HEARD.append("iter"); return iter(())

    @pytest.fixture(scope="module")
    def mode():
        with Listening():
            yield

    @pytest.fixture(scope="module")
    def shared(mode): return {"a": torch.ones(3).as_subclass(Told), "b": Table(x=1), "c": Row([1]), "d": nn.Linear(2, 2)}

    def test_first(shared): HEARD.clear()
    def test_second(shared): assert not HEARD
    def test_writes(shared): list.append(shared["c"], 2); dict.update(shared["b"], x=2)
    def test_fails(shared): assert shared is None
    """
    )
    result = _run(pytester, "--tensorcheck-broadcast=off")
    result.assert_outcomes(passed=3, failed=1)
    [said] = [line for line in result.outlines if "shared was changed" in line]
    assert "(shared['b']['x'], shared['c'][1])" in said


def test_what_the_failing_test_does_not_use_or_has_changed_itself_is_not_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        HEAD
        + """
    SEEN, USED = [], []

    @pytest.fixture(scope="module")
    def model(): return nn.Linear(2, 1)

    @pytest.fixture(scope="module")
    def other(): return [1]

    @pytest.fixture
    def borrowed(monkeypatch):
        monkeypatch.setattr(__name__ + ".SETTINGS", {"a": 2})
        SETTINGS["b"] = 1
        yield
        del SETTINGS["b"]
    SETTINGS = {"a": 1}

    def helper(): return USED

    def test_others(other, borrowed): other.append(1); SEEN.append(1)
    def test_own_doing(model):
        nn.init.zeros_(model.weight)
        assert model.weight.any()
    def test_next(): assert SETTINGS is None
    def test_fills(): USED.append(1)
    def test_by_way_of_a_function(): assert not helper()
    def test_passes(model, other): pass
    """
    )
    result = _run(pytester)
    result.assert_outcomes(passed=3, failed=3)
    said = [line for line in result.outlines if "was changed by" in line]
    assert [line.partition(" of")[0] for line in said] == ["USED"]
    assert [_node_ids(command) for command in _commands(result)] == [
        ["test_own_doing"],
        ["test_next"],
        ["test_fills", "test_by_way_of_a_function"],
    ]


def test_what_a_classs_setup_makes_is_shared(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        HEAD
        + """
    def setup_module():
        global TABLE
        TABLE = {}

    class TestUnit(unittest.TestCase):
        @classmethod
        def setUpClass(cls): cls.model = nn.Linear(2, 1)
        def setUp(self): self.layer = self.model
        def test_a(self): self.layer.eval(); TABLE["a"] = 1
        def test_b(self): assert self.layer.training
        def test_c(self): assert not TABLE

    class TestOther:
        def test_finds_it_fresh(self): assert TABLE is None
    """
    )
    result = _run(pytester)
    result.assert_outcomes(passed=1, failed=3)
    said = [line.partition("; ")[0] for line in result.outlines if "was changed by" in line]
    name = "test_what_a_classs_setup_makes_is_shared.py::TestUnit::test_a"
    assert said == [
        f"model of TestUnit was changed by {name} (model.training)",
        f"TABLE of the test module was changed by {name} (TABLE['a'])",
        f"model of TestUnit was changed by {name} (model.training)",
        f"TABLE of the test module was changed by {name} (TABLE['a'])",
    ]


def test_many_tests_are_counted_and_their_files_run(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HEAD + '    @pytest.fixture(scope="session")\n    def seen(): return []\n')
    pytester.makepyfile(
        test_a="import pytest\n@pytest.mark.parametrize('n', range(12))\ndef test_fill(seen, n): seen.append(n)\n",
        test_b="def test_empty(seen): assert not seen\n",
    )
    file = pytester.path / "found.json"
    result = _run(pytester, f"--tensorcheck-json={file}")
    result.stdout.fnmatch_lines(
        [
            "the session fixture seen was changed by test_a.py::test_fill[[]0], test_a.py::test_fill[[]1], "
            "test_a.py::test_fill[[]2] and 9 other tests (seen[[]0], seen[[]1], seen[[]2] and 9 more); alone*"
        ]
    )
    [command] = _commands(result)
    assert [word for word in command if word.endswith(".py")] == ["test_a.py", "test_b.py"]
    notes = {test["nodeid"]: test["notes"] for test in json.loads(file.read_text())["tests"]}
    assert [len(notes[name]) for name in ("test_b.py::test_empty", "test_a.py::test_fill[3]")] == [1, 0]


def test_in_a_worker_of_xdist_the_command_runs_in_one_process(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(_module("session fixture", *CHANGES["mode"][:3]))
    result = pytester.runpytest("-n1", "-p", "no:cacheprovider", "-p", "no:randomly", "--tensorcheck")
    [command] = _commands(result)
    assert _node_ids(command) == ["test_changes", "test_believes"]
    assert "-n0" in command
    assert re.search(r"shared was changed by .*test_changes", result.stdout.str())


def test_a_simulated_gpu_changes_nothing(pytester: pytest.Pytester) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: the simulation is not used")
    from pytest_tensorcheck.sync import simulation

    with simulation():  # loads its modules now: pytester forgets those that are first imported in a session of its own
        pass
    pytester.makepyfile(
        HEAD
        + """
    @pytest.fixture(scope="module")
    def model(): return nn.Linear(2, 1).to("cuda")

    def test_reads(model): model(torch.ones(1, 2, device="cuda"))
    def test_fails(model): assert model is None
    def test_writes(model): model.eval()
    def test_fails_too(model): assert model is None
    """
    )
    result = _run(pytester, "--tensorcheck-device=shadow", "--tensorcheck-sync=report", "--tensorcheck-numerics=report")
    result.assert_outcomes(passed=2, failed=2)
    said = [line for line in result.outlines if "was changed by" in line]
    assert [line.partition("::")[2].partition(" ")[0] for line in said] == ["test_writes"]


def test_global_state_that_a_wider_fixture_keeps_set_for_others_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        HEAD
        + """
    @pytest.fixture(scope="module")
    def double():
        torch.set_default_dtype(torch.float64)
        yield
        torch.set_default_dtype(torch.float32)

    @pytest.fixture(scope="class")
    def printing():
        np.set_printoptions(precision=3)
        yield
        np.set_printoptions(precision=8)

    def test_before(): assert torch.ones(1) is None
    def test_first(double): pass
    def test_second(double): assert torch.ones(1) is None
    def test_believes(): assert torch.ones(1).dtype == torch.float32
    class TestPrinting:
        def test_asks(self, printing): pass
        def test_passes(self): pass
    def test_after(): assert torch.ones(1) is None
    """
    )
    result = _run(pytester)
    result.assert_outcomes(passed=3, failed=4)
    said = [line for line in result.outlines if "keeps set" in line]
    first = "test_global_state_that_a_wider_fixture_keeps_set_for_others_is_named.py::test_first"
    line = (
        f"the module fixture double, which this test does not ask for and {first} does, keeps set: torch default dtype: "
        "torch.float32 → torch.float64; alone, this test starts without that"
    )
    assert said == [line, line]
    assert [_node_ids(command) for command in _commands(result)] == [
        ["test_before"],
        ["test_second"],
        ["test_first", "test_believes"],
        ["test_first", "test_after"],
    ]
    command = _commands(result)[2]
    _run(pytester, *command[command.index("pytest") + 1 :]).assert_outcomes(passed=1, failed=1)
