"""How many planted gradient errors are found: ours beside torch.autograd.gradcheck's fast and slow mode.

    python benchmarks/gradcheck_planted.py [--sizes 10 1000 100000] [--no-slow] [--out RESULT.md]

Thirty maps of a k x k tensor: twenty autograd Functions, and ten modules whose parameter the tensor is. Into the backward
of each one error at a time is planted: one element times 2, 1.1 or 1.01, a sign, a factor, a transpose, a missing term, a
mean over the rows in place of their sum, an off-by-one shift. Also each without an error: what is then reported is a
false alarm. Slow mode runs where its Jacobian has at most 1.1 million entries (not at 100,000: 80 GB for most maps).
"""

from __future__ import annotations

import argparse
import datetime
import math
import pathlib
import platform
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from pytest_tensorcheck.gradients import check_gradients

Tensor = torch.Tensor


def _fixed(*shape: int) -> Tensor:
    """Constants of the maps: the same for every call with the same shape."""
    generator = torch.Generator().manual_seed(math.prod(shape) + len(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _rows(x: Tensor) -> int:
    return min(4, x.shape[0])


def _attention(x: Tensor) -> Tensor:
    q = x[: _rows(x)]
    return torch.softmax(q @ x.T / math.sqrt(x.shape[1]), -1) @ x


def _gated(x: Tensor) -> Tensor:
    h = _fixed(_rows(x), x.shape[0])
    z = torch.sigmoid(h @ x)
    return z * torch.tanh(h @ x.T) + (1 - z) * h


def _conv2d(x: Tensor) -> Tensor:
    return F.conv2d(x[None, None], _fixed(2, 1, 3, 3), padding=1)


# Name -> a differentiable map of one k x k tensor.
MAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "sin": torch.sin,
    "exp": lambda x: torch.exp(x / 2),
    "square": lambda x: x**2,
    "cube plus linear": lambda x: x**3 + 2 * x,
    "reciprocal": lambda x: 1 / (2 + x**2),
    "scale by w": lambda x: x * _fixed(*x.shape),
    "add bias row": lambda x: (x + _fixed(1, x.shape[1])).tanh(),
    "matmul": lambda x: _fixed(_rows(x), x.shape[0]) @ x,
    "linear": lambda x: F.linear(_fixed(_rows(x), x.shape[1]), x, _fixed(x.shape[0])),
    "gram": lambda x: x.T @ x[:, :3],
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "cross entropy": lambda x: F.cross_entropy(x, torch.arange(x.shape[0])),
    "layer norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "batch norm": lambda x: F.batch_norm(x, None, None, training=True),
    "gelu": F.gelu,
    "relu": F.relu,
    "tanh mlp": lambda x: torch.tanh(_fixed(_rows(x), x.shape[0]) @ x) @ _fixed(x.shape[1], 2),
    "conv1d": lambda x: F.conv1d(x[None], _fixed(2, x.shape[0], 3), padding=1),
    "conv2d": _conv2d,
    "mse": lambda x: F.mse_loss(x, _fixed(*x.shape)),
    "logsumexp": lambda x: torch.logsumexp(x, 0),
    "cumsum": lambda x: torch.cumsum(x, -1) * 0.5,
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, torch.sigmoid(_fixed(*x.shape))),
    "attention": _attention,
    "gather": lambda x: x[torch.arange(x.shape[0]).flip(0)] * _fixed(*x.shape),
    "outer": lambda x: x[:, :2, None] * _fixed(x.shape[0], 1, 3) + x.sum(-1)[:, None, None],
    "normalise": lambda x: x / x.norm(dim=-1, keepdim=True),
    "gated cell": _gated,
    "variance": lambda x: x.var(0),
}


