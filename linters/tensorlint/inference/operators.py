"""Operators, comparisons and truth: on tensors by their tables, on numbers and sizes by arithmetic."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from tensorlint.inference import aliases, iterators, kind_tests, known_axes, numbers, ops, table_values
from tensorlint.inference import sizes as S
from tensorlint.inference.containers import joined_items, share
from tensorlint.inference.contents import given_by_operators, items_of, one_within
from tensorlint.inference.ops import arguments, dtypes, elementwise, modules
from tensorlint.inference.ops.unknown_arguments import is_unknown
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    MAY_BE_NONE,
    NONE,
    NUMPY_SCALAR,
    PLAIN,
    SCALAR,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Kin,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    an_integer,
    any_key,
    copy,
    integer,
    is_numbering,
    may_be_array,
    moved,
    number,
    opaque_anew,
    size_of,
)
from tensorlint.inference.variants import varying

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
# Methods by which an object on the left decides what an operator gives, and comparisons from either side.
_DECIDE = {
    f"__{mode}{name}__": frozenset({sign})
    for name, sign in {
        "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "and": "&",
        "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    }.items()
    for mode in ("", "i")
} | {f"__{name}__": _COMPARISONS for name in ("eq", "ne", "lt", "le", "gt", "ge")}  # fmt: skip
_DECIDING = frozenset(_DECIDE)
# Which may make a size of sizes.
_OF_SIZES = frozenset({"+", "-", "*", "//", "%"})
_TO_ZERO = frozenset({"-", "//", "%", "&", ">>", "^"})  # what they make of sizes may be 0
_MAX_ITEMS = 256
_MOST_ADDED = 4096  # `rows + rows` again and again doubles them each time


def _perhaps_special(result: Value, *operands: Value) -> Value:
    """The result, which may be an object that a special method of one of the operands gives: an operand, or what it holds."""
    given = given_by_operators(operands)
    if result is UNKNOWN or not isinstance(given, Opaque):
        return given if result is UNKNOWN else result
    if isinstance(result, Opaque):
        result.parts = given.parts
    return result


def _may_reflect(value: Value) -> bool:
    """Whether it may be an object of a class that decides what an operator gives: of what only has axes it is not known
    that it is a tensor."""
    return is_unknown(value) or (isinstance(value, Tensor) and value.framework is None)


def decided_by_classes(words: frozenset[str]) -> frozenset[str]:
    """The operators of which a file with these words says what they give for objects of its own."""
    found = _DECIDING & words
    return frozenset().union(*(_DECIDE[name] for name in found)) if found else found


def _perhaps_zero(sign: str, left: Value, right: Value) -> bool:
    """Whether what the operator makes of two numbers may well be 0."""
    return sign in _TO_ZERO or arguments.may_be_zero(left) or (sign == "*" and arguments.may_be_zero(right))


def _result(sign: str, left: Value, right: Value, made: Opaque) -> Opaque:
    """The object that an operator makes of numbers that are not known: used as a size, one that may be 0, where it may."""
    if _perhaps_zero(sign, left, right):
        made._symbol = S.counter(signed=_perhaps_negative(sign, left, right))
    return made


def _perhaps_negative(sign: str, left: Value, right: Value) -> bool:
    """Whether it may well be below 0."""
    return sign == "-" or (sign != "%" and any(map(arguments.may_be_negative, (left, right))))


def _turned(size: S.Size, sign: ast.unaryop) -> Value:
    """`-n` and `~n` of a number that counts something: below 0 as a rule, and no size that may get a name."""
    if isinstance(sign, ast.UAdd):
        return number(size)
    return number(S.negate(size if isinstance(sign, ast.USub) else S.add(size, 1)))


class Operators(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def eval_binary(self, node: ast.BinOp) -> Value:
        left = self.eval(node.left)
        right = self.eval(node.right)
        sign = OPERATORS[type(node.op)]
        result = self.binary(sign, left, right, node)
        if type(result) is Opaque and sign in _OF_NUMBERS and result is not left and result is not right:
            if not (self.reflects or (self.decided and sign in self.decided)):
                _tell_number(result, sign, left, right)
        if sign in _ARITHMETIC and (result is UNKNOWN or (type(result) is Opaque and result.kind is None)):
            result = _made_of(result, left, right)
        if (result is UNKNOWN or type(result) is Opaque) and type(node.op) is not ast.MatMult:
            if type(left) is Opaque or type(right) is Opaque:
                return self.kept_by_arithmetic(result, left, right)
        return result

    def binary(self, sign: str, left: Value, right: Value, node: ast.AST) -> Value:
        if type(left) is Opaque and type(right) is Opaque:  # most are
            if sign in _OF_SIZES:
                result = self.opaque_operation(sign, left, right)
            else:
                result = self.scalar_operation(sign, left, right)
            return _perhaps_special(result, left, right) if left.parts or right.parts else result
        result = self.known_operation(sign, left, right, node)
        if type(result) is Opaque or result is UNKNOWN:
            return _perhaps_special(result, left, right)
        return result

    def known_operation(self, sign: str, left: Value, right: Value, node: ast.AST) -> Value:
        """Of two values of which one at least is more than an object that nobody knows."""
        if sign in self.patched_signs:
            return UNKNOWN
        if type(left) is Tensor or type(right) is Tensor:
            return self.tensor_operation(sign, left, right, node)
        if type(left) is Const and type(right) is Const:
            return _constants(sign, left.value, right.value)
        if type(left) is Sequence or type(right) is Sequence:
            return self.sequence_operation(sign, left, right)
        if sign == "**" and isinstance(left, (Number, Opaque)) and integer(right) in (2, 3):
            square = self.binary("*", left, left, node)
            return square if integer(right) == 2 else self.binary("*", square, left, node)
        if sign in _OF_SIZES:
            a, b = size_of(left), size_of(right)
            if a is not None and b is not None:
                return self.size_operation(sign, a, b, left, right)
        if type(left) is LibraryObject or type(right) is LibraryObject:
            return table_values.operation(left, right, node) or UNKNOWN
        for side in (left, right):
            if type(side) is Instance:
                aliases.lose(side)
        if type(left) is Dictionary or type(right) is Dictionary:
            # `a | b` holds what the two hold.
            return one_within([left, right])
        return self.scalar_operation(sign, left, right)

    def scalar_operation(self, sign: str, left: Value, right: Value) -> Value:
        """Arithmetic on numbers of which not all are known."""
        kinds = [numbers.kind_of_operand(value) for value in (left, right)]
        if None in kinds:
            kind = _kind_of_both(left, right)
            if kind is None and (may_be_array(left) or may_be_array(right)):
                return opaque_anew()
            if kind is None and (sign in _OF_SIZES or not _perhaps_zero(sign, left, right)) and sign != "%":
                return UNKNOWN
            return _result(sign, left, right, Opaque(None, kind=kind))
        if sign in _COMPARISONS:
            return Scalar("bool")
        if "complex" in kinds:
            return UNKNOWN
        if any(type(side) is Opaque and side.told == "real" for side in (left, right)):
            made = Opaque(None, kind=PLAIN)  # used as a size, it is one that may get a name
            made.told = None if sign == "**" else "real"
            return _result(sign, left, right, made)
        if sign == "/" or "float" in kinds:
            # A negative number to a fractional power is complex; nothing else leaves the floats.
            return Opaque(None, kind=PLAIN) if sign == "**" and not isinstance(left, Number) else Scalar("float")
        if sign not in _OF_SIZES:
            return _result(sign, left, right, Opaque(None, kind=PLAIN))
        if "real" in kinds:
            return Scalar("real")
        if not (isinstance(left, Opaque) or isinstance(right, Opaque)):
            return Scalar("int", is_numbering(left) or is_numbering(right))
        made = an_integer()
        if is_numbering(left) or is_numbering(right):
            made._symbol = S.counter(numbers=True, signed=True)
        made.signed = _perhaps_negative(sign, left, right)
        return made

    def opaque_operation(self, sign: str, left: Opaque, right: Opaque) -> Value:
        """`n * m` of two unknown objects may be tensors as well as numbers: one new object, that is a size if used as one."""
        for side in (left, right):
            if side.name is None and side.formula is None and side._symbol is None:
                return self.scalar_operation(sign, left, right)
        key = (sign, id(right))
        if left.fields is None:
            left.fields = {}
        known = left.fields.get(key)
        if known is None:
            result = self.size_operation(sign, left.size, right.size, left, right)
            made = Opaque(None, variant=left.variant or right.variant, kind=_kind_of_both(left, right))
            made.integer = numbers.kind_of_operand(left) == numbers.kind_of_operand(right) == "int"
            made.array = bool(left.array or right.array or left.axes or right.axes)
            if isinstance(result, Opaque):
                made.formula = result._symbol
            known = left.fields[key] = made
            # Keep `right` alive, so that its id stays its own.
            left.fields["keep", id(right)] = right
        return known

    def size_operation(self, sign: str, a: S.Size, b: S.Size, left: Value, right: Value) -> Value:
        opaque = isinstance(left, Opaque) or isinstance(right, Opaque)
        result: S.Size | None
        if sign == "+":
            result = S.add(a, b)
        elif sign == "-":
            result = S.subtract(a, b)
        elif sign == "*":
            result = S.multiply(a, b)
        elif sign == "//":
            result = S.floor_divide(a, b)
        elif isinstance(b, int) and b != 0 and S.divide_exactly(a, b) is not None and not opaque:
            result = 0
        else:
            result = None
        if result is None:
            if sign != "%":
                return UNKNOWN
            result = S.counter()  # of sizes, too, a remainder may be 0
        if opaque and isinstance(result, S.Poly):
            # The object may be a float or a tensor: the result is a size only where it is used as one.
            whole = numbers.kind_of_operand(left) == numbers.kind_of_operand(right) == "int"
            made = Opaque(None, kind=_kind_of_both(left, right), integer=whole)
            made.array = may_be_array(left) or may_be_array(right)
            made._symbol = result
            return made
        if opaque:
            kind = _kind_of_both(left, right)
            return UNKNOWN if kind is None else Opaque(None, kind=kind)
        return number(result)

    def tensor_operation(self, sign: str, left: Value, right: Value, node: ast.AST) -> Value:
        if self.reflects and (_may_reflect(left) or _may_reflect(right)):
            return UNKNOWN  # what its `__rmul__` gives
        if self.decided and sign in self.decided:
            if _may_reflect(left) or (sign in _COMPARISONS and _may_reflect(right)):
                return UNKNOWN  # what its `__mul__`, `__imul__` or `__lt__` gives
        if sign in ("==", "!=") and (_may_be_none(left, right) or _may_be_none(right, left)):
            if left not in self.frame.there and right not in self.frame.there:
                return UNKNOWN
        if sign != "@" and (type(left) is LibraryObject or type(right) is LibraryObject):
            table = table_values.operation(left, right, node)
            if table is not None:
                return table
        call = self.call_context(f"operator {sign}", node)
        if self.vector_numbers:
            self.note_number_use(sign, (left, right), node)
        if self.inner_products and sign in ("+", "-"):
            self.report_number_beside_identity(sign, left, right, node)
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Opaque) and side.kind == PLAIN and isinstance(other, Tensor) and sign != "@":
                # A number, of which it is not known whether it is an integer, unless it says so.
                number: Value = Scalar("int" if side.integer else "float")
                result = elementwise.binary(call, sign, *((number, other) if side is left else (other, number)))
                if side.integer or not isinstance(result, Tensor):
                    pass
                elif sign not in _COMPARISONS and "float" not in (other.dtype or ""):
                    result = copy(result, dtype=None)
                return self.kept_by_operator(self.with_linear(sign, result, left, right), left, right)
            one = _is_one_number(side)
            if not one and type(side) is Opaque and side.kind is None and isinstance(other, Tensor) and other.shape:
                one = self.is_number(side)  # a size may be a tensor with an axis, for its one element
            if sign != "@" and one and _has_shape(other, side):
                result = elementwise.binary(
                    call, sign, *((Scalar("float"), other) if side is left else (other, Scalar("float")))
                )
                if _is_of_numpy(side) and isinstance(result, Tensor) and sign not in _COMPARISONS:
                    result = copy(result, dtype=None)  # a number leaves it as it is, an array without axes does not
                return _beside_scalar(result, other, sign)
        self.note_meeting(sign, left, right)
        result = self.with_outer(elementwise.binary(call, sign, left, right))
        if self.outcomes:
            result = self.with_linear(sign, result, left, right)
        return self.kept_by_operator(result, left, right, sign)

    def is_number(self, value: Value, depth: int = 0) -> bool:
        """Whether an object that nobody knows is a number by now, or a tensor without axes: what was used as a size, or is
        computed from such. `self.scale = (dim // heads) ** -0.5`."""
        if type(value) is not Opaque:
            return numbers.kind_of(value) is not None
        if value.kind is not None or value.integer:
            return value.integer or value.kind == SCALAR or value.told in ("int", "real")
        if value.number or value in self.frame.counted:
            return True
        return value.of is not None and depth < 6 and all(self.is_number(each, depth + 1) for each in value.of)

    def eval_unary(self, node: ast.UnaryOp) -> Value:
        operand = self.eval(node.operand)
        if type(node.op) is ast.Not:
            truth = self.truth(operand)
            return Scalar("bool") if truth is None else Const(not truth)
        if type(operand) is Tensor:
            sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
            result = elementwise.unary(self.call_context(f"operator {sign}", node), sign, operand)
            if self.outcomes and sign != "~":
                result = self.with_linear(sign, result, operand)
            if isinstance(result, Tensor) and result.shape is None and result.axes is None:
                result.axes = known_axes.of(operand) or None
            if type(node.op) is ast.UAdd:
                aliases.tie(result, operand)  # torch gives the tensor itself
            return self.keep_rank(result, operand)
        if isinstance(operand, Const) and isinstance(operand.value, (int, float, complex)):
            if isinstance(node.op, ast.USub):
                return Const(-operand.value)
            if isinstance(node.op, ast.UAdd):
                return operand
            return UNKNOWN
        if isinstance(operand, Number) and isinstance(node.op, ast.USub):
            return number(S.negate(operand.size))
        if isinstance(operand, Number) and isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(operand, LibraryObject) and not isinstance(node.op, ast.Not):
            return table_values.negated(operand, node)
        if isinstance(operand, Opaque):
            if operand.integer:
                return _turned(operand.size, node.op)
            if type(node.op) is not ast.UAdd and operand.kind in (None, PLAIN, SCALAR, NUMPY_SCALAR):
                # It may be a tensor, but if it counts something what this makes of it is below 0 as a rule.
                made = Opaque(None, kind=operand.kind, variant=operand.variant)
                counted: S.Size = operand._symbol or S.counter()
                made._symbol = S.negate(counted if type(node.op) is ast.USub else S.add(counted, 1))  # type: ignore[assignment]
                return _perhaps_special(made, operand) if operand.parts else made
        if isinstance(operand, Scalar) and operand.kind == "int":
            return _turned(S.counter(), node.op)
        if isinstance(operand, Scalar) and not isinstance(node.op, ast.Invert):
            return Scalar("int") if operand.kind == "bool" else operand
        return given_by_operators([operand])

    def eval_compare(self, node: ast.Compare) -> Value:
        left = self.eval(node.left)
        if len(node.ops) == 1:
            return self.compare(node.ops[0], left, self.eval(node.comparators[0]), node)
        result: Value = UNKNOWN
        for position, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
            # All but the first are evaluated only if what stands before is true.
            proven = self.begin_perhaps() if position else None
            log = len(self.mutations)
            right = self.eval(comparator)
            one = self.compare(op, left, right, node)
            if proven is not None:
                self.end_perhaps(proven)
                self.forget_since(log)
            if position == 0:
                result = one
            elif isinstance(result, Const) and not result.value:
                pass
            elif isinstance(result, Const) and result.value is True:
                result = one
            else:
                result = UNKNOWN
            left = right
        return result

    def compare(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        kind = type(op)
        if kind is ast.Is or kind is ast.IsNot:
            same = _identical(left, right)
            return Scalar("bool") if same is None else Const(same is isinstance(op, ast.Is))
        if kind is ast.In or kind is ast.NotIn:
            iterators.spend(self, right)
            if isinstance(left, Const) and isinstance(right, Sequence) and right.items is not None:
                if all(isinstance(item, Const) for item in right.items):
                    found = any(item.value == left.value for item in right.items)  # type: ignore[attr-defined]
                    return Const(found is isinstance(op, ast.In))
            return Scalar("bool")
        sign = OPERATORS[kind]
        if type(left) is Tensor or type(right) is Tensor:
            if (
                left is NONE
                or right is NONE
                or (
                    sign in ("==", "!=") and any(isinstance(x, Tensor) and "optional" in x.marks for x in (left, right))
                )
                or (
                    any(isinstance(x, Const) and isinstance(x.value, str) for x in (left, right))
                    and not _may_be_texts(left if type(left) is Tensor else right)
                )
            ):
                return UNKNOWN
            result = self.tensor_operation(sign, left, right, node)
            return given_by_operators([left, right]) if result is UNKNOWN else result
        if type(left) is Const and type(right) is Const:
            return _constants(sign, left.value, right.value)
        if type(left) is LibraryObject or type(right) is LibraryObject:
            return table_values.operation(left, right, node) or UNKNOWN
        if type(left) is Sequence and type(right) is Sequence and sign in ("==", "!="):
            equal = _same_items(left, right)
            return UNKNOWN if equal is None else Const(equal is (sign == "=="))
        if type(left) in _SIZES and type(right) in _SIZES and sign in ("==", "!="):
            a, b = size_of(left), size_of(right)
            if a is not None and b is not None and a == b:
                return Const(sign == "==")
        if numbers.kind_of(left) and numbers.kind_of(right):
            return Scalar("bool")
        return given_by_operators([left, right])

    def eval_bool(self, node: ast.BoolOp) -> Value:
        is_and = type(node.op) is ast.And
        result: Value | None = None
        log = len(self.mutations)
        final = len(node.values) - 1
        for position, operand in enumerate(node.values):
            if position == 0:
                value = self.eval(operand)
                log = len(self.mutations)
            else:
                proven = self.begin_perhaps()
                aside = kind_tests.put_aside_for(self, is_and, node.values[:position])
                value = self.eval(operand)
                if aside:
                    kind_tests.take_back(self.frame.env, aside)
                self.end_perhaps(proven)
                self.forget_since(log)
            truth = self.truth(share(value))
            if truth is not None and position != final:
                if truth is is_and:
                    continue
                # Decided here: what follows is not evaluated.
                return value if result is None else aliases.joined(result, value)
            result = value if result is None else aliases.joined(result, value)
        return UNKNOWN if result is None else result

    def truth(self, value: Value) -> bool | None:
        """Whether the value is true, where that is known."""
        kind = type(value)
        if kind is Opaque or kind is Unknown or kind is Scalar:  # most are
            return None
        if isinstance(value, Const):
            return bool(value.value)
        if isinstance(value, Sequence):
            if value.shape_of is None and value.items is not None and value.kind != "iterator":
                return bool(value.items)
            return None
        if isinstance(value, Library):
            return True if _surely_true(value.path) else None
        return True if kind is Function or kind is Class else None

    def eval_conditional(self, node: ast.IfExp) -> Value:
        truth = self.truth(self.eval(node.test))
        if truth is True:
            return share(self.eval(node.body))
        if truth is False:
            return share(self.eval(node.orelse))
        proven = self.begin_perhaps()
        log = len(self.mutations)
        asks = kind_tests.asks(node.test, self.file)
        aside = kind_tests.put_aside(self, node.test, True) if asks else {}
        first = self.eval(node.body)
        if asks:
            kind_tests.take_back(self.frame.env, aside)
        self.forget_since(log)
        aside = kind_tests.put_aside(self, node.test, False) if asks else {}
        second = self.eval(node.orelse)
        if asks:
            kind_tests.take_back(self.frame.env, aside)
        self.forget_since(log)
        self.end_perhaps(proven)
        return aliases.joined(share(first), share(second))

    def tensors_added(self, left: Sequence, right: Sequence) -> list[Value]:
        """What is added to a list, where both sides hold tensors and nothing else; a size of this round of a loop is another
        one in the next."""
        held = left.items if left.items is not None else [left.element]
        added = right.items if right.items is not None else [right.element]
        if not all(type(each) is Tensor for each in (*held, *added)):
            return []
        start = self.loop_start
        return list(added) if start is None else [varying(each, start) for each in added]

    def sequence_operation(self, sign: str, left: Value, right: Value) -> Value:
        if sign == "+" and isinstance(left, Sequence) and isinstance(right, Sequence) and left.kind == right.kind:
            if left.items is not None and right.items is not None and len(left.items) + len(right.items) <= _MOST_ADDED:
                return Sequence(left.kind, left.items + right.items)
            length = None
            if left.length is not None and right.length is not None:
                length = S.add(left.length, right.length)
            kin: Kin | None = None
            for side, other in ((left, right), (right, left)):
                if side.kin is not None and other.items is not None:
                    kin = moved(side.kin, len(other.items))
            tail = (*left.tail, *right.items) if right.items is not None else right.tail
            tail = tuple(tail) if left.kind == "tuple" else ()
            if left.kind == "list" and (tensors := self.tensors_added(left, right)):
                return Sequence("list", None, joined_items(left, tensors), length)
            one = _number_of([*items_of(left), *items_of(right)])
            if one is not UNKNOWN:
                return Sequence(left.kind, None, one, length, kin=kin, tail=tail)
            one = one_within([left, right])
            if any(is_numbering(item) for side in (left, right) for item in items_of(side)[:_MAX_ITEMS]):
                numbered = any_key()
                numbered.parts = one.parts if isinstance(one, Opaque) else ()
                one = numbered
            return Sequence(left.kind, None, one, length, kin=kin, tail=tail)
        if sign == "*":
            sequence, count = (left, right) if isinstance(left, Sequence) else (right, left)
            if isinstance(sequence, Sequence) and sequence.items is not None and sequence.kind in ("list", "tuple"):
                times = integer(count)
                if times is not None and times * len(sequence.items) <= _MAX_ITEMS:
                    return Sequence(sequence.kind, sequence.items * times if sequence.items and times > 0 else [])
                if may_be_array(count):
                    return UNKNOWN
                size = S.counter() if isinstance(count, Scalar) else size_of(count)
                if len(sequence.items) == 1 and size is not None:
                    if not arguments.at_least(size, 0):
                        size = S.counter()  # none, where it is negative
                    return Sequence(sequence.kind, None, sequence.items[0], size)
                return Sequence(sequence.kind, None, one_within([sequence]))
        return UNKNOWN


_CLASS_NAME = re.compile(r"[A-Z]\w*[a-z]\w*(?<!_)$")


def _surely_true(path: str) -> bool:
    """Whether a library's name is a module, function, class or dtype: `torch.version.cuda` may be None."""
    root, _, rest = path.partition(".")
    if not rest or root == "math":
        return True
    if root not in ("torch", "numpy", "einops"):
        return False
    name = path.rpartition(".")[2]
    return (
        ops.function(path) is not None
        or modules.known(path)
        or dtypes.named(Library(path), None) is not None
        or _CLASS_NAME.match(name) is not None
        or ops.is_module(path)
    )


