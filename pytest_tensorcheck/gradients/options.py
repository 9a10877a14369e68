"""What a caller may ask of a gradient check, with torch's own names where torch has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

# Element by element, relative to the numeric derivative and to the largest gradient of the tensor.
DEFAULT_RTOL = 1e-5
DEFAULT_ATOL = 1e-9
# A gradient that went through float32 cannot be better than this against the largest one of its tensor.
FLOAT32_ATOL = 1e-6


@dataclass(frozen=True, slots=True)
class Options:
    """See `gradcheck` for what each one means."""

    kwargs: Mapping[str, Any] | None = None
    parameters: bool | str | Sequence[str] | None = None
    second_order: bool = False
    forward_mode: bool = False
    batched: bool = False
    batched_forward: bool = False
    backward_mode: bool = True
    exhaustive: bool = False
    seed: int = 0
    directions: int = 3
    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None
    nondet_tol: float = 0.0
    undefined_grad: bool = True
    grad_dtypes: bool = False
    on_inconclusive: Literal["warn", "fail", "pass"] = "warn"

    def __post_init__(self) -> None:
        for name in ("directions", "seed"):
            if not isinstance(value := getattr(self, name), Integral) or isinstance(value, bool):
                raise ValueError(f"gradcheck: {name}={value!r}: give a whole number")
        for name in ("eps", "atol", "rtol", "nondet_tol"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Real) or isinstance(value, bool)):
                raise ValueError(f"gradcheck: {name}={value!r}: give a number")
            if name != "eps" and value is not None and not float(value) >= 0:
                raise ValueError(f"gradcheck: {name}={value}: a tolerance cannot be negative, or NaN")
        if self.kwargs is not None and not isinstance(self.kwargs, Mapping):
            raise ValueError(f"gradcheck: kwargs={self.kwargs!r}: give a dict of the call's keyword arguments")
        if not _is_choice(self.parameters):
            raise ValueError(
                f"gradcheck: parameters={_shown(self.parameters)}: give True, False, or names or patterns as text "
                '("encoder.*")'
            )
        if self.directions < 2:
            raise ValueError(
                f"gradcheck: directions={self.directions}: at least 2 are needed to tell an error from a kink"
            )
        if self.eps is not None and not self.eps > 0:
            raise ValueError(f"gradcheck: eps={self.eps}: a step must be positive")
        if self.on_inconclusive not in ("warn", "fail", "pass"):
            raise ValueError(f"gradcheck: on_inconclusive={self.on_inconclusive!r}: choose 'warn', 'fail' or 'pass'")
        if not (self.backward_mode or self.forward_mode):
            raise ValueError("gradcheck: check_backward_ad=False leaves nothing to check unless check_forward_ad=True")
        if self.exhaustive and not self.backward_mode:
            raise ValueError("gradcheck: exhaustive=True compares the backward: it needs check_backward_ad=True")
        if self.batched_forward and not self.forward_mode:
            raise ValueError("gradcheck: check_batched_forward_grad=True needs check_forward_ad=True")

    def steps(self, low_precision: bool) -> tuple[float, ...]:
        """The ladder of steps, in units of each tensor's typical size: down from 1/32, or around `eps`."""
        if self.eps is not None:
            return tuple(self.eps * 4.0**power for power in range(4, -5, -1))
        return (
            tuple(2.0**-3 / 4.0**i for i in range(6)) if low_precision else tuple(2.0**-5 / 4.0**i for i in range(13))
        )


def _is_choice(parameters: Any) -> bool:
    if parameters is None or isinstance(parameters, bool | str):
        return True
    return isinstance(parameters, Sequence | set | frozenset) and all(isinstance(name, str) for name in parameters)


def _shown(value: Any) -> str:
    text = type(value).__name__ if isinstance(value, Sequence | set | frozenset) else repr(value)
    return f"{text} of {type(next(iter(value), '')).__name__}" if text == type(value).__name__ else text