class Planted(torch.autograd.Function):
    """A map whose backward is right but for what `corrupt` does to the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, function: Callable[[Tensor], Tensor], corrupt: Callable[..., Tensor]) -> Tensor:
        ctx.save_for_backward(x)
        ctx.function, ctx.corrupt = function, corrupt
        return function(x.detach())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        return ctx.corrupt(lambda cotangent: _vjp(ctx.function, x, cotangent), grad), None, None


def _vjp(function: Callable[[Tensor], Tensor], x: Tensor, cotangent: Tensor) -> Tensor:
    with torch.enable_grad():
        live = x.detach().requires_grad_(True)
        return torch.autograd.grad(function(live), live, cotangent)[0]


# These are checked as modules, with the planted tensor as their parameter.
MODULES = {
    "linear",
    "layer norm",
    "batch norm",
    "tanh mlp",
    "conv1d",
    "conv2d",
    "attention",
    "gated cell",
    "scale by w",
    "add bias row",
}


class Layer(torch.nn.Module):
    """A module with the k x k tensor as `weight`; its input, a single number, scales the result."""

    def __init__(self, weight: Tensor, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight.detach().clone())
        self.function = function

    def forward(self, gain: Tensor) -> Tensor:
        return gain * self.function(self.weight)


class Plant(NamedTuple):
    kind: str
    corrupt: Callable[..., Tensor]
    index: int | None = None


def _element(factor: float, index: int) -> Callable[..., Tensor]:
    def corrupt(vjp: Callable[[Tensor], Tensor], grad: Tensor) -> Tensor:
        made = vjp(grad).clone()
        made.view(-1)[index] *= factor
        return made

    return corrupt


def _missing(vjp: Callable[[Tensor], Tensor], grad: Tensor) -> Tensor:
    if grad.dim() == 0:
        return torch.zeros_like(vjp(grad))
    kept = grad.clone()
    kept[-1] = 0
    return vjp(kept)


ELEMENTS = {"one element x2": 2.0, "one element x1.1": 1.1, "one element x1.01": 1.01}
STRUCTURED: dict[str, Callable[..., Tensor]] = {
    "sign": lambda vjp, grad: -vjp(grad),
    "factor 2": lambda vjp, grad: 2 * vjp(grad),
    "transpose": lambda vjp, grad: vjp(grad).T.contiguous(),
    "missing term": _missing,
    "mean for sum": lambda vjp, grad: vjp(grad).mean(0, keepdim=True).expand_as(vjp(grad)).contiguous(),
    "off by one": lambda vjp, grad: vjp(grad).roll(1, -1),
}
NONE = "no error"
KINDS = (NONE, *ELEMENTS, *STRUCTURED)


def plant(kind: str, name: str, x: Tensor, seed: int) -> Plant:
    """The corruption; a single element is drawn from those whose gradient is not zero."""
    if kind in ELEMENTS:
        generator = torch.Generator().manual_seed(seed)
        output = MAPS[name](x)
        gradient = _vjp(MAPS[name], x, torch.randn(output.shape, generator=generator, dtype=x.dtype))
        places = (gradient.abs() > 1e-12 * gradient.abs().max()).view(-1).nonzero().flatten()
        index = int(places[torch.randint(len(places), (), generator=generator)])
        return Plant(kind, _element(ELEMENTS[kind], index), index)
    return Plant(kind, STRUCTURED.get(kind, lambda vjp, grad: vjp(grad)))


def trial(name: str, kind: str, size: int, seed: int = 0) -> tuple[Callable[[Tensor], Tensor], Tensor, int | None]:
    """(function with the planted error, its input of about `size` elements, the flat index of a single element)."""
    side = max(4, round(math.sqrt(size)))
    x = torch.randn(side, side, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    planted = plant(kind, name, x, seed)

    def function(x: Tensor) -> Tensor:
        out: Tensor = Planted.apply(x, MAPS[name], planted.corrupt)
        return out

    return function, x.requires_grad_(True), planted.index


class Subject(NamedTuple):
    """What is checked: ours gets `subject` and `inputs`, torch's gradcheck a function of tensors."""

    subject: Any
    inputs: tuple[Tensor, ...]
    tensor: str  # its name in a report
    function: Callable[..., Any]
    tensors: tuple[Tensor, ...]


def as_subject(name: str, function: Callable[[Tensor], Tensor], x: Tensor) -> Subject:
    if name not in MODULES:
        return Subject(function, (x,), "x", function, (x,))
    layer = Layer(x, function)
    gain = torch.tensor(1.3, dtype=x.dtype).requires_grad_()

    def with_parameter(gain: Tensor, weight: Tensor) -> Any:
        return torch.func.functional_call(layer, {"weight": weight}, (gain,))

    return Subject(layer, (gain,), "weight", with_parameter, (gain, x))


