"""Forward hooks that replace what a module gives, wherever they are registered: running says what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

AFTER = "lambda module, args, output: output.sum()"
HOOKS = {
    "after": f"self.layer.register_forward_hook({AFTER})",
    "before": "self.layer.register_forward_pre_hook(lambda module, args: (torch.zeros(5, 3),))",
    "by keyword": f"self.layer.register_forward_hook(hook={AFTER})",
    "of the class": f"torch.nn.Module.register_forward_hook(self.layer, {AFTER})",
    "into the dictionary": f"self.layer._forward_hooks[0] = {AFTER}",
    "into the dictionary before": "self.layer._forward_pre_hooks.update({0: lambda module, args: (torch.zeros(5, 3),)})",
    "by name": f"getattr(self.layer, 'register_forward_hook')({AFTER})",
    "of a part": f"self._modules['layer'].register_forward_hook({AFTER})",
    "of a part by name": f"self.get_submodule('layer').register_forward_hook({AFTER})",
    "of any part": f"[m.register_forward_hook({AFTER}) for m in self._modules.values()]",
    "a function of the file": "self.layer.register_forward_hook(summed)",
    "a function that is made": "self.layer.register_forward_hook(make())",
}
PLACES = {
    "a statement": "{hook}",
    "a function within": "def put():\n    {hook}\nput()",
    "a lambda": "put = lambda: {hook}\nput()",
    "a comprehension": "[{hook} for _ in (1,)]",
    "kept": "self.handles = [{hook}]",
    "a condition": "if {hook}:\n    pass",
    "in a function that takes it": "def put(self):\n    {hook}\nput(self)",
    "another name": "other = self\ndef put(self=other):\n    return {hook}\nput()",
    "a function of the file": "put_on(self)",
}
HEAD = "import torch\n\n\ndef summed(module, args, output):\n    return output.sum()\n\n\ndef make():\n    def hook(module, args, output):\n        return output.sum()\n\n    return hook\n\n\n"


def _program(place: str, hook: str, where: str) -> str:
    statement = PLACES[place].format(hook=hook)
    statement = statement.replace("\n", "\n        ")
    helper = f"def put_on(self):\n    {hook}\n\n\n" if "put_on" in statement else ""
    other = "" if where == "__init__" else f"\n    def {where}(self):\n        {statement}\n"
    here = statement if where == "__init__" else ""
    return (
        f"{HEAD}{helper}class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.layer = torch.nn.Linear(3, 4)\n        {here}\n{other}\n"
        "    def forward(self, x):\n        z = self.layer(x)\n        return z\n\n\n"
        f"net = Net()\n{'' if here else f'net.{where}()'}\nw = net(torch.zeros(2, 3))\nv = net.layer(torch.zeros(2, 3))\n"
    )


@pytest.mark.parametrize("where", ["__init__", "setup"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("hook", HOOKS)
def test_nothing_is_said_of_what_a_hook_replaces(hook: str, place: str, where: str, tmp_path: Path) -> None:
    if place in ("a lambda", "a comprehension", "kept", "a condition", "another name") and " = " in HOOKS[hook]:
        place = "a function within"  # it is no expression
    assert wrong_claims(tmp_path / "program.py", _program(place, HOOKS[hook], where)) == {}


@pytest.mark.parametrize(
    "hook",
    [
        "lambda module, args, output: seen.append(output)",
        "look",
        "print",
        "hook=look",
    ],
)
@pytest.mark.parametrize("place", PLACES)
def test_a_hook_that_gives_nothing_leaves_the_result_known(hook: str, place: str, tmp_path: Path) -> None:
    program = _program(place, f"self.layer.register_forward_hook({hook})", "__init__")
    program = program.replace(
        "import torch\n", "import torch\n\nseen = []\n\n\ndef look(*args):\n    seen.append(args)\n", 1
    )
    assert wrong_claims(tmp_path / "program.py", program) == {}
    shapes = {row.name: row.shape for row in analyse(ast.parse(program), program).bindings}
    if hook != "print":  # written nowhere in the file
        assert shapes["w"] == shapes["v"] == (2, 4)
