"""`check_annotations`: jaxtyping's annotations, checked without its import hook; jaxtyping with beartype is the oracle."""

# ruff: noqa: F722, F821, UP037
from __future__ import annotations

import asyncio
import sys
import types
from typing import Any

import pytest

from pytest_tensorcheck.shapes import ShapeError, check_annotations

np = pytest.importorskip("numpy", reason="needs numpy")
jaxtyping = pytest.importorskip("jaxtyping", reason="needs jaxtyping")
Float, Int, Shaped = jaxtyping.Float, jaxtyping.Int, jaxtyping.Shaped
Array = np.ndarray


def attention(q: Float[Array, "b t d"], k: Float[Array, "b s d"], scale: float = 1.0) -> Float[Array, "b t s"]:
    return np.einsum("btd,bsd->bts", q, k) * scale


def wrong_result(x: Float[Array, "b c"]) -> Float[Array, "c b"]:
    return x


def expression(x: Float[Array, "n"], y: Float[Array, 2 * n + 1]) -> None: ...


def optional(x: Float[Array, "n"] | None = None, y: Float[Array, "n"] | Int[Array, "n n"] | None = None): ...


def container(
    xs: list[Float[Array, "b c"]], by_name: dict[str, Float[Array, "b"]], pair: tuple[Int[Array, "b"], int]
): ...


def many(*xs: Float[Array, "b c"], **named: Float[Array, "b"]): ...


def sized(x: Float[Array, "{n} 2"], n: int): ...


def plain(x: int) -> int:
    return x


class Layer:
    width = 3

    def __call__(self, x: Float[Array, "b {self.width}"]) -> Float[Array, "b 1"]:
        return x.sum(1, keepdims=True)

    @staticmethod
    def scale(x: Float[Array, "b c"]) -> Float[Array, "b c"]:
        return x

    @classmethod
    def make(cls, x: Float[Array, "b c"]) -> Layer:
        return cls()


async def later(x: Float[Array, "b c"]) -> Float[Array, "c b"]:
    return x


F = np.zeros
CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (attention, (F((2, 3, 4)), F((2, 5, 4))), {}),
    (attention, (F((2, 3, 4)), F((2, 5, 6))), {}),
    (attention, (F((2, 3, 4)),), {"k": F((3, 5, 4))}),
    (attention, (F((2, 3)), F((2, 5, 4))), {}),
    (attention, (F((2, 3, 4), int), F((2, 5, 4))), {}),
    (attention, (None, F((2, 5, 4))), {}),
    (wrong_result, (F((2, 3)),), {}),
    (wrong_result, (F((3, 3)),), {}),
    (expression, (F(3), F(7)), {}),
    (expression, (F(3), F(8)), {}),
    (optional, (), {}),
    (optional, (F(3), F(3)), {}),
    (optional, (F(3), F((3, 3), int)), {}),
    (optional, (F(3), F((3, 4), int)), {}),
    (optional, (F((3, 3)),), {}),
    (sized, (F((4, 2)), 4), {}),
    (sized, (F((4, 2)), 5), {}),
]


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_verdicts_are_those_of_jaxtyping_with_beartype(call):
    beartype = pytest.importorskip("beartype", reason="needs beartype, the oracle's other half")
    function, args, kwargs = CALLS[call]
    try:
        jaxtyping.jaxtyped(function, typechecker=beartype.beartype)(*args, **kwargs)
        theirs = True
    except (jaxtyping.TypeCheckError, beartype.roar.BeartypeException):
        theirs = False
    try:
        check_annotations(function)(*args, **kwargs)
        ours = True
    except ShapeError:
        ours = False
    assert ours == theirs


def test_the_message_marks_the_axis_and_the_argument():
    with pytest.raises(ShapeError) as caught:
        check_annotations(attention)(F((2, 3, 4)), F((2, 5, 6)))
    lines = str(caught.value).splitlines()
    assert lines[0] == 'attention(k): expected "b s d" = (2, s, 4), got (2, 5, 6)'
    assert lines[2].endswith("^ axis 2: 6, but d = 4 since q")
    assert "test_shapes_annotations.py:" in lines[3]
    with pytest.raises(ShapeError, match=r"wrong_result\(\) result: expected"):
        check_annotations(wrong_result)(F((2, 3)))
    with pytest.raises(ShapeError, match=r"attention\(q\): expected dtype .*, got int64"):
        check_annotations(attention)(F((2, 3, 4), np.int64), F((2, 5, 4)))


