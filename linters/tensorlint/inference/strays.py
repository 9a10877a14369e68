"""Lists, dictionaries and objects that the program keeps where nobody looks for them: in arrays of objects, under attributes
of libraries, in namespaces. Whatever is changed of which nobody knows what it is may be one of these.
"""

from __future__ import annotations

from collections.abc import Iterable

from tensorlint.inference import layer_changes
from tensorlint.inference.contents import everything_within, is_forgotten_itself, one_within
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Sequence,
    Value,
)

_MOST = 200


class Strays(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def stray(self, values: Iterable[Value]) -> None:
        """These, and what they hold, are found again in ways that nobody follows."""
        one = one_within(values)
        if isinstance(one, Opaque) and len(self.strayed) < _MOST:
            for each in one.parts:
                self.strayed[id(each)] = each

    def stray_given(self, functions: Iterable[Value]) -> None:
        """What the functions give is found by calling something else: a module whose hook, or `forward`, one of them is."""
        for each in functions:
            if isinstance(each, Function):
                self.stray(self.lists_given(each, [], {}, modules=True))

    def change_strayed(self, name: str | None) -> None:
        """Something that nobody knows has other items from here on, or another attribute of that name."""
        now = len(self.mutations), len(self.strayed), name
        if now == self.strays_changed:
            return  # as by the line before
        for each in everything_within(self.strayed.values()):
            if isinstance(each, (Sequence, Dictionary)):
                if name is None and not is_forgotten_itself(each):
                    self.forget_own_contents(each)
                    self.mutations.append((each, None))
            elif isinstance(each, Instance):
                if name is not None and not each.generic:
                    self.forget_attributes(each, {name})
            elif isinstance(each, LibraryObject) and each.path.startswith("torch.nn."):
                if name is not None:
                    layer_changes.change_attribute_unseen(self, each, name)
                elif each.path in CONTAINERS:
                    layer_changes.change_unseen(self, each)
        self.strays_changed = len(self.mutations), len(self.strayed), name
