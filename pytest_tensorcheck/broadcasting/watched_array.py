"""The `numpy.ndarray` subclass behind `watch`. Importing this module imports numpy."""

from __future__ import annotations

import sys
import types
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy

from pytest_tensorcheck.broadcasting import operations as ops
from pytest_tensorcheck.broadcasting.axis_names import conflict, follow
from pytest_tensorcheck.broadcasting.callers import KIND, LIBRARY, STANDARD, USER
from pytest_tensorcheck.broadcasting.guard import allowed, deliver
from pytest_tensorcheck.broadcasting.messages import Maker, axis_observation, broadcast_observation, user_line_at
from pytest_tensorcheck.broadcasting.operations import Operation
from pytest_tensorcheck.broadcasting.verdict import Operand, is_accident, relation
from pytest_tensorcheck.call_source import line_at, line_span_at
from pytest_tensorcheck.shapes.sizes import on_named


class Origin(NamedTuple):
    """Who made an array: the function's name, the user's instruction, and what it says about the axes."""

    function: str
    code: CodeType | None
    lasti: int
    explicit: str = ""
    grid: bool = False
    prediction: bool = False


# numpy's names where they differ from the table's.
_UFUNCS: dict[str, str] = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "equal": "eq", "not_equal": "ne",
    "arctan2": "atan2", "left_shift": "lshift", "right_shift": "rshift",
}  # fmt: skip
_FUNCTIONS: dict[str, Operation] = {
    "where": Operation("np.where", "choice", ("condition", "x", "y")),
    "allclose": Operation("allclose", "equality", ("a", "b")),
    "isclose": Operation("isclose", "equality", ("a", "b")),
    "array_equiv": Operation("array_equiv", "equality", ("a1", "a2")),
}


def _ours(frame: FrameType | None) -> FrameType | None:
    """The first frame outside this module; numpy's own Python code counts as numpy."""
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame


def _acting(frame: FrameType | None) -> FrameType | None:
    """The user's frame that called numpy; None when another library did. numpy's Python layers are looked through."""
    frame = _ours(frame)
    while frame is not None:
        name = frame.f_code.co_filename
        kind = KIND[name]
        if kind == USER:
            return frame
        if kind == LIBRARY and not name.startswith(_NUMPY):
            return None
        if kind not in (LIBRARY, STANDARD):
            return None
        frame = frame.f_back
    return None


_NUMPY = numpy.__file__.removesuffix("__init__.py")


