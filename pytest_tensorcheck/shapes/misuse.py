"""What to write instead, for calls of `assert_shape` that mean something which is written in another way."""

from __future__ import annotations

import difflib
import re
from typing import Any

OPTIONS = ("dtype", "device", "contiguous", "requires_grad")
_COUNTS_AXES = ("ndim", "ndims", "rank", "dims", "n_axes")
_AXES = ("no axes", "one axis", "two axes", "three axes", "four axes", "five axes", "six axes")


def as_specification(sizes: Any) -> str | None:
    """`(3, None, "c", ...)` as the text that says the same, None where it is no list of sizes and names."""
    if type(sizes) is int:
        sizes = (sizes,)
    if not isinstance(sizes, (list, tuple)):
        return None
    words = []
    for size in sizes:
        if size is ...:
            words.append("...")
        elif size is None or (type(size) is int and size == -1):
            words.append("_")
        elif (type(size) is int and size >= 0) or (isinstance(size, str) and len(size.split()) == 1):
            words.append(str(size))
        else:
            return None
    return " ".join(words)


def not_as_text(value: Any, specs: list[Any] | tuple[Any, ...]) -> str | None:
    """A list of specifications for a single array: most often its shape as a tuple. None where it is nothing of the kind."""
    if not hasattr(value, "shape") or (text := as_specification(specs)) is None:
        return None
    if all(isinstance(spec, str) for spec in specs):
        return f'expected a list or tuple of {len(specs)}, got a {type(value).__name__}; the shape of one is "{text}"'
    return f'a shape is written as text, "{text}", and not as a {"list" if isinstance(specs, list) else "tuple"}'


def shape_for_array(value: Any) -> str:
    """For `x.shape` in the place of `x`."""
    if isinstance(value, tuple) and value and all(type(size) is int for size in value):
        return "; give the array itself, not its shape"
    return ""


def axes_of_any_size(number: int) -> str:
    """For an int in the place of a specification: it may be a size, or how many axes there are."""
    said = f'; "{number}" is one axis of size {number}'
    if 1 < number < len(_AXES):
        said += f', "{" ".join("_" * number)}" are {_AXES[number]} of any size'
    return said if number >= 0 else ""


def unpaired(label: str, pairs: tuple[Any, ...], missing: object, named: dict[str, Any]) -> str:
    """Arrays and specifications do not take turns."""
    given = [each for each in pairs if each is not missing]
    sizes = given[1:]
    if not sizes and as_specification(named.get("shape")):
        sizes = list(named["shape"]) if isinstance(named["shape"], (list, tuple)) else [named["shape"]]
    elif not sizes and isinstance(named.get("shape"), str):
        return f'assert_shape takes the shape without a keyword: assert_shape({label}, "{named["shape"]}")'
    if sizes and (type(sizes[0]) is int or len(sizes) > 1) and (text := as_specification(sizes)):
        return f'a shape is written as text: assert_shape({label}, "{text}")'
    turns = 'assert_shape takes arrays and specifications in turn: assert_shape(x, "b t", y, "b")'
    if len(given) == 3 and isinstance(given[2], str) and not isinstance(given[1], str):
        return turns
    return f"{turns}; it takes no message" if len(given) % 2 and isinstance(given[-1], str) else turns


def keyword(name: str, named: dict[str, Any], pairs: tuple[Any, ...], label: str) -> str:
    """A keyword that is no option and holds no pair of an array and its specification."""
    value = named[name]
    sizes = {each: size for each, size in named.items() if type(size) is int}
    for spec in pairs[1::2] if name in sizes else ():
        if isinstance(spec, str) and _with_size(spec, name, value) != spec:
            written, said = spec, []
            for each, size in sizes.items():
                written, before = _with_size(written, each, size), written
                said += [f"{each}={size}"] * (written != before)
            return f'a size is written into the specification: "{written}" instead of {", ".join(said)}'
    if nearest := difflib.get_close_matches(name, OPTIONS, 1):
        return f"assert_shape has no option {name!r}; did you mean {nearest[0]!r}?"
    if hasattr(value, "shape"):
        return f'assert_shape({name}=...) takes a pair: {name}=({name}, "b t")'
    if name in _COUNTS_AXES and type(value) is int and 0 < value < len(_AXES):
        axes = " ".join("_" * value)
        return f'{_no_option(name)}; {_AXES[value]} of any size: assert_shape({label}, "{axes}")'
    return f'{_no_option(name)}; an array with a name of its own is given as a pair: {name}=(x, "b t")'


def _no_option(name: str) -> str:
    return f"assert_shape has no option {name!r}, only {', '.join(OPTIONS)}"


def _with_size(spec: str, name: str, size: int) -> str:
    """The specification with the size in the place of the name, which stays as its label where it is a whole word."""
    words = []
    for word in spec.split():
        bare = word.lstrip("#")
        if bare == name:
            words.append(f"{word[: len(word) - len(bare)]}{name}={size}")
        elif word.startswith("*"):  # any number of axes: no size fits
            words.append(word)
        else:
            words.append(re.sub(rf"\b{re.escape(name)}\b", str(size), word))
    written = " ".join(words)
    return written if written != " ".join(spec.split()) else spec
