"""The words of a text: whether one of them stands there is asked a hundred times of every file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

# What no word has in it becomes a space; the parts of characters beyond ASCII stay what they are.
_SPACES = bytes(code if code > 127 or chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))
_MOST_SEARCHED = 4  # times; counting all words of a text takes as long as four searches through it


@lru_cache(maxsize=32)  # of the files that one imports, too: some 30 kB each
def words_of(text: str) -> frozenset[str]:
    """The words of a text, those of comments and strings among them. Every character beyond ASCII counts as a letter.

    Takes as long as some 15 searches through the text; a question costs nothing then.
    """
    return frozenset(_split(text))


def _split(text: str) -> list[str]:
    spaced = text.encode("utf-8", "replace").translate(_SPACES)
    return spaced.decode("utf-8", "replace").split()


@lru_cache(maxsize=32)
def _each_once(text: str) -> str:
    return "\n".join(words_of(text))


def has_part(text: str, part: str) -> bool:
    """Whether letters stand together in the text, `cast` in `autocast`: what `part in text` says of letters, digits and
    underscores. The words, each of them once, are searched in a fifth of the time that the text is."""
    return part in _each_once(text)


def has_word(text: str, *words: str) -> bool:
    """Whether one of the words is in the text, as a word of its own."""
    return not words_of(text).isdisjoint(words)


def places_of(part: str, text: str) -> Iterator[int]:
    """Where a part of the text begins, each time. A pattern for it that begins with `\\b` takes twenty times as long."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def lines_with(parts: Iterable[str], text: str) -> list[int]:
    """The numbers of the lines that one of the parts stands on, in order."""
    found: set[int] = set()
    for part in parts:
        line, counted = 1, 0
        for at in places_of(part, text):
            line += text.count("\n", counted, at)
            counted = at
            found.add(line)
    return sorted(found)


def is_mentioned_once(name: str, text: str) -> bool:
    """Whether a name stands in the text once, as a word of its own: `make_table` is another than `table`."""
    questions = _questions(text)
    questions.asked += 1
    if questions.asked > _MOST_SEARCHED:
        return name in questions.standing_once()
    found = 0
    for at in places_of(name, text):
        if not (is_of_word(text[at - 1 : at]) or is_of_word(text[at + len(name) : at + len(name) + 1])):
            found += 1
            if found > 1:
                return False
    return found == 1


class _Questions:
    """How often was asked of a text which words stand in it once: each answer is a search, so of many they are counted."""

    __slots__ = ("asked", "once", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked = 0
        self.once: frozenset[str] | None = None

    def standing_once(self) -> frozenset[str]:
        if self.once is None:
            counts = Counter(_split(self.text))
            self.once = frozenset(word for word, count in counts.items() if count == 1)
        return self.once


@lru_cache(maxsize=8)
def _questions(text: str) -> _Questions:
    return _Questions(text)


def is_of_word(character: str) -> bool:
    """Whether the character may stand in a name; none does not."""
    return character == "_" or character.isalnum()
