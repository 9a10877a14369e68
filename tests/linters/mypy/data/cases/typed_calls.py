# A module's call in every place where one is used.
from __future__ import annotations
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload, Protocol
import torch
from torch import Tensor, nn

x = torch.zeros(2, 3)

# built-in
lin = nn.Linear(2, 3)
reveal_type(lin(x))  # N: Revealed type is "torch._tensor.Tensor"
lin("a")  # E: Argument 1 to "forward" of "Linear" has incompatible type "str"; expected "Tensor"  [arg-type]
lin(x, x)  # E: Too many arguments for "forward" of "Linear"  [call-arg]
reveal_type(nn.LSTM(2, 3)(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, tuple[torch._tensor.Tensor, torch._tensor.Tensor]]"
reveal_type(nn.MultiheadAttention(2, 1)(x, x, x))  # N: Revealed type is "tuple[torch._tensor.Tensor, torch._tensor.Tensor | None]"
reveal_type(nn.MaxPool2d(2)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.CrossEntropyLoss()(x, x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(nn.Sequential(nn.Linear(2, 3), nn.LSTM(2, 3))(x))  # N: Revealed type is "Any"
reveal_type(nn.Embedding(2, 3)(x))  # N: Revealed type is "torch._tensor.Tensor"


class Foo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.layers = nn.ModuleList([nn.Linear(2, 3)])
        self.seq = nn.Sequential(nn.Linear(2, 3))
        self.md = nn.ModuleDict({"a": nn.Linear(2, 3)})

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        reveal_type(self.layer(x))  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(self(x))  # N: Revealed type is "torch._tensor.Tensor"
        for l in self.layers:
            reveal_type(l(x))  # N: Revealed type is "Any"
        reveal_type(self.seq(x))  # N: Revealed type is "Any"
        reveal_type(self.md["a"](x))  # N: Revealed type is "Any"
        reveal_type(self.layers[0](x))  # N: Revealed type is "Any"
        return x * scale


foo = Foo()
reveal_type(foo(x))  # N: Revealed type is "torch._tensor.Tensor"
foo(1)  # E: Argument 1 to "forward" of "Foo" has incompatible type "int"; expected "Tensor"  [arg-type]
foo(x, scale="a")  # E: Argument "scale" to "forward" of "Foo" has incompatible type "str"; expected "float"  [arg-type]
foo(x, sclae=1.0)  # E: Unexpected keyword argument "sclae" for "forward" of "Foo"; did you mean "scale"?  [call-arg]
foo()  # E: Missing positional argument "x" in call to "forward" of "Foo"  [call-arg]


class Bar(Foo):                         # inherits forward
    pass


reveal_type(Bar()(x))  # N: Revealed type is "torch._tensor.Tensor"
Bar()(1)  # E: Argument 1 to "forward" of "Foo" has incompatible type "int"; expected "Tensor"  [arg-type]

T = TypeVar("T")


class Gen(nn.Module, Generic[T]):
    def forward(self, x: T) -> tuple[T, int]:
        return x, 1


reveal_type(Gen[Tensor]()(x))  # N: Revealed type is "tuple[torch._tensor.Tensor, int]"
Gen[Tensor]()(1)  # E: Argument 1 to "forward" of "Gen" has incompatible type "int"; expected "Tensor"  [arg-type]


class Sub(Gen[str]):
    pass


reveal_type(Sub()("a"))  # N: Revealed type is "tuple[str, int]"


class Ov(nn.Module):
    @overload
    def forward(self, x: int) -> str: ...
    @overload
    def forward(self, x: Tensor) -> Tensor: ...
    def forward(self, x: Any) -> Any:
        return x


reveal_type(Ov()(1))  # N: Revealed type is "str"
reveal_type(Ov()(x))  # N: Revealed type is "torch._tensor.Tensor"
Ov()("a")  # E: No overload variant of "forward" of "Ov" matches argument type "str"  [call-overload]


class Own(nn.Module):                   # defines its own __call__
    def forward(self, x: Tensor) -> Tensor:
        return x

    def __call__(self, x: Tensor) -> list[Tensor]:
        return [super().__call__(x)]


reveal_type(Own()(x))  # N: Revealed type is "list[torch._tensor.Tensor]"


class Sup(Foo):
    def __call__(self, *a: Any, **k: Any) -> Tensor:
        r = super().__call__(*a, **k)
        reveal_type(r)  # N: Revealed type is "torch._tensor.Tensor"
        reveal_type(super().__call__)  # N: Revealed type is "def (x: torch._tensor.Tensor, scale: float =) -> torch._tensor.Tensor"
        return r


class Unann(nn.Module):
    def forward(self, x):
        return x


reveal_type(Unann()(x))  # N: Revealed type is "Any"
Unann()(x, 1)  # silent


class Multi(nn.Module):
    def forward(self, x: Tensor, *, flag: bool = False) -> tuple[Tensor, dict[str, Tensor]]:
        return x, {}


a, b = Multi()(x)
reveal_type(b)  # N: Revealed type is "dict[str, torch._tensor.Tensor]"
cm = torch.compile(foo)
reveal_type(cm)  # N: Revealed type is "def (x: torch._tensor.Tensor, scale: float =) -> torch._tensor.Tensor"
reveal_type(cm(x))  # N: Revealed type is "torch._tensor.Tensor"
cm(1)  # E: Argument 1 has incompatible type "int"; expected "Tensor"  [arg-type]
from torch.nn.parallel import DistributedDataParallel as DDP, DataParallel
reveal_type(DDP(foo)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(DataParallel(foo)(x))  # N: Revealed type is "torch._tensor.Tensor"

m: nn.Module = foo
reveal_type(m(x))  # N: Revealed type is "Any"
m(1, 2, 3)


def apply(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return f(x)


apply(foo, x)
apply(Multi(), x)  # E: Argument 1 to "apply" has incompatible type "Multi"; expected "Callable[[Tensor], Tensor]"  [arg-type]
apply(Ov(), x)
M = TypeVar("M", bound=Foo)


def gfun(m: M, x: Tensor) -> M:
    reveal_type(m(x))  # N: Revealed type is "torch._tensor.Tensor"
    return m


from typing import Optional, Union


def u(m: Union[Foo, Multi], n: Optional[Foo]) -> None:
    reveal_type(m(x))  # N: Revealed type is "torch._tensor.Tensor | tuple[torch._tensor.Tensor, dict[str, torch._tensor.Tensor]]"
    if n is not None:
        reveal_type(n(x))  # N: Revealed type is "torch._tensor.Tensor"


class HasCall(Protocol):
    def __call__(self, x: Tensor) -> Tensor: ...


hc: HasCall = foo
hc2: HasCall = Multi()  # E: Incompatible types in assignment (expression has type "Multi", variable has type "HasCall")  [assignment]


class NoGrad(nn.Module):
    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        return x


reveal_type(NoGrad()(x))  # N: Revealed type is "torch._tensor.Tensor"


class Part(nn.Module):
    def forward(self, x: Tensor):       # partially annotated
        return x


reveal_type(Part()(x))  # N: Revealed type is "Any"


class SelfAssign(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act: Callable[[Tensor], Tensor] = nn.ReLU()


reveal_type(SelfAssign()(x))  # N: Revealed type is "Any"
reveal_type(list(map(foo, [x])))  # N: Revealed type is "list[torch._tensor.Tensor]"
reveal_type(foo.__call__)  # N: Revealed type is "def (x: torch._tensor.Tensor, scale: float =) -> torch._tensor.Tensor"
reveal_type(Foo.__call__)  # N: Revealed type is "def (*args: Any, **kwds: Any) -> Any"
import functools
reveal_type(functools.partial(foo, scale=1.0)(x))  # N: Revealed type is "torch._tensor.Tensor"
reveal_type(torch.jit.script(foo)(x))  # N: Revealed type is "Any"
reveal_type(nn.Sequential(foo)[0](x))  # N: Revealed type is "Any"
reveal_type(copy_m := foo.to("cpu"))  # N: Revealed type is "typed_calls.Foo"
reveal_type(foo.eval()(x))  # N: Revealed type is "torch._tensor.Tensor"
def meth(self_m: "type[Foo]") -> None:
    reveal_type(self_m()(x))  # N: Revealed type is "torch._tensor.Tensor"
