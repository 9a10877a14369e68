"""Sizes: known integers, and polynomials over named sizes with integer coefficients in a canonical form.

A known size is a plain `int`, everything else a `Poly`, so `B*T*C` equals `C*(T*B)` and arithmetic on known sizes
costs nothing. A `Symbol` without a name is a size nobody has named yet: it is equal to itself only, and is
shown as `?`, which claims nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from itertools import count
from operator import attrgetter
from types import MappingProxyType
from typing import Any

_serial = count(1)
_NOTHING: Mapping[Any, str] = MappingProxyType({})


class Symbol:
    """One unknown integer. `name` is the user's own; None until the code gives it one."""

    __slots__ = (
        "below", "counts", "cut", "denominator", "held", "name", "numbers", "numerator", "plural", "scope", "serial", "signed", "since", "variant", "written",
    )  # fmt: skip

    def __init__(self, name: str | None = None, *, variant: bool = False, plural: bool = False) -> None:
        self.name = name
        # The function whose name it is: another function may call something else so.
        self.scope: object = None
        # From where to which line the name holds it, in a loop: above, the name still holds the size of the round before.
        self.held: tuple[tuple[int, int], int] | None = None
        # A batch: it has no name, and is as a rule neither 0 nor 1.
        self.plural = plural
        # A number that begins at 0, as those of rounds do, rather than the size of an axis.
        self.counts = False
        # Such a number that may be below 0, too: a difference.
        self.signed = False
        # The number of a round: that is 0, and 1, in one or another, whatever it is called.
        self.numbers = False
        # What the number of a round, 0 at least, is less than in every round.
        self.below: Size | None = None
        # What cut it out of an axis, where that is likely to leave several, or () where it leaves one at most: two lengths
        # that one thing cut out of axes of one length are the same.
        self.cut: tuple[object, ...] | None = None
        # How the code writes it where it has no name for it: `len(rows)`.
        self.written: str | None = None
        self.serial = next(_serial)
        # When there was this one number: a parameter is one before anybody asks for its size, in a loop.
        self.since = self.serial
        # Stands for a different number in every iteration of a comprehension or loop.
        self.variant = variant
        # A floor division keeps its parts, so that `h * (C // h)` can be read as C where it is known to divide.
        self.numerator: Size | None = None
        self.denominator: Size | None = None

    def is_called(self, line: int, column: int) -> bool:
        """Whether the name of the size holds it at that place."""
        if self.name is None or self.held is None:
            return self.name is not None
        first, last = self.held
        return first <= (line, column) and line <= last

    def __repr__(self) -> str:
        return self.name or f"?{self.serial}"


def symbol_serial() -> int:
    """The serial that the next new symbol gets or passes."""
    return next(_serial)


Monomial = tuple[Symbol, ...]


class Poly:
    """A polynomial with at least one symbol; `terms` is sorted, so equal polynomials are equal tuples."""

    __slots__ = ("terms",)

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms

    def __hash__(self) -> int:
        return hash(self.terms)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Poly and self.terms == other.terms)

    def __repr__(self) -> str:
        return show(self)


Size = int | Poly

# Work is bounded: a polynomial with more terms than this becomes a size of its own.
_MAX_TERMS = 12
_MAX_DEGREE = 12


def symbol(name: str | None = None) -> Poly:
    """A new size, equal to nothing but itself."""
    return of_symbol(Symbol(name))


def counter(*, variant: bool = False, numbers: bool = False, signed: bool = False, below: Size | None = None) -> Poly:
    """A number that nobody has named, and that may be 0, or below where it is `signed`."""
    atom = Symbol(None, variant=variant)
    atom.counts, atom.numbers, atom.signed, atom.below = True, numbers, signed, below
    return of_symbol(atom)


def another(atom: Symbol, *, plural: bool = False, variant: bool = False) -> Poly:
    """A new size, which may be 0 where this one may."""
    made = Symbol(None, plural=plural, variant=variant)
    made.counts, made.numbers, made.signed, made.cut = atom.counts, atom.numbers, atom.signed, atom.cut
    return of_symbol(made)


