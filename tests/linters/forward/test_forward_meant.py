"""TSR301 where `forward` is rightly called by its name: in a hook, on the way through `forward` itself, while the module is
made or printed, beside the same call; torch says what the call would do there. What looks like it is reported."""

from __future__ import annotations

import pytest
from forward_programs import forwards, programs
from meant_programs import HEAD, X, lines, run

# Functions that torch calls because the module was called.
HOOKS = {
    "a function": "def again(module: nn.Module, args, output):\n    return output + module.forward(*args)\n\n\nnet = Net()\n"
    "net.register_forward_hook(again)",
    "the module by its own name": "net = Net()\n\n\ndef again(module, args, output):\n    return output + net.forward(*args)\n\n\n"
    "net.register_forward_hook(again)",
    "a lambda": "net = Net()\nnet.register_forward_hook(lambda module, args, output: net.forward(*args))",
    "a keyword": "def again(module: Net, args, output):\n    return module.forward(*args)\n\n\nnet = Net()\n"
    "net.register_forward_hook(hook=again, prepend=True)",
    "before": "def first(module: Net, args):\n    return module.forward(*args)\n\n\nnet = Net()\nnet.register_forward_pre_hook(first)",
    "a partial": "def again(name, module: Net, args, output):\n    return module.forward(*args)\n\n\nnet = Net()\n"
    'net.register_forward_hook(functools.partial(again, "net"))',
    "made by a function": "def make(name):\n    def inner(module: Net, args, output):\n        return module.forward(*args)\n\n"
    '    return inner\n\n\nnet = Net()\nnet.register_forward_hook(make("net"))',
    "of all modules": "def again(module, args, output):\n    if isinstance(module, Net):\n        return module.forward(*args)\n\n\n"
    "handle = nn.modules.module.register_module_forward_hook(again)\nnet = Net()",
    "a method": "class Watch:\n    def __init__(self, net: Net):\n        self.net = net\n        net.register_forward_hook(self.seen)\n\n"
    "    def seen(self, module, args, output):\n        self.again = self.net.forward(*args)\n\n\nnet = Net()\nWatch(net)",
    "a static method": "class Watch:\n    @staticmethod\n    def seen(module: Net, args):\n        return module.forward(*args)\n\n\n"
    "net = Net()\nnet.register_forward_pre_hook(Watch.seen)",
    "its own method": "class Twice(Net):\n    def __init__(self):\n        super().__init__()\n        self.register_forward_hook(self.again)\n\n"
    "    def again(self, module, args, output):\n        return output + self.forward(*args)\n\n\nnet = Twice()",
    "registered elsewhere": "def again_hook(module: Net, args, output):\n    return module.forward(*args)\n\n\nnet = Net()\n"
    'getattr(net, "register_" + "forward_hook")(again_hook)',
    "kept in a name": "net = Net()\n\n\ndef again(module, args, output):\n    plain = net.forward\n    return plain(*args)\n\n\n"
    "net.register_forward_hook(again)",
}
# Ways that lead from the forward of a module to its method `part`, which calls forward.
WAYS = {
    "calls it": "        return self.part(x)",
    "by another method": "        return self.between(x)",
    "in a checkpoint": "        return checkpoint(self.part, x, use_reentrant=False)",
    "for each": "        return torch.cat([*map(self.part, x.split(1))])",
    "from a dictionary": '        return self.modes["part"](x)',
    "a dictionary's get": '        return self.modes.get("part", self.layer)(x)',
    "by a computed name": "        return getattr(self, mode)(x)",
    "by a part of a name": '        return getattr(self, f"pa{mode[-2:]}")(x)',
    "in a lambda": "        return (lambda given: self.part(given))(x)",
    "in a function within": "        def run(given):\n            return self.part(given)\n\n        return run(x)",
    "under a condition": "        if x.shape[0] > 1:\n            return torch.cat([self.part(row) for row in x.split(1)])",
}
THROUGH = """class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.modes = {{"part": self.part}}
        self.register_forward_hook(count)

    def forward(self, x, mode="part", direct=False):
        if direct:
            return self.layer(x)
{way}

    def between(self, x):
        return self.part(x)

    def part(self, x):
        return {call}


Modes()(torch.ones(2, 4))
"""
# How `part` calls it, and the same by way of the module.
FORWARDS = {
    "by its name": ("self.forward(x, direct=True)", "self(x, direct=True)"),
    "by the class": ("type(self).forward(self, x, direct=True)", "self(x, direct=True)"),
    "handed on": (
        'checkpoint(self.forward, x, "part", True, use_reentrant=False)',
        'checkpoint(self, x, "part", True, use_reentrant=False)',
    ),
    "in a lambda": ("(lambda row: self.forward(row, direct=True))(x)", "(lambda row: self(row, direct=True))(x)"),
}
# In forward itself, not as a statement of its own.
WITHIN = {
    "a function": "        def run(given):\n            return self.forward(given, True)\n\n        return checkpoint(run, x, use_reentrant=False)",
    "a lambda": "        return checkpoint(lambda given: self.forward(given, True), x, use_reentrant=False)",
    "a comprehension": "        return torch.cat([self.forward(row, True) for row in x.split(1)])",
    "a kept name": "        again = self.forward\n        return again(x, True)",
}
WITHIN_FORWARD = """class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_forward_hook(count)

    def forward(self, x, direct=False):
        if direct:
            return self.layer(x)
{way}


Rows()(torch.ones(2, 4))
"""
MADE = {
    "in its initialiser": "        self.width = self.forward(torch.ones(1, 4)).shape[-1]\n",
    "under no_grad": "        with torch.no_grad():\n            self.width = self.forward(torch.ones(1, 4)).shape[-1]\n",
    "by a method": "        self.width = self._width()\n\n    def _width(self):\n        return self.forward(torch.ones(1, 4)).shape[-1]\n",
    "by a method of a method": "        self._build()\n\n    def _build(self):\n        self.width = self._width()\n\n"
    "    def _width(self):\n        return self.forward(torch.ones(1, 4)).shape[-1]\n",
}
PRINTED = ["__repr__", "__str__", "extra_repr", "_repr_html_", "__rich__"]
COMPARED = {
    "in one": "assert torch.equal(net.forward(x), net(x))",
    "the other way round": "torch.testing.assert_close(net(x), net.forward(x))",
    "of a keyword": "assert torch.equal(net(x=x), net.forward(x=x))",
    "in two": "called = net(x)\ndirect = net.forward(x)\nassert torch.equal(called, direct)",
    "in a with": "with torch.no_grad():\n    direct = net.forward(x)\n    called = net(x)",
}


