from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tensorlint.inference.hazards import UntypedCallHazard
from tensorlint.rules.rule import Example, Rule, with_article

if TYPE_CHECKING:
    import libcst as cst


def _net(body: str, imports: str = "from torch import Tensor, nn") -> str:
    return f"{imports}\n\n\nclass Net(nn.Module):\n{body}"


def _after(
    body: str, imports: str = "from torch import Tensor, nn", typing: str = "from typing import TYPE_CHECKING\n"
) -> str:
    return _net(body, typing + imports)


_FORWARD = "    def forward(self, x: Tensor) -> Tensor:\n        return x\n"
_CALL = "\n    if TYPE_CHECKING:\n        def __call__(self, x: Tensor) -> Tensor: ...\n"


class UntypedModuleCall(Rule[UntypedCallHazard]):
    """torch declares `Module.__call__` as `Callable[..., Any]`. So `net(x)` is `Any` to every type checker and
    editor, whatever `forward` says: a wrong argument is not seen, and nothing is known of the result.

    The fix adds a `__call__` with forward's parameters, defaults, overloads and result below forward, under
    `TYPE_CHECKING`: mypy, pyright, pyrefly and ty all read it, and at run time it does not exist, so that hooks,
    `torch.compile`, scripting, export, pickling and FSDP work as before. Once it is there the rule keeps it in step:
    a `__call__` that forward has outgrown is reported, and updated. A subclass that defines forward anew gets its own.

    Who checks with mypy alone needs none of this: the plugin `tensorlint.mypy_plugin` does the same without a line of
    code. The rule is silent on a forward without a return annotation or under a decorator it does not know, and on
    classes with a `__call__` of their own.
    """

    code = "TSR302"
    name = "untyped-module-call"
    summary = "an `nn.Module` with an annotated `forward` and no typed `__call__`"
    default = "off"
    severity = "info"
    hazard = UntypedCallHazard

    flagged = (
        Example(_net(_FORWARD), fixed=_after(_FORWARD + _CALL)),
        Example(
            _net(_FORWARD + "\n    def extra(self) -> None:\n        pass\n"),
            fixed=_after(_FORWARD + _CALL + "\n    def extra(self) -> None:\n        pass\n"),
        ),
        Example(
            _net(
                "    def forward(\n        self,\n        x: Tensor,  # (B, T)\n        *,\n        scale: float = 1.0,\n"
                "    ) -> tuple[Tensor, int]:\n        return x * scale, 1\n"
            ),
            fixed=_after(
                "    def forward(\n        self,\n        x: Tensor,  # (B, T)\n        *,\n        scale: float = 1.0,\n"
                "    ) -> tuple[Tensor, int]:\n        return x * scale, 1\n\n"
                "    if TYPE_CHECKING:\n        def __call__(\n            self,\n            x: Tensor,  # (B, T)\n"
                "            *,\n            scale: float = 1.0,\n        ) -> tuple[Tensor, int]: ...\n"
            ),
            note="Parameters keep their lines, comments and defaults.",
        ),
        Example(
            _net(
                "    @overload\n    def forward(self, x: Tensor) -> Tensor: ...\n    @overload\n"
                "    def forward(self, x: int) -> int: ...\n    def forward(self, x):\n        return x\n",
                "from typing import overload\n\nfrom torch import Tensor, nn",
            ),
            fixed=_net(
                "    @overload\n    def forward(self, x: Tensor) -> Tensor: ...\n    @overload\n"
                "    def forward(self, x: int) -> int: ...\n    def forward(self, x):\n        return x\n\n"
                "    if TYPE_CHECKING:\n        @overload\n        def __call__(self, x: Tensor) -> Tensor: ...\n"
                "        @overload\n        def __call__(self, x: int) -> int: ...\n"
                "        def __call__(self, x): ...\n",
                "from typing import overload, TYPE_CHECKING\n\nfrom torch import Tensor, nn",
            ),
        ),
        Example(
            _net(
                _FORWARD
                + "\n\nclass Wide(Net):\n    def forward(self, x: Tensor, y: int = 0) -> Tensor:\n        return x + y\n"
            ),
            fixed=_after(
                _FORWARD
                + _CALL
                + "\n\nclass Wide(Net):\n    def forward(self, x: Tensor, y: int = 0) -> Tensor:\n        return x + y\n\n"
                "    if TYPE_CHECKING:\n        def __call__(self, x: Tensor, y: int = 0) -> Tensor: ...\n"
            ),
            note="Every class that defines forward anew.",
        ),
        Example(
            _after(
                _FORWARD + "\n    if TYPE_CHECKING:\n        def __call__(self, x: Tensor, old: int) -> Tensor: ...\n"
            ),
            fixed=_after(_FORWARD + _CALL),
            note="A `__call__` that forward has outgrown.",
        ),
        Example(
            _after(
                "    if TYPE_CHECKING:\n        size: int\n        def __call__(self, y: Tensor) -> Tensor: ...\n        depth: int\n\n"
                + _FORWARD
            ),
            fixed=_after(
                "    if TYPE_CHECKING:\n        size: int\n        def __call__(self, x: Tensor) -> Tensor: ...\n        depth: int\n\n"
                + _FORWARD
            ),
        ),
        Example(
            _net("    @torch.no_grad()\n" + _FORWARD, "import torch\nfrom torch import Tensor, nn"),
            fixed=_after("    @torch.no_grad()\n" + _FORWARD + _CALL, "import torch\nfrom torch import Tensor, nn"),
            note="A decorator under which the signature stays.",
        ),
        Example(
            "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, *xs: torch.Tensor) -> 'torch.Tensor':\n        return xs[0]\n",
            fixed="from typing import TYPE_CHECKING\nimport torch\n\n\nclass Net(torch.nn.Module):\n"
            "    def forward(self, *xs: torch.Tensor) -> 'torch.Tensor':\n        return xs[0]\n\n    if TYPE_CHECKING:\n"
            "        def __call__(self, *xs: torch.Tensor) -> 'torch.Tensor': ...\n",
        ),
        Example(
            "from torch import Tensor\nfrom torch.nn import Linear as Base\n\n\nclass Scaled(Base):\n"
            "    def forward(self, input: Tensor, scale: float = 1.0) -> Tensor:\n        return super().forward(input) * scale\n",
            note="A layer of torch's own that is derived from.",
        ),
        Example(
            _net("    def forward(self, x: Tensor) -> Tensor:\n        return x + 1  # the bias\n"),
            fixed=_after(
                "    if TYPE_CHECKING:\n        def __call__(self, x: Tensor) -> Tensor: ...\n\n"
                "    def forward(self, x: Tensor) -> Tensor:\n        return x + 1  # the bias\n"
            ),
            note="Above forward, where a comment ends it.",
        ),
        Example(
            "from typing import Generic, TypeVar\n\nfrom torch import nn\n\nT = TypeVar('T')\n\n\n"
            "class Box(nn.Module, Generic[T]):\n    def forward(self, x: T) -> list[T]:\n        return [x]\n",
            fixed="from typing import Generic, TypeVar, TYPE_CHECKING\n\nfrom torch import nn\n\nT = TypeVar('T')\n\n\n"
            "class Box(nn.Module, Generic[T]):\n    def forward(self, x: T) -> list[T]:\n        return [x]\n\n"
            "    if TYPE_CHECKING:\n        def __call__(self, x: T) -> list[T]: ...\n",
        ),
        Example(
            _net(
                "    async def forward(self, x: Tensor) -> Tensor:\n        return x\n\n\ndef make() -> nn.Module:\n"
                "    class Inner(Net):\n        async def forward(self, x: Tensor) -> Tensor:\n            return x\n\n"
                "    return Inner()\n"
            ),
            fixed=_after(
                "    async def forward(self, x: Tensor) -> Tensor:\n        return x\n\n    if TYPE_CHECKING:\n"
                "        async def __call__(self, x: Tensor) -> Tensor: ...\n\n\ndef make() -> nn.Module:\n"
                "    class Inner(Net):\n        async def forward(self, x: Tensor) -> Tensor:\n            return x\n\n"
                "        if TYPE_CHECKING:\n            async def __call__(self, x: Tensor) -> Tensor: ...\n\n"
                "    return Inner()\n"
            ),
        ),
    )
    silent = (
        Example(_after(_FORWARD + _CALL)),
        Example(_net("    def forward(self, x):\n        return x\n"), note="Nothing is known of it."),
        Example(_net("    def forward(self, x: Tensor):\n        return x\n"), note="The result is not annotated."),
        Example(
            _net(
                _FORWARD
                + "\n    def __call__(self, x: Tensor) -> list[Tensor]:\n        return [super().__call__(x)]\n"
            ),
            note="A `__call__` of its own.",
        ),
        Example(
            _net(
                "    __call__: Callable[..., Tensor]\n\n" + _FORWARD,
                "from collections.abc import Callable\nfrom torch import Tensor, nn",
            )
        ),
        Example(_after(_FORWARD + "\n    if TYPE_CHECKING:\n        __call__ = forward\n"), note="Another spelling."),
        Example(
            _net(
                "    @functools.lru_cache\n" + _FORWARD,
                "import functools\n\nfrom torch import Tensor, nn",
            ),
            note="A decorator that may change the signature.",
        ),
        Example("class Robot:\n    def forward(self, speed: float) -> float:\n        return speed\n"),
        Example(
            "import torch\nfrom torch import Tensor\n\n\nclass Double(torch.autograd.Function):\n    @staticmethod\n"
            "    def forward(ctx: object, x: Tensor) -> Tensor:\n        return x * 2\n"
        ),
        Example(_after(_FORWARD + _CALL + "\n\nclass Inherits(Net):\n    size: int = 1\n")),
        Example(
            "from torch import nn\n\n\nclass Table(nn.ParameterList):\n    def forward(self, x: int) -> int:\n        return x\n",
            note="Not meant to be called.",
        ),
        Example(
            _net(
                _FORWARD + "\n    def __call__(self, x: Tensor) -> Tensor:\n        return x\n\n\nclass Below(Net):\n"
                "    def forward(self, x: Tensor) -> Tensor:\n        return x + 1\n"
            ),
            note="Derived from a class with a `__call__` of its own.",
        ),
        Example(_net("    @staticmethod\n    def forward(x: Tensor) -> Tensor:\n        return x\n")),
        Example(
            "from somewhere import Base\nfrom torch import Tensor\n\n\nclass Net(Base):\n" + _FORWARD,
            note="Base may be anything.",
        ),
    )

    def judge(self, hazard: UntypedCallHazard, node: cst.CSTNode) -> str | None:
        if hazard.stale:
            return (
                f"the __call__ that {hazard.module} declares to type checkers is not what its forward has become — "
                f"copy forward's parameters and result"
            )
        return (
            f"calling {with_article(hazard.module)} gives Any to type checkers, although its forward is annotated (torch declares "
            f"Module.__call__ as Callable[..., Any]) — declare __call__ with forward's signature under TYPE_CHECKING"
        )

    def _beside(self, hazard: UntypedCallHazard) -> ast.stmt | None:
        """The statement that the declaration is put beside; None where there is no safe place.

        Below forward if forward ends its line, else above what follows it or above forward itself. Nothing can be
        put above a decorated definition here: its decorators are not part of its text.
        """
        if hazard.alone:
            return hazard.node  # type: ignore[return-value]
        definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        for statement in (hazard.node, hazard.following):
            if isinstance(statement, definitions) and not statement.decorator_list:
                return statement
        return None

    def fix_target(self, hazard: UntypedCallHazard) -> ast.AST:
        return hazard.declared or self._beside(hazard) or hazard.node

    def fix(self, hazard: UntypedCallHazard, node: cst.CSTNode) -> cst.CSTNode | cst.FlattenSentinel[Any] | None:
        import libcst as cst

        beside = self._beside(hazard)
        if not hazard.signatures or (hazard.declared is None and beside is None):
            return None
        functions = [
            "\n".join(hazard.unit + line if line.strip() else line for line in f"{signature}: ...".split("\n"))
            for signature in hazard.signatures
        ]
        block = cst.parse_statement("if TYPE_CHECKING:\n" + "\n".join(functions) + "\n")
        assert isinstance(block, cst.If)
        block = block.with_changes(body=block.body.with_changes(indent=hazard.unit))
        if isinstance(node, cst.If) and hazard.declared is not None:
            kept: list[Any] = []
            new: Any = list(block.body.body)
            for statement in node.body.body:
                if isinstance(statement, cst.FunctionDef) and statement.name.value == "__call__":
                    if new:
                        kept += [new[0].with_changes(leading_lines=statement.leading_lines), *new[1:]]
                    new = []
                else:
                    kept.append(statement)
            return node.with_changes(body=node.body.with_changes(body=kept))
        blank: Any = cst.EmptyLine(indent=False)
        if hazard.alone:
            return cst.FlattenSentinel([node, block.with_changes(leading_lines=[blank])])
        lines = getattr(node, "leading_lines", ())
        return cst.FlattenSentinel([block, node.with_changes(leading_lines=[blank, *lines])])

    def imports(self, hazard: UntypedCallHazard) -> tuple[str, ...]:
        return () if hazard.declared is not None else ("typing.TYPE_CHECKING",)
