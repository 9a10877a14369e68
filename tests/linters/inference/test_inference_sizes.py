"""Symbolic sizes against whole numbers: what the algebra says holds for every value that it speaks of."""

from __future__ import annotations

import random

from tensorlint.inference import sizes as S

NAMES = [S.symbol(name) for name in "BTC"]


def _polynomial(random_: random.Random) -> S.Size:
    """A sum of up to three products of the names, times small numbers."""
    total: S.Size = 0
    for _ in range(random_.randint(1, 3)):
        term: S.Size = random_.choice([1, 1, 2, 3, -1, -2])
        for _ in range(random_.randint(0, 2)):
            term = S.multiply(term, random_.choice(NAMES))
        total = S.add(total, term)
    return total


def _assignment(random_: random.Random) -> dict[S.Symbol, S.Size]:
    """Values that a size with a name may take: neither 0 nor 1."""
    return {atom: random_.randint(2, 9) for name in NAMES for atom in S.symbols(name)}


def _number(size: S.Size, values: dict[S.Symbol, S.Size]) -> int:
    result = S.substitute(size, values)
    assert isinstance(result, int)
    return result


def test_sums_products_and_quotients_are_those_of_numbers() -> None:
    random_ = random.Random(1)
    quotients = 0
    for _ in range(3_000):
        a, b, c = (_polynomial(random_) for _ in range(3))
        values = _assignment(random_)
        x, y, z = (_number(size, values) for size in (a, b, c))
        assert _number(S.add(a, b), values) == x + y
        assert _number(S.subtract(a, b), values) == x - y
        assert _number(S.multiply(a, b), values) == x * y
        assert _number(S.add(S.multiply(a, b), c), values) == x * y + z
        if y:
            divided = S.floor_divide(a, b)
            assert divided is not None
            assert _number(divided, values) == x // y
            exact = S.divide_exactly(a, b)
            quotients += exact is not None
            assert exact is None or _number(exact, values) * y == x
    assert quotients > 100


def test_a_product_is_divided_by_its_factors() -> None:
    random_ = random.Random(2)
    for _ in range(1_000):
        a, b = _polynomial(random_), _polynomial(random_)
        if b == 0 or a == 0:
            continue
        assert S.divide_exactly(S.multiply(a, b), b) == a, f"({S.show(a)})*({S.show(b)})/({S.show(b)})"


def test_one_form_for_one_size() -> None:
    random_ = random.Random(3)
    for _ in range(1_000):
        a, b, c = (_polynomial(random_) for _ in range(3))
        assert S.subtract(S.add(a, b), b) == a
        both = S.multiply(a, S.add(b, c))
        if all(atom.name for size in (both, S.multiply(a, b), S.multiply(a, c)) for atom in S.symbols(size)):
            # Of more than a dozen terms a new size is made, equal to nothing.
            assert both == S.add(S.multiply(c, a), S.multiply(b, a))


def test_what_surely_differs_differs_for_all_values() -> None:
    random_ = random.Random(4)
    differing = 0
    for _ in range(2_000):
        a, b = _polynomial(random_), _polynomial(random_)
        if random_.random() < 0.5:
            b = S.multiply(a, _polynomial(random_))
        differ, not_one = S.surely_differ(a, b), S.surely_not_one(a)
        differing += differ
        for _ in range(20):
            values = _assignment(random_)
            x, y = _number(a, values), _number(b, values)
            if x > 0 and y > 0:
                assert not (differ and x == y), f"{S.show(a)} and {S.show(b)}"
            assert not (not_one and x == 1), S.show(a)
    assert differing > 200


def test_sizes_that_may_meet_are_not_told_apart() -> None:
    b, t, c = NAMES
    assert not S.surely_differ(b, t)
    assert S.surely_differ(S.multiply(t, c), t)
    assert not S.surely_differ(S.add(b, 1), t)
    assert S.surely_differ(S.add(b, 1), b)
    assert not S.surely_not_one(S.subtract(b, 1))
    assert not S.surely_not_one(S.symbol())


def test_a_quotient_times_its_divisor_is_read_as_the_whole() -> None:
    b, t, c = NAMES
    half = S.floor_divide(c, t)
    assert half is not None
    assert S.assume_divisible(S.multiply(half, t)) == c
    assert S.assume_divisible(S.multiply(S.multiply(half, b), t)) == S.multiply(c, b)
    assert S.assume_divisible(S.multiply(half, b)) == S.multiply(half, b)
    assert S.ratio(c, half) == t
    assert S.floor_divide(c, t) == half


def test_a_quotient_is_named_only_if_both_its_parts_are() -> None:
    named, other, third = S.symbol("B"), S.symbol(), S.symbol()
    for top, bottom in ((named, other), (other, named), (other, third)):
        quotient = S.floor_divide(top, bottom)
        assert quotient is not None
        assert not S.is_named(quotient)
        assert S.show(quotient) == "?"
    quotient = S.floor_divide(named, S.symbol("C"))
    assert quotient is not None
    assert S.is_named(quotient)
    assert S.show(quotient) == "B//C"


def test_a_product_of_very_many_names_is_a_size_of_its_own() -> None:
    """Work on sizes is bounded: beyond some names the product is a new unknown one."""
    half = S.product([S.symbol(f"n{number}") for number in range(7)])
    assert S.is_named(half)
    whole = S.multiply(half, S.product([S.symbol(f"m{number}") for number in range(7)]))
    assert not S.is_named(whole)


def test_a_multiple_of_two_is_never_one() -> None:
    n, m = S.symbol(), S.symbol()
    assert S.surely_not_one(S.multiply(n, 2))
    assert S.surely_not_one(S.add(S.multiply(n, 4), S.multiply(m, -2)))
    assert not S.surely_not_one(S.add(S.multiply(n, 2), 1))
    assert not S.surely_not_one(S.add(S.multiply(n, 2), m))
    assert not S.surely_not_one(S.subtract(n, m))


def test_what_is_shown_means_the_size() -> None:
    """`-n//2` is `(-n)//2` to Python, and to the user."""
    n, m = S.symbol("n"), S.symbol("m")
    half, part = S.floor_divide(n, 2), S.floor_divide(S.add(n, m), 3)
    assert half is not None
    assert part is not None
    for size in (half, part, S.multiply(half, m), S.multiply(part, half)):
        for times in (-2, -1, 1, 3):
            for more in (0, 20, m, S.negate(m)):
                shown = S.show(S.add(S.multiply(size, times), more))
                for values in ({"n": 5, "m": 3}, {"n": 8, "m": 7}, {"n": 1, "m": 0}):
                    real = {"n//2": values["n"] // 2, "part": (values["n"] + values["m"]) // 3}
                    whole = {half: real["n//2"], part: real["part"]}.get(size)
                    if whole is None:
                        whole = real["n//2"] * (values["m"] if size == S.multiply(half, m) else real["part"])
                    rest = {0: 0, 20: 20, m: values["m"]}.get(more, -values["m"])
                    assert eval(shown, values) == times * whole + rest, shown
