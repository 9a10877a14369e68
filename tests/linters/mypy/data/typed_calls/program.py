# Classes to which TSR302 adds a typed __call__; the comments are what checkers say afterwards.
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, overload

import torch
from torch import Tensor, nn
from typing_extensions import ParamSpec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import reveal_type

T = TypeVar("T")
P = ParamSpec("P")


class Foo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        y: Tensor = self.layer(x)
        return y * scale


class Bar(Foo):
    """Redefines forward with a parameter more."""

    def forward(
        self,
        x: Tensor,  # (B, 3)
        scale: float = 1.0,
        *,
        bias: Tensor | None = None,
    ) -> Tensor:
        return x * scale if bias is None else x + bias  # the bias


class Inherits(Foo):
    pass


class Box(nn.Module, Generic[T]):
    def forward(self, x: T) -> tuple[T, int]:
        return x, 1


class Many(nn.Module):
    @overload
    def forward(self, x: int) -> str: ...
    @overload
    def forward(self, x: Tensor) -> Tensor: ...
    def forward(self, x: int | Tensor) -> str | Tensor:
        return "" if isinstance(x, int) else x


class Starred(nn.Module):
    def forward(self, *xs: Tensor, **options: int) -> Tensor:
        return xs[0]


class Positional(nn.Module):
    def forward(self, x: Tensor, /, gain: float = 2.0, *, names: Sequence[str] = ("a", "b")) -> Tensor:
        return x * gain


class Applies(nn.Module, Generic[P, T]):
    def __init__(self, function: Callable[P, T]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.function(*args, **kwargs)


class Outer:
    class Inner(nn.Module):
        def forward(self, x: "Tensor") -> "list[Outer.Inner]":
            return [self]


@dataclass(eq=False)
class Sized(nn.Module):
    size: int = 3

    def __post_init__(self) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x, self.size


class Decorated(nn.Module):
    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        return x


def shift(x: Tensor, by: int) -> Tensor:
    return x + by


def apply(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return function(x)


x = torch.zeros(2, 3)
apply(Foo(), x)
reveal_type(Foo()(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Bar()(x, bias=x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Inherits()(x, 2.0))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Box[Tensor]()(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
reveal_type(Many()(1))  # N: Revealed type is "str"
reveal_type(Many()(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Starred()(x, x, depth=1))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Positional()(x, gain=1.0, names=["c"]))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Applies(shift)(x, by=2))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(Outer.Inner()(x))  # N: Revealed type is "list[program.Outer.Inner]"
reveal_type(Sized(4)(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
reveal_type(Decorated()(x))  # N: Revealed type is "torch._tensor.Tensor"

if TYPE_CHECKING:
    # What must be refused.
    Foo()("a")  # E: Argument 1 to "__call__" of "Foo" has incompatible type "str"; expected "Tensor"  [arg-type]
    Bar()(x, bais=x)  # E: Unexpected keyword argument "bais" for "__call__" of "Bar"  [call-arg]
    Positional()(x=x)  # E: Unexpected keyword argument "x" for "__call__" of "Positional"  [call-arg]
    Applies(shift)(x, by="a")  # E: Argument "by" to "__call__" of "Applies" has incompatible type "str"; expected "int"  [arg-type]
    apply(Sized(), x)  # E: Argument 1 to "apply" has incompatible type "Sized"; expected "Callable[[Tensor], Tensor]"  [arg-type]
