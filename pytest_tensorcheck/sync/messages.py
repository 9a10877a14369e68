"""The text that a user reads about a synchronisation."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tensorcheck.observations import Observation, TensorcheckFailure
from pytest_tensorcheck.sync import remedies
from pytest_tensorcheck.sync.events import SyncEvent
from pytest_tensorcheck.sync.table import BY_ID

_MOST = 20  # places shown; a step that waits in more is not read to the end anyway

_SEEN_BY = {
    "simulation": "Seen by simulation: there is no GPU here, these are the places where CUDA would wait.",
    "cuda": "Seen on the GPU.",
}
_PLAIN = (
    "The code names no device, so every tensor of the test is taken to be on the GPU, except optimizers' state and integer "
    "tensors made from Python data; make them on tensor_device to say exactly which are."
)


class SyncError(TensorcheckFailure):
    """The host waited for the GPU where that was not accepted. The text lists every wait."""


def _times(count: int) -> str:
    return f" ×{count}" if count > 1 else ""


def place_text(event: SyncEvent, count: int) -> str:
    """One wait: place, expression, why, and what to write instead."""
    row = BY_ID[event.row]
    where = str(event.where) if event.where else "(no line of your code)"
    shown = event.expression or (event.where.source if event.where else "") or event.operation
    lines = [f"  {where}{_times(count)}: {shown}"]
    name = event.operation
    aten = f", aten::{event.aten}" if event.aten and event.aten != name else ""
    lines.append(f"      {name}{aten}: {remedies.WHY[row.why]}")
    if event.called_from is not None:
        lines.append(f"      in the backward of this line, called at {event.called_from}")
    if event.inside:
        lines.append(f"      not in your own line but inside {event.inside}")
        known = remedies.hidden(event.inside)
        if known:
            lines.append(f"      {known}")
            return "\n".join(lines)
    lines.append(f"      instead: {remedies.INSTEAD[row.remedy]}")
    return "\n".join(lines)


def grouped(events: Sequence[SyncEvent]) -> list[tuple[SyncEvent, int]]:
    """Each place once, with its count, in the order of the first time."""
    counts: dict[object, int] = {}
    first: dict[object, SyncEvent] = {}
    for event in events:
        counts[event.key] = counts.get(event.key, 0) + 1
        first.setdefault(event.key, event)
    return [(first[key], count) for key, count in counts.items()]


def _accepted(allow: int | Sequence[str]) -> str:
    if isinstance(allow, int):
        return "none allowed" if allow == 0 else f"{allow} allowed"
    return f"allowed only: {', '.join(allow)}" if allow else "none allowed"


def _listing(events: Sequence[SyncEvent]) -> list[str]:
    places = grouped(events)
    lines = [place_text(event, count) for event, count in places[:_MOST]]
    if len(places) > _MOST:
        lines.append(f"  … and {len(places) - _MOST} more places")
    return lines


def no_sync_text(
    counted: Sequence[SyncEvent], every: Sequence[SyncEvent], allow: int | Sequence[str], seen_by: str
) -> str:
    """The text of the SyncError at the end of a `no_sync` block."""
    number = len(counted)
    lines = [
        f"the host waits for the GPU {'once' if number == 1 else f'{number} times'} in no_sync() ({_accepted(allow)}):"
    ]
    lines += _listing(counted)
    doubtful = [event for event in every if not event.certain and event not in counted]
    if doubtful:
        lines += ["", "Not counted, but may wait (count it with pageable=True):", *_listing(doubtful)]
    lines += ["", _SEEN_BY.get(seen_by, "")]
    if any(event.plain for event in counted):
        lines.append(_PLAIN)
    lines.append("Meant? with allow_sync('why'): around it, or no_sync(allow=…).")
    return "\n".join(lines)


def unseen_text(kind: str) -> str:
    """A block that used a device of which torch reports no waits must not pass as if it had been checked."""
    return (
        f"no_sync is not available here for {kind}: torch reports no waits of that device, so nothing was checked. "
        "Make the data on tensor_device (a CUDA GPU, or its simulation) in this test."
    )


def note(counted: Sequence[SyncEvent]) -> str:
    """The note on another exception that left a `no_sync` block in which the host had waited."""
    return "\n".join(["no_sync: before this the host waited for the GPU here:", *_listing(counted)])


def observation(event: SyncEvent) -> Observation:
    """What the run's summary and the JSON report get."""
    row = BY_ID[event.row]
    waits = "waits for the GPU" if event.certain else "may wait for the GPU"
    hidden = f" (inside {event.inside})" if event.inside else ""
    backward = f" in backward, called at {event.called_from}" if event.called_from else ""
    return Observation(
        check="sync",
        message=f"{event.operation} {waits}{backward}{hidden}",
        where=event.where,
        detail=place_text(event, 1),
        facts={
            "operation": event.operation,
            "aten": event.aten,
            "row": event.row,
            "expression": event.expression,
            "inside": event.inside,
            "plain": event.plain,
            "certain": event.certain,
            "remedy": remedies.INSTEAD[row.remedy],
        },
    )


def observations_text(observations: Sequence[Observation]) -> str:
    """The text of the failure of a test under ``--tensorcheck-sync error``."""
    number = sum(observation.count for observation in observations)
    lines = [f"the host waits for the GPU {'once' if number == 1 else f'{number} times'} in this test:"]
    for observation in observations[:_MOST]:
        first, *rest = observation.detail.split("\n")
        lines += [f"{first}   [×{observation.count}]" if observation.count > 1 else first, *rest]
    if len(observations) > _MOST:
        lines.append(f"  … and {len(observations) - _MOST} more places")
    if any(observation.facts.get("plain") for observation in observations):
        lines += ["", _PLAIN]
    lines.append("Meant? with allow_sync('why'): around it, or @pytest.mark.tensorcheck(sync='off').")
    return "\n".join(lines)
