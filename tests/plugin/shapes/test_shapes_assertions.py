"""`assert_shape` and its companions: scopes, structures, properties, and the text people read."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass

import pytest

from pytest_tensorcheck.observations import TensorcheckFailure
from pytest_tensorcheck.shapes import (
    CloseError,
    ShapeChecker,
    ShapeError,
    ShapeSpecError,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_same_shape,
    assert_shape,
    shapes,
)

np = pytest.importorskip("numpy", reason="needs numpy")


def here(offset=0):
    """`file:line` of the caller, as messages write it."""
    return f"test_shapes_assertions.py:{sys._getframe(1).f_lineno + offset}"


# -- scopes ------------------------------------------------------------------------------------------------------------


def test_names_are_bound_within_one_call():
    x, y = np.zeros((4, 8)), np.zeros((4, 9))
    assert_shape(x, "b c", y, "b d")
    assert_shape(y, "b c")
    with pytest.raises(ShapeError):
        assert_shape(x, "b c", y, "b c")


def test_names_are_bound_within_a_block_and_blocks_nest():
    x, y = np.zeros((4, 8)), np.zeros((5, 8))
    with shapes() as sizes:
        assert_shape(x, "b c")
        assert sizes == {"b": 4, "c": 8}
        with shapes():
            assert_shape(y, "b c")
        with pytest.raises(ShapeError):
            assert_shape(y, "b c")
        assert sizes == {"b": 4, "c": 8}
    assert_shape(y, "b c")


def test_a_checker_binds_for_its_lifetime():
    checker = ShapeChecker()
    checker(np.zeros((4, 8)), "b c")
    checker(np.zeros((4, 3)), "b d")
    assert checker.sizes == {"b": 4, "c": 8, "d": 3}
    with pytest.raises(ShapeError):
        checker(np.zeros((5, 8)), "b c")
    ShapeChecker()(np.zeros((5, 8)), "b c")


def test_a_failed_assertion_binds_nothing():
    checker = ShapeChecker()
    with pytest.raises(ShapeError):
        checker(np.zeros((4, 8)), "b 9")
    checker(np.zeros((5, 8)), "b 8")


def test_scalars_and_python_numbers():
    assert_shape(np.float32(1), "", 2.5, "", np.array(3), "")
    with pytest.raises(ShapeError, match="no axes"):
        assert_shape(np.array(3), "b")
    with pytest.raises(ShapeError):
        assert_shape(np.zeros(1), "")


def test_threads_do_not_share_a_block():
    import threading

    failures = []

    def other():
        try:
            assert_shape(np.zeros((9, 9)), "b c")
        except ShapeError as error:
            failures.append(error)

    with shapes():
        assert_shape(np.zeros((4, 8)), "b c")
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not failures


@pytest.mark.parametrize(
    "call",
    [
        lambda x: assert_shape(x),
        lambda x: assert_shape(x, "b c", x),
        lambda x: assert_shape(),
        lambda x: assert_shape(x=x),
        lambda x: assert_shape(x=(x, "b c", 1)),
    ],
)
def test_a_call_without_a_specification_is_a_type_error(call):
    with pytest.raises(TypeError, match="assert_shape"):
        call(np.zeros((2, 2)))


# -- messages ----------------------------------------------------------------------------------------------------------


def test_the_message_marks_the_axis_and_names_the_binding():
    checker = ShapeChecker()
    x, y = np.zeros((4, 8, 64)), np.zeros((4, 32))
    checker(x, "batch seq dim")
    bound_at = here(-1)
    with pytest.raises(ShapeError) as caught:
        checker(y, "batch dim")
    failed_at = here(-1)
    lines = str(caught.value).splitlines()
    assert lines[0] == 'y: expected "batch dim" = (4, 64), got (4, 32)'
    assert lines[1].strip() == '"batch dim"'
    assert lines[2].lstrip(" ").startswith("^^^ axis 1: 32, but dim = 64 since ")
    assert lines[2].endswith(f"{bound_at} (x)")
    for line in lines[:2]:
        assert line[lines[2].index("^") :].startswith("dim")
    assert lines[3].endswith(failed_at)


def test_the_message_names_the_array_that_bound_within_the_call():
    x, y = np.zeros((4, 64)), np.zeros((4, 32))
    with pytest.raises(ShapeError, match=r"dim = 64 since x\n"):
        assert_shape(x, "b dim", y, "b dim")
    with pytest.raises(ShapeError, match=r"(?s)target: expected .* since prediction"):
        assert_shape(prediction=(x, "b dim"), target=(y, "b dim"))
    with pytest.raises(ShapeError, match="axis 1: 64, but b = 4 on an earlier axis"):
        assert_shape(x, "b b")


def test_the_message_for_expressions_rests_and_ranks():
    with pytest.raises(ShapeError, match=r"axis 1: 9, but 2\*b = 8 with b = 4"):
        assert_shape(np.zeros((4, 9)), "b 2*b")
    with pytest.raises(ShapeError, match=r"the axes from 0: \(3, 9\), but \*s = \(2, 3\)"):
        assert_shape(np.zeros((2, 3, 4)), "*s c", np.zeros((3, 9, 4)), "*s c")
    with pytest.raises(ShapeError, match="got \\(4, 9\\): 2 axes, but the specification has 3"):
        assert_shape(np.zeros((4, 9)), "b t c")
    with pytest.raises(ShapeError, match="at least 3"):
        assert_shape(np.zeros((4, 9)), "b ... t c")


def test_a_value_without_a_shape():
    with pytest.raises(ShapeError, match='expected an array of shape "b", got NoneType None'):
        assert_shape(None, "b")
    with pytest.raises(ShapeError, match="got str 'abc'"):
        assert_shape("abc", "b")


def test_failures_are_assertions_that_pickle():
    import pickle

    with pytest.raises(AssertionError) as caught:
        assert_shape(np.zeros(3), "4")
    assert isinstance(caught.value, TensorcheckFailure)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


# -- structures --------------------------------------------------------------------------------------------------------


@dataclass
class Batch:
    image: object
    label: object
    name: str = "train"


def test_structures_are_matched_by_path():
    batch = {"image": np.zeros((4, 3, 8, 8)), "meta": [np.zeros(4), np.zeros((4, 2))]}
    assert_shape(batch, {"image": "b c h w", "meta": ["b", "b two"]})
    with pytest.raises(ShapeError, match=r"batch\['meta'\]\[1\]: expected"):
        assert_shape(batch, {"image": "b c h w", "meta": ["b", "b 3"]})
    with pytest.raises(ShapeError, match=r"batch\['mask'\]: missing; the keys are 'image', 'meta'"):
        assert_shape(batch, {"mask": "b"})
    with pytest.raises(ShapeError, match=r"batch\['meta'\]: expected 3 items, got 2"):
        assert_shape(batch, {"meta": ["b", "b", "b"]})


def test_one_string_for_every_array_of_a_structure():
    assert_shape([np.zeros((2, 3)), (np.zeros((2, 3)), {"k": np.zeros((2, 3))})], "b c")
    with pytest.raises(ShapeError, match=r"\[1\]\[0\]: expected"):
        assert_shape([np.zeros((2, 3)), (np.zeros((2, 4)),)], "b c")
    with pytest.raises(ShapeError, match="found none"):
        assert_shape([], "b c")


def test_repeated_items_and_objects():
    assert_shape([np.zeros((2, 3))] * 4, ["b c", ...])
    assert_shape([np.zeros(1)] + [np.zeros((2, 3))] * 2, ["1", "b c", ...])
    assert_shape([np.zeros(1)], ["1", "b c", ...])
    with pytest.raises(ShapeError, match="items"):
        assert_shape([], ["1", "b c", ...])
    assert_shape(Batch(np.zeros((4, 2)), np.zeros(4)), {"image": "b c", "label": "b"})
    with pytest.raises(ShapeError, match=r"\.labels: missing"):
        assert_shape(Batch(np.zeros((4, 2)), np.zeros(4)), {"labels": "b"})


# -- dtype, layout -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32"), "float", float, ("int", "float32")])
def test_dtypes_that_fit(dtype):
    assert_shape(np.zeros(3, np.float32), "n", dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", np.float64, "int", int, bool, ("int", "float16"), "uint8"])
def test_dtypes_that_do_not_fit(dtype):
    with pytest.raises(ShapeError, match=r"expected dtype .*, got float32"):
        assert_shape(np.zeros(3, np.float32), "n", dtype=dtype)


@pytest.mark.parametrize(
    ("dtype", "nearest"), [("flot32", "float32"), ("torch.unit8", "uint8"), (("int32", "boool"), "bool")]
)
def test_a_misspelt_dtype_is_no_finding(dtype, nearest):
    with pytest.raises(ValueError, match=f"unknown dtype .*; did you mean {nearest!r}") as caught:
        assert_shape(np.zeros(3, np.float32), "n", dtype=dtype)
    assert not isinstance(caught.value, AssertionError)


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "string", "float8_e4m3b11fnuz", "key<fry>", "longlong", "qint8"])
def test_dtypes_of_other_libraries_are_not_misspelt(dtype):
    with pytest.raises(ShapeError):
        assert_shape(np.zeros(3, np.float32), "n", dtype=dtype)


def test_a_misspelt_option_is_named():
    with pytest.raises(TypeError, match="assert_shape has no option 'dytpe'; did you mean 'dtype'"):
        assert_shape(np.zeros(3), "n", dytpe="float32")
    with pytest.raises(TypeError, match=r"x=\(x, \"b t\"\)"):
        assert_shape(np.zeros(3), "n", x="float32")


def test_contiguity_shows_the_strides():
    x = np.zeros((3, 4))
    assert_shape(x, "a b", contiguous=True)
    assert_shape(x.T, "b a", contiguous=False)
    with pytest.raises(ShapeError, match=r"x\.T: expected a contiguous array, but shape \(4, 3\) has strides \(1, 4\)"):
        assert_shape(x.T, "b a", contiguous=True)


def test_torch_properties():
    torch = pytest.importorskip("torch", reason="needs torch")
    x = torch.zeros(3, 4, requires_grad=True)
    assert_shape(x, "a b", dtype=torch.float32, device="cpu", contiguous=True, requires_grad=True)
    assert_shape(x, "a b", dtype="float32", device=torch.device("cpu"))
    assert_shape(x.bfloat16(), "a b", dtype="float")
    for wrong in ({"dtype": torch.float16}, {"device": "cuda"}, {"device": "cuda:0"}, {"requires_grad": False}):
        with pytest.raises(ShapeError):
            assert_shape(x, "a b", **wrong)
    with pytest.raises(ShapeError, match="contiguous"):
        assert_shape(x.t(), "b a", contiguous=True)
    with pytest.raises(ShapeError, match="was it detached"):
        assert_shape(x.detach(), "a b", requires_grad=True)
    with pytest.raises(ShapeError, match="no requires_grad"):
        assert_shape(np.zeros(3), "a", requires_grad=True)


def test_anything_with_a_shape():
    class Lazy:
        shape = (3, 4)

    assert_shape(Lazy(), "a b")
    with pytest.raises(ShapeError):
        assert_shape(Lazy(), "a a")


# -- companions --------------------------------------------------------------------------------------------------------


def test_finite_counts_and_names_the_first():
    x = np.zeros((3, 4), np.float32)
    assert_finite(x, [x, {"k": x}], 3, np.arange(3), np.zeros(0))
    x[1, 2], x[2, 0] = np.nan, -np.inf
    with pytest.raises(
        ShapeError, match=r"x: 1 NaN, 1 -Inf among 12 elements of shape \(3, 4\), the first at \[1, 2\]"
    ):
        assert_finite(x)
    with pytest.raises(ShapeError, match=r"batch\['k'\]"):
        batch = {"k": x}
        assert_finite(batch)
    with pytest.raises(ShapeError, match="found none"):
        assert_finite("text")


def test_finite_looks_into_modules_and_their_gradients():
    torch = pytest.importorskip("torch", reason="needs torch")
    module = torch.nn.Linear(2, 1)
    assert_finite(module, torch.zeros(3, dtype=torch.bfloat16), torch.arange(3))
    module.weight.grad = torch.full((1, 2), float("inf"))
    with pytest.raises(ShapeError, match=r"module\.weight\.grad: 2 \+Inf"):
        assert_finite(module)
    with pytest.raises(ShapeError, match="1 NaN among 2"):
        assert_finite(torch.tensor([1j, complex(float("nan"), 0)]))


def test_same_shape_says_which_axis_or_what_to_squeeze():
    x, y = np.zeros((4, 1)), np.zeros(4)
    assert_same_shape(x, x, np.ones((4, 1)))
    with pytest.raises(ShapeError, match=r"y: expected shape \(4, 1\) of x, got \(4,\).*\.unsqueeze\(-1\)"):
        assert_same_shape(x, y)
    with pytest.raises(ShapeError, match=r"\.squeeze\(-1\)"):
        assert_same_shape(y, x)
    with pytest.raises(ShapeError, match="they differ in axis 1"):
        assert_same_shape(x, np.zeros((4, 2)))


def test_dtype_of_structures():
    assert_dtype({"a": np.zeros(3, np.float32), "b": [np.zeros(2, np.float16)]}, "float")
    with pytest.raises(ShapeError, match=r"\['b'\]\[0\]: expected dtype float32, got float16"):
        assert_dtype({"a": np.zeros(3, np.float32), "b": [np.zeros(2, np.float16)]}, "float32")


CLOSE_CASES = [
    (lambda x: (x, x + 1e-9), True),
    (lambda x: (x, x + 1e-2), False),
    (lambda x: (x, x[:2]), False),
    (lambda x: (x * np.nan, x * np.nan), False),
]


@pytest.mark.parametrize(("make", "close"), CLOSE_CASES)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_close_decides_as_torch_does(make, close, library):
    """torch.testing.assert_close is the oracle, for numpy arrays too, whose tolerances follow its table."""
    torch = pytest.importorskip("torch", reason="needs torch, the oracle")
    actual, expected = make(np.linspace(0.5, 2, 12).reshape(3, 4))
    try:
        torch.testing.assert_close(torch.tensor(actual), torch.tensor(expected))
        theirs = True
    except AssertionError:
        theirs = False
    assert theirs == close
    if library == "torch":
        actual, expected = torch.tensor(actual), torch.tensor(expected)
    if close:
        assert_close(actual, expected)
    else:
        with pytest.raises(CloseError):
            assert_close(actual, expected)


def test_the_tolerances_are_torchs_own():
    torch = pytest.importorskip("torch", reason="needs torch, the oracle")
    from pytest_tensorcheck.shapes.closeness import TOLERANCES

    for name, (rtol, atol) in TOLERANCES.items():
        dtype = getattr(torch, name)
        one = torch.ones((), dtype=torch.complex128 if dtype.is_complex else torch.float64)
        with pytest.raises(AssertionError) as caught:
            torch.testing.assert_close((one * 2).to(dtype), one.to(dtype))
        assert f"({atol} allowed)" in str(caught.value) or f"up to {atol:g} allowed" in str(caught.value)
        assert f"{rtol:g}" in str(caught.value).replace("e-0", "e-") or f"up to {rtol} allowed" in str(caught.value)


def test_close_says_where_and_how():
    expected = np.ones((4, 5))
    actual = expected.copy()
    actual[2, 3] = 7.0
    actual[2, 1] = 2.0
    with pytest.raises(CloseError) as caught:
        assert_close(actual, expected)
    text = str(caught.value)
    assert "worst at [2, 3]: got 7, expected 1, off by 6" in text
    assert "2 of 20 wrong, all of them at 2 on axis 0 and from 1 to 3 on axis 1" in text
    assert "median 0" in text
    assert here(-5).split(":")[0] in text


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x: x * 2.5, "every element is 2.5 times"),
        (lambda x: -x, "with the other sign"),
        (lambda x: x + 3, "off by the same 3"),
        (lambda x: x.T.copy(), "after a transpose"),
    ],
)
def test_close_names_a_cause_that_explains_everything(make, said):
    x = np.arange(1.0, 10.0).reshape(3, 3) ** 2
    with pytest.raises(CloseError, match=said):
        assert_close(make(x), x)


def test_close_takes_structures_and_mixed_libraries():
    torch = pytest.importorskip("torch", reason="needs torch")
    x = np.linspace(0, 1, 5)
    assert_close({"a": [torch.tensor(x)]}, {"a": [x]})
    assert_close(torch.tensor([1.0, 2.0]), [1.0, 2.0])
    assert_close(torch.tensor(1.5), 1.5)
    assert_close([1.0, 2.0], [1.0, 2.0])
    assert_close(x, x + 1, atol=2.0, rtol=0.0)
    with pytest.raises(CloseError, match=r"\['a'\]\[0\]"):
        assert_close({"a": [torch.tensor(x)]}, {"a": [x + 1]})
    with pytest.raises(CloseError, match="missing keys 'b'"):
        assert_close({"a": x}, {"a": x, "b": x})
    with pytest.raises(CloseError, match="1 items, expected 2"):
        assert_close([x], [x, x])
    with pytest.raises(ValueError, match="together"):
        assert_close(x, x, rtol=1.0)
    nan = np.array([np.nan, 1.0])
    assert_close(nan, nan, equal_nan=True)
    assert_close(torch.tensor(nan), torch.tensor(nan), equal_nan=True)


# -- what is imported --------------------------------------------------------------------------------------------------


def test_nothing_heavy_is_imported():
    program = """
        import sys
        from pytest_tensorcheck.shapes import assert_shape, assert_same_shape, assert_dtype, shapes
        class Array:
            shape = (3, 4)
            dtype = "float32"
        assert_shape(Array(), "a b", dtype="float")
        assert_same_shape(Array(), Array())
        heavy = {"numpy", "torch", "jax", "jaxtyping"} & set(sys.modules)
        assert not heavy, heavy
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_a_bad_specification_is_a_value_error():
    with pytest.raises(ShapeSpecError, match="commas"):
        assert_shape(np.zeros(3), "a,b")
    assert issubclass(ShapeSpecError, ValueError)
    assert not issubclass(ShapeSpecError, AssertionError)


