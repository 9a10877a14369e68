"""Calls that mean something which `assert_shape` writes in another way: the error says what to write."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy", reason="the arrays are numpy's")

from pytest_tensorcheck.shapes import (  # noqa: E402
    ShapeChecker,
    ShapeError,
    ShapeSpecError,
    assert_finite,
    assert_shape,
)

x = np.zeros((3, 4))
WRONG = {
    'assert_shape(x, "b t", b=3)': 'a size is written into the specification: "b=3 t" instead of b=3',
    'assert_shape(x, "b t", b=3, t=4)': 'a size is written into the specification: "b=3 t=4" instead of b=3, t=4',
    'assert_shape(x, "b t", x, "b 2*c", c=2)': 'the specification: "b 2*2" instead of c=2',
    'assert_shape(x, "b #t", t=4)': 'the specification: "b #t=4" instead of t=4',
    "assert_shape(x, 3, 4)": 'a shape is written as text: assert_shape(x, "3 4")',
    'assert_shape(x, "b", "t")': 'a shape is written as text: assert_shape(x, "b t")',
    "assert_shape(x, -1, 4)": 'a shape is written as text: assert_shape(x, "_ 4")',
    "assert_shape(x, shape=(3, 4))": 'a shape is written as text: assert_shape(x, "3 4")',
    'assert_shape(x, shape="b t")': 'takes the shape without a keyword: assert_shape(x, "b t")',
    'assert_shape(x, "b t", "rows and columns")': 'y, "b"); it takes no message',
    'assert_shape(x, "b t", msg="wrong")': "has no option 'msg', only dtype, device, contiguous, requires_grad; an array",
    'assert_shape(x, "b t", ndim=2)': 'two axes of any size: assert_shape(x, "_ _")',
    'assert_shape(x, "b t", y=x)': 'assert_shape(y=...) takes a pair: y=(y, "b t")',
    'assert_shape(x, "b t", axis=1)': "has no option 'axis'",
    "assert_shape(x, (3, 4))": 'x: a shape is written as text, "3 4", and not as a tuple',
    "assert_shape(x, [None, 4])": 'x: a shape is written as text, "_ 4", and not as a list',
    "assert_shape(x, x.shape)": 'x: a shape is written as text, "3 4", and not as a tuple',
    'assert_shape(x, ("b", 4))': 'x: a shape is written as text, "b 4", and not as a tuple',
    'assert_shape(x, ("b", "t"))': 'x: expected a list or tuple of 2, got a ndarray; the shape of one is "b t"',
    "assert_shape([x], [(3, 4)])": '[x][0]: a shape is written as text, "3 4", and not as a tuple',
    "assert_shape(x, 2)": 'not int 2; "2" is one axis of size 2, "_ _" are two axes of any size',
    'assert_shape(x.shape, "b t")': "found none in tuple (3, 4); give the array itself, not its shape",
    'assert_shape(x, "b -1")': "axis 1: 4, but -1 was asked for; a size is not negative, and _ stands for any",
    'assert_shape(x, "(b t)")': '"(b t)": (b: brackets group nothing; two axes that became one are written b*t',
    'assert_shape(x, "(3, 4)")': "axes are separated by spaces, not commas",
    'assert_shape(x, "b -> t")': "-> is no axis: a specification is one shape, so input and output have one each",
    "assert_finite()": "assert_finite was given nothing to look at",
}


@pytest.mark.parametrize(("call", "says"), WRONG.items(), ids=list(WRONG))
@pytest.mark.parametrize("asserts", [assert_shape, ShapeChecker()], ids=["function", "fixture"])
def test_the_error_says_what_to_write(tmp_path, call, says, asserts):
    source = tmp_path / "user.py"
    source.write_text(f"def call(x, assert_shape, assert_finite):\n    {call}\n")
    scope = {}
    exec(compile(source.read_text(), str(source), "exec"), scope)
    with pytest.raises((TypeError, ShapeError, ShapeSpecError)) as caught:
        scope["call"](x, asserts, assert_finite)
    assert says in str(caught.value)


@pytest.mark.parametrize("spec", ["b=3 t", "b=3 t=4", "3 4", "_ 4", "_ _", "b #t=4", "b 2*2"])
def test_what_is_advised_can_be_written(spec):
    assert_shape(x, spec)


def test_a_list_of_specifications_still_speaks_of_a_list():
    with pytest.raises(ShapeError, match=r"expected a list or tuple of 2, got a ndarray\n"):
        assert_shape(np.zeros((30, 40)), ["b 64 h w", "b 128 h//2 w//2"])
    with pytest.raises(ShapeError, match=r"\[0\]: a specification is a string"):
        assert_shape([x, x], (object(), "b t"))