def test_containers_are_looked_into_by_item():
    good = ([F((2, 3)), F((2, 3))], {"a": F(2)}, (F(2, int), 1))
    check_annotations(container)(*good)
    with pytest.raises(ShapeError, match=r"container\(xs\[1\]\)|container\(xs\)\[1\]"):
        check_annotations(container)([F((2, 3)), F((2, 4))], *good[1:])
    with pytest.raises(ShapeError, match=r"\['a'\]"):
        check_annotations(container)(good[0], {"a": F(3)}, good[2])
    check_annotations(many)(F((2, 3)), F((2, 3)), w=F(2))
    with pytest.raises(ShapeError, match=r"xs\[1\]"):
        check_annotations(many)(F((2, 3)), F((2, 4)))
    with pytest.raises(ShapeError, match=r"many\(w\)"):
        check_annotations(many)(F((2, 3)), w=F(3))


def test_a_module_is_checked_inside_the_block_and_put_back():
    module = sys.modules[__name__]
    before = (module.wrong_result, Layer.__dict__["__call__"], Layer.__dict__["scale"], Layer.__dict__["make"])
    with check_annotations(module) as watching:
        assert {"wrong_result", "attention", "Layer.__call__", "Layer.scale", "Layer.make"} <= set(watching.checked)
        assert "plain" not in watching.checked
        with pytest.raises(ShapeError, match=r"wrong_result\(\) result"):
            module.wrong_result(F((2, 3)))
        with pytest.raises(ShapeError, match=r"Layer.__call__\(x\)"):
            Layer()(F((2, 4)))
        assert Layer()(F((2, 3))).shape == (2, 1)
        assert Layer.scale(F((2, 3))).shape == (2, 3)
        assert isinstance(Layer.make(F((2, 3))), Layer)
        with pytest.raises(ShapeError):
            Layer.make(F(2))
    assert before == (module.wrong_result, Layer.__dict__["__call__"], Layer.__dict__["scale"], Layer.__dict__["make"])
    wrong_result(F((2, 3)))


def test_a_class_and_a_single_function_in_a_block():
    with check_annotations(Layer), pytest.raises(ShapeError):
        Layer.scale(F(2))
    with check_annotations(wrong_result), pytest.raises(ShapeError):
        sys.modules[__name__].wrong_result(F((2, 3)))
    assert sys.modules[__name__].wrong_result is wrong_result


def test_it_is_a_decorator_for_functions_methods_and_coroutines():
    @check_annotations
    def f(x: Shaped[Array, "n n"]):
        """Its docstring."""
        return x

    assert f.__doc__ == "Its docstring."
    assert f.__name__ == "f"
    with pytest.raises(ShapeError):
        f(F((2, 3)))

    class Model:
        @check_annotations
        def forward(self, x: Shaped[Array, "n n"]):
            return self, x

    model = Model()
    assert model.forward(F((2, 2)))[0] is model
    with pytest.raises(ShapeError):
        model.forward(F((2, 3)))
    with pytest.raises(ShapeError):
        asyncio.run(check_annotations(later)(F((2, 3))))


def test_nothing_to_check_is_an_error_and_not_a_pass():
    with pytest.raises(ValueError, match="no array annotation"):
        check_annotations(plain)
    with pytest.raises(ValueError, match="nothing would be checked"):
        check_annotations(types.ModuleType("empty"))
    with pytest.raises(TypeError, match="a function, a class or a module"):
        check_annotations(3)
    with pytest.raises(TypeError, match="inside a block"):
        check_annotations(Layer)(F(2))


def test_a_wrong_call_stays_pythons_own_error():
    with pytest.raises(TypeError, match="missing"):
        check_annotations(attention)(F((2, 3, 4)))