def _is_one_number(value: Value) -> bool:
    """A number or a tensor without axes, whichever, or what numpy makes of numbers: `np.sqrt(width)`, `np.array(2)`."""
    return _is_of_numpy(value) or (isinstance(value, Opaque) and value.kind == SCALAR)


def _is_of_numpy(value: Value) -> bool:
    """What numpy makes of numbers, or that or a number."""
    if isinstance(value, Tensor):
        return value.framework == "numpy" and value.shape == ()
    return isinstance(value, Opaque) and value.kind == NUMPY_SCALAR


def _has_shape(value: Value, other: Value) -> bool:
    """Whether it is a tensor of known shape, which a number beside it leaves; of arrays nobody knows what does not show
    that it is no tensor."""
    if not isinstance(value, Tensor) or value.shape is None:
        return False
    return value.framework == "torch" or (value.framework == "numpy" and type(other) is Opaque and _is_of_numpy(other))


def _beside_scalar(result: Value, other: Value, sign: str) -> Value:
    """A number leaves a tensor its type and order in memory; of a tensor without axes less is known."""
    if not isinstance(result, Tensor) or not isinstance(other, Tensor):
        return result
    floating = sign in _COMPARISONS or "float" in (other.dtype or "")
    return copy(result, dtype=result.dtype if floating else None, strides=result.strides if other.in_order else None)


