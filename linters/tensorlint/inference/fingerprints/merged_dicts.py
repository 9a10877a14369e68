"""What a dict holds that is made of others: `{**config, "run": 0}`, `dict(config, run=0)`, `config | {"run": 0}`.

A later entry stands in the place of an earlier one of the same key. Where a key is not known that comes later, any entry may
have been replaced, and nothing moves for certain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from tensorlint.inference.fingerprints.values import Trait, Value, traits_of


class Layer(NamedTuple):
    """One entry; with `key` None all the entries of a dict, with `...` one of a key that nobody knows."""

    key: object
    value: Value


class Merged(NamedTuple):
    """`fields`: the entries by their keys, None where not all of the keys are known texts."""

    traits: tuple[Trait, ...]
    fields: tuple[tuple[str, Value], ...] | None


def merged(layers: Iterable[Layer]) -> Merged:
    entries: dict[object, Value] = {}
    loose: list[Trait] = []  # of entries of which the key is not known
    known = True
    for key, value in layers:
        if key is None and value.fields is not None:
            held: dict[object, Value] = dict(value.fields)
            entries |= held
            loose = [trait for trait in value.traits if trait not in traits_of(held.values())]
        elif key is None:
            known = False
            entries, loose = {}, list(value.traits)
        elif key is ...:
            known = False
            entries, loose = {}, list(value.traits)
        else:
            known = known and isinstance(key, str)
            entries[key] = value
            loose = []
    traits = tuple(dict.fromkeys((*traits_of(entries.values()), *loose)))
    return Merged(traits, tuple((str(key), value) for key, value in entries.items()) if known else None)


def literal_key(key: ast.expr | None) -> object:
    """The layer's key as it is written in a display: None where the entries of a dict are put in."""
    if key is None:
        return None
    return key.value if isinstance(key, ast.Constant) else ...
