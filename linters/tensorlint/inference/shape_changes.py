"""Whether a file may give tensors another shape in place, by its text."""

from __future__ import annotations

import re
from functools import lru_cache

from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.words import has_word, places_of, words_of

_WORDS = RESHAPING | {"swap_tensors"}
# Attributes that, assigned, give a tensor or an array another shape or type.
SHAPES = frozenset({"shape", "strides", "dtype", "data"})
_SHAPING = (".shape", ".strides", ".dtype", ".data")
# Begins with the mark that they share: a pattern with more than these in it takes ten times as long.
_SET = re.compile(r"\.(?<!self\.)(?:shape|strides|dtype|data)[ \t]*[-+*/]{0,2}=(?!=)")
# `x.shape, n = (3, 2), 6`; a keyword has no spaces around its sign.
_BEFORE_ANOTHER = tuple(f"{each}," for each in _SHAPING)
_AMONG = re.compile(r"\.(?<!self\.)(?:shape|strides|dtype|data),[\w.\[\], \t]* =(?!=)")
# An object's own attributes of these names are such only in classes of tensors: `self.data = rows` of a data set is not.
_OWN = re.compile(r"self\.(?:shape|strides|dtype|data)[ \t]*(?:,|[-+*/]{0,2}=(?!=))")
_OF_TENSORS = re.compile(
    r"class \w+[ \t]*\([^)]*(?:[Tt]ensor|array|Parameter|Buffer|[Mm]atrix)|(?:Tensor|ndarray|Parameter)\.\w+ *=(?!=)"
)
# The name for `setattr`, which may stand anywhere.
_NAMED = re.compile(r"[\"'](?:shape|strides|dtype|data)[\"']")
# An argument of that name, found by what it ends with: patterns that begin with letters take a tenth of the time.
_OUT = re.compile(r"out=(?<=[ (,]out=)")


@lru_cache(maxsize=8)
def gives_other_shapes(text: str) -> bool:
    """What shows in a file's text that it may give a tensor another shape in place."""
    found = words_of(text)
    return not found.isdisjoint(_WORDS) or _assigns_shape(text) or ("out" in found and bool(_OUT.search(text)))


def lines_giving_shapes(text: str) -> list[int]:
    """The lines of a file where something other than `self` is given another shape, or may be."""
    parts = [f".{word}(" for word in RESHAPING & words_of(text)]
    if has_word(text, "swap_tensors"):
        parts.append("swap_tensors(")
    found: list[int] = []
    for part in (*parts, ".resize(", *_ASSIGNED):
        line, counted = 1, 0
        for at in places_of(part, text):
            end = at + len(part)
            if text[at - 4 : at] != "self" and text[end : end + 1] != "=":
                line += text.count("\n", counted, at)
                counted = at
                found.append(line)
    if "out" in words_of(text):
        found += [text.count("\n", 0, each.start()) + 1 for each in _OUT.finditer(text)]
    return found


_ASSIGNED = tuple(word + sign for word in _SHAPING for sign in (" =", "="))


def _assigns_shape(text: str) -> bool:
    """Whether an attribute may be assigned that gives a tensor another shape."""
    if _SET.search(text) is not None:
        return True
    if has_word(text, "self") and _OWN.search(text) is not None and _OF_TENSORS.search(text) is not None:
        return True
    if any(each in text for each in _BEFORE_ANOTHER) and _AMONG.search(text) is not None:
        return True
    if has_word(text, "setattr", "__setattr__") and _NAMED.search(text) is not None:
        return True
    return any(f"{each}.__set" in text for each in _SHAPING) or ".resize(" in text