def _may_be_texts(value: Value) -> bool:
    """Whether it is an array of numpy that is compared with a text item by item."""
    return isinstance(value, Tensor) and value.framework == "numpy" and value.dtype is None and bool(value.shape)


def _constants(sign: str, left: Any, right: Any) -> Value:
    function = _PYTHON.get(sign)
    if sign == "**" and isinstance(left, (int, float)) and isinstance(right, (int, float)):
        if isinstance(left, int) and isinstance(right, int) and (right < 0 or right > 64 or abs(left) > 2**32):
            return Scalar("float") if right < 0 else UNKNOWN
        function = operator.pow
    if function is None:
        return UNKNOWN
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        if sign in ("*", "%") or len(str(left)) + len(str(right)) > 10_000:
            return UNKNOWN
    try:
        result = function(left, right)
    except (ArithmeticError, MemoryError, TypeError, ValueError):
        return UNKNOWN
    if isinstance(result, int) and abs(result) > 2**63:
        return UNKNOWN
    return Const(result)


def _identical(left: Value, right: Value) -> bool | None:
    for side, other in ((right, left), (left, right)):
        if type(side) is Const and side.value is None:
            if type(other) is Opaque or other is UNKNOWN:
                return None
            if isinstance(other, Const):
                return other.value is None
            if isinstance(other, Tensor) and other.marks & MAY_BE_NONE:
                return None
            if isinstance(other, Instance) and other.generic:
                return None  # by an annotation, which says nothing of None
            if isinstance(
                other, (Tensor, Sequence, Dictionary, LibraryObject, Instance, Function, Class, Number, Scalar)
            ):
                return False
            return None
    if (
        isinstance(left, Const)
        and isinstance(right, Const)
        and isinstance(left.value, bool)
        and isinstance(right.value, bool)
    ):
        return left.value is right.value
    return None