class WatchedArray(numpy.ndarray[Any, Any]):
    """A view of an array that judges what it meets. Comparing, printing, pickling and indexing are numpy's."""

    _origin: Origin | None
    _axis_names: tuple[str | None, ...] | None

    def __array_finalize__(self, source: Any) -> None:
        self._origin = getattr(source, "_origin", None)
        names = getattr(source, "_axis_names", None)
        self._axis_names = names if names is not None and len(names) == self.ndim else None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if method == "__call__" and len(inputs) >= 2 and out is None:
            operation = ops.ELEMENTWISE.get(name)
            if operation is not None:
                self._judge(operation, inputs[:2])
        plain = [_plain(each) for each in inputs]
        if out is not None:
            kwargs["out"] = tuple(_plain(each) for each in out)
        if isinstance(kwargs.get("where"), WatchedArray):
            kwargs["where"] = _plain(kwargs["where"])
        result = getattr(ufunc, method)(*plain, **kwargs)
        if out is not None:
            return out[0] if len(out) == 1 else out
        explicit, grid, prediction = "", False, False
        if method == "reduce":
            explicit = "keepdim" if kwargs.get("keepdims") else ""
        elif method == "outer":
            explicit = "strong"
        elif name in ops.PASSES_ON:
            arrays = [each for each in inputs if isinstance(each, numpy.ndarray) and each.ndim]
            before = getattr(arrays[0], "_origin", None) if len(arrays) == 1 else None
            if before is not None:
                explicit, grid, prediction = before.explicit, before.grid, before.prediction
        origin = _origin(f"np.{ufunc.__name__}", sys._getframe(1), explicit, grid, prediction)
        result = _wrapped(result, origin)
        _name_axes(result, name if method == "__call__" else "reduce", inputs, kwargs)
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        __tracebackhide__ = True
        name = getattr(func, "__name__", "")
        operation = _FUNCTIONS.get(name)
        if operation is not None:
            operands = [args[at] if at < len(args) else kwargs.get(key) for at, key in enumerate(operation.operands)]
            self._judge(operation, operands)
        result = super().__array_function__(func, types, args, kwargs)
        first = args[0] if args else None
        before = getattr(first, "_origin", None)
        explicit = _explicit(name, kwargs)
        prediction = name in ops.PREDICTION
        if before is not None and (name in ops.PASSES_ON or explicit == "weak"):
            prediction = prediction or before.prediction
        wrapped = _wrapped(result, _origin(f"np.{name}", sys._getframe(1), explicit, False, prediction))
        if isinstance(wrapped, WatchedArray) and wrapped is not first:
            _name_axes(wrapped, name, args, kwargs)
        return wrapped

    def _judge(self, operation: Operation, operands: Any) -> None:
        __tracebackhide__ = True
        found = []
        for position, value in enumerate(operands):
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple):
                found.append((position, value, shape))
        for at, (position, first, shape) in enumerate(found):
            for other, second, second_shape in found[at + 1 :]:
                if shape == second_shape or allowed():
                    continue
                names = getattr(first, "_axis_names", None), getattr(second, "_axis_names", None)
                how = relation(shape, second_shape)
                clash = conflict(*names) if how is None and None not in names else None
                if how is None and clash is None:
                    continue
                acting = _acting(sys._getframe(1))
                if acting is None:
                    return
                key = (acting.f_code, acting.f_lasti, operation.title)
                shapes, makers = (shape, second_shape), (_maker(first), _maker(second))
                if how is None:
                    assert clash is not None
                    seen = axis_observation(
                        operation, shapes, names, clash, makers, (position, other), acting.f_code, acting.f_lasti
                    )
                    deliver(seen, key, raise_unheard=True)
                    return
                if is_accident(
                    operation.kind, how, _operand(first, shape, acting), _operand(second, second_shape, acting)
                ):
                    seen = broadcast_observation(
                        operation, how, shapes, makers, (position, other), acting.f_code, acting.f_lasti, numpy=True
                    )
                    deliver(seen, key, raise_unheard=True)
                    return

    def __getitem__(self, index: Any) -> Any:
        result = super().__getitem__(index)
        if isinstance(result, WatchedArray):
            asked = index if type(index) is tuple else (index,)
            explicit = "strong" if any(each is None for each in asked) else ""
            before = self._origin
            result._origin = _origin(
                "indexing", sys._getframe(1), explicit, False, before is not None and before.prediction
            )
            _name_axes(result, "getitem", (self, index), {})
        return result

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return self._reshaped(super().reshape(*shape, **options), "reshape", "weak", sys._getframe(1))

    def transpose(self, *axes: Any) -> Any:
        result = self._reshaped(super().transpose(*axes), "transpose", "transpose", sys._getframe(1))
        _name_axes(result, "transpose", (self, *axes), {})
        return result

    @property
    def T(self) -> Any:
        result = self._reshaped(super().T, "T", "transpose", sys._getframe(1))
        _name_axes(result, "T", (self,), {})
        return result

    def squeeze(self, *axes: Any, **options: Any) -> Any:
        return self._reshaped(super().squeeze(*axes, **options), "squeeze", "", sys._getframe(1))

    def ravel(self, *order: Any, **options: Any) -> Any:
        return self._reshaped(super().ravel(*order, **options), "ravel", "", sys._getframe(1))

    def flatten(self, *order: Any, **options: Any) -> Any:
        return self._reshaped(super().flatten(*order, **options), "flatten", "", sys._getframe(1))

    def argmax(self, *args: Any, **options: Any) -> Any:
        return self._reduced(super().argmax(*args, **options), "argmax", options, sys._getframe(1))

    def argmin(self, *args: Any, **options: Any) -> Any:
        return self._reduced(super().argmin(*args, **options), "argmin", options, sys._getframe(1))

    def mean(self, *args: Any, **options: Any) -> Any:
        return self._reduced(super().mean(*args, **options), "mean", options, sys._getframe(1), args)

    def std(self, *args: Any, **options: Any) -> Any:
        return self._reduced(super().std(*args, **options), "std", options, sys._getframe(1), args)

    def var(self, *args: Any, **options: Any) -> Any:
        return self._reduced(super().var(*args, **options), "var", options, sys._getframe(1), args)

    def _reshaped(self, result: Any, name: str, explicit: str, frame: FrameType) -> Any:
        before = self._origin
        result._origin = _origin(f".{name}()", frame, explicit, False, before is not None and before.prediction)
        result._axis_names = None
        return result

    def _reduced(self, result: Any, name: str, options: Any, frame: FrameType, args: Any = ()) -> Any:
        explicit = "keepdim" if options.get("keepdims") else ""
        wrapped = _wrapped(result, _origin(f".{name}()", frame, explicit, False, name in ops.PREDICTION))
        _name_axes(wrapped, "reduce", (self, *args), options)
        return wrapped


