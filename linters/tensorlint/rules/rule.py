"""What a rule is: a judge of one kind of hazard, with its reason, its examples and, sometimes, a fix.

A rule's file holds everything about it. Its examples are run as tests and rendered as its page.
"""

from __future__ import annotations

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
    default: ClassVar[Default] = "on"
    severity: ClassVar[Severity] = "warning"
    fix_applicability: ClassVar[Applicability] = "safe"
    hazard: ClassVar[type[Hazard]]
    flagged: ClassVar[tuple[Example, ...]] = ()
    silent: ClassVar[tuple[Example, ...]] = ()

    def judge(self, hazard: H, node: libcst.CSTNode) -> str | None:
        """The message for the user, or None where this hazard is no fault."""
        raise NotImplementedError

    def fix(self, hazard: H, node: libcst.CSTNode) -> libcst.CSTNode | None:
        """The changed node, or None. Only called for a hazard that was judged a fault."""
        return None

    def applicability(self, hazard: H) -> Applicability:
        return self.fix_applicability


AnyRule = Rule[Any]
