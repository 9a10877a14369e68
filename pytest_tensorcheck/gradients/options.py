"""What a caller may ask of a gradient check, with torch's own names where torch has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        if self.directions < 2:
            raise ValueError(f"directions={self.directions}: at least 2 are needed to tell an error from a kink")
        if self.eps is not None and not self.eps > 0:
            raise ValueError(f"eps={self.eps}: a step must be positive")
        if self.on_inconclusive not in ("warn", "fail", "pass"):
            raise ValueError(f"on_inconclusive={self.on_inconclusive!r}: choose 'warn', 'fail' or 'pass'")
        if not (self.backward_mode or self.forward_mode):
            raise ValueError("check_backward_ad=False leaves nothing to check unless check_forward_ad=True")
        if self.batched_forward and not self.forward_mode:
            raise ValueError("check_batched_forward_grad=True needs check_forward_ad=True")
        for name, value in (("atol", self.atol), ("rtol", self.rtol), ("nondet_tol", self.nondet_tol)):
            if value is not None and not value >= 0:
                raise ValueError(f"{name}={value}: a tolerance cannot be negative")

    def steps(self, low_precision: bool) -> tuple[float, ...]:
        """The ladder of steps, in units of each tensor's typical size: down from 1/32, or around `eps`."""
        if self.eps is not None:
            return tuple(self.eps * 4.0**power for power in range(4, -5, -1))
        return (
            tuple(2.0**-3 / 4.0**i for i in range(6)) if low_precision else tuple(2.0**-5 / 4.0**i for i in range(13))
        )
