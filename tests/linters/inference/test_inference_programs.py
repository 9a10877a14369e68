"""Random programs are run by torch and inferred by the linter: no claim about a shape, a stride or a dtype is wrong."""

from __future__ import annotations

import ast
import warnings

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from program_generator import Program, make

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import ViewHazard

warnings.filterwarnings("ignore", module="torch")


def wrong_claims(program: Program) -> tuple[list[str], int, int, int]:
    """The wrong claims in words, and how many assignments there are, with a full shape, with strides."""
    source, first = program.source()
    analysis = analyse(ast.parse(source), source)
    rows = {row.line - first: row for row in analysis.bindings}
    wrong: list[str] = []
    shapes = strides = 0
    for at, (name, value) in program.made.items():
        row = rows.get(at)
        if row is None:
            continue
        assert row.name == name
        place = f"seed {program.seed}, line {at}: {program.lines[at]}"
        if row.shape is not None:
            known = [program.evaluate(size, at) for size in row.shape]
            if len(known) != value.dim() or any(
                claim is not None and claim != size for claim, size in zip(known, value.shape, strict=True)
            ):
                wrong.append(f"{place}: shape {row.shape}, is {tuple(value.shape)}")
            shapes += None not in known
        if row.strides is not None:
            known = [program.evaluate(stride, at) for stride in row.strides]
            if any(claim is not None and claim != stride for claim, stride in zip(known, value.stride(), strict=True)):
                wrong.append(f"{place}: strides {row.strides}, are {value.stride()}")
            strides += None not in known
        if row.contiguous is not None and row.contiguous != value.is_contiguous():
            wrong.append(f"{place}: contiguous {row.contiguous}")
        if row.dtype is not None and f"torch.{row.dtype}" != str(value.dtype):
            wrong.append(f"{place}: {row.dtype}, is {value.dtype}")
    # Every statement ran: a view that torch took is no hazard.
    for hazard in analysis.hazards:
        if isinstance(hazard, ViewHazard):
            wrong.append(
                f"seed {program.seed}: false alarm on {ast.unparse(hazard.node)} of {hazard.shape} {hazard.strides}"
            )
    return wrong, len(program.made), shapes, strides


@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "names"])
def test_no_claim_about_a_random_program_is_wrong(symbolic: bool) -> None:
    wrong: list[str] = []
    total = shapes = strides = 0
    for seed in range(250):
        found, made, full, laid = wrong_claims(make(seed, 14, symbolic))
        wrong += found
        total, shapes, strides = total + made, shapes + full, strides + laid
    assert not wrong, "\n".join(wrong[:20])
    assert shapes / total > 0.95
    assert strides / total > 0.9