def end_of_rounds(size: Size) -> Size | None:
    """What `i`, the number of a round, or `i + 3`, is less than in every round, where it is never below 0."""
    alone = [atom for atom in symbols(size) if atom.below is not None]
    if len(alone) != 1 or alone[0].below is None or alone[0].signed:
        return None
    more = subtract(size, of_symbol(alone[0]))
    return add(alone[0].below, more) if isinstance(more, int) and more >= 0 else None


def cut_by(key: tuple[object, ...]) -> Poly:
    """A length that something cut out of an axis, which may be 0."""
    atom = Symbol(None)
    atom.counts, atom.cut = True, key
    return of_symbol(atom)


def cut_of(size: Size) -> tuple[object, ...] | None:
    """What cut the length out of an axis, None where nothing is known to."""
    alone = single(size)
    return None if alone is None else alone.cut


def cut_alike(a: Size, b: Size) -> bool:
    """Whether both are the length, as a rule not 1, of what one thing cut out of axes of one length: a batch."""
    first, second = single(a), single(b)
    return first is not None and second is not None and bool(first.cut) and first.cut == second.cut


def settle(size: Size) -> Size:
    """A size that differs from item to item is a new one once the items are joined, which may be 0 where theirs may."""
    atoms = symbols(size)
    if not any(atom.variant for atom in atoms):
        return size
    if not any(atom.counts for atom in atoms):
        return symbol()
    alone = single(size)
    return counter() if alone is None or alone.cut is None else cut_by(alone.cut)


def of_symbol(atom: Symbol) -> Poly:
    return Poly((((atom,), 1),))


_serial_of = attrgetter("serial")


def _factors(left: Monomial, right: Monomial) -> Monomial:
    """The factors of both, in the order of their serials: those of one before those of the other, as a rule."""
    if not left or not right:
        return left or right
    if left[-1].serial <= right[0].serial:
        return left + right
    if right[-1].serial <= left[0].serial:
        return right + left
    return tuple(sorted(left + right, key=_serial_of))


def _place(term: tuple[Monomial, int]) -> tuple[int, tuple[int, ...]]:
    monomial = term[0]
    return (-len(monomial), tuple(map(_serial_of, monomial)))


def _from_terms(terms: dict[Monomial, int]) -> Size:
    kept = [term for term in terms.items() if term[1]]
    if not kept:
        return 0
    if len(kept) == 1:
        return Poly(tuple(kept)) if kept[0][0] else kept[0][1]
    if len(kept) > _MAX_TERMS:
        return symbol()
    kept.sort(key=_place)
    return Poly(tuple(kept))


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return size.terms if isinstance(size, Poly) else (((), size),)


def add(a: Size, b: Size) -> Size:
    if isinstance(a, int):
        return a + b if isinstance(b, int) else _plus(b, a)
    if isinstance(b, int):
        return _plus(a, b)
    terms = dict(a.terms)
    for monomial, coefficient in b.terms:
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _from_terms(terms)


def _plus(size: Poly, number: int) -> Size:
    """The number is the last term: its monomial is the shortest."""
    terms = size.terms
    if terms[-1][0]:
        return size if number == 0 else _bounded((*terms, ((), number)))
    number += terms[-1][1]
    return Poly((*terms[:-1], ((), number)) if number else terms[:-1])


def _bounded(terms: tuple[tuple[Monomial, int], ...]) -> Size:
    return symbol() if len(terms) > _MAX_TERMS else Poly(terms)


def negate(a: Size) -> Size:
    if isinstance(a, int):
        return -a
    return Poly(tuple((monomial, -coefficient) for monomial, coefficient in a.terms))


