"""Making the edits of findings: none that overlap together, again until nothing changes, and whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tensorlint.findings import Edit, Finding
from tensorlint.judging import Source
from tensorlint.source import SourceError

MAX_PASSES = 20  # nested calls on one line need a pass for each level


@dataclass(slots=True, eq=False, repr=False)
class FixedSource:
    """A source after its fixes, and how many of each rule were made."""

    source: Source
    made: Counter[str] = field(default_factory=Counter)


def _collide(a: Edit, b: Edit) -> bool:
    """Whether two different edits may not be made together: they overlap, or an insertion touches the other."""
    if a == b:
        return False  # two fixes that need the same import
    (a_start, a_end), (b_start, b_end) = (a.span[:2], a.span[2:]), (b.span[:2], b.span[2:])
    if a_start == a_end or b_start == b_end:
        return a_start <= b_end and b_start <= a_end
    return a_start < b_end and b_start < a_end


def wanted(finding: Finding, *, unsafe: bool) -> bool:
    """Whether `--fix` makes this finding's fix."""
    return finding.fix is not None and (unsafe or finding.fix.applicability == "safe")


def choose(findings: Iterable[Finding], *, unsafe: bool) -> tuple[list[Edit], list[Finding]]:
    """Edits that can be made together, from the top; a fix that collides with an earlier one waits for its pass."""
    edits: dict[Edit, None] = {}
    chosen = []
    for finding in sorted(findings, key=lambda finding: finding.sort_key):
        if finding.fix is None or not wanted(finding, unsafe=unsafe):
            continue
        if any(_collide(new, old) for new in finding.fix.edits for old in edits):
            continue
        edits.update(dict.fromkeys(finding.fix.edits))
        chosen.append(finding)
    return list(edits), chosen


def fix(source: Source, check: Callable[[Source], list[Finding]], *, unsafe: bool) -> FixedSource:
    """Fixes, looks again, and so on. `check` gives a source's findings (suppressed ones left out).

    Raises SourceError if an edit would leave something that does not parse; the caller then writes nothing.
    """
    fixed = FixedSource(source)
    for _ in range(MAX_PASSES):
        edits, chosen = choose(check(fixed.source), unsafe=unsafe)
        if not edits:
            break
        codes = ", ".join(sorted({finding.code for finding in chosen}))
        try:
            changed = fixed.source.with_edits(edits)
            _ = changed.tree
        except SourceError as error:
            raise SourceError(
                f"the fix of {codes} was not made: the result {error.message}", chosen[0].span.line
            ) from None
        if len(changed.broken_cells) > len(fixed.source.broken_cells):
            raise SourceError(f"the fix of {codes} was not made: a cell would no longer parse", chosen[0].span.line)
        fixed.source = changed
        fixed.made.update(finding.code for finding in chosen)
    return fixed