@pytest.mark.parametrize("kind", HOOKS)
def test_a_hook_would_be_called_again_by_the_call(kind: str) -> None:
    code = HEAD + HOOKS[kind] + f"\nnet({X})\n"
    assert lines(code) == []
    run(code)
    called = code.replace("net.forward(*args)", "net(*args)").replace("module.forward(*args)", "module(*args)")
    called = called.replace("self.forward(*args)", "self(*args)").replace("plain = net.forward", "plain = net")
    with pytest.raises(RecursionError):
        run(called)


@pytest.mark.parametrize("call", FORWARDS)
@pytest.mark.parametrize("way", WAYS)
def test_on_the_way_through_forward_the_hooks_run_already(way: str, call: str) -> None:
    direct, by_module = FORWARDS[call]
    code = HEAD + THROUGH.format(way=WAYS[way], call=direct)
    assert lines(code) == []
    assert run(code)["ran"] == ["Modes"]
    assert len(run(code.replace(direct, by_module))["ran"]) > 1  # type: ignore[arg-type]


@pytest.mark.parametrize("call", FORWARDS)
def test_a_method_that_forward_does_not_come_through_skips_them(call: str) -> None:
    way = "        return self.layer(x)"
    code = HEAD + THROUGH.format(way=way, call=FORWARDS[call][0]).replace("Modes()(", "Modes().part(")
    assert len(lines(code)) == 1
    assert run(code)["ran"] == []


@pytest.mark.parametrize("way", WITHIN)
def test_in_forward_itself_too(way: str) -> None:
    code = HEAD + WITHIN_FORWARD.format(way=WITHIN[way])
    assert lines(code) == []
    assert run(code)["ran"] == ["Rows"]
    called = code.replace("self.forward(", "self(").replace("= self.forward", "= self")
    assert len(run(called)["ran"]) > 1  # type: ignore[arg-type]