def subtract(a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return add(a, negate(b))


def multiply(a: Size, b: Size) -> Size:
    if isinstance(a, int):
        if isinstance(b, int):
            return a * b
        if a == 1:
            return b
        if a == 0:
            return 0
        return Poly(tuple([(monomial, coefficient * a) for monomial, coefficient in b.terms]))
    if isinstance(b, int):
        return multiply(b, a)
    first, second = a.terms, b.terms
    if len(first) == 1 and len(second) == 1:  # most are one symbol, or a multiple of it
        (left, p), (right, q) = first[0], second[0]
        if len(left) + len(right) <= _MAX_DEGREE:
            return Poly(((_factors(left, right), p * q),))
    terms: dict[Monomial, int] = {}
    for left, p in first:
        for right, q in second:
            if len(left) + len(right) > _MAX_DEGREE:
                return symbol()
            monomial = _factors(left, right)
            terms[monomial] = terms.get(monomial, 0) + p * q
    return _from_terms(terms)


def product(sizes: tuple[Size, ...] | list[Size]) -> Size:
    result: Size = 1
    for size in sizes:
        result = multiply(result, size)
    return result


def _divide_monomial(monomial: Monomial, by: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in by:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def divide_exactly(a: Size, b: Size) -> Size | None:
    """a / b where that is a polynomial with integer coefficients for every value of the symbols, else None."""
    if isinstance(b, int):
        if b == 0:
            return None
        if isinstance(a, int):
            return a // b if a % b == 0 else None
        if any(coefficient % b for _, coefficient in a.terms):
            return None
        return _from_terms({monomial: coefficient // b for monomial, coefficient in a.terms})
    if a == b:
        return 1
    if isinstance(a, int):
        return 0 if a == 0 else None
    if len(b.terms) == 1:
        by, scale = b.terms[0]
        result: dict[Monomial, int] = {}
        for monomial, coefficient in a.terms:
            quotient = _divide_monomial(monomial, by)
            if quotient is None or coefficient % scale:
                return None
            result[quotient] = coefficient // scale
        return _from_terms(result)
    # Long division by the leading term; the order of terms makes it terminate.
    remainder: Size = a
    quotient_terms: Size = 0
    lead, scale = b.terms[0]
    for _ in range(_MAX_TERMS):
        if remainder == 0:
            return quotient_terms
        if not isinstance(remainder, Poly):
            return None
        monomial, coefficient = remainder.terms[0]
        part = _divide_monomial(monomial, lead)
        if part is None or coefficient % scale:
            return None
        step = _from_terms({part: coefficient // scale})
        quotient_terms = add(quotient_terms, step)
        remainder = subtract(remainder, multiply(step, b))
    return None


_divisions: dict[tuple[Size, Size], Poly] = {}
# Quotients `C//h` that the program has relied on to come out exactly, by viewing C as (h, C//h), in the order in which
# it did: what was relied on in a branch is not behind it.
RELIED_ON: dict[Symbol, None] = {}


def begin() -> None:
    """A new program: no size of the one before is met again."""
    _divisions.clear()


def floor_divide(a: Size, b: Size) -> Size | None:
    """Python's a // b; a quotient that does not come out exactly is a size of its own, named `C//h`."""
    if b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    exact = divide_exactly(a, b)
    if exact is not None:
        return exact
    a, b = _cancelled(a, b)
    known = _divisions.get((a, b))
    if known is not None:
        return known
    atom = Symbol(None)
    atom.numerator, atom.denominator = a, b
    since = 0
    for size in (a, b):
        for monomial, _ in size.terms if isinstance(size, Poly) else ():
            for part in monomial:
                latest = atom.serial if part.variant else part.since
                since = latest if latest > since else since
    atom.since = since
    quotient = of_symbol(atom)
    if len(_divisions) > 10_000:
        _divisions.clear()
    _divisions[(a, b)] = quotient
    return quotient


def _cancelled(a: Size, b: Size) -> tuple[Size, Size]:
    """A quotient without the factors that both sides have: `B*T*C // (B*T*h)` is `C // h`."""
    terms = (*_terms(a), *_terms(b))
    shared = list(terms[0][0])
    for monomial, _ in terms:
        left = list(monomial)
        kept = []
        for atom in shared:
            if atom in left:
                left.remove(atom)
                kept.append(atom)
        shared = kept
        if not shared:
            break
    number = math.gcd(*(coefficient for _, coefficient in terms))
    if not shared and number == 1:
        return a, b
    factor: Size = Poly(((tuple(shared), number),)) if shared else number
    over, under = divide_exactly(a, factor), divide_exactly(b, factor)
    return (a, b) if over is None or under is None else (over, under)


def assume_divisible(size: Size) -> Size:
    """`h * (C // h)` read as C: right wherever the program has already relied on h dividing C (a view, a split)."""
    return divided(size, None)[0]


def relied(size: Size) -> Size:
    """The size with those quotients read so that the program has relied on."""
    if not RELIED_ON or isinstance(size, int) or symbols(size).isdisjoint(RELIED_ON):
        return size
    return divided(size, RELIED_ON)[0]


def divided(size: Size, among: Collection[Symbol] | None) -> tuple[Size, set[Symbol]]:
    """The same for the quotients `among` the given ones alone (all, if None), and which of them it was right for."""
    used: set[Symbol] = set()
    if isinstance(size, int):
        return size, used
    if not [atom for monomial, _ in size.terms for atom in monomial if atom.denominator is not None]:
        return size, used
    for _ in range(4):
        changed = False
        terms: dict[Monomial, int] = {}
        total: Size = 0
        for monomial, coefficient in _terms(size):
            for atom in monomial:
                if atom.denominator is None or atom.numerator is None or not (among is None or atom in among):
                    continue
                rest: Size = _from_terms({tuple(other for other in _without(monomial, atom)): coefficient})
                quotient = divide_exactly(rest, atom.denominator)
                if quotient is not None:
                    total = add(total, multiply(quotient, atom.numerator))
                    used.add(atom)
                    changed = True
                    break
            else:
                terms[monomial] = terms.get(monomial, 0) + coefficient
        size = add(total, _from_terms(terms))
        if not changed:
            break
    return size, used


def _without(monomial: Monomial, atom: Symbol) -> Monomial:
    left = list(monomial)
    left.remove(atom)
    return tuple(left)


def same(a: Size, b: Size) -> bool:
    """Equal for every value of the symbols."""
    return a == b


def ratio(a: Size, b: Size) -> Size | None:
    """a / b where that is a size: `T*C / T` is C, and `C / (C//h)` is h where h divides C (which the program relies on
    wherever both are sizes of one tensor)."""
    exact = divide_exactly(a, b)
    if exact is not None:
        return exact
    if isinstance(b, Poly) and len(b.terms) == 1 and b.terms[0][1] == 1:
        for atom in b.terms[0][0]:
            if atom.numerator is not None and atom.denominator is not None:
                rest: Size = _from_terms({_without(b.terms[0][0], atom): 1})
                quotient = divide_exactly(a, multiply(atom.numerator, rest))
                if quotient is not None:
                    return multiply(quotient, atom.denominator)
    return None


def multiple(a: Size, b: Size) -> Size | None:
    """How many times b goes into a, where that is a size: what `ratio` gives, or a quotient that the program relies on, as
    it does on `C // h` where it views C as (h, -1)."""
    found = ratio(a, b)
    if found is None and RELIED_ON and isinstance(a, Poly) and isinstance(b, Poly):
        for atom in RELIED_ON:
            if atom.denominator == b and atom.numerator is not None:
                rest = divide_exactly(a, atom.numerator)
                if rest is not None:
                    return multiply(rest, of_symbol(atom))
    return found


def surely_differ(a: Size, b: Size) -> bool:
    """Different for every value of the symbols that is neither 0 nor 1 (nor negative).

    `T*C` and `T` differ where C is not 1; `B` and `C` may be equal.
    """
    if isinstance(a, int) and isinstance(b, int):
        return a != b
    if a == b:
        return False
    quotient = multiple(a, b)
    if quotient is None:
        quotient = multiple(b, a)
    if quotient is not None:
        return surely_not_one(quotient)
    difference = subtract(a, b)
    if isinstance(difference, int):
        return difference != 0
    # All terms of one sign: the difference is not zero.
    return len({coefficient > 0 for _, coefficient in difference.terms}) == 1 and all(
        is_plural(atom) for monomial, _ in difference.terms for atom in monomial
    )


def surely_not_one(size: Size) -> bool:
    """Known to be other than 1, taking a size with a name to be neither 0 nor 1.

    A quotient of two names (`C // heads`) is taken so too; `T // 2` is not, since 2 and 3 are ordinary sizes. A multiple of 2
    is never 1, of whatever it is one.
    """
    if isinstance(size, int):
        return size != 1
    if len(size.terms) == 1:
        atoms = [atom for atom in size.terms[0][0] if not atom.numbers]
        if atoms and all(map(is_plural, atoms)):
            return True  # no multiple of it is 1
    for monomial, coefficient in size.terms:
        if coefficient <= 0 or not all(map(is_plural, monomial)):
            break
    else:
        return True
    if -1 <= size.terms[0][1] <= 1:
        return False
    return math.gcd(*(coefficient for _, coefficient in size.terms)) > 1


def is_plural(atom: Symbol) -> bool:
    """Whether the symbol is taken to be neither 0 nor 1."""
    if atom.name or atom.plural:
        return not atom.numbers
    return isinstance(atom.denominator, Poly) and atom.numerator is not None and surely_not_one(atom.numerator)


def symbols(size: Size) -> set[Symbol]:
    return {atom for monomial, _ in size.terms for atom in monomial} if isinstance(size, Poly) else set()


def single(size: Size) -> Symbol | None:
    """The symbol, if the size is nothing but one."""
    if isinstance(size, Poly) and len(size.terms) == 1 and size.terms[0][1] == 1 and len(size.terms[0][0]) == 1:
        return size.terms[0][0][0]
    return None


def substitute(size: Size, values: dict[Symbol, Size]) -> Size:
    if isinstance(size, int):
        return size
    total: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = coefficient
        for atom in monomial:
            if atom in values:
                term = multiply(term, values[atom])
            elif atom.numerator is not None and atom.denominator is not None:
                top, bottom = substitute(atom.numerator, values), substitute(atom.denominator, values)
                divided = floor_divide(top, bottom)
                term = multiply(term, divided if divided is not None else symbol())
            else:
                term = multiply(term, of_symbol(atom))
        total = add(total, term)
    return total


def is_named(size: Size, nearby: Mapping[Size | Symbol, str] = _NOTHING) -> bool:
    """Whether the size can be written in the user's own names, or those that `nearby` gives to sizes without one."""
    if isinstance(size, int) or size in nearby:
        return True
    return all(_atom_text(atom, nearby) is not None for monomial, _ in size.terms for atom in monomial)


def _atom_text(atom: Symbol, nearby: Mapping[Size | Symbol, str]) -> str | None:
    if atom.variant:
        return None
    if atom in nearby:
        return nearby[atom]
    if atom.name is not None:
        return atom.name
    if atom.numerator is not None and atom.denominator is not None:
        if is_named(atom.numerator, nearby) and is_named(atom.denominator, nearby):
            return f"{_factor(atom.numerator, nearby)}//{_factor(atom.denominator, nearby)}"
    return atom.written


_PLAIN_NAME = re.compile(r"(?:[\w.\[\]]+|len\([\w.]+\)|[\w.]+\.size\(-?\d+\))$")


def _factor(size: Size, nearby: Mapping[Size | Symbol, str]) -> str:
    text = show(size, nearby)
    return text if _PLAIN_NAME.match(text) else f"({text})"


def show(size: Size | None, nearby: Mapping[Size | Symbol, str] = _NOTHING) -> str:
    """The size in the user's names: `3*C`, `H//2 + 1`; `?` where nothing names it, `nearby` included."""
    if size is None:
        return "?"
    if isinstance(size, int):
        return str(size)
    if size in nearby:
        return nearby[size]
    if not is_named(size, nearby):
        return "?"
    parts: list[str] = []
    for monomial, coefficient in size.terms:
        factors = [_atom_text(atom, nearby) or "?" for atom in monomial]
        if len(factors) + (abs(coefficient) != 1) > 1:
            factors = [f"({factor})" if "//" in factor else factor for factor in factors]
        magnitude = abs(coefficient)
        text = "*".join(([str(magnitude)] if magnitude != 1 or not factors else []) + factors)
        if not parts:
            whole = coefficient == -1 and "//" in text and len(factors) == 1  # `-n//2` would be `(-n)//2`
            parts.append(text if coefficient > 0 else f"-({text})" if whole else f"-{text}")
        else:
            parts.append(f" + {text}" if coefficient > 0 else f" - {text}")
    return "".join(parts)


def show_shape(shape: tuple[Size, ...] | None) -> str:
    """A shape as Python writes a tuple: `(B, T, 3*C)`, `(5,)`."""
    if shape is None:
        return "?"
    if len(shape) == 1:
        return f"({show(shape[0])},)"
    return f"({', '.join(show(size) for size in shape)})"
