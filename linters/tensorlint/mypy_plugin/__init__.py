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

from tensorlint.mypy_plugin.calls import begin, call_of_attribute, call_of_method
from tensorlint.mypy_plugin.containers import ELEMENTS, MADE_WITH, WRAPPERS, element, made_by, wrapped
from tensorlint.mypy_plugin.modules import MODULE, PARAMETER, is_module
from tensorlint.mypy_plugin.registered import (
    either_attribute,
    record_class,
    registered_and_assigned,
    registered_attribute,
)
from tensorlint.mypy_plugin.settings import read_options

CALL = MODULE + ".__call__"

C = TypeVar("C")
H = TypeVar("H")
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
_EITHER_HOOK = _guarded(either_attribute, _default_attribute)
_CLASS_HOOK = _guarded(record_class, _nothing)


@cache
def _digest() -> str:
    """Identifies the plugin's sources: mypy itself looks at one file of a plugin, and types here hang on all."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Memo(dict[str, H | None]):
    """The hook of each name, asked for once.

    mypy asks at every attribute and every call, and what it calls is a compiled dictionary's own lookup.
    """

    def __init__(self, find: Callable[[str], H | None]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, fullname: str) -> H | None:
        hook = self[fullname] = self.find(fullname)
        return hook


class TensorlintPlugin(Plugin):
    """The hooks; each is answered by a function above."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        begin(options)
        self.settings = read_options(options.config_file)
        self._config_data = {"plugin": _digest(), **self.settings}
        makers = {name: _guarded(partial(made_by, attrs=wrapped), _default_return) for name in WRAPPERS}
        elements: dict[str, Callable[[MethodContext], Type]] = {}
        if self.settings["containers"]:
            for name, attrs in MADE_WITH.items():
                makers[name] = _guarded(partial(made_by, attrs=attrs), _default_return)
            elements = dict.fromkeys(ELEMENTS, _guarded(element, _default_return))
        # mypy looks for its hooks on the object, where a lookup in C may stand in for a method.
        # A daemon's classes change, so that there it is asked anew.
        self._assigned: dict[str, frozenset[str]] = {}
        self._in_daemon = options.fine_grained_incremental
        attribute = self.attribute_hook if self._in_daemon else _Memo(self.attribute_hook).__getitem__
        hooks: dict[str, Callable[[str], Any]] = {
            "get_attribute_hook": attribute,
            "get_method_signature_hook": _Memo(self.method_signature_hook).__getitem__,
            "get_function_hook": makers.get,
            "get_method_hook": elements.get,
        }
        vars(self).update(hooks)

    def report_config_data(self, ctx: ReportConfigContext) -> Any:
        return self._config_data

    def _class(self, fullname: str) -> TypeInfo | None:
        symbol = self.lookup_fully_qualified(fullname)
        return symbol.node if symbol is not None and isinstance(symbol.node, TypeInfo) else None

    def attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        if fullname == CALL:
            return _CALL_HOOK
        owner, _, name = fullname.rpartition(".")
        if owner != MODULE:
            assigned = self._assigned.get(owner)
            if assigned is None:
                assigned = registered_and_assigned(self._class(owner))
                if not self._in_daemon:
                    self._assigned[owner] = assigned
            return _EITHER_HOOK if name in assigned else None
        module = self._class(MODULE)
        if module is None or name in module.names:
            return None
        read = partial(registered_attribute, name=name, parameter=self._class(PARAMETER))
        return _guarded(read, _default_attribute)

    def method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        if not fullname.endswith(".__call__"):
            return None
        module = self._class(MODULE)
        if module is not None and isinstance(module.names["__call__"].node, Var):
            return None  # the attribute's hook has answered
        return _METHOD_HOOK  # whether the class is a module is asked at the call: in a daemon it may become one

    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        info = self._class(fullname)
        return _CLASS_HOOK if info is not None and is_module(info) else None


def plugin(version: str) -> type[Plugin]:
    """What mypy calls."""
    return TensorlintPlugin