def test_by_way_of_classes_above_and_below() -> None:
    above = "class Base(nn.Module):\n    def predict(self, x):\n        return self.forward(x, direct=True)\n\n\n"
    below = (
        "class Model(Base):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(4, 4)\n\n"
        "    def forward(self, x, direct=False):\n        return self.layer(x) if direct else {}(x)\n\n\nModel()(torch.ones(2, 4))\n"
    )
    for call in ("self.predict", "super().predict"):
        code = HEAD + above + below.format(call)
        assert lines(code) == []
        run(code)
    # A forward that comes through a method of that name which is another one.
    other = below.format("self.predict").replace(
        "    def forward", "    def predict(self, x):\n        return x\n\n    def forward"
    )
    assert lines(HEAD + above + other) == ["return self.forward(x, direct=True)"]
    # A forward of a class that has nothing to do with it.
    alone = below.format("self.layer")
    beside = "class Beside(nn.Module):\n    def forward(self, x):\n        return self.predict(x)\n\n\n"
    assert lines(HEAD + above + beside + alone) == ["return self.forward(x, direct=True)"]


INITIALISER = """class Sized(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
{made}
    def forward(self, x):
        ran.append(len(self._forward_hooks) + len(self._forward_pre_hooks))
        return self.layer(x)


net = Sized()
"""


@pytest.mark.parametrize("way", MADE)
def test_while_it_is_made_it_has_no_hooks(way: str) -> None:
    code = HEAD + INITIALISER.format(made=MADE[way])
    assert lines(code) == []
    assert run(code)["ran"] == [0]


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (
            "        self.register_forward_hook(count)\n        self.width = self.forward(torch.ones(1, 4)).shape[-1]\n",
            "self.width = self.forward(torch.ones(1, 4)).shape[-1]",
        ),
        ("        self.run = lambda x: self.forward(x)\n        self.run(torch.ones(1, 4))\n", "self.run = lambda x: self.forward(x)"),
        ("        self.layer.forward(torch.ones(1, 4))\n", "self.layer.forward(torch.ones(1, 4))"),
        (
            "        self._width()\n\n    def _width(self):\n        return self.forward(torch.ones(1, 4)).shape[-1]\n\n"
            "    def width(self):\n        return self._width()\n",
            "return self.forward(torch.ones(1, 4)).shape[-1]",
        ),
        (
            "        self.width()\n\n    def width(self):\n        return self.forward(torch.ones(1, 4)).shape[-1]\n",
            "return self.forward(torch.ones(1, 4)).shape[-1]",
        ),
        ("\n    def _width(self):\n        return self.forward(torch.ones(1, 4)).shape[-1]\n", "return self.forward(torch.ones(1, 4)).shape[-1]"),
    ],
)  # fmt: skip
def test_later_or_with_a_hook_it_may_have_some(made: str, line: str) -> None:
    code = HEAD + INITIALISER.format(made=made)
    assert lines(code) == [line]
    run(code)


PRINTS = """class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(3))
        self.register_forward_hook(count)

    def forward(self):
        return self.raw.softmax(0)

    def {name}(self):
        return f"weights={{self.forward().tolist()}}"


net = Weights()
text = net.{name}()
"""


@pytest.mark.parametrize("name", PRINTED)
def test_to_print_a_module_runs_no_hooks(name: str) -> None:
    code = HEAD + PRINTS.format(name=name)
    assert lines(code) == []
    assert run(code)["ran"] == []
    assert run(code.replace("self.forward()", "self()"))["ran"] == ["Weights"]


def test_to_tell_of_it_is_not_to_print_it() -> None:
    assert lines(HEAD + PRINTS.format(name="describe")) == ['return f"weights={self.forward().tolist()}"']


@pytest.mark.parametrize("way", COMPARED)
def test_beside_the_same_call_it_is_compared_with_it(way: str) -> None:
    code = HEAD + f"net = Net()\nx = {X}\n" + COMPARED[way] + "\n"
    assert lines(code) == []
    run(code)


@pytest.mark.parametrize(
    "rest",
    [
        "first = net(y)\nsecond = net.forward(x)",
        "if ran:\n    first = net(x)\nelse:\n    first = net.forward(x)",
        "first = net(x)\nwith torch.no_grad():\n    net.layer.weight.mul_(2)\nsecond = net.forward(x)",
        "first = net(x)\nnet.register_forward_hook(count)\nsecond = net.forward(x)",
        "x = net(x)\nx = net.forward(x)",
        "other = Net()\nfirst = other(x)\nsecond = net.forward(x)",
        "for x in (x, y):\n    net(x)\nfor x in (x, y):\n    net.forward(x)",
        "first = net(x)\nif len(x) > 1:\n    second = net.forward(x)",
    ],
)
def test_beside_another_call_it_is_not(rest: str) -> None:
    code = HEAD + f"net = Net()\nx = {X}\ny = 2 * x\n" + rest + "\n"
    assert len(lines(code)) == 1
    assert "net.forward(x)" in lines(code)[0]
    run(code)