def _same_items(left: Sequence, right: Sequence) -> bool | None:
    if left.items is None or right.items is None or left.kind != right.kind:
        return None
    if len(left.items) != len(right.items):
        return False
    verdict: bool | None = True
    for a, b in zip(left.items, right.items, strict=True):
        x, y = size_of(a), size_of(b)
        if isinstance(a, Opaque) or isinstance(b, Opaque) or x is None or y is None:
            verdict = None
        elif isinstance(x, int) and isinstance(y, int):
            if x != y:
                return False
        elif x != y:
            verdict = None
    return verdict


def _may_be_none(value: Value, other: Value) -> bool:
    """Whether a tensor is compared with what may be None, which gives True or False; an array compares its elements."""
    return type(value) is Opaque and value.optional and isinstance(other, Tensor) and other.framework != "numpy"


_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**"})


def _made_of(result: Value, left: Value, right: Value) -> Value:
    """The result, with the operands that make it a number if they are numbers."""
    for side in (left, right):
        if type(side) is Opaque:
            if side.parts or side.axes or side.array or side.variant:
                return result
        elif numbers.kind_of(side) is None:
            return result
    if result is UNKNOWN:
        result = Opaque(None)
        result.counts = result.signed = True
    if isinstance(result, Opaque) and result.of is None and result is not left and result is not right:
        result.of = left, right
    return result


