"""`opcheck`: does a custom operator keep its promises to autograd, FakeTensor and torch.compile?

Around `torch.library.opcheck`, which stops at the first broken promise: here all four tests run on all samples, and the
report says in words what each failure means.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tensorcheck import frameworks
from pytest_tensorcheck.gradients.torch_log import kept_log
from pytest_tensorcheck.gradients.verdicts import GradcheckError, OpcheckError
from pytest_tensorcheck.user_line import UserLine, is_user_file, user_line

# torch's name of the test -> what it means, what to do when it fails. As of torch 2.6 to 2.13.
MEANINGS: dict[str, tuple[str, str]] = {
    "test_schema": (
        "the implementation does what the schema says (mutation, aliasing)",
        "name what is modified in mutates_args=, and return new tensors, never an input or a view of one",
    ),
    "test_autograd_registration": (
        "the autograd formula is registered where torch expects it",
        "register it by torch.library.register_autograd, not inside the implementation",
    ),
    "test_faketensor": (
        "the fake implementation gives the same shapes, strides and dtypes",
        "add or correct @op.register_fake: torch.compile and export need it",
    ),
    "test_aot_dispatch_dynamic": (
        "eager and compiled results and gradients agree, with dynamic shapes",
        "derive all shapes in the fake implementation from its inputs, and use only operators in the backward",
    ),
}
GRADIENTS = "gradients"
SUCCESS = "passed"


@dataclass(slots=True)
class OpcheckReport:
    """`results`: for each sample, its description and what each test said: "passed" or the error's first line.

    `logged`: what torch logged meanwhile; shown where a test fails.
    """

    operator: str
    called_at: str = ""
    defined_at: str = ""
    results: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return all(result == SUCCESS for _, sample in self.results for result in sample.values())

    def __str__(self) -> str:
        failed: dict[str, list[tuple[str, str]]] = {}
        names: dict[str, None] = {}
        for sample, results in self.results:
            for name, result in results.items():
                names[name] = None
                if result != SUCCESS:
                    failed.setdefault(name, []).append((sample, result))
        verdict = "keeps all its promises" if not failed else f"fails {len(failed)} of {len(names)} tests"
        place = f" ({self.defined_at})" if self.defined_at else ""
        lines = [f"opcheck: {self.operator}{place} {verdict} on {len(self.results)} sample(s)"]
        for name in names:
            meaning, remedy = MEANINGS.get(
                name, ("the gradients agree with finite differences", "correct the backward")
            )
            if name not in failed:
                lines.append(f"  passed  {name}: {meaning}")
                continue
            lines.append(f"  FAILED  {name}: not so that {meaning}")
            for sample, result in failed[name][:3]:
                lines.append(f"          with {sample}:")
                lines += [f"            {line}" for line in result.splitlines()]
            if len(failed[name]) > 3:
                lines.append(f"          and with {len(failed[name]) - 3} more sample(s)")
            lines.append(f"          what to do: {remedy}")
        if failed and self.logged:
            lines.append("  torch logged meanwhile:")
            lines += [f"    {line}" for logged in self.logged[:5] for line in logged.splitlines()[:6]]
            if len(self.logged) > 5:
                lines.append(f"    and {len(self.logged) - 5} more")
        if self.called_at:
            lines.append(f"  called at {self.called_at}")
        return "\n".join(lines)


def opcheck(
    op: Any,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None,
    device: Any = None,
    requires_grad: bool | None = None,
    test_utils: str | Sequence[str] | None = None,
    gradients: bool = False,
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
) -> dict[str, str]:
    """Run all of torch's tests for a custom operator, on one sample or on many, and report all of them.

    op: what `torch.library.custom_op` returned, or an operator from `torch.ops`.
    args, kwargs: one sample. With `shapes` or `dtypes` they are a template: every floating-point tensor in args is
        replaced by a random one of each shape and dtype. Without args the tensors are made from the operator's schema.
    shapes: list of shapes for all tensor arguments alike, `[(3,), (2, 3)]`, or of lists with one shape per tensor.
    dtypes: list of dtypes. device, requires_grad: of the made tensors.
    gradients: also `gradcheck` (values of the gradients, which torch's tests do not look at), on the first sample.

    Returns {test: "passed" or the error} (of the first sample that fails it); raises OpcheckError (an AssertionError)
    unless `raise_exception=False`.
    """
    __tracebackhide__ = True
    report = check_operator(
        op,
        args,
        kwargs,
        shapes=shapes,
        dtypes=dtypes,
        device=device,
        requires_grad=requires_grad,
        test_utils=test_utils,
        gradients=gradients,
        seed=seed,
        atol=atol,
        rtol=rtol,
    )
    if not report and raise_exception:
        raise OpcheckError(str(report))
    combined: dict[str, str] = {}
    for _, results in report.results:
        for name, result in results.items():
            if combined.get(name, SUCCESS) == SUCCESS:
                combined[name] = result
    return combined


def check_operator(
    op: Any,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None,
    device: Any = None,
    requires_grad: bool | None = None,
    test_utils: str | Sequence[str] | None = None,
    gradients: bool = False,
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
) -> OpcheckReport:
    """What `opcheck` does, without raising: every test's result on every sample."""
    __tracebackhide__ = True
    torch = frameworks.require("torch", "opcheck")
    where = user_line(sys._getframe(1))
    name, defined_at = _describe(torch, op)
    report = OpcheckReport(name, str(where) if where else "", defined_at)
    tests = [test_utils] if isinstance(test_utils, str) else list(test_utils or MEANINGS)
    unknown = [test for test in tests if test not in MEANINGS]
    if unknown:
        raise ValueError(f"opcheck: no test called {unknown[0]!r}; choose from {', '.join(MEANINGS)}")
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ValueError(f"opcheck: kwargs={kwargs!r}: give a dict of the call's keyword arguments")
    shapes, dtypes = _as_shapes(shapes), _as_dtypes(torch, dtypes)
    generator = torch.Generator("cpu").manual_seed(seed)
    made = list(_samples(torch, op, args, kwargs, shapes, dtypes, device, requires_grad, generator))
    with kept_log() as report.logged:
        for index, (sample_args, sample_kwargs) in enumerate(made):
            results = {test: _one(torch, op, sample_args, sample_kwargs, test, atol, rtol) for test in tests}
            if gradients and index == 0:
                results[GRADIENTS] = _gradients(op, sample_args, sample_kwargs, seed)
            report.results.append((_shown(torch, sample_args, sample_kwargs), results))
    return report


def _one(
    torch: Any,
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    test: str,
    atol: float | None,
    rtol: float | None,
) -> str:
    """Each test runs by itself on its own copies: an error that torch raises itself stops only this one."""
    try:
        with torch.random.fork_rng(devices=[]):
            results = torch.library.opcheck(
                op,
                _copies(torch, args),
                _copies(torch, kwargs),
                test_utils=(test,),
                raise_exception=False,
                atol=atol,
                rtol=rtol,
            )
    except Exception as error:
        return _shortened(error)
    result = results.get(test, "SUCCESS")
    return SUCCESS if isinstance(result, str) and result == "SUCCESS" else _shortened(result)


def _copies(torch: Any, values: Any) -> Any:
    """Tensors with memory of their own, so that an operator that modifies one spoils no later test."""
    from pytest_tensorcheck.gradients import trees

    def fresh(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().clone().requires_grad_(value.requires_grad)
        return value

    return trees.rebuild(values, fresh)


def _shortened(error: Any) -> str:
    """The sentences of an error of torch's test, without its advice on how to reproduce it."""
    text = str(error).strip()
    cause = error.__cause__ if isinstance(error, BaseException) else None
    if cause is not None and str(cause).strip() and str(cause).strip().splitlines()[0] not in text:
        text = f"{text}\n{type(cause).__name__}: {str(cause).strip()}"
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:6]) or type(error).__name__