@pytest.mark.parametrize(
    "code",
    [
        # It is called with hooks, it is none.
        "def run_with_hooks(module: Net, x):\n    module.register_forward_hook(count)\n    return module.forward(x)\n\n\n"
        "run_with_hooks(Net(), torch.ones(2, 4))",
        # Of a tensor's gradient.
        "net = Net()\n\n\ndef seen(grad):\n    return grad + net.forward(grad)\n\n\nx = torch.ones(2, 4, requires_grad=True)\n"
        "x.register_hook(seen)\nnet(x).sum().backward()",
        # Another function than the hook.
        "def seen(module: Net, x):\n    return module.forward(x)\n\n\nnet = Net()\nnet.register_forward_hook(count)\n"
        "seen(net, torch.ones(2, 4))",
        # What a hook would be called, with one argument.
        "def hook(module: Net):\n    return module.forward(torch.ones(2, 4))\n\n\nhook(Net())",
    ],
)
def test_what_is_no_hook_skips_them(code: str) -> None:
    assert len(lines(HEAD + code)) == 1
    run(HEAD + code)
    run(HEAD + code.replace(".forward(", "("))


def test_the_programs_of_direct_calls_are_as_they_were() -> None:
    for name in ("first", "second", "third", "fourth", "fifth", "sixth"):
        assert all(forwards(bad) for bad, _ in programs(name).values() if bad is not None)


# A method that the code gets by a name that is not written there; NAME stands for that.
CHOSEN = {
    "in place": "y = getattr(net, NAME)(x)",
    "a name": "fn = getattr(net, NAME)\ny = fn(x)",
    "in a function": "def run(net: Net, x):\n    fn = getattr(net, NAME)\n    return fn(x)\n\n\nrun(net, x)",
    "a function within": "def run(net: Net, x):\n    fn = getattr(net, NAME)\n\n    def again():\n        return fn(x)\n\n    return again()\n\n\n"
    "run(net, x)",
    "with keywords": "fn = functools.partial(getattr(net, NAME), x)\ny = fn()",
    "an attribute": "class Runner:\n    def __init__(self, net: Net):\n        self.fn = getattr(net, NAME)\n\n    def run(self, x):\n"
    "        return self.fn(x)\n\n\nRunner(net).run(x)",
    "each": "for how in [\"embed\", NAME]:\n    y = getattr(net, how)(x)",
}  # fmt: skip
EMBEDS = (
    "class Net(Net):\n    def embed(self, x):\n        return x\n\n\nmethod = [\"embed\", \"forward\"][1]\nnet, x = Net(), torch.ones(2, 4)\n"
)  # fmt: skip


@pytest.mark.parametrize("kind", CHOSEN)
def test_a_method_chosen_by_a_name_may_be_another_one(kind: str) -> None:
    for name in ("method", '"forward"[0:]', 'f"{method}"'):
        code = HEAD + EMBEDS + CHOSEN[kind].replace("NAME", name)
        assert lines(code) == []
        run(code)


@pytest.mark.parametrize("kind", sorted(CHOSEN.keys() - {"each", "with keywords"}))
def test_a_forward_by_its_name_is_one(kind: str) -> None:
    # Beside one that is chosen by a name in another function.
    other = "\n\ndef other(net: Net, x):\n    fn = getattr(net, method)\n    return fn\n"
    assert len(lines(HEAD + EMBEDS + CHOSEN[kind].replace("NAME", '"forward"') + other)) == 1


def test_the_message_speaks_of_the_class_with_its_article() -> None:
    for name, said in {"Net": "a Net", "Encoder": "an Encoder", "UNet": "a UNet", "nn.Linear": "an nn.Linear"}.items():
        own = f"class {name}(nn.Module):\n    def forward(self, x):\n        return x\n\n\n" if "." not in name else ""
        code = f"import torch\nfrom torch import nn\n\n\n{own}net = {name}{'(4, 4)' if '.' in name else '()'}\nfn = net.forward\ny = fn(torch.ones(2, 4))\n"
        (found,) = forwards(code)
        assert found.message.startswith(f"fn is the bound forward of {said}: ")
