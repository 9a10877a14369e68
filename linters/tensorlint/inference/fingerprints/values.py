"""What an expression's value is, as far as a fingerprint goes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

Trigger = Literal["M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9", "M10", "M11"]
Elements = Literal["strings", "plain", "few", "unknown"]


@dataclass(frozen=True, slots=True)
class Trait:
    """Why a value is not the same in the next process. `node` is the expression that makes it differ."""

    trigger: Trigger
    reason: str
    node: ast.AST
    rank: bool = False


@dataclass(frozen=True, slots=True)
class Parent:
    """An upstream transform that gives a new fingerprint on every call (M10), or in another hash seed (M3).

    `unset`: it does so where a call of this function leaves this parameter at None; `caller`: the call that does.
    """

    trigger: Trigger
    method: str
    node: ast.Call
    reason: str
    unset: tuple[ast.FunctionDef | ast.AsyncFunctionDef, str] | None = None
    caller: ast.Call | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """`kind` is one of the words below; the other fields belong to some kinds only.

    unknown, constant, module (dotted), external (the result of calling dotted), function, class, instance, bound,
    partial, set, frozenset, sequence, dict, settings, dataset, generator.
    `varies`: it follows the command line, the environment or the caller; a change there changes it.
    """

    kind: str = "unknown"
    traits: tuple[Trait, ...] = ()
    varies: bool = False
    dotted: str = ""
    node: ast.AST | None = None
    owner: Value | None = None  # the instance of a bound method, the function of a partial
    parts: tuple[Value, ...] = ()
    fields: tuple[tuple[str, Value], ...] | None = None  # settings and dicts with known keys
    elements: Elements = "unknown"
    stream: bool = False
    memory: bool = False  # made from Python data of this run: no cache file
    shown: bool = True  # ... of literal data, as in an example that stands for the real thing
    is_dict: bool | None = None  # a DatasetDict
    parents: tuple[Parent, ...] = ()
    columns: tuple[tuple[str, Elements], ...] | None = None
    arguments: tuple[tuple[str, Value], ...] = field(default=(), compare=False)

    @property
    def callable(self) -> bool:
        return self.kind in ("function", "class", "bound", "partial", "instance")

    def with_traits(self, traits: Iterable[Trait]) -> Value:
        merged = dict.fromkeys((*self.traits, *traits))
        return replace(self, traits=tuple(merged)) if merged else self


UNKNOWN = Value()
CONSTANT = Value("constant")


def traits_of(values: Iterable[Value]) -> tuple[Trait, ...]:
    return tuple(dict.fromkeys(trait for value in values for trait in value.traits))


def joined(values: list[Value]) -> Value:
    """What a name may be that is bound in several places: a kind only where they agree, every trait."""
    if not values:
        return UNKNOWN
    known = [value for value in values if value.kind != "constant"] or values
    first = known[0]
    datasets = [value for value in known if value.kind == "dataset"]
    traits = traits_of(values)
    varies = any(value.varies for value in values)
    streamed = [value for value in datasets if value.stream]
    if streamed:
        return streamed[0]
    if datasets and len(datasets) == len(known):
        parents = tuple(dict.fromkeys(parent for value in datasets for parent in value.parents))
        merged = replace(first, parents=parents, memory=all(v.memory for v in datasets))
        return merged.with_traits(traits)
    if all(value.kind == first.kind and value.node is first.node and value.dotted == first.dotted for value in known):
        return replace(first, varies=varies).with_traits(traits)
    if first.kind in ("set", "frozenset", "sequence") and all(value.kind == first.kind for value in known):
        elements = first.elements if all(value.elements == first.elements for value in known) else "unknown"
        return Value(first.kind, varies=varies, elements=elements).with_traits(traits)
    return Value("unknown", varies=varies).with_traits(traits)


def element_kind(constant: object) -> Elements:
    """Whether equal constants land in the same place in every process: text does not."""
    if isinstance(constant, (str, bytes)):
        return "strings" if constant else "plain"
    if isinstance(constant, tuple):
        return "strings" if any(element_kind(part) == "strings" for part in constant) else "plain"
    if isinstance(constant, (int, float, complex)) or constant is None or constant is Ellipsis:
        return "plain"
    return "unknown"


def elements_of(kinds: Iterable[Elements]) -> Elements:
    """The kind of a set of elements of these kinds. Two texts are needed for an order to differ."""
    listed = list(kinds)
    if len(listed) < 2:
        return "few"
    if sum(kind == "strings" for kind in listed) >= 2:
        return "strings"
    return "plain" if all(kind in ("plain", "strings") for kind in listed) else "unknown"
