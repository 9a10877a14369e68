"""The grammar and the verdicts, held against jaxtyping's own."""

from __future__ import annotations

import random
import warnings

import pytest

from pytest_tensorcheck.shapes.binder import Bindings, Mismatch, broadcast_shapes, match
from pytest_tensorcheck.shapes.spec import ShapeSpecError, parse

WORDS = ["a", "b", "c", "a", "b", "c", "d", "1", "2", "3", "4", "_", "_x", "#a", "#b", "#c", "#3", "#1", "n=2", "rows=3", "2*a", "a+1", "b-1", "a*b", "2*a+1", "b//2", "a+b", "#2*a", "min(a,b)", "max(a,3)", "(a+b)//2", "...", "*s", "*t", "*#s", "*#t", "*_", "*_rest"]  # fmt: skip

# Where we disagree with jaxtyping on purpose. An expression that names an axis bound by a *later* axis of the same
# array: jaxtyping stops with an error, we know the size by then. Nothing else.
DISAGREEMENTS = ("an expression before the axis that binds its name",)


def _jaxtyping_verdict(jaxtyping, array_type, spec, arrays):
    """ "pass", "fail" or "error" for arrays checked one after the other in one scope."""
    with jaxtyping.jaxtyped("context"):
        for text, array in zip(spec, arrays, strict=True):
            try:
                if not isinstance(array, jaxtyping.Shaped[array_type, text]):
                    return "fail"
            except jaxtyping.AnnotationError:
                return "error"
    return "pass"


def _our_verdict(spec, shapes):
    bindings = Bindings()
    for text, shape in zip(spec, shapes, strict=True):
        try:
            if isinstance(match(parse(text), shape, bindings), Mismatch):
                return "fail"
        except ShapeSpecError:
            return "error"
    return "pass"


def _random_case(rng):
    """Some specifications and shapes that fit them more often than chance would have it."""
    sizes = {name: rng.choice((1, 2, 3, 4, 5)) for name in "abcd"}
    rests = {name: tuple(rng.choice((1, 2, 3)) for _ in range(rng.randint(0, 2))) for name in "st"}
    specs, shapes = [], []
    if rng.random() < 0.75:  # most expressions are to find their names bound
        specs.append("a b c d")
        shapes.append(tuple(sizes.values()))
    for _ in range(rng.randint(1, 3)):
        words = rng.choices(WORDS[:-7], k=rng.randint(0, 3))
        if rng.random() < 0.3:
            words.insert(rng.randint(0, len(words)), rng.choice(WORDS[-7:]))
        shape = []
        for word in words:
            body = word.lstrip("#*_").split("=")[-1]
            if word == "..." or word.startswith("*_"):
                shape += [rng.choice((1, 2, 3)) for _ in range(rng.randint(0, 2))]
            elif word.startswith("*"):
                rest = rests[body.lstrip("#")]
                shape += [1 if word.startswith("*#") and rng.random() < 0.3 else size for size in rest]
            elif word.startswith("_"):
                shape.append(rng.choice((1, 2, 3)))
            elif word.startswith("#") and rng.random() < 0.4:
                shape.append(1)
            else:
                shape.append(max(0, int(eval(body, {}, sizes))))
        if rng.random() < 0.25 and shape:
            shape[rng.randrange(len(shape))] = rng.choice((1, 2, 3, 4, 5))
        if rng.random() < 0.05:
            shape.append(2)
        specs.append(" ".join(words))
        shapes.append(tuple(shape))
    return specs, shapes


def _named_later(specs):
    """Whether an expression stands before the axis that binds one of its names: the written disagreement."""
    bound: set[str] = set()
    for text in specs:
        spec = parse(text)
        axes = [*spec.head, *spec.tail]
        for axis in axes:
            if axis.kind == "expression" and not axis.names <= bound:
                return True
            if axis.kind == "name" and not axis.broadcastable:  # `#name` of size 1 binds nothing
                bound.add(axis.name)
    return False


