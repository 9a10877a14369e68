from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import DirectForwardHazard
from tensorlint.rules.rule import Example, Rule, with_article

if TYPE_CHECKING:
    import libcst as cst

_NET = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

"""


class DirectForward(Rule[DirectForwardHazard]):
    """Calling a module runs more than its `forward`: forward, pre-forward and backward hooks, `module.compile()`,
    the weights of `weight_norm` and `prune`, quantisation observers, profiler attribution, and the gathering of
    sharded parameters under FSDP. `module.forward(x)` skips all of it, silently, until FSDP raises or a pruned
    weight is back.

    The rule speaks only where the receiver is known to be an `nn.Module`: by what it is made from, by its annotation, or
    because it is used as only a module is (`model.eval()` and `model.parameters()`). It does not speak of `super().forward(x)`,
    `Base.forward(self, x)`, a class's own `__call__`, `torch.autograd.Function`, scripted or exported methods, or of
    robots, cursors and e-mails that also go forward. Nor where the call would be wrong: in a hook, which the call would
    run again without end, in a method that `forward` itself comes through, while `__init__` makes the module or `__repr__`
    and `extra_repr` print it, beside the same call of the module, with which it is compared, in a file that replaces
    `nn.Module.__call__`, and where a base that stands before `nn.Module` may have a `__call__`.
    """

    code = "TSR301"
    name = "direct-forward"
    summary = "`module.forward(x)` where `module(x)` is meant"
    hazard = DirectForwardHazard
    reads_node = False

    flagged = (
        Example(
            "import torch\nfrom torch import nn\n\nmodel = nn.Linear(4, 2)\ny = model.forward(torch.randn(1, 4))\n",
            fixed="import torch\nfrom torch import nn\n\nmodel = nn.Linear(4, 2)\ny = model(torch.randn(1, 4))\n",
        ),
        Example(_NET + "\ny = Net().forward(torch.randn(1, 4))\n"),
        Example(
            _NET
            + "    def generate(self, x):\n        return self.forward(x)\n\n\ny = Net().generate(torch.randn(1, 4))\n"
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Head(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.proj = nn.Linear(4, 2)\n\n    def forward(self, x):\n"
            "        return self.proj.forward(x)\n\n\ny = Head()(torch.randn(1, 4))\n",
            note="An attribute that `__init__` makes a module.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\ndef run(model: nn.Module, x):\n    return model.forward(x)\n\n\n"
            "y = run(nn.Identity(), torch.ones(1))\n",
            note="A parameter that is annotated as a module.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\nnet = nn.Sequential(nn.Linear(4, 8), nn.ReLU())\n"
            "y = net.forward(torch.randn(1, 4))\n"
        ),
        Example(
            "import torch\nfrom torch import nn\n\nlayers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])\n"
            "x = torch.randn(1, 4)\nfor layer in layers:\n    x = layer.forward(x)\n"
        ),
        Example(_NET + "\nnet = Net()\ninputs = {'x': torch.randn(1, 4)}\ny = net.forward(**inputs)\n"),
        Example(
            _NET + "\n\nclass Trainer:\n    def __init__(self):\n        self.model = Net()\n\n    def step(self, x):\n"
            "        return self.model.forward(x)\n\n\ny = Trainer().step(torch.randn(1, 4))\n"
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Adapter:\n    def __init__(self, model):\n"
            "        self.run = model.forward\n\n    def __call__(self, x):\n        return self.run(x)\n\n\n"
            "y = Adapter(nn.Linear(4, 4))(torch.randn(1, 4))\n",
            note="A bound forward that is kept and called elsewhere.",
        ),
        Example(
            "import torch\nimport torch.nn as nn\n\nloss = nn.MSELoss()\nvalue = loss.forward(torch.ones(2), torch.ones(2))\n"
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Wrapper(nn.Module):\n    def __init__(self, module: nn.Linear):\n"
            "        super().__init__()\n        self.module = module\n\n    def forward(self, x):\n"
            "        return self.module.forward(x)\n\n\ny = Wrapper(nn.Linear(4, 2))(torch.randn(1, 4))\n"
        ),
        Example(
            "import torch\nfrom torch import nn\nfrom torch.utils.checkpoint import checkpoint\n\nblock = nn.Linear(4, 4)\n"
            "y = checkpoint(block.forward, torch.randn(1, 4), use_reentrant=False)\n",
            fixed="import torch\nfrom torch import nn\nfrom torch.utils.checkpoint import checkpoint\n\nblock = nn.Linear(4, 4)\n"
            "y = checkpoint(block, torch.randn(1, 4), use_reentrant=False)\n",
            note="A forward that is handed to a function which calls it.",
        ),
        Example(
            "import threading\n\nimport torch\nfrom torch import nn\n\nnet = nn.Linear(4, 2)\n"
            "worker = threading.Thread(target=net.forward, args=(torch.randn(1, 4),))\nworker.start()\n",
            fixed="import threading\n\nimport torch\nfrom torch import nn\n\nnet = nn.Linear(4, 2)\n"
            "worker = threading.Thread(target=net, args=(torch.randn(1, 4),))\nworker.start()\n",
        ),
        Example(
            "import torch\nfrom torch import nn\n\nnet = nn.Linear(4, 2)\ny = type(net).forward(net, torch.randn(1, 4))\n",
            fixed="import torch\nfrom torch import nn\n\nnet = nn.Linear(4, 2)\ny = net(torch.randn(1, 4))\n",
            note="By way of the class.",
        ),
        Example(
            "import torch\n\n\ndef predict(model, batches, device):\n    model.eval()\n    model.to(device)\n"
            "    return [model.forward(batch) for batch in batches]\n",
            note="Nobody says what the model is, but it is used as a module.",
        ),
    )
    silent = (
        Example(_NET + "\ny = Net()(torch.randn(1, 4))\n"),
        Example(
            _NET + "\n\nclass Big(Net):\n    def forward(self, x):\n        return super().forward(x) + 1\n\n\n"
            "y = Big()(torch.randn(1, 4))\n"
        ),
        Example(
            _NET + "\n\nclass Big(Net):\n    def forward(self, x):\n        return Net.forward(self, x) + 1\n\n\n"
            "y = Big()(torch.randn(1, 4))\n"
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Own(nn.Module):\n    def forward(self, x):\n        return x\n\n"
            "    def __call__(self, x):\n        return self.forward(x)\n\n\ny = Own()(torch.ones(1))\n"
        ),
        Example(
            "import torch\n\n\nclass Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
            "        return x * 2\n\n    @staticmethod\n    def backward(ctx, grad):\n        return grad * 2\n\n\n"
            "y = Double.apply(torch.ones(1))\nz = Double.forward(None, torch.ones(1))\n"
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\n@torch.jit.interface\nclass Stem(nn.Module):\n"
            "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n        pass\n\n\n"
            "class Net(nn.Module):\n    def __init__(self, stem):\n        super().__init__()\n        self.stems = stem\n\n"
            "    def forward(self, x):\n        stem: Stem = self.stems['0']\n        return stem.forward(x)\n",
            note="An interface of TorchScript has no other way to be called.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Encoder(nn.Module):\n    def forward(self, x):\n        return x\n\n"
            "    def forward_torchscript(self, x):\n        if torch.jit.is_scripting():\n            return self.forward(x)\n"
            "        return self(x)\n"
        ),
        Example(
            "from torch import nn\n\n\nclass Redirect(nn.Module):\n    def __init__(self, module):\n        super().__init__()\n"
            "        self.module = module\n\n    def forward(self, *args):\n        return self.module(*args)\n\n"
            "    def through(self, method):\n        original = self.module.forward\n\n        def call(*args):\n"
            "            self.module.forward = method\n            try:\n                return self.forward(*args)\n"
            "            finally:\n                self.module.forward = original\n\n        return call\n",
            note="The file patches `forward` itself.",
        ),
        Example(
            "from typing import TYPE_CHECKING\n\nfrom torch import nn\n\nif TYPE_CHECKING:\n    from gpytorch.distributions import Distribution\n\n\n"
            "class GP(nn.Module):\n    def forward(self, x) -> 'Distribution':\n        return x\n\n\n"
            "def prior(model: GP, x):\n    return model.forward(x)\n",
            note="Calling a model of gpytorch gives the posterior; `forward` is the prior.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Scripted(nn.Module):\n    def forward(self, x):\n        return x\n\n"
            "    @torch.jit.export\n    def infer(self, x):\n        return self.forward(x)\n"
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\ndef again(module: nn.Module, args, output):\n"
            "    return output + module.forward(*args)\n\n\nnet = nn.Linear(4, 4)\nnet.register_forward_hook(again)\n"
            "y = net(torch.ones(1, 4))\n",
            note="A hook that calls the module would be called by it again, and so on.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Chunked(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layer = nn.Linear(4, 2)\n\n    def forward(self, x):\n"
            "        return self.in_parts(x) if len(x) > 8 else self.layer(x)\n\n    def in_parts(self, x):\n"
            "        return torch.cat([self.forward(part) for part in x.split(8)])\n\n\ny = Chunked()(torch.ones(20, 4))\n",
            note="On the way through `forward` the hooks have run already.",
        ),
        Example(
            "import torch\nfrom torch import nn\n\n\nclass Weights(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.raw = nn.Parameter(torch.zeros(3))\n        self.count = len(self.forward())\n\n    def forward(self):\n"
            '        return self.raw.softmax(0)\n\n    def extra_repr(self):\n        return f"{self.forward().tolist()}"\n\n\n'
            "print(Weights())\n",
            note="While it is made it has no hooks, and to print it must run none.",
        ),
        Example("class Robot:\n    def forward(self, speed):\n        return speed\n\n\nRobot().forward(0.5)\n"),
        Example(
            "import numpy as np\n\n\nclass Dense:\n    def __init__(self):\n        self.w = np.zeros((2, 2))\n\n"
            "    def forward(self, x):\n        return x @ self.w\n\n\ny = Dense().forward(np.ones((1, 2)))\n"
        ),
        Example(
            "from torch import nn\n\nm = nn.Linear(2, 2)\noriginal = m.forward\n\n\ndef patched(*args, **kwargs):\n"
            "    return original(*args, **kwargs)\n\n\nm.forward = patched\n",
            note="A patch that wraps forward must call it.",
        ),
        Example("import inspect\n\nfrom torch import nn\n\nsignature = inspect.signature(nn.Linear(2, 2).forward)\n"),
        Example(
            'import torch\nfrom torch import nn\n\nfast = torch.compile(nn.Linear(2, 2), backend="eager")\n'
            "y = fast.forward(torch.ones(1, 2))\n",
            note="The forward of what torch.compile gives calls the module, hooks and all.",
        ),
        Example("def draw(turtle):\n    turtle.forward(100)\n"),
        Example(
            "from torch import nn\n\n\nclass Wrap(nn.Module):\n    def __init__(self, module):\n        super().__init__()\n"
            "        self._forward = module.forward\n\n    def forward(self, x):\n        return self._forward(x)\n"
        ),
    )

    def judge(self, hazard: DirectForwardHazard, node: cst.CSTNode) -> str | None:
        if not hazard.called:
            return (
                f"{hazard.receiver} is the bound forward of {with_article(hazard.module)}: calling it skips the module's hooks, "
                f"compile and FSDP — keep the module and call it"
            )
        if hazard.handed:
            return (
                f"{hazard.handed} calls {hazard.receiver}.forward past the hooks, compile and FSDP of "
                f"{hazard.receiver} ({hazard.why}) — hand over {hazard.receiver}"
            )
        if hazard.unbound:
            return (
                f"{hazard.unbound}({hazard.receiver}, …) skips the hooks, compile and FSDP of {hazard.receiver} ({hazard.why}) — "
                f"call {hazard.receiver}(…)"
            )
        return (
            f"{hazard.receiver}.forward(…) skips the hooks, compile and FSDP of {hazard.receiver} ({hazard.why}) — "
            f"call {hazard.receiver}(…)"
        )

    def fix(self, hazard: DirectForwardHazard, node: cst.CSTNode) -> cst.CSTNode | None:
        import libcst as cst

        if hazard.handed:
            return node.value if isinstance(node, cst.Attribute) else None
        if not hazard.called or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        if hazard.unbound:
            module, *rest = node.args
            return node.with_changes(func=module.value, args=rest)
        return node.with_changes(func=node.func.value)
