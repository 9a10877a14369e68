"""How often a date moves: what is taken of the clock may be another in every run, or on the next day only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tensorlint.inference.fingerprints.values import Trait

# Finest first: a text that shows the day moves with the day, whatever else it shows.
_DIRECTIVES = (("every day", "djaAwuxDFeUWV"), ("every month", "mbBh"), ("every year", "yYCGg"))
_ATTRIBUTES = {"day": "every day", "month": "every month", "year": "every year"}


def of_format(text: object) -> str:
    """How often what `strftime` makes with this format changes; empty if with the time of day."""
    if not isinstance(text, str):
        return ""
    shown = set(re.findall(r"%[-#]?(.)", text)) - {"%"}
    if not shown or shown - set("".join(letters for _, letters in _DIRECTIVES)):
        return ""
    return next(period for period, letters in _DIRECTIVES if shown & set(letters))


def of_member(name: str, argument: object) -> str:
    """How often `clock.name` or `clock.name(argument)` changes; empty if as often as the clock."""
    if name == "strftime":
        return of_format(argument)
    return "every day" if name == "date" else _ATTRIBUTES.get(name, "")


def at_most(traits: Iterable[Trait], period: str) -> tuple[Trait, ...]:
    """The same traits, those of a clock with the period in which they move."""
    return tuple(_slower(trait, period) for trait in traits)


def _slower(trait: Trait, period: str) -> Trait:
    if not period or not re.match(r"(datetime\.|time\.|pandas\.Timestamp\.)", trait.reason):
        return trait
    known = re.search(r"every (run|day|month|year)$", trait.reason)
    order = ["run", "day", "month", "year"]
    if known is None or order.index(known[1]) >= order.index(period.removeprefix("every ")):
        return trait
    return replace(trait, reason=re.sub(r"(in )?every \w+$", period, trait.reason))
