"""Tensors that are not plain ones, and function modes of a test's own: what torch makes of them, and what they hear of it, is the
same under every check."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the checks watch torch")
pytest.importorskip("numpy", reason="tensors become arrays")

CHECKS = {
    "broadcast": ["--tensorcheck"],
    "numerics": ["--tensorcheck-numerics=report"],
    "sync": ["--tensorcheck-sync=report"],
    "record": ["--tensorcheck-record=log.gz"],
}
PROGRAMS = """
    import copy
    import re
    import warnings
    import numpy as np
    import pytest
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.overrides import TorchFunctionMode
    from torch.utils._pytree import tree_map

    HEARD = []

    class Mine(torch.Tensor): pass

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            HEARD.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Disabled(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner): self.inner = inner

        def __repr__(self): return f"Wrapper({self.inner})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def open_(x): return x.inner if isinstance(x, Wrapper) else x
            out = func(*tree_map(open_, args), **tree_map(open_, kwargs or {}))
            return tree_map(lambda x: Wrapper(x) if isinstance(x, torch.Tensor) else x, out)

    class Duck:
        def __init__(self, inner): self.inner = inner

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            def open_(x): return x.inner if isinstance(x, Duck) else x
            return func(*tree_map(open_, args), **tree_map(open_, kwargs or {}))

    class Listening(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            HEARD.append(getattr(func, "__name__", str(func)))
            return func(*args, **(kwargs or {}))

    def numbers(): return torch.arange(1., 7.).reshape(2, 3)

    KINDS = {
        "tensor": numbers,
        "a mode of the test's own": numbers,
        "parameter": lambda: nn.Parameter(numbers()),
        "subclass": lambda: numbers().as_subclass(Mine),
        "subclass that listens": lambda: numbers().as_subclass(Told),
        "subclass that torch does not ask": lambda: numbers().as_subclass(Disabled),
        "wrapper": lambda: Wrapper(numbers()),
        "no tensor": lambda: Duck(numbers()),
        "sparse": lambda: numbers().to_sparse(),
        "jagged": lambda: torch.nested.nested_tensor([numbers(), numbers()[:1]], layout=torch.jagged),
        "nested": lambda: torch.nested.nested_tensor([numbers(), numbers()[:1]]),
        "meta": lambda: numbers().to("meta"),
        "complex": lambda: torch.complex(numbers(), numbers()).conj(),
        "bool": lambda: numbers() > 3,
        "half": lambda: numbers().half(),
        "empty": lambda: numbers()[:0],
        "number": lambda: numbers().sum(),
    }

    def leaf(x): return x.detach().clone().requires_grad_()
    def after_backward(x): x.pow(2).sum().backward(); return x.grad
    def told(x): return (x.is_leaf, x.requires_grad, type(x).__name__, type(x.grad_fn).__name__)
    def written(x, write): x = x.detach().clone(); write(x); return x
    def registered(value): module = nn.Module(); module.it = value; return list(module.state_dict())

    WAYS = {
        "x + 1": lambda x: x + 1,
        "x * row": lambda x: x * torch.ones(3),
        "x[0]": lambda x: x[0],
        "x[x > 3]": lambda x: x[x > 3],
        "backward": lambda x: after_backward(leaf(x)),
        "grad": lambda x: torch.autograd.grad((y := leaf(x)).sum(), y),
        "retain_grad": lambda x: ((y := leaf(x) * 2).retain_grad(), y.sum().backward(), y.grad),
        "torch.tensor(x)": torch.tensor,
        "torch.as_tensor(x)": torch.as_tensor,
        "torch.as_tensor(x, device=)": lambda x: torch.as_tensor(x, device="cpu") is x,
        "x.new_tensor": lambda x: x.new_tensor([1., 2.]),
        "type_as x": lambda x: torch.ones(2).type_as(x),
        "torch.vmap": lambda x: torch.vmap(lambda row: row.sum())(x),
        "torch.func.grad": lambda x: torch.func.grad(lambda y: (y * y).sum())(x),
        "torch.equal": lambda x: torch.equal(x, x),
        "repr": lambda x: repr(x.detach()),
        "format": lambda x: f"{x.sum():.2f}",
        "x.tolist()": lambda x: x.tolist(),
        "x.sum().item()": lambda x: x.sum().item(),
        "array": lambda x: np.asarray(x.detach()),
        "deepcopy": lambda x: copy.deepcopy(x.detach()),
        "x.device": lambda x: x.device,
        "x.type()": lambda x: x.type(),
        "mse_loss": lambda x: F.mse_loss(x, x),
        "layer_norm": lambda x: F.layer_norm(x, (3,)),
        "Linear": lambda x: (torch.manual_seed(0), nn.Linear(3, 2)(x))[1],
        "SGD": lambda x: (p := nn.Parameter(x.detach()), p.sum().backward(), torch.optim.SGD([p], 0.1).step())[0],
        "x.cpu() is x": lambda x: (x.cpu() is x, x.to("cpu") is x, x.to("cpu", torch.float32) is x),
        "a leaf's cpu()": lambda x: (told(leaf(x).cpu()), told(leaf(x).to("cpu")), told((leaf(x) * 2).cpu())),
        "a leaf's cpu(), its gradient": lambda x: (after_backward(leaf(x).cpu()), after_backward(leaf(x).to("cpu"))),
        "a parameter's cpu()": lambda x: registered(nn.Parameter(x.detach()).to("cpu")),
        "write into cpu()": lambda x: (written(x, lambda y: y.cpu().zero_()), written(x, lambda y: y.to("cpu").add_(1))),
        "write into numpy()": lambda x: written(x, lambda y: y.cpu().numpy().fill(5)),
        "to other": lambda x: x.to(torch.ones(1, dtype=torch.float64)),
        "share memory": lambda x: x.detach().cpu().untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
    }

    def shown(value):
        if isinstance(value, torch.Tensor):
            with torch._C.DisableTorchFunction():
                try:
                    held = value.detach().tolist()
                except Exception:
                    held = "?"
                return type(value).__name__, str(value.dtype), value.requires_grad, held
        if isinstance(value, (tuple, list)):
            return [shown(one) for one in value]
        return shown(value.inner) if isinstance(value, Duck) else repr(value)

    @pytest.mark.parametrize("kind", KINDS)
    def test_kind(kind):
        warnings.simplefilter("ignore")
        listening = kind == "a mode of the test's own"
        lines = []
        for name, way in WAYS.items():
            x = KINDS[kind]()
            HEARD.clear()
            try:
                if listening:
                    with Listening():
                        made = way(x)
                else:
                    made = way(x)
            except Exception as error:
                made = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            heard = list(HEARD)
            text = re.sub(r"j\\d+|0x\\w+", "…", str(shown(made)))  # names of sizes and addresses
            lines.append(f"\\nMADE {kind}: {name}: {text}, heard {heard}")
        print(*lines)
"""


@pytest.fixture(scope="module")
def plain_lines():
    return {}


@pytest.mark.parametrize("check", CHECKS)
def test_what_torch_makes_of_tensors_of_every_kind_is_what_it_makes_without_the_check(pytester, plain_lines, check):
    pytester.makepyfile(PROGRAMS)

    def lines(*options):
        result = pytester.runpytest_inprocess("-s", "-q", "-p", "no:randomly", *options)
        result.assert_outcomes(passed=17)
        return [line for line in result.stdout.lines if line.startswith("MADE")]

    if not plain_lines:
        plain_lines.update(dict.fromkeys(lines()))
    assert len(plain_lines) == 17 * 35
    assert [line for line in lines(*CHECKS[check]) if line not in plain_lines] == []