def test_verdicts_agree_with_jaxtyping():
    """12,000 random sequences of (specification, shape) in one scope; the disagreement that is written down aside."""
    jaxtyping = pytest.importorskip("jaxtyping", reason="needs jaxtyping, the oracle")
    numpy = pytest.importorskip("numpy", reason="needs numpy")
    rng = random.Random(20260217)
    verdicts = {"pass": 0, "fail": 0, "error": 0}
    aside = 0
    compared = 0
    arrays: dict[tuple[int, ...], object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while compared < 12_000:
            specs, shapes = _random_case(rng)
            made = [arrays.setdefault(shape, numpy.empty(shape)) for shape in shapes]
            theirs = _jaxtyping_verdict(jaxtyping, numpy.ndarray, specs, made)
            ours = _our_verdict(specs, shapes)
            compared += 1
            if ours != theirs and _named_later(specs) and theirs in ("error", "fail"):
                aside += 1
                continue
            assert ours == theirs, (specs, shapes)
            verdicts[ours] += 1
    assert verdicts["pass"] > 3000
    assert verdicts["fail"] > 2000
    assert verdicts["error"] > 50
    assert aside < compared * 0.25


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("b,t", "not commas"),
        ("... ...", "only one of"),
        ("*a ...", "only one of"),
        ("a...", "stands alone"),
        ("##a", "twice"),
        ("**a", "twice"),
        ("#_", "cannot also be broadcastable"),
        ("_4", "both anonymous and a size"),
        ("*4", "is one axis"),
        ("*a+1", "is one axis"),
        ("?a", "PyTree only; write a$"),
        ("#?a", "PyTree only; write #a$"),
        ("#", "no name or size"),
        ("a.b", "more than arithmetic"),
        ("open(a)", "may call"),
        ("a[0]", "more than arithmetic"),
        ("2a", "neither a name"),
        (7, "is a string"),
    ],
)
def test_bad_specifications_say_what_is_wrong_in_one_line(text, why):
    with pytest.raises(ShapeSpecError, match=why) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["b,t", "... ...", "a...", "##a", "**a", "#_", "_4", "*4", "*a+1"])
def test_what_we_refuse_jaxtyping_refuses(text):
    jaxtyping = pytest.importorskip("jaxtyping", reason="needs jaxtyping, the oracle")
    numpy = pytest.importorskip("numpy", reason="needs numpy")
    with pytest.raises(ValueError):
        jaxtyping.Shaped[numpy.ndarray, text]


def test_a_mismatch_binds_nothing():
    bindings = Bindings()
    assert isinstance(match(parse("a b a"), (2, 3, 4), bindings), Mismatch)
    assert bindings.sizes == {}
    assert isinstance(match(parse("*s a 9"), (2, 3, 4), bindings), Mismatch)
    assert bindings.sizes == {}
    assert bindings.rests == {}


def test_an_expression_may_name_a_later_axis():
    assert match(parse("2*d d"), (8, 4), Bindings()) == {"d"}
    assert isinstance(match(parse("2*d d"), (9, 4), Bindings()), Mismatch)


def test_an_expression_that_cannot_be_computed_is_an_error_of_the_specification():
    bindings = Bindings({"a": 0})
    with pytest.raises(ShapeSpecError, match="cannot be computed"):
        match(parse("8//a"), (3,), bindings)
    with pytest.raises(ShapeSpecError, match="needs the size of q"):
        match(parse("q+1"), (3,), bindings)


def test_broadcast_shapes_agrees_with_numpy():
    numpy = pytest.importorskip("numpy", reason="needs numpy")
    rng = random.Random(5)
    for _ in range(3000):
        shapes = [tuple(rng.choice((0, 1, 1, 2, 3)) for _ in range(rng.randint(0, 3))) for _ in range(2)]
        try:
            expected = numpy.broadcast_shapes(*shapes)
        except ValueError:
            expected = None
        assert broadcast_shapes(shapes) == expected, shapes
