"""TSR401: a function given to `datasets` that captures what changes from run to run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tensorlint.inference.hazards import MapClosureHazard
from tensorlint.rules.rule import Rule
from tensorlint.rules.unstable_map_closure_examples import FLAGGED, SILENT

if TYPE_CHECKING:
    import libcst

_METHODS = {"map": "map keeps its result", "filter": "filter keeps its result", "from_generator": "it keeps its rows"}


class UnstableMapClosure(Rule[MapClosureHazard]):
    """`Dataset.map(f)` keeps its result in a file named after a hash of `f`. The hash covers all that `f` captures: the
    whole of `self` when it reads `self.max_length`, the whole argparse namespace when it reads `args.max_length`, and
    whatever these hold: a run's id, a time stamp, an unseeded generator, a model with fresh weights.

    When one of these changes, the result is computed again and a second copy is written, without a word. It is the
    usual reason why a preprocessing step of hours is not found again after a change of the learning rate, or why every
    rank of a distributed run computes it for itself. What cannot be pickled at all (a database connection, an executor)
    gives a random hash, and one warning in the whole process.

    Hand over what the function needs and nothing else: a field in a local variable, `fn_kwargs={"max_length":
    args.max_length}`, `functools.partial(f, max_length=args.max_length)`, a static method.

    The rule speaks when the captured object is seen to hold something that moves, or settings that the function does
    not read. It is silent for what is hashed by its value and stays: sets, loggers, locks, compiled patterns, enums,
    paths, seeded generators, the tokenizers of transformers; and where nothing is cached: `load_from_cache_file=False`,
    `new_fingerprint=`, `keep_in_memory=True`, streaming, `disable_caching()`.
    """

    code = "TSR401"
    name = "unstable-map-closure"
    summary = "a function given to datasets' map or filter captures what changes from run to run or with other settings"
    hazard = MapClosureHazard
    reads_node = False
    flagged = FLAGGED
    silent = SILENT

    def judge(self, hazard: MapClosureHazard, node: libcst.CSTNode) -> str | None:
        if hazard.strict:
            return None
        return f"{_what(hazard)}; {hazard.remedy}"


def _what(hazard: MapClosureHazard) -> str:
    keeps = f"{_METHODS.get(hazard.method, 'it keeps its result')} under a hash of all of it"
    if hazard.trigger == "M4":
        others = _others(hazard)
        return f"{hazard.path}: {hazard.function} captures the whole of {hazard.captured}, and {keeps}{others}"
    if hazard.path.startswith("new_fingerprint") and hazard.trigger == "M5":
        others = _others(hazard) or ": every other setting in it changes the fingerprint"
        return f"{hazard.path}: the fingerprint given to {hazard.method} is a hash of all of {hazard.captured}{others}"
    if hazard.trigger == "M5":
        others = _others(hazard) or ": every other setting in it changes the hash"
        return f"{hazard.path}: {hazard.function} captures the settings {hazard.captured}, and {keeps}{others}"
    if hazard.trigger == "M7":
        return f"{hazard.path}: {hazard.reason}: {hazard.method} takes a random fingerprint and never finds its cache"
    if hazard.trigger == "M8":
        return f"{hazard.path}: {hazard.reason}: the fingerprint of {hazard.method} moves with it"
    if period := re.search(r"another (every (?:day|month|year))$", hazard.reason):
        return f"{hazard.path}: {hazard.reason}: {hazard.method} takes a new fingerprint and keeps another copy {period[1]}"
    return f"{hazard.path}: {hazard.reason}: {hazard.method} takes a new fingerprint and never finds its cache"


def _others(hazard: MapClosureHazard) -> str:
    if hazard.unrelated:
        spelled = '{}["{}"]' if hazard.keyed else "{}.{}"
        listed = ", ".join(spelled.format(hazard.captured, field) for field in hazard.unrelated[:3])
        more = f" and {len(hazard.unrelated) - 3} more" if len(hazard.unrelated) > 3 else ""
        verb = "change" if len(hazard.unrelated) > 1 else "changes"
        return f": {listed}{more} {verb} it too"
    return f": {hazard.reason} changes it too" if hazard.reason else ""
