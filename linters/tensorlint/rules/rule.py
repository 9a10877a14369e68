"""What a rule is: a judge of one kind of hazard, with its reason, its examples and, sometimes, a fix.

A rule's file holds everything about it. Its examples are run as tests and rendered as its page.
Rule files are imported on every run, so they import libcst inside `judge` and `fix` (or under TYPE_CHECKING), never
at their top: most runs have nothing to report and do without it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from tensorlint.findings import Applicability, Severity
from tensorlint.inference.hazards import Hazard

if TYPE_CHECKING:
    import libcst

H = TypeVar("H", bound=Hazard)
Default = Literal["on", "strict", "off"]


@dataclass(frozen=True, slots=True)
class Example:
    """A program that shows the rule. `fixed` is the whole program after the fix, where the rule has one.

    `shows` is a Python expression that is true after running the program (torch raises are given as
    `raises="RuntimeError: view size"` instead), so that the example is proved by the library and not by us.
    """

    code: str
    fixed: str | None = None
    shows: str | None = None
    raises: str | None = None
    note: str = ""


class Rule(Generic[H]):
    """One rule. Subclass it in a file of its own under `rules/`; the docstring is the rule's reason, in Markdown."""

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()  # former names and codes, still accepted wherever a rule is named
    default: ClassVar[Default] = "on"
    severity: ClassVar[Severity] = "warning"
    fix_applicability: ClassVar[Applicability] = "safe"
    hazard: ClassVar[type[Hazard] | tuple[type[Hazard], ...]]
    reads_node: ClassVar[bool] = True  # False: `judge` needs the hazard only, and gets None for the node
    flagged: ClassVar[tuple[Example, ...]] = ()
    silent: ClassVar[tuple[Example, ...]] = ()

    def judge(self, hazard: H, node: libcst.CSTNode) -> str | None:
        """The message for the user, or None where this hazard is no fault. `node` is the hazard's own."""
        raise NotImplementedError

    def fix_target(self, hazard: H) -> ast.AST:
        """The node that `fix` receives and whose text its answer replaces; the hazard's own unless said otherwise."""
        return hazard.node

    def fix(self, hazard: H, node: libcst.CSTNode) -> libcst.CSTNode | libcst.FlattenSentinel[Any] | None:
        """The changed node, or None. Only called for a hazard that was judged a fault.

        For a statement, a FlattenSentinel puts several statements in its place.
        """
        return None

    def imports(self, hazard: H) -> tuple[str, ...]:
        """What the fixed code needs to have imported, as `typing.TYPE_CHECKING`; added where it is not yet there."""
        return ()

    def applicability(self, hazard: H) -> Applicability:
        return self.fix_applicability


AnyRule = Rule[Any]


def with_article(name: str) -> str:
    """A class's name behind `a` or `an`, as it is spoken: `an Encoder`, `an nn.Module`."""
    return f"{'an' if name[:1] in 'AEIOaeio' or name.startswith('nn.') else 'a'} {name}"
