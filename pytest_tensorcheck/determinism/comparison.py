"""The first operation of two runs whose inputs agree and whose outputs do not, or whose inputs differ for a reason
outside torch.

Values decide, not provenance: a run that fills a cache does more than the next one, and is not accused for it.
Uninitialised memory and tensors that changed between the runs are *suspects*: reading them is a divergence only once
what they hold gets somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_tensorcheck.determinism.alignment import Gap, align
from pytest_tensorcheck.determinism.causes import Cause, Divergence, Evidence
from pytest_tensorcheck.determinism.differences import difference, shown_value
from pytest_tensorcheck.determinism.operations import External, Operand, Operation, Recording

# Of objects in memory, as texts show them: `<object at 0x7f17…>`, and what `id()` says.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b|(?<![\w.])[0-9]{14,16}(?![\w.])")


@dataclass(slots=True)
class _Origin:
    """Why an input differs. `soft` ones accuse only when their numbers get somewhere else."""

    cause: Cause
    detail: str
    first: int
    second: int
    soft: bool = False
    evidence: tuple[Evidence, ...] = ()
    size: str = ""
    parted: bool = False  # the runs parted before: the point where they did is the one to name


def first_divergence(
    first: Recording,
    second: Recording,
    name_of: Callable[[int], str | None] = lambda storage: None,
    labels: tuple[str, str] = ("run 1", "run 2"),
    close: Callable[[Any, Any], bool] | None = None,
) -> Divergence | None:
    """Compare two runs; `name_of` gives the user's name for a storage of the second one (`model.0.weight`), `labels`
    what the runs are called, `close` whether two hashes that differ stand for numbers that are near enough."""
    found = _Comparison(first, second, name_of, labels, close).divergence()
    if found is not None:
        found.labels = labels
    return found


class _Comparison:
    def __init__(
        self,
        first: Recording,
        second: Recording,
        name_of: Callable[[int], str | None],
        labels: tuple[str, str],
        close: Callable[[Any, Any], bool] | None,
    ) -> None:
        self.first, self.second, self.name_of, self.labels, self.close = first, second, name_of, labels, close
        self.twins: dict[int, int] = {}  # storage of the second run -> of the first
        self.suspects: dict[int, _Origin] = {}  # by storage of the second run
        self.gaps: list[Gap] = []
        self.keys_first = [_key(first, operation) for operation in first.operations]
        self.keys_second = [_key(second, operation) for operation in second.operations]

    def divergence(self) -> Divergence | None:
        for step in align(self.keys_first, self.keys_second):
            if isinstance(step, Gap):
                self.gaps.append(step)  # no accusation yet: it may have filled a cache, and values will tell
            elif (found := self._pair(step.first, step.second)) is not None:
                return found
        return self._end()

    def _same(self, p: Operand, q: Operand) -> bool:
        if tuple(p.shape) != tuple(q.shape) or str(p.dtype) != str(q.dtype):
            return False
        return bool(p.content == q.content) or (self.close is not None and self.close(p.content, q.content))

    # -- one operation in both runs

    def _pair(self, i: int, j: int) -> Divergence | None:
        one, two = self.first.operations[i], self.second.operations[j]
        if not _same_values(one.scalars, two.scalars):
            return self._scalars_differ(i, j)
        origins = []
        for position, (p, q) in enumerate(zip(one.inputs, two.inputs, strict=False)):
            if not self._same(p, q):
                origins.append(self._explain(p, q, i, j, position))
            elif q.storage >= 0:
                self.twins.setdefault(q.storage, p.storage)
        differing = [q for p, q in zip(one.outputs, two.outputs, strict=False) if not self._same(p, q)]
        if len(one.outputs) != len(two.outputs):
            differing = list(two.outputs)
        left = not _same_values(one.values, two.values)
        if not differing and not left:
            self._agreed(one, two)
            return None
        if not origins:
            return self._operation_differs(i, j, [q for q in differing if q is not two.outputs[0]] if differing else [])
        hard = next((origin for origin in origins if not origin.soft), None)
        if hard is not None:
            return self._accuse(hard, None if hard.parted else (i, j))
        origin = origins[0]
        if origin.cause not in (Cause.CHANGED, Cause.UNINITIALISED):
            return self._accuse(origin)
        drifted = {q.storage for p, q in zip(one.inputs, two.inputs, strict=False) if not self._same(p, q)}
        for q in differing:
            if origin.cause is Cause.CHANGED and q.storage not in drifted and q.storage not in self.suspects:
                return self._accuse(origin, (i, j))
            if origin.cause is Cause.UNINITIALISED and q.storage in self.second.externals and q.storage not in drifted:
                return self._accuse(origin)
            self.suspects.setdefault(q.storage, origin)
        return self._accuse(origin) if left else None

    def _agreed(self, one: Operation, two: Operation) -> None:
        for p, q in zip(one.outputs, two.outputs, strict=False):
            if two.kernel.overwrites:
                self.suspects.pop(q.storage, None)
            self.twins[q.storage] = p.storage

    def _explain(self, p: Operand, q: Operand, i: int, j: int, position: int) -> _Origin:
        """Why an input differs although every operation before agreed."""
        known = self.suspects.get(q.storage)
        if known is not None:
            return known
        unwritten = q.unwritten or p.unwritten
        if unwritten is not None:
            line = self.second.line(q.unwritten) or self.first.line(p.unwritten)
            return _Origin(
                Cause.UNINITIALISED,
                "it reads memory that `empty` left uninitialised and nothing wrote to since",
                i,
                j,
                soft=True,
                evidence=(Evidence(line, "the memory was allocated here, uninitialised"),),
            )
        before, external = self.first.externals.get(p.storage), self.second.externals.get(q.storage)
        carried = external is not None and external.previous is not None
        another = self.twins.get(q.storage, p.storage) != p.storage or (carried and external.previous != p.storage)  # type: ignore[union-attr]
        if another or (p.shape != q.shape and external is None):
            if self._reordered(i, j, lambda operation: _content(operation, position)):
                return _Origin(Cause.ORDER, "the same tensors came in another order", i, j, size=self._operands(p, q))
            return _Origin(
                Cause.PYTHON,
                f"its input {position + 1} is another tensor than in the run before: Python chose differently",
                i,
                j,
                size=self._operands(p, q),
            )
        if external is None:
            return self._changed_out_of_sight(i, j, position)
        if carried:
            return self._drift(p, q, before, external, i, j)
        size = difference(before, external)
        if self._reordered(i, j, lambda operation: _content(operation, position)) or _permuted(before, external):
            return _Origin(Cause.ORDER, "the same numbers came in another order", i, j, size=size)
        if external.shared:
            return _Origin(
                Cause.WORKERS,
                "its input came from another process (a DataLoader's worker) with other numbers",
                i,
                j,
                size=size,
            )
        if external.foreign:
            detail = f"its input {position + 1}, an array of numpy's or a file's, holds other numbers"
            return _Origin(Cause.OUTSIDE, detail, i, j, size=size)
        detail = f"its input {position + 1}, a tensor made from Python values, holds other numbers"
        return _Origin(Cause.PYTHON, detail, i, j, size=size)

    def _drift(self, p: Operand, q: Operand, before: External | None, external: External, i: int, j: int) -> _Origin:
        name = self.name_of(q.storage) or f"a tensor {list(q.shape)} made before the first run"
        evidence: tuple[Evidence, ...] = ()
        if external.written_by is not None:
            operator, place = external.written_by
            evidence = (
                Evidence(self.first.line(place), f"the run before wrote to it here ({shown_operator(operator)})"),
            )
        return _Origin(
            Cause.CHANGED,
            f"{name} is not what it was when the run before started",
            i,
            j,
            soft=True,
            evidence=evidence,
            size=difference(before, external),
        )

    def _changed_out_of_sight(self, i: int, j: int, position: int) -> _Origin:
        if self.gaps:
            return self._gap_origin()
        return _Origin(
            Cause.OUTSIDE,
            f"its input {position + 1} was changed where torch does not see it: through numpy, in another thread, "
            "or by a C extension",
            i,
            j,
        )

    # -- accusations

    def _scalars_differ(self, i: int, j: int) -> Divergence:
        if self.suspects:
            return self._accuse(next(iter(self.suspects.values())))
        one, two = self.first.operations[i], self.second.operations[j]
        cause, detail = Cause.PYTHON, "its arguments that are no tensors differ"
        if self._reordered(i, j, lambda operation: repr(operation.scalars)):
            cause, detail = Cause.ORDER, "the same arguments came in another order"
        pairs = [(a, b) for a, b in zip(one.scalars, two.scalars, strict=False) if repr(a) != repr(b)]
        size = "; ".join(
            f"{shown_value(a)} in {self.labels[0]}, {shown_value(b)} in {self.labels[1]}" for a, b in pairs[:3]
        )
        return self._accuse(_Origin(cause, detail, i, j, size=size))

    def _operation_differs(self, i: int, j: int, auxiliary: list[Operand]) -> Divergence | None:
        """Inputs agree, outputs do not. Where only `auxiliary` outputs differ, they may be a kernel's workspace, whose padding is
        nobody's: ctc_loss leaves such for its backward, which does not read it."""
        one, two = self.first.operations[i], self.second.operations[j]
        a, b = one.generator, two.generator
        if a is not None and b is not None and a.state != b.state:
            return self._accuse(self._generator_differs(i, j))
        if self.first.threads != self.second.threads:
            origin = _Origin(
                Cause.THREADS,
                f"its inputs agree; it ran on {self.first.threads} threads in {self.labels[0]} and "
                f"{self.second.threads} in {self.labels[1]}",
                i,
                j,
            )
        elif self.first.machine != self.second.machine:
            changed = [
                f"{key} {self.first.machine.get(key)} → {self.second.machine.get(key)}"
                for key in self.second.machine
                if self.first.machine.get(key) != self.second.machine.get(key)
            ]
            origin = _Origin(Cause.MACHINE, f"its inputs agree; the runs differ in {', '.join(changed)}", i, j)
        else:
            origin = _Origin(Cause.KERNEL, "its inputs agree bit for bit and its outputs do not", i, j)
        first_agrees = bool(two.outputs) and self._same(one.outputs[0], two.outputs[0])
        if auxiliary and first_agrees and _same_values(one.values, two.values):
            origin.soft = True
            for q in auxiliary:
                self.suspects.setdefault(q.storage, origin)
            return None
        if one.values or two.values:
            origin.size = (
                f"{shown_value(one.values)} in {self.labels[0]}, {shown_value(two.values)} in {self.labels[1]}"
            )
        return self._accuse(origin)

    def _generator_differs(self, i: int, j: int) -> _Origin:
        if self.gaps:
            return self._gap_origin()
        one, two = self.first.operations[i].generator, self.second.operations[j].generator
        if two is not None and two.explicit:
            if one is not None and one.identity is two.identity and one.identity is not None:
                return _Origin(
                    Cause.CARRIED_GENERATOR,
                    "the generator it draws from was made before and goes on where the run before stopped",
                    i,
                    j,
                )
            return _Origin(Cause.GENERATOR, "the generator it draws from was seeded differently in either run", i, j)
        return _Origin(
            Cause.GENERATOR,
            "torch's global generator is in another state: something seeded it with a changing number, "
            "or drew from it out of sight",
            i,
            j,
        )

    def _accuse(self, origin: _Origin, at: tuple[int, int] | None = None) -> Divergence:
        """The divergence of an origin, at the operation `at` where its effect shows, else where it was first read."""
        i, j = at if at is not None else (origin.first, origin.second)
        operations = self.second.operations
        if j >= len(operations):
            operation, recording = self.first.operations[i], self.first
        else:
            operation, recording = operations[j], self.second
        backward = operation.backward
        return Divergence(
            cause=origin.cause,
            operator=shown_operator(operation.kernel.name),
            where=recording.where(operation),
            detail=origin.detail,
            evidence=list(origin.evidence),
            size=origin.size,
            backward=backward.name if backward is not None else "",
            index=j,
        )

    # -- where the runs part

    def _counts(self, gap: Gap) -> bool:
        """Whether a gap is a divergence where no result says that it made no difference. What only the first run did, at lines
        that the second never runs, may have filled a cache."""
        if gap.second[0] != gap.second[1]:
            return True
        again = set(self.keys_second)
        return all(key in again for key in self.keys_first[slice(*gap.first)])

    def _control_flow(self) -> Divergence:
        if self.suspects:
            return self._accuse(next(iter(self.suspects.values())))
        return self._accuse(self._gap_origin())

    def _gap_origin(self) -> _Origin:
        (i, i_end), (j, j_end) = self.gaps[0]
        cause = Cause.CONTROL_FLOW
        rest_first, rest_second = self.keys_first[i:], self.keys_second[j:]
        if len(rest_first) == len(rest_second) and sorted(map(str, rest_first)) == sorted(map(str, rest_second)):
            cause, text = Cause.ORDER, "the same operations ran in another order"
        else:
            text = "the runs part here"
        one, two = self._shown(self.first, i, i_end), self._shown(self.second, j, j_end)
        return _Origin(cause, f"{text}: {self.labels[0]} did {one}, {self.labels[1]} {two}", i, j, parted=True)

    def _shown(self, recording: Recording, start: int, end: int) -> str:
        if start >= end:
            return "nothing in its place"
        operation = recording.operations[start]
        more = f" and {end - start - 1} more" if end - start > 1 else ""
        return f"{shown_operator(operation.kernel.name)} at {recording.where(operation)}{more}"

    def _end(self) -> Divergence | None:
        one, two = self.first, self.second
        errors_agree = _without_addresses(one.error) == _without_addresses(two.error)
        if one.result == two.result and errors_agree:
            if one.result not in (None, "None"):
                return None
            return self._control_flow() if any(map(self._counts, self.gaps)) else None
        if self.suspects:
            return self._accuse(next(iter(self.suspects.values())))
        if self.gaps:
            return self._accuse(self._gap_origin())
        if two.unwritten_result is not None:
            line = two.line(two.unwritten_result)
            return Divergence(
                Cause.UNINITIALISED,
                "",
                line,
                "what the function returns shows memory that `empty` left uninitialised",
                index=len(two.operations),
            )
        if not errors_agree:
            detail = (
                f"{self.labels[0]} {one.error or 'returned'}, {self.labels[1]} {two.error or 'returned'}, "
                "after operations that all agree"
            )
        else:
            detail = (
                "every operation of torch agrees, and what the function returns does not: "
                "the difference comes from outside torch"
            )
        return Divergence(Cause.OUTSIDE, "", None, detail, index=len(two.operations))

    # -- order

    def _reordered(self, i: int, j: int, feature: Callable[[Operation], Any]) -> bool:
        """Whether the operations of this kind at this line got the same things in both runs, in another order."""
        key = self.keys_second[j]
        ones = [feature(op) for op, k in zip(self.first.operations, self.keys_first, strict=True) if k == key]
        twos = [feature(op) for op, k in zip(self.second.operations, self.keys_second, strict=True) if k == key]
        return len(ones) > 1 and ones != twos and sorted(map(repr, ones)) == sorted(map(repr, twos))

    def _operands(self, p: Operand, q: Operand) -> str:
        return difference(self.first.externals.get(p.storage), self.second.externals.get(q.storage))


def _without_addresses(error: str | None) -> str | None:
    """The text of an error as it would be in any process."""
    return None if error is None else _ADDRESS.sub("0x…", error)


def _key(recording: Recording, operation: Operation) -> tuple[str, Any]:
    line = recording.where(operation)
    return operation.kernel.name, (line.file, line.line) if line is not None else None


def _same_values(one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
    return one == two or repr(one) == repr(two)


def _content(operation: Operation, position: int) -> Any:
    return operation.inputs[position].content if position < len(operation.inputs) else None


def _permuted(before: External | None, after: External | None) -> bool:
    if before is None or after is None or not (before.samples_all and after.samples_all) or len(after.sample) < 2:
        return False
    return before.sample != after.sample and sorted(map(repr, before.sample)) == sorted(map(repr, after.sample))


def shown_operator(name: str) -> str:
    """`aten::mul.Tensor` as users write it: `aten.mul`."""
    space, _, rest = name.partition("::")
    return f"{space}.{rest.split('.')[0]}" if rest else name
