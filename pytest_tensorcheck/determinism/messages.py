"""What the user reads."""

from __future__ import annotations

from pytest_tensorcheck.determinism.causes import REMEDIES, Divergence


def divergence_text(divergence: Divergence, what: str = "") -> str:
    """The whole text of a `DivergenceError`: where, what, why, by how much, what to do."""
    one, two = divergence.labels
    subject = f"{what}: " if what else ""
    if divergence.operator:
        headline = f"{subject}{one} and {two} differ first in {divergence.operator}"
    else:
        headline = f"{subject}{one} and {two} differ"
    if divergence.where is not None:
        headline += f" at {divergence.where}"
    lines = [headline]
    if divergence.where is not None and divergence.where.source:
        lines.append(f"    {divergence.where.source}")
    if divergence.backward:
        lines.append(f"  in the backward of this line ({divergence.backward})")
    lines.append(f"  cause: {divergence.cause.value}" + (f": {divergence.detail}" if divergence.detail else ""))
    for evidence in divergence.evidence:
        place = f"{evidence.where}: " if evidence.where is not None else ""
        lines.append(f"    {place}{evidence.text}")
        if evidence.where is not None and evidence.where.source:
            lines.append(f"        {evidence.where.source}")
    if divergence.size:
        lines.append(f"  difference: {divergence.size}")
    lines.append(f"  remedy: {divergence.remedy or REMEDIES[divergence.cause]}")
    lines.extend(f"  note: {note}" for note in divergence.notes)
    return "\n".join(lines)