def _gradients(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int) -> str:
    from pytest_tensorcheck.gradients.check import gradcheck

    try:
        gradcheck(op, args, kwargs=kwargs, seed=seed, on_inconclusive="pass")
    except (GradcheckError, ValueError) as error:
        return str(error)
    return SUCCESS


def _describe(torch: Any, op: Any) -> tuple[str, str]:
    __tracebackhide__ = True
    name = getattr(op, "_qualname", None) or getattr(op, "_name", None) or str(op)
    function = getattr(op, "_init_fn", None)
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    place = ""
    if code is not None and is_user_file(code.co_filename):
        place = str(UserLine(code.co_filename, code.co_firstlineno))
    if not hasattr(op, "_opoverload") and not isinstance(op, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        raise ValueError(f"opcheck: {_no_operator(torch, op)}")
    if isinstance(op, torch._ops.OpOverloadPacket) and len(op.overloads()) > 1:
        raise ValueError(
            f"opcheck: {name} has the overloads {', '.join(op.overloads())}: choose one, "
            f"torch.ops.{str(op).replace('::', '.')}.{op.overloads()[0]}"
        )
    return str(name), place


def _no_operator(torch: Any, op: Any) -> str:
    """What was given instead of an operator, and what to give."""
    if isinstance(op, str):
        space, _, name = op.partition("::")
        known = name and hasattr(getattr(torch.ops, space), name.partition(".")[0])
        ask = (
            f"torch.ops.{space}.{name if '.' in name else name + '.default'}" if known else "torch.ops.ns.name.default"
        )
        return f"{op!r} is no operator but a string: pass what torch.library.custom_op returned, or {ask}"
    name = getattr(op, "__name__", None) or repr(op)
    if isinstance(op, torch._ops._OpNamespace):
        return f"{name} is no operator but a namespace of operators: pass one of them, {name}.name.default"
    if isinstance(op, torch.nn.Module):
        return f"a {type(op).__name__} module is no operator: check its gradients with gradcheck(module, inputs)"
    if not callable(op):
        return f"{op!r} is no operator: pass what torch.library.custom_op returned, or torch.ops.ns.name.default"
    of_torch = any(getattr(owner, name, None) is op for owner in (torch, torch.Tensor))
    if of_torch or str(getattr(op, "__module__", "")).partition(".")[0] == "torch":
        overload = _tensor_overload(torch, name)
        ask = f"; to check torch's kernel all the same: opcheck({overload}, ...)" if overload else ""
        return (
            f"{name} is no operator of yours but torch's own function, which torch tests: opcheck is for operators made "
            f"by torch.library.custom_op. For gradients at your inputs: gradcheck{ask}"
        )
    return (
        f"{name} is no operator but a plain function. For its gradients: gradcheck({name}, inputs); to make it an "
        'operator: @torch.library.custom_op("ns::name", mutates_args=()) above it, and pass what that returns, '
        "or torch.ops.ns.name.default"
    )


def _tensor_overload(torch: Any, name: str) -> str:
    """torch's operator of that name that begins with a tensor and returns its result; empty where there is none."""
    packet = getattr(torch.ops.aten, name, None)
    for overload in packet.overloads() if packet is not None else ():
        arguments = getattr(packet, overload)._schema.arguments
        if arguments and str(arguments[0].type) == "Tensor" and not any(argument.is_out for argument in arguments):
            return f"torch.ops.aten.{name}.{overload}"
    return ""


def _as_shapes(shapes: Any) -> list[Any] | None:
    """A list of shapes (or of lists with one shape per tensor); one shape by itself is a list of one."""
    if shapes is None:
        return None
    if isinstance(shapes, tuple) and all(isinstance(size, int) for size in shapes):
        return [shapes]
    if not isinstance(shapes, list | tuple) or not all(isinstance(shape, list | tuple) for shape in shapes):
        raise ValueError(f"opcheck: shapes={shapes!r}: give a list of shapes, [(3,), (2, 3)]")
    return list(shapes)


def _as_dtypes(torch: Any, dtypes: Any) -> list[Any] | None:
    if dtypes is None:
        return None
    made = [dtypes] if isinstance(dtypes, torch.dtype) else dtypes
    if not isinstance(made, list | tuple) or not all(isinstance(dtype, torch.dtype) for dtype in made):
        raise ValueError(f"opcheck: dtypes={dtypes!r}: give a list of dtypes, [torch.float32, torch.float64]")
    return list(made)


def _schema_arguments(op: Any) -> list[Any]:
    overload = getattr(op, "_opoverload", None) or getattr(op, "default", None) or op
    schema = getattr(overload, "_schema", None)
    if schema is None:
        raise ValueError("opcheck: this operator has no single schema to make samples from: pass args")
    return list(schema.arguments)


def _samples(
    torch: Any,
    op: Any,
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    shapes: Sequence[Any] | None,
    dtypes: Sequence[Any] | None,
    device: Any,
    requires_grad: bool | None,
    generator: Any,
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    if args is not None and isinstance(args, torch.Tensor):
        args = (args,)
    if args is not None and shapes is None and dtypes is None:
        yield tuple(args), dict(kwargs or {})
        return
    template = list(args) if args is not None else _template(torch, op)
    for shape in shapes or [None]:
        for dtype in dtypes or [None]:
            yield tuple(_filled(torch, template, shape, dtype, device, requires_grad, generator)), dict(kwargs or {})


def _template(torch: Any, op: Any) -> list[Any]:
    """One tensor for each tensor argument of the schema; everything else must have a default."""
    template: list[Any] = []
    for argument in _schema_arguments(op):
        if str(argument.type) == "Tensor":
            template.append(torch.empty(2, 3))
        elif not argument.has_default_value():
            raise ValueError(
                f"opcheck: argument {argument.name!r} is {argument.type}: pass args=(...) as a template; its tensors "
                "are replaced by random ones of each shape and dtype"
            )
        else:
            break
    return template


def _filled(
    torch: Any, template: list[Any], shape: Any, dtype: Any, device: Any, requires_grad: bool | None, generator: Any
) -> Iterator[Any]:
    per_tensor = isinstance(shape, list) and all(isinstance(item, tuple | list | torch.Size) for item in shape)
    shapes = iter(shape) if per_tensor and shape is not None else None
    for value in template:
        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            yield value
            continue
        own = next(shapes, None) if shapes is not None else shape
        size = tuple(value.shape if own is None else own)
        kind = value.dtype if dtype is None else dtype
        place = value.device if device is None else device
        if kind.is_floating_point or kind.is_complex:
            draw = torch.randn(size, generator=generator, dtype=torch.complex128 if kind.is_complex else torch.float64)
            wanted = value.requires_grad if requires_grad is None else requires_grad
            yield draw.to(device=place, dtype=kind).requires_grad_(wanted)
        else:
            high = 2 if kind == torch.bool else 10
            yield torch.randint(0, high, size, generator=generator).to(device=place, dtype=kind)


def _shown(torch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """`float32 (3,) requires_grad, 3.14`."""

    def one(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            kind = str(value.dtype).removeprefix("torch.")
            device = "" if value.device.type == "cpu" else f" on {value.device}"
            return f"{kind} {tuple(value.shape)}{device}{' requires_grad' if value.requires_grad else ''}"
        return repr(value) if len(repr(value)) < 40 else type(value).__name__

    return ", ".join([*map(one, args), *(f"{key}={one(value)}" for key, value in kwargs.items())]) or "no arguments"
