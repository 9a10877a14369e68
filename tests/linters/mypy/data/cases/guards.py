# Where the plugin must hold back, and what must not become an error.
from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NoReturn, Protocol, TypeVar

import torch
from torch import Tensor, nn
from unknown_library import Mixin, Unknown, wrap  # type: ignore

x = torch.zeros(2, 3)


class Foo(nn.Module):
    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return x * scale


class FromUnknown(Unknown):  # type: ignore[misc, unused-ignore]
    def forward(self, x: Tensor) -> Tensor:
        return x


reveal_type(FromUnknown()(x))  # N: Revealed type is "Any"


class MixedWithUnknown(Mixin, nn.Module):  # type: ignore[misc, unused-ignore]
    """Mixin may have a __call__ of its own."""

    def forward(self, x: Tensor) -> Tensor:
        return x


reveal_type(MixedWithUnknown()(x))  # N: Revealed type is "Any"


class Abstract(nn.Module):
    def forward(self, x: Tensor) -> NoReturn:
        raise NotImplementedError


reveal_type(Abstract()(x))  # N: Revealed type is "Any"
alive: int = "still checked"  # E: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment]


class UnknownDecorator(nn.Module):
    @wrap
    def forward(self, x: Tensor) -> Tensor:
        return x


reveal_type(UnknownDecorator()(x, 1, 2))  # N: Revealed type is "Any"


class AsProperty(nn.Module):
    @property
    def forward(self) -> Callable[[Tensor], int]:  # E: Cannot override writeable attribute with read-only property  [override]
        raise NotImplementedError


reveal_type(AsProperty()(x))  # N: Revealed type is "int"


class AsVariable(nn.Module):
    forward: Callable[[Tensor], int]


reveal_type(AsVariable()(x))  # N: Revealed type is "int"


class AsAny(nn.Module):
    forward: Any


reveal_type(AsAny()(x))  # N: Revealed type is "Any"


class Static(nn.Module):
    @staticmethod
    def forward(x: Tensor) -> str:
        return ""


reveal_type(Static()(x))  # N: Revealed type is "str"


class ClassMethod(nn.Module):
    @classmethod
    def forward(cls, x: Tensor) -> str:
        return ""


reveal_type(ClassMethod()(x))  # N: Revealed type is "str"


class Star(nn.Module):
    def forward(self, *xs: Tensor, **options: int) -> Tensor:
        return xs[0]


reveal_type(Star()(x, x, depth=1))  # N: Revealed type is "torch._tensor.Tensor"
Star()(x, depth="a")  # E: Argument "depth" to "forward" of "Star" has incompatible type "str"; expected "int"  [arg-type]


class Generator(nn.Module):
    def forward(self, x: Tensor) -> Iterator[Tensor]:
        yield x


for part in Generator()(x):
    reveal_type(part)  # N: Revealed type is "torch._tensor.Tensor"


class Coroutine(nn.Module):
    async def forward(self, x: Tensor) -> int:
        return 1


async def waits() -> None:
    reveal_type(await Coroutine()(x))  # N: Revealed type is "int"


class OwnCall(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x

    def __call__(self, y: int) -> str:
        return ""


class OwnCallBelow(OwnCall):
    def forward(self, x: Tensor, more: int = 0) -> Tensor:
        reveal_type(super().__call__(1))  # N: Revealed type is "str"
        return x


reveal_type(OwnCall()(1))  # N: Revealed type is "str"
reveal_type(OwnCallBelow()(1))  # N: Revealed type is "str"
OwnCall()(x)  # E: Argument 1 to "__call__" of "OwnCall" has incompatible type "Tensor"; expected "int"  [arg-type]


class Declared(nn.Module):
    __call__: Callable[..., list[int]]

    def forward(self, x: Tensor) -> Tensor:
        return x


reveal_type(Declared()(x))  # N: Revealed type is "list[int]"


class SuperForward(Foo):
    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        reveal_type(super().forward(x))  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(super().__call__(x))  # N: Revealed type is "torch._tensor.Tensor"
        return super().forward(x, scale)


class Widened(Foo):
    """mypy compares forward with forward, once; the plugin adds no second error."""

    def forward(self, x: Tensor, scale: float = 1.0, *, bias: Tensor | None = None) -> Tensor:
        return x


Widened()(x, bias=x)


class Narrowed(Foo):
    def forward(self, x: Tensor) -> Tensor:  # E: Signature of "forward" incompatible with supertype "Foo"  [override]
        return x


Narrowed()(x)
Narrowed()(x, 1.0)  # E: Too many arguments for "forward" of "Narrowed"  [call-arg]

callback: Callable[[Tensor, float], Tensor] = Foo()
wrong: Callable[[str], Tensor] = Foo()  # E: Incompatible types in assignment (expression has type "Foo", variable has type "Callable[[str], Tensor]")  [assignment]
anything: Callable[..., Any] = Foo()


def narrows(m: nn.Module, either: Foo | Callable[[Tensor], int]) -> None:
    reveal_type(m(x))  # N: Revealed type is "Any"
    if isinstance(m, Foo):
        reveal_type(m(x))  # N: Revealed type is "torch._tensor.Tensor"
    if isinstance(m, (Foo, Static)):
        reveal_type(m(x))  # N: Revealed type is "torch._tensor.Tensor | str"
    reveal_type(either(x))  # N: Revealed type is "torch._tensor.Tensor | int"


S = TypeVar("S", Foo, Static)


def constrained(m: S) -> S:
    m(x)
    return m


class Holder(nn.Module):
    def __init__(self, act: Callable[[Tensor], Tensor] | None = None) -> None:
        super().__init__()
        self.act = act or nn.ReLU()
        self.maybe: Foo | None = None

    def forward(self, x: Tensor) -> Tensor:
        reveal_type(self.act(x))  # N: Revealed type is "torch._tensor.Tensor"
        self.maybe(x)  # E: "None" not callable  [misc]
        return self.act(x)


class Recursive(nn.Module):
    def forward(self, x: Tensor, child: Recursive | None = None) -> Tensor:
        return child(x) if child is not None else self(x, self)


class Shaped(Protocol):
    def __call__(self, x: Tensor, scale: float = ...) -> Tensor: ...


def takes(f: Shaped) -> None: ...


takes(Foo())
takes(Static())  # E: Argument 1 to "takes" has incompatible type "Static"; expected "Shaped"  [arg-type]
Foo().__call__ = Foo()
sorted([Foo()], key=lambda m: m(x).sum() is x)


class LaterDefined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = DefinedBelow()

    def forward(self, x: Tensor) -> int:
        reveal_type(self.inner(x))  # N: Revealed type is "bytes"
        return 1


class DefinedBelow(nn.Module):
    def forward(self, x: Tensor) -> bytes:
        return b""


class Streams(nn.Module):
    async def forward(self, x: Tensor) -> AsyncIterator[Tensor]:
        yield x


async def reads() -> None:
    async for each in Streams()(x):
        reveal_type(each)  # N: Revealed type is "torch._tensor.Tensor"
