"""What each kind of expression is."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from tensorlint.inference import ops
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import is_contiguous
from tensorlint.inference.ops import elementwise, indexing, modules
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    FALSE,
    NONE,
    PLAIN,
    TRUE,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Imported,
    Instance,
    Library,
    LibraryObject,
    ModuleScope,
    Number,
    Opaque,
    Partial,
    Range,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Value,
    copy,
    freshen,
    integer,
    join,
    number,
    size_of,
)

_OPERATORS: dict[type[ast.AST], str] = {
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
_MAX_ITEMS = 256


class Expressions(State):
    """Mixed into the interpreter: `eval` and what it dispatches to."""

    # -- names and constants -------------------------------------------------------------------------------------

    def eval_constant(self, node: ast.Constant) -> Value:
        return Const(node.value)

    def eval_name(self, node: ast.Name) -> Value:
        env = self.frame.env
        value = env.get(node.id)
        if value is not None:
            if type(value) is Imported:
                return self.resolve(value)
            if value is UNKNOWN:
                # Whatever it is, it is one object until the name is bound anew.
                value = env[node.id] = Opaque(None)
            return value
        value = self.frame.lookup(node.id)
        if value is None:
            value = self.awaited(node.id)
        if type(value) is Imported:
            return self.resolve(value)
        return Library("builtins." + node.id) if value is None else value

    def eval_named(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value, node.value)
        return value

    def eval_tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        kind: Any = "tuple" if isinstance(node, ast.Tuple) else "list" if isinstance(node, ast.List) else "set"
        if len(node.elts) > _MAX_ITEMS:
            return self.eval_long_literal(node, kind)
        items: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = self.eval(element.value)
                if isinstance(inner, Sequence) and inner.shape_of is None and inner.items is not None:
                    items.extend(inner.items)
                else:
                    for rest in node.elts:
                        self.eval(rest.value if isinstance(rest, ast.Starred) else rest)
                    return Sequence(kind)
            else:
                items.append(self.eval(element))
        return Sequence(kind, items)

    def eval_long_literal(self, node: ast.Tuple | ast.List | ast.Set, kind: Any) -> Value:
        """A literal of many items: the first few stand for all where all are constants of one type."""
        first = type(node.elts[0])
        if first is ast.Constant and all(type(element) is first for element in node.elts):
            types = {type(element.value) for element in node.elts}  # type: ignore[attr-defined]
            if len(types) == 1 and not any(isinstance(element, ast.Starred) for element in node.elts):
                return Sequence(kind, [Const(element.value) for element in node.elts])  # type: ignore[attr-defined]
        return Sequence(kind, None, UNKNOWN, None)

    def eval_dict(self, node: ast.Dict) -> Value:
        items: dict[Any, Value] | None = {}
        for key, value in zip(node.keys, node.values, strict=True):
            evaluated = self.eval(value)
            if key is None:
                if isinstance(evaluated, Dictionary) and evaluated.items is not None and items is not None:
                    items.update(evaluated.items)
                else:
                    items = None
                continue
            name = self.eval(key)
            if isinstance(name, Const) and items is not None and len(items) < _MAX_ITEMS:
                items[name.value] = evaluated
            else:
                items = None
        return Dictionary(items)

    def eval_joined_string(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.eval(part.value)
        return UNKNOWN

    def eval_lambda(self, node: ast.Lambda) -> Value:
        return Function(node, self.frame, defaults=self.defaults_of(node.args))

    def eval_starred(self, node: ast.Starred) -> Value:
        self.eval(node.value)
        return UNKNOWN

    def eval_await(self, node: ast.Await) -> Value:
        self.eval(node.value)
        return UNKNOWN

    def eval_yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        self.frame.facts.is_generator = True
        if node.value is not None:
            value = self.eval(node.value)
            if isinstance(node, ast.Yield):
                self.frame.returns.append(value)
            else:
                self.frame.returns.append(UNKNOWN)
        return UNKNOWN

    # -- attributes ----------------------------------------------------------------------------------------------

    def eval_attribute(self, node: ast.Attribute) -> Value:
        return self.attribute_of(self.eval(node.value), node.attr, node)

    def attribute_of(self, value: Value, name: str, node: ast.AST | None) -> Value:
        if isinstance(value, Library):
            return self.library_attribute(value.path, name)
        if isinstance(value, Tensor):
            return self.tensor_attribute(value, name, node)
        if isinstance(value, Opaque):
            return self.opaque_field(value, name)
        if isinstance(value, Instance):
            return self.instance_attribute(value, name, node)
        if isinstance(value, LibraryObject):
            if name in value.fields:
                return value.fields[name]
            if modules.known(value.path):
                found = modules.module_attribute(value, name)
                if found is not UNKNOWN:
                    return found
            return Attribute(value, name)
        if isinstance(value, Class):
            return self.class_attribute(value, name)
        if isinstance(value, ModuleScope):
            return self.module_attribute(value, name)
        if isinstance(value, (Sequence, Dictionary, Const, Partial, Function)):
            return Attribute(value, name)
        return UNKNOWN

    def opaque_field(self, value: Opaque, name: object) -> Value:
        if isinstance(name, str) and name in self.file.facts.unstable_attributes:
            return Opaque(None)
        if value.fields is None:
            value.fields = {}
        found = value.fields.get(name)
        if found is None:
            if value.name is None:
                text = None
            elif isinstance(name, str) and not isinstance(name, ItemKey):
                text = f"{value.name}.{name}"
            else:
                text = f"{value.name}[{name!s}]"
            kind = value.kind if value.kind == PLAIN else None
            found = value.fields[name] = Opaque(text, variant=value.variant, kind=kind)
        return found

    def tensor_attribute(self, value: Tensor, name: str, node: ast.AST | None) -> Value:
        if name == "shape":
            return self.shape_of(value)
        if name == "ndim":
            return UNKNOWN if value.shape is None else Const(len(value.shape))
        if name == "size" and value.framework == "numpy":
            return UNKNOWN if value.shape is None else number(S.product(value.shape))
        if name == "dtype":
            return Library(f"{value.framework}.{value.dtype}") if value.dtype and value.framework else UNKNOWN
        if name == "device" and value.device is not None:
            return Const(value.device)
        if name in ("device", "requires_grad", "grad_fn", "is_cuda", "itemsize", "nbytes", "layout", "names"):
            return UNKNOWN
        if name == "__class__":
            return UNKNOWN
        entry = ops.attribute(value.framework, name) if value.framework else None
        if entry is None and value.framework is None and name in ("T", "mT"):
            entry = ops.attribute("torch", name)
        if entry is not None:
            return self.apply(entry, [value], {}, node)
        return Attribute(value, name)

    def shape_of(self, value: Tensor | Opaque) -> Value:
        if isinstance(value, Tensor) and value.shape is not None:
            return Sequence("tuple", [number(size) for size in value.shape])
        return Sequence("tuple", None, UNKNOWN, None, shape_of=value)

    def axis_size(self, value: Value, axis: int) -> Value:
        """The size of one axis; of a tensor whose rank is not known, one size for each axis that is asked for."""
        if isinstance(value, Tensor) and value.shape is not None:
            return number(value.shape[axis]) if -len(value.shape) <= axis < len(value.shape) else UNKNOWN
        if isinstance(value, (Tensor, Opaque)):
            if value.axes is None:
                value.axes = {}
            size = value.axes.get(axis)
            if size is None:
                size = value.axes[axis] = S.symbol()
            return number(size)
        return UNKNOWN

    # -- operators -----------------------------------------------------------------------------------------------

    def eval_binary(self, node: ast.BinOp) -> Value:
        left = self.eval(node.left)
        right = self.eval(node.right)
        return self.binary(_OPERATORS[type(node.op)], left, right, node)

    def binary(self, sign: str, left: Value, right: Value, node: ast.AST) -> Value:
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.tensor_operation(sign, left, right, node)
        if isinstance(left, Const) and isinstance(right, Const):
            return _constants(sign, left.value, right.value)
        if isinstance(left, Sequence) or isinstance(right, Sequence):
            return self.sequence_operation(sign, left, right)
        if sign in ("+", "-", "*", "//", "%"):
            a, b = size_of(left), size_of(right)
            if a is not None and b is not None and not (isinstance(left, Opaque) and isinstance(right, Opaque)):
                return self.size_operation(sign, a, b, left, right)
            if isinstance(left, Opaque) and isinstance(right, Opaque):
                return self.opaque_operation(sign, left, right)
        return self.scalar_operation(sign, left, right)

    def scalar_operation(self, sign: str, left: Value, right: Value) -> Value:
        """Arithmetic on numbers of which not all are known."""
        kinds = [_number_kind(value) for value in (left, right)]
        if None in kinds:
            return Opaque(None, kind=PLAIN) if _not_tensors(left, right) else UNKNOWN
        if sign in _COMPARISONS:
            return Scalar("bool")
        if "complex" in kinds:
            return UNKNOWN
        if sign == "/" or "float" in kinds:
            # A negative number to a fractional power is complex; nothing else leaves the floats.
            return Opaque(None, kind=PLAIN) if sign == "**" and not isinstance(left, Number) else Scalar("float")
        if sign == "**":
            return Opaque(None, kind=PLAIN)
        return Scalar("int") if sign in ("+", "-", "*", "//", "%") else Opaque(None, kind=PLAIN)

    def opaque_operation(self, sign: str, left: Opaque, right: Opaque) -> Value:
        """`n * m` of two unknown objects may be tensors as well as numbers: one new object, that is a size if used as one."""
        if left.name is None or right.name is None:
            return UNKNOWN
        key = (sign, id(right))
        if left.fields is None:
            left.fields = {}
        known = left.fields.get(key)
        if known is None:
            a, b = left.size, right.size
            result = self.size_operation(sign, a, b, left, right)
            plain = left.kind == PLAIN and right.kind == PLAIN
            made = Opaque(None, variant=left.variant or right.variant, kind=PLAIN if plain else None)
            if isinstance(result, Number):
                made._symbol = result.size
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
            return UNKNOWN
        if opaque and isinstance(result, S.Poly):
            # The object may be a float or a tensor: the result is a size only where it is used as one.
            made = Opaque(None, kind=PLAIN if _not_tensors(left, right) else None)
            made._symbol = result
            return made
        if opaque:
            return Opaque(None, kind=PLAIN) if _not_tensors(left, right) else UNKNOWN
        return number(result)

    def tensor_operation(self, sign: str, left: Value, right: Value, node: ast.AST) -> Value:
        call = self.call_context(f"operator {sign}", node)
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Opaque) and side.kind == PLAIN and isinstance(other, Tensor) and sign != "@":
                # A number, of which it is not known whether it is an integer.
                number: Value = Scalar("float")
                result = elementwise.binary(call, sign, *((number, other) if side is left else (other, number)))
                if isinstance(result, Tensor) and sign not in _COMPARISONS and "float" not in (other.dtype or ""):
                    return copy(result, dtype=None)
                return result
        return self.with_outer(elementwise.binary(call, sign, left, right))

    def eval_unary(self, node: ast.UnaryOp) -> Value:
        operand = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(operand)
            return UNKNOWN if truth is None else Const(not truth)
        if isinstance(operand, Tensor):
            sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
            return elementwise.unary(self.call_context(f"operator {sign}", node), sign, operand)
        if isinstance(operand, Const) and isinstance(operand.value, (int, float, complex)):
            if isinstance(node.op, ast.USub):
                return Const(-operand.value)
            if isinstance(node.op, ast.UAdd):
                return operand
            return UNKNOWN
        if isinstance(operand, Number) and isinstance(node.op, ast.USub):
            return number(S.negate(operand.size))
        return UNKNOWN

    def eval_compare(self, node: ast.Compare) -> Value:
        left = self.eval(node.left)
        result: Value = UNKNOWN
        for position, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.eval(comparator)
            one = self.compare(op, left, right, node)
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
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = _identical(left, right)
            return UNKNOWN if same is None else Const(same is isinstance(op, ast.Is))
        if isinstance(op, (ast.In, ast.NotIn)):
            if isinstance(left, Const) and isinstance(right, Sequence) and right.items is not None:
                if all(isinstance(item, Const) for item in right.items):
                    found = any(item.value == left.value for item in right.items)  # type: ignore[attr-defined]
                    return Const(found is isinstance(op, ast.In))
            return UNKNOWN
        sign = _OPERATORS[type(op)]
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if (
                left is NONE
                or right is NONE
                or any(isinstance(x, Const) and isinstance(x.value, str) for x in (left, right))
            ):
                return UNKNOWN
            return self.tensor_operation(sign, left, right, node)
        if isinstance(left, Const) and isinstance(right, Const):
            return _constants(sign, left.value, right.value)
        if isinstance(left, Sequence) and isinstance(right, Sequence) and sign in ("==", "!="):
            equal = _same_items(left, right)
            return UNKNOWN if equal is None else Const(equal is (sign == "=="))
        if isinstance(left, (Number, Const)) and isinstance(right, (Number, Const)) and sign in ("==", "!="):
            a, b = size_of(left), size_of(right)
            if a is not None and b is not None and a == b:
                return Const(sign == "==")
        return UNKNOWN

    def eval_bool(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        result: Value | None = None
        for position, operand in enumerate(node.values):
            value = self.eval(operand)
            truth = self.truth(value)
            last = position == len(node.values) - 1
            if truth is not None and truth is not is_and and not last:
                # Decided here: what follows is not evaluated.
                return value if result is None else join(result, value)
            if truth is is_and and not last:
                continue
            result = value if result is None else join(result, value)
        return UNKNOWN if result is None else result

    def truth(self, value: Value) -> bool | None:
        """Whether the value is true, where that is known."""
        if isinstance(value, Const):
            return bool(value.value)
        if (
            isinstance(value, Sequence)
            and value.shape_of is None
            and value.items is not None
            and value.kind != "iterator"
        ):
            return bool(value.items)
        if isinstance(value, (Function, Class, Instance, Library)):
            if isinstance(value, Instance) or (isinstance(value, Library) and value.path.startswith("builtins.")):
                return None
            return True
        return None

    def eval_conditional(self, node: ast.IfExp) -> Value:
        truth = self.truth(self.eval(node.test))
        if truth is True:
            return self.eval(node.body)
        if truth is False:
            return self.eval(node.orelse)
        return join(self.eval(node.body), self.eval(node.orelse))

    def sequence_operation(self, sign: str, left: Value, right: Value) -> Value:
        if sign == "+" and isinstance(left, Sequence) and isinstance(right, Sequence) and left.kind == right.kind:
            if left.items is not None and right.items is not None:
                return Sequence(left.kind, left.items + right.items)
            length = None
            if left.length is not None and right.length is not None:
                length = S.add(left.length, right.length)
            return Sequence(left.kind, None, UNKNOWN, length)
        if sign == "*":
            sequence, count = (left, right) if isinstance(left, Sequence) else (right, left)
            if isinstance(sequence, Sequence) and sequence.items is not None and sequence.kind in ("list", "tuple"):
                times = integer(count)
                if times is not None and 0 <= times * len(sequence.items) <= _MAX_ITEMS:
                    return Sequence(sequence.kind, sequence.items * times)
                size = size_of(count)
                if len(sequence.items) == 1 and size is not None:
                    return Sequence(sequence.kind, None, sequence.items[0], size)
                return Sequence(sequence.kind)
        if isinstance(left, Sequence) and left.kind == "list" and sign == "+":
            return UNKNOWN
        return UNKNOWN

    # -- subscripts ----------------------------------------------------------------------------------------------

    def eval_slice(self, node: ast.Slice) -> Value:
        return Slice(
            NONE if node.lower is None else self.eval(node.lower),
            NONE if node.upper is None else self.eval(node.upper),
            NONE if node.step is None else self.eval(node.step),
        )

    def eval_subscript(self, node: ast.Subscript) -> Value:
        value = self.eval(node.value)
        index = self.eval(node.slice)
        return self.item(value, index, node)

    def item(self, value: Value, index: Value, node: ast.AST) -> Value:
        if isinstance(value, Tensor):
            return indexing.getitem(self.call_context("indexing", node), value, index)
        if isinstance(value, Sequence):
            return self.sequence_item(value, index)
        if isinstance(value, Dictionary):
            if isinstance(index, Const) and value.items is not None:
                try:
                    return value.items.get(index.value, UNKNOWN)
                except TypeError:
                    return UNKNOWN
            return freshen(value.element) if value.items is None else UNKNOWN
        if isinstance(value, Opaque):
            if isinstance(index, Const) and isinstance(index.value, (str, int)) and not isinstance(index.value, bool):
                return self.opaque_field(value, ItemKey(repr(index.value)))
            return Opaque(None)
        if isinstance(value, LibraryObject):
            members = self.members(value)
            if members is not None:
                if value.path == "torch.nn.Sequential" and isinstance(index, Slice):
                    part = self.sequence_item(members, index)
                    if isinstance(part, Sequence) and part.items is not None:
                        return LibraryObject(value.path, {}, tuple(part.items))
                    return UNKNOWN
                if isinstance(members, Dictionary):
                    return self.item(members, index, node)
                return self.sequence_item(members, index)
            if value.path.startswith("collections."):
                return UNKNOWN
            return UNKNOWN
        if isinstance(value, Instance):
            return self.call_method(value, "__getitem__", [index], {}, node)
        if isinstance(value, Library):
            return value if value.path.startswith(("typing.", "jaxtyping.", "builtins.")) else UNKNOWN
        return UNKNOWN

    def sequence_item(self, value: Sequence, index: Value) -> Value:
        if value.shape_of is not None:
            axis = integer(index)
            if axis is not None:
                return self.axis_size(value.shape_of, axis)
            return UNKNOWN
        if isinstance(index, Const) and isinstance(index.value, int):
            return value.at(int(index.value))
        if isinstance(index, Slice) and value.items is not None:
            bounds = [
                None if part is NONE or (isinstance(part, Const) and part.value is None) else integer(part)
                for part in (index.start, index.stop, index.step)
            ]
            known = [
                bound is not None or (isinstance(part, Const) and part.value is None)
                for bound, part in zip(bounds, (index.start, index.stop, index.step), strict=True)
            ]
            if all(known) and bounds[2] != 0:
                return Sequence(value.kind, value.items[slice(*bounds)])
            return Sequence(value.kind)
        if isinstance(index, Slice):
            return Sequence(value.kind, None, value.element)
        if value.items is not None and value.items and value.kind != "set":
            result = value.items[0]
            for item in value.items[1:]:
                result = join(result, item)
            return result
        return freshen(value.element)

    # -- comprehensions ------------------------------------------------------------------------------------------

    def eval_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        kind: Any = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "iterator"}[type(node)]
        first = self.eval(node.generators[0].iter)
        plain = len(node.generators) == 1 and not node.generators[0].ifs
        known = self.iterate(first)
        outer = self.frame.env
        if plain and known.items is not None and len(known.items) <= 8:
            items: list[Value] = []
            for item in known.items:
                self.frame.env = dict(outer)
                self.assign(node.generators[0].target, item, None)
                items.append(self.eval(node.elt))
            self.frame.env = outer
            return Sequence(kind, items)
        start = S.symbol_serial()
        self.enter_generators(node.generators, known)
        element = self.varying(self.eval(node.elt), start)
        self.frame.env = outer
        length = self.length_of(known) if plain and kind != "set" else None
        return Sequence(kind, None, element, length)

    def eval_dict_comprehension(self, node: ast.DictComp) -> Value:
        known = self.iterate(self.eval(node.generators[0].iter))
        outer = self.frame.env
        start = S.symbol_serial()
        self.enter_generators(node.generators, known)
        self.eval(node.key)
        element = self.varying(self.eval(node.value), start)
        self.frame.env = outer
        return Dictionary(None, element)

    def enter_generators(self, generators: list[ast.comprehension], first: Sequence) -> None:
        self.frame.env = dict(self.frame.env)
        for position, generator in enumerate(generators):
            iterable = first if position == 0 else self.iterate(self.eval(generator.iter))
            self.assign(generator.target, self.any_item(iterable), None)
            for condition in generator.ifs:
                self.eval(condition)

    def varying(self, value: Value, start: int) -> Value:
        """The value with the sizes that were made since `start` marked as varying from item to item."""
        if isinstance(value, Tensor) and value.shape is not None:
            values: dict[S.Symbol, S.Size] = {}
            for size in (*value.shape, *(value.strides or ())):
                for atom in S.symbols(size):
                    if atom.serial >= start and not atom.variant:
                        values[atom] = S.of_symbol(S.Symbol(None, variant=True))
            if not values:
                return value
            return copy(
                value,
                shape=tuple(S.substitute(size, values) for size in value.shape),
                strides=None if value.strides is None else tuple(S.substitute(s, values) for s in value.strides),
            )
        if isinstance(value, Number):
            if any(atom.serial >= start for atom in S.symbols(value.size)):
                return Scalar("int")
            return value
        if isinstance(value, Opaque):
            return UNKNOWN
        if isinstance(value, Sequence):
            if value.items is not None and len(value.items) <= 32:
                return Sequence(value.kind, [self.varying(item, start) for item in value.items])
            return Sequence(value.kind, None, self.varying(value.element, start))
        if isinstance(value, Dictionary):
            return UNKNOWN
        return value

    def any_item(self, iterable: Sequence) -> Value:
        """One item of an iterable, whichever."""
        if iterable.items is not None:
            if not iterable.items:
                return UNKNOWN
            result = iterable.items[0]
            for item in iterable.items[1:]:
                if isinstance(result, Const) and isinstance(item, Const):
                    result = Opaque(None)
                    break
                result = join(result, item)
            return result
        element = freshen(iterable.element)
        return Opaque(None) if element is UNKNOWN else element

    def length_of(self, value: Value) -> S.Size | None:
        if isinstance(value, Sequence):
            return len(value.items) if value.items is not None else value.length
        return None

    def iterate(self, value: Value) -> Sequence:
        """What iterating over the value gives, one after the other."""
        if isinstance(value, Sequence):
            return value if value.shape_of is None else Sequence("iterator")
        if isinstance(value, Range):
            return self.iterate_range(value)
        if isinstance(value, Tensor):
            if value.shape:
                item = indexing.getitem(self.call_context("iteration", value.made), value, Const(0))
                first = value.shape[0]
                if isinstance(item, Tensor):
                    return Sequence("iterator", None, item, first)
            return Sequence("iterator")
        if isinstance(value, LibraryObject):
            members = self.members(value)
            if isinstance(members, Sequence):
                return members
            return self.iterate_library_object(value)
        if isinstance(value, Dictionary) and value.items is not None:
            return Sequence("iterator", [Const(key) for key in value.items])
        return Sequence("iterator")

    def iterate_range(self, value: Range) -> Sequence:
        if isinstance(value.start, int) and isinstance(value.stop, int) and isinstance(value.step, int) and value.step:
            known = range(value.start, value.stop, value.step)
            if len(known) <= 8:
                return Sequence("iterator", [Const(number) for number in known])
            return Sequence("iterator", None, _any_integer(), len(known))
        length = None
        if value.start == 0 and value.step == 1:
            length = value.stop
        return Sequence("iterator", None, _any_integer(), length)


def _any_integer() -> Value:
    """An integer that differs from round to round."""
    return Number(S.of_symbol(S.Symbol(None, variant=True)))


class ItemKey(str):
    """The key of an opaque object's item, told apart from an attribute of the same spelling."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemKey) and str.__eq__(self, other)

    def __hash__(self) -> int:
        return hash(("item", str(self)))


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
    except Exception:
        return UNKNOWN
    if isinstance(result, int) and abs(result) > 2**63:
        return UNKNOWN
    return Const(result)


def _number_kind(value: Value) -> str | None:
    if isinstance(value, Number):
        return "int"
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, Const):
        return {int: "int", float: "float", bool: "bool", complex: "complex"}.get(type(value.value))
    return None


def _not_tensors(*values: Value) -> bool:
    """Whether the values are numbers, strings or containers of these for certain."""
    return all(
        isinstance(value, (Const, Number, Scalar)) or (isinstance(value, Opaque) and value.kind == PLAIN)
        for value in values
    )


def _identical(left: Value, right: Value) -> bool | None:
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Const) and side.value is None:
            if isinstance(other, Const):
                return other.value is None
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


__all__ = ["FALSE", "TRUE", "Expressions", "is_contiguous"]
