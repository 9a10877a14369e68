"""A mypy plugin that gives `module(x)` the type of `module.forward(x)`.

torch declares `Module.__call__: Callable[..., Any]`, so every checker loses the type at every call of a module. With
`plugins = ["tensorlint.mypy_plugin"]` arguments are checked and results typed, wherever the class's `forward` is.
Names given to `register_buffer` and `register_parameter` become Tensors; otherwise the typed calls would refuse them
as the `Tensor | Module` that torch's `__getattr__` returns.

Options, in `[tool.tensorlint-mypy]` of pyproject.toml or `[tensorlint-mypy]` of mypy.ini and setup.cfg:
`containers = true` also types what an `nn.Sequential`, `ModuleList` or pooling layer was made of. mypy does not
follow a container that is changed or replaced later, so that is not sound, and off.

What goes wrong in here becomes mypy's own type; TENSORLINT_MYPY_DEBUG=1 shows it instead.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from mypy.nodes import TypeInfo, Var
from mypy.options import Options
from mypy.plugin import (
    AttributeContext,
    ClassDefContext,
    FunctionContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
from mypy.types import FunctionLike, Type

from tensorlint.mypy_plugin.calls import call_of_attribute, call_of_method
from tensorlint.mypy_plugin.containers import MADE_WITH, MODULE_LIST, WRAPPERS, element, made_by, wrapped
from tensorlint.mypy_plugin.modules import MODULE, PARAMETER, is_module
from tensorlint.mypy_plugin.registered import record_class, registered_attribute
from tensorlint.mypy_plugin.settings import read_options

CALL = MODULE + ".__call__"

C = TypeVar("C")
R = TypeVar("R")


def _guarded(hook: Callable[[C], R], default: Callable[[C], R]) -> Callable[[C], R]:
    """The hook with mypy's own answer in place of an exception, which would end the user's run."""

    def call(context: C) -> R:
        try:
            return hook(context)
        except Exception:
            if os.environ.get("TENSORLINT_MYPY_DEBUG"):
                raise
            return default(context)

    return call


def _default_attribute(ctx: AttributeContext) -> Type:
    return ctx.default_attr_type


def _default_signature(ctx: MethodSigContext) -> FunctionLike:
    return ctx.default_signature


def _default_return(ctx: FunctionContext | MethodContext) -> Type:
    return ctx.default_return_type


def _nothing(ctx: ClassDefContext) -> None:
    pass


# Looked up by name at every call, so that a plugin built on this one can put its own in place.
_CALL_HOOK = _guarded(lambda ctx: call_of_attribute(ctx), _default_attribute)
_METHOD_HOOK = _guarded(call_of_method, _default_signature)
_CLASS_HOOK = _guarded(record_class, _nothing)


@cache
def _digest() -> str:
    """Identifies the plugin's sources: mypy itself looks at one file of a plugin, and types here hang on all."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class TensorlintPlugin(Plugin):
    """The hooks; each is answered by a function above."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.settings = read_options(options.config_file)

    def report_config_data(self, ctx: ReportConfigContext) -> Any:
        return {"plugin": _digest(), **self.settings}

    def _class(self, fullname: str) -> TypeInfo | None:
        symbol = self.lookup_fully_qualified(fullname)
        return symbol.node if symbol is not None and isinstance(symbol.node, TypeInfo) else None

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        if fullname == CALL:
            return _CALL_HOOK
        if not fullname.startswith(MODULE + "."):
            return None
        name = fullname.removeprefix(MODULE + ".")
        module = self._class(MODULE)
        if module is None or name in module.names:
            return None
        read = partial(registered_attribute, name=name, parameter=self._class(PARAMETER))
        return _guarded(read, _default_attribute)

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        if not fullname.endswith(".__call__"):
            return None
        module = self._class(MODULE)
        if module is None or isinstance(module.names["__call__"].node, Var):
            return None  # the attribute's hook has answered
        info = self._class(fullname.removesuffix(".__call__"))
        return _METHOD_HOOK if info is not None and is_module(info) else None

    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        info = self._class(fullname)
        return _CLASS_HOOK if info is not None and is_module(info) else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        attrs = wrapped if fullname in WRAPPERS else MADE_WITH.get(fullname) if self.settings["containers"] else None
        return _guarded(partial(made_by, attrs=attrs), _default_return) if attrs is not None else None

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if not self.settings["containers"] or not fullname.startswith(MODULE_LIST + "."):
            return None
        if fullname.rpartition(".")[2] not in ("__getitem__", "__iter__"):
            return None
        return _guarded(element, _default_return)


def plugin(version: str) -> type[Plugin]:
    """What mypy calls."""
    return TensorlintPlugin