def _explicit(name: str, kwargs: Any) -> str:
    if name in ops.STRONG:
        return "strong"
    if name in ops.WEAK:
        return "weak"
    if name in ops.TRANSPOSE:
        return "transpose"
    return "keepdim" if kwargs.get("keepdims") else ""


def _origin(function: str, frame: FrameType, explicit: str, grid: bool, prediction: bool) -> Origin:
    acting = _acting(frame)
    if acting is None:
        return Origin(function, None, 0, explicit, grid, prediction)
    return Origin(function, acting.f_code, acting.f_lasti, explicit, grid, prediction)


def _plain(value: Any) -> Any:
    return value.view(numpy.ndarray) if isinstance(value, WatchedArray) else value


def _wrapped(value: Any, origin: Origin) -> Any:
    """The arrays of a result, watched. Scalars stay scalars, structured and object arrays stay as they are."""
    if type(value) is numpy.ndarray:
        value = value.view(WatchedArray)
        value._origin = origin
    elif isinstance(value, WatchedArray):
        if value._origin is None or value._origin.function != origin.function:
            value._origin = origin
    elif type(value) in (list, tuple):
        return type(value)(_wrapped(each, origin) for each in value)
    return value


def _name_axes(result: Any, name: str, args: Any, kwargs: Any) -> None:
    if isinstance(result, WatchedArray):
        result._axis_names = follow(
            name, [(getattr(each, "_axis_names", None), getattr(each, "shape", None)) for each in args], args, kwargs,
            result.shape,
        )  # fmt: skip


def _operand(value: Any, shape: tuple[int, ...], acting: FrameType) -> Operand:
    origin = getattr(value, "_origin", None)
    storage = value.__array_interface__["data"][0] if isinstance(value, numpy.ndarray) else 0
    if origin is None or origin.code is None:
        base = getattr(value, "base", None)
        explicit = "strong" if isinstance(base, numpy.ndarray) and 0 < base.ndim < len(shape) else ""
        if origin is not None:
            explicit = origin.explicit
        return Operand(shape, explicit, known=False, storage=storage)  # type: ignore[arg-type]
    same = False
    if origin.explicit and origin.code is acting.f_code:
        first, last = line_span_at(acting.f_code, acting.f_lasti)
        line = line_at(acting.f_code, origin.lasti)
        same = first <= line <= last
    setup = origin.code.co_name in ("__init__", "setup", "build", "__post_init__")
    return Operand(shape, origin.explicit, same, origin.prediction, origin.grid, setup=setup, storage=storage)


def _maker(value: Any) -> Maker | None:
    origin = getattr(value, "_origin", None)
    if origin is None or origin.code is None:
        return None
    return Maker(origin.function, user_line_at(origin.code, origin.lasti))


def _name_axes_asserted(array: Any, names: tuple[str | None, ...]) -> None:
    if isinstance(array, WatchedArray):
        array._axis_names = names


on_named.append(_name_axes_asserted)  # for as long as there may be watched arrays, which outlive any block


def watched(array: Any, function: str = "watch") -> Any:
    """The array as a `WatchedArray` on the same memory; what is no array is returned as it is."""
    if isinstance(array, WatchedArray) or not isinstance(array, numpy.ndarray):
        return array
    result = array.view(WatchedArray)
    result._origin = None
    if function != "watch":
        name = function.rpartition(".")[2]
        result._origin = _origin(function, sys._getframe(1), _explicit(name, {}), name in ops.GRID, False)
    return result


class WatchedModule(types.ModuleType):
    """numpy under its own name, whose functions hand out watched arrays; classes and constants are numpy's own."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_module"], name)
        if isinstance(value, types.ModuleType):
            return WatchedModule(value)
        if callable(value) and not isinstance(value, type):
            return WatchedCallable(value, f"np.{name}")
        return value

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_module"])


class WatchedCallable:
    """A function of numpy, or a random generator with its methods, whose arrays are watched."""

    def __init__(self, wrapped: Any, name: str) -> None:
        self._wrapped = wrapped
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        result = self._wrapped(*args, **kwargs)
        if isinstance(result, (numpy.random.Generator, numpy.random.RandomState)):
            return WatchedCallable(result, self._name)
        if type(result) in (list, tuple):
            return type(result)(watched(each, self._name) for each in result)
        return watched(result, self._name)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)
        return WatchedCallable(value, f"{self._name}.{name}") if callable(value) else value

    def __getattribute__(self, name: str) -> Any:
        """`isinstance(np.random.default_rng(), Generator)` stays true."""
        if name == "__class__":
            return type(object.__getattribute__(self, "_wrapped"))
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return repr(self._wrapped)