def torch_fails(subject: Subject, fast: bool) -> bool:
    # A failing fast mode runs slow mode for its message: at 100,000 elements a Jacobian of 80 GB. Only here, its
    # private function (torch 2.13) is replaced, so that the time and the verdict are fast mode's own.
    module = sys.modules["torch.autograd.gradcheck"]
    module._run_slow_mode_and_get_error = lambda *_, **__: ""  # type: ignore[attr-defined]
    try:
        torch.autograd.gradcheck(subject.function, subject.tensors, fast_mode=fast)
    except Exception:
        return True
    return False


def row(size: int, kind: str, with_slow: bool) -> dict[str, Any]:
    """What is found of one error at one size, over all maps. Times are CPU time."""
    found = {"ours": 0, "fast": 0, "slow": 0}
    spent = {"ours": 0.0, "fast": 0.0, "slow": 0.0}
    located = inconclusive = slow_runs = 0
    missed = []
    for name in MAPS:
        function, x, index = trial(name, kind, size)
        case = as_subject(name, function, x)
        begin = time.process_time()
        report = check_gradients(case.subject, case.inputs)
        spent["ours"] += time.process_time() - begin
        found["ours"] += report.verdict.value == "failed"
        inconclusive += report.verdict.value == "inconclusive"
        if report.verdict.value != "failed":
            missed.append(name)
        if index is not None and report.elements:
            line, column = divmod(index, x.shape[1])
            located += report.elements[0].name == f"{case.tensor}[{line}, {column}]"
        begin = time.process_time()
        found["fast"] += torch_fails(case, True)
        spent["fast"] += time.process_time() - begin
        if with_slow and size <= 1000 and x.numel() * function(x).numel() <= 1_100_000:
            begin = time.process_time()
            found["slow"] += torch_fails(case, False)
            spent["slow"] += time.process_time() - begin
            slow_runs += 1
    runs = {"ours": len(MAPS), "fast": len(MAPS), "slow": slow_runs}
    return {
        "n": size,
        "error": kind,
        "ours": f"{found['ours']} of {len(MAPS)}",
        "located": str(located) if kind in ELEMENTS else "",
        "fast mode": f"{found['fast']} of {len(MAPS)}",
        "slow mode": f"{found['slow']} of {slow_runs}" if slow_runs else "cannot run",
        "inconclusive": inconclusive,
        "missed": "" if kind == NONE else ", ".join(missed),
        "ms each (ours, fast, slow)": ", ".join(f"{1000 * spent[k] / runs[k]:.0f}" if runs[k] else "-" for k in spent),
    }


def rendered(rows: list[dict[str, Any]]) -> str:
    """The rows as a markdown table."""
    out = [
        "# Planted gradient errors: how many are found",
        "",
        f"`{' '.join(['python', 'benchmarks/gradcheck_planted.py', *sys.argv[1:]])}`, {datetime.date.today()}, "
        f"torch {torch.__version__}, Python {platform.python_version()}, one thread.",
        "",
        f"{len(MAPS)} maps of n elements, {len(MODULES)} of them modules with the tensor as their parameter, the others "
        "autograd Functions. `located`: the report's first element is the planted one. In the rows `no error` every "
        "finding is a false alarm. Slow mode cannot run where its Jacobian is too large: at n = 100,000, and at 1,000 for "
        "the maps with more than a thousand outputs.",
        "",
        "| " + " | ".join(rows[0]) + " |",
        "|" + "---|" * len(rows[0]),
        *("| " + " | ".join(str(value) for value in line.values()) + " |" for line in rows),
    ]
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1000, 100_000])
    parser.add_argument("--no-slow", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    for size in options.sizes:
        for kind in KINDS:
            rows.append(row(size, kind, not options.no_slow))
            print(rows[-1], flush=True)
            if options.out:
                options.out.write_text(rendered(rows))


if __name__ == "__main__":
    main()