# Operators that lists and tuples have not, and "+", which they have beside another one.
_OF_NUMBERS = frozenset({"-", "/", "//", "+"})


def _tell_number(result: Opaque, sign: str, left: Value, right: Value) -> None:
    """What is so of a result if it is no tensor: one number, as `n - 1` and `n // 2` are. Of what can only be a number, a
    text or a list of these, it is one for certain."""
    if sign != "+" or any(numbers.kind_of_operand(side) is not None for side in (left, right)):
        result.single = True
        if result.kind == PLAIN and not result.integer and result.told is None:
            result.told = "real"


def _number_of(items: list[Value]) -> Value:
    """What stands for any of the items, if all of them are numbers."""
    found = numbers.one_of(items) if len(items) <= _MAX_ITEMS else UNKNOWN
    if isinstance(found, Opaque) and found.integer:
        return Number(S.counter(variant=True, numbers=True, signed=True))
    return found


_NUMBERS = frozenset({Const, Number, Scalar})
_SIZES = frozenset({Const, Number})


def _kind_of_both(left: Value, right: Value) -> str | None:
    """What an operator gives: PLAIN of numbers, strings or containers of these for certain; SCALAR of a number or a
    tensor without axes, and another or a number; likewise NUMPY_SCALAR."""
    kind: str | None = PLAIN
    for value in (left, right):
        if type(value) is Opaque:
            if value.kind in (SCALAR, NUMPY_SCALAR) and kind in (PLAIN, value.kind):
                kind = value.kind
            elif value.kind != PLAIN:
                return None
        elif type(value) not in _NUMBERS:
            return None
    if kind is not PLAIN and not all(
        value.kind == kind if isinstance(value, Opaque) else numbers.kind_of(value) for value in (left, right)
    ):
        return None
    return kind