def test_arguments_in_the_wrong_order_are_named_and_not_printed_in_full():
    with pytest.raises(ShapeError) as caught:
        assert_shape("b t", np.zeros((50, 60)))
    said = 'a specification is a string such as "batch dim", not a ndarray; the array comes first'
    assert str(caught.value).splitlines()[0] == f"'b t': {said}"


@pytest.mark.parametrize(
    "make",
    [float, np.float32, np.array, lambda x: pytest.importorskip("torch").tensor(x)],
    ids=["float", "f32", "array", "tensor"],
)
@pytest.mark.parametrize(
    ("actual", "difference"), [(1.0, "off by 1"), (float("nan"), "got nan"), (float("inf"), "off by inf")], ids=str
)
def test_numbers_that_are_not_close(make, actual, difference):
    with pytest.raises(CloseError, match=difference) as caught:
        assert_close(make(actual), make(2.0))
    assert f"{here(-1)}" in str(caught.value)
    with pytest.raises(CloseError, match="expected 4, off by 1"):
        assert_close(np.int64(3), 4)


NO_NUMBERS = {
    "name": ("a", "b"),
    "none": (None, 1.0),
    "none for an array": (np.zeros(2), None),
    "names": (np.array(["a", "b"]), np.array(["a", "c"])),
    "dates": (np.array(["2020", "2021"], dtype="M8[Y]"), np.array(["2020", "2022"], dtype="M8[Y]")),
    "records": (np.zeros(2, dtype=[("x", "f4")]), np.ones(2, dtype=[("x", "f4")])),
    "objects": (np.array([1, None]), np.array([2, None])),
    "mixed list": ([1.0, "a"], [1.0, "b"]),
    "bytes": (b"a", b"b"),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_holds_no_numbers_has_to_be_equal(name):
    value, other = NO_NUMBERS[name]
    assert_close({"what": value, "x": np.ones(2)}, {"what": value, "x": np.ones(2)})
    with pytest.raises(CloseError, match=r"\['what'\]: .*expected"):
        assert_close({"what": value, "x": np.ones(2)}, {"what": other, "x": np.ones(2)})


def test_masked_elements_are_passed_by():
    masked = np.ma.array([1.0, np.nan], mask=[False, True])
    assert_close(masked, np.ma.array([1.0, 3.0], mask=[False, True]))
    assert_finite(masked)
    with pytest.raises(CloseError, match="1 of 2 wrong"):
        assert_close(masked, np.ma.array([2.0, 3.0], mask=[False, True]))


def test_numbers_of_a_structure_are_finite_too():
    metrics = {"loss": float("nan"), "w": np.ones(2)}
    with pytest.raises(ShapeError, match=r"metrics\['loss'\]: 1 NaN"):
        assert_finite(metrics)
    with pytest.raises(ShapeError, match=r"\[1\]\['a'\]: 1 \+Inf"):
        assert_finite([np.ones(2), {"a": float("inf"), "name": "x"}])
    with pytest.raises(ShapeError, match=r"1 \+Inf among 2 elements"):
        assert_finite(np.array([1.0, np.inf], dtype=object))
    assert_finite(metrics | {"loss": 0.5}, [True, 3, None, "x"])
    assert_dtype({"step": 3, "x": np.ones(2)}, "float64")  # of arrays only


def test_tensors_of_rare_kinds():
    torch = pytest.importorskip("torch", reason="needs torch")
    bad = torch.tensor([1.0, float("nan")])
    for nested in (
        torch.nested.nested_tensor([torch.ones(3), bad], layout=kind) for kind in (torch.jagged, torch.strided)
    ):
        with pytest.raises(
            ShapeError, match=r"component 1: 1 NaN among 2 elements of shape \(2,\), the first at \[1\]"
        ):
            assert_finite(nested)
    assert_finite(torch.nested.nested_tensor([torch.ones(3)], layout=torch.jagged))
    assert_finite(torch.ones(2).to(torch.float8_e4m3fn))
    with pytest.raises(ShapeError, match="1 NaN"):
        assert_finite(bad.to(torch.float8_e4m3fn))
    with pytest.raises(ShapeError, match=r"nested: a nested tensor of the strided layout has no size .*unbind"):
        assert_shape(nested, "n t")
    with pytest.raises(ShapeError, match="a nested tensor of the strided layout"):
        assert_shape({"x": nested}, "n t")
