"""`gradcheck` and `check_gradients`: the functions users call. Importing this imports no torch."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

from pytest_tensorcheck import frameworks
from pytest_tensorcheck.gradients.options import Options
from pytest_tensorcheck.gradients.verdicts import GradcheckError, GradcheckWarning, GradientReport, Verdict
from pytest_tensorcheck.user_line import user_line


def gradcheck(
    fn_or_module: Any,
    inputs: Any,
    *,
    kwargs: Mapping[str, Any] | None = None,
    parameters: bool | str | Sequence[str] | None = None,
    second_order: bool = False,
    forward_mode: bool = False,
    batched: bool = False,
    exhaustive: bool = False,
    seed: int = 0,
    directions: int = 3,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    on_inconclusive: Literal["warn", "fail", "pass"] = "warn",
) -> bool:
    """Check the gradients of a function, a module, a loss or an `autograd.Function` against finite differences.

    Everything is evaluated on float64 copies; the module, its buffers, the tensors, the random generators and their
    `.grad` are left as they were. A drop-in replacement for `torch.autograd.gradcheck`, whose arguments it accepts.

    inputs: a tensor, or a tuple (list) of positional arguments: tensors, nested lists, dicts and dataclasses of
        tensors, anything else. Checked are the floating-point and complex tensors that require grad; if none does, all.
    kwargs: keyword arguments of the call.
    parameters: which parameters of the module (or of modules the function closes over) to check: all that require grad
        by default; False for none; names or patterns (`"encoder.*"`).
    second_order: also the gradient of the gradient. forward_mode: also forward-mode AD. batched: also backward under
        vmap.
    exhaustive: also every single entry of the Jacobian, for small problems.
    seed: of the random directions. directions: how many must disagree before anything is called wrong.
    eps: centre the ladder of steps here (in units of a tensor's typical size) instead of finding the best step.
    rtol, atol: an element may be wrong by `atol + rtol * |numeric|`. Default: 1e-5 relative, 1e-9 of the largest
        gradient of its tensor.
    nondet_tol: by how much two runs may differ. check_grad_dtypes: fail for gradients that went through float32.
    on_inconclusive: what to do where the numbers cannot decide: warn (GradcheckWarning), fail, or pass.
    fast_mode, masked: accepted for compatibility; this check is always fast, and sparse inputs are refused.

    Returns True; raises GradcheckError (an AssertionError), or returns False with `raise_exception=False`. Arguments
    that make no sense raise ValueError.
    """
    __tracebackhide__ = True
    if masked:
        raise ValueError(
            "gradcheck: masked=True is about sparse inputs, which gradcheck does not move: pass dense tensors"
        )
    report = check_gradients(
        fn_or_module,
        inputs,
        kwargs=kwargs,
        parameters=parameters,
        second_order=second_order,
        forward_mode=forward_mode or check_forward_ad,
        batched=batched or check_batched_grad,
        batched_forward=check_batched_forward_grad,
        backward_mode=check_backward_ad,
        exhaustive=exhaustive,
        seed=seed,
        directions=directions,
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        undefined_grad=check_undefined_grad,
        grad_dtypes=check_grad_dtypes,
        on_inconclusive=on_inconclusive,
    )
    undecided = report.verdict is Verdict.INCONCLUSIVE
    if report.verdict is Verdict.FAILED or (undecided and on_inconclusive == "fail"):
        if raise_exception:
            raise GradcheckError(str(report))
        return False
    if undecided and on_inconclusive == "warn":
        warnings.warn(str(report), GradcheckWarning, stacklevel=2)
    return True


def check_gradients(fn_or_module: Any, inputs: Any, **options: Any) -> GradientReport:
    """What `gradcheck` does, without raising: the report with verdict, problems, wrong elements and resolution.

    Takes the options of `gradcheck` (`batched_forward`, `backward_mode`, `undefined_grad` and `grad_dtypes` for torch's
    check_batched_forward_grad, check_backward_ad, check_undefined_grad and check_grad_dtypes).
    """
    __tracebackhide__ = True
    frameworks.require("torch", "gradcheck")
    from pytest_tensorcheck.gradients import engine
    from pytest_tensorcheck.gradients.subject import BadInput

    where = user_line(sys._getframe(1))
    unknown = sorted(set(options) - {option.name for option in fields(Options)})
    if unknown:
        raise TypeError(f"check_gradients() got an unexpected keyword argument {unknown[0]!r}")
    problem = ""
    try:
        return engine.run_check(fn_or_module, inputs, Options(**options), str(where) if where else "")
    except BadInput as error:
        problem = str(error)
    raise ValueError(f"gradcheck: {problem.removeprefix('gradcheck ')}")
