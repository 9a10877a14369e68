"""What is said of random programs over arrays and tensors together: shape, strides, contiguity, element type and library."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")
np = pytest.importorskip("numpy")
pytest.importorskip("einops")

from array_programs import HEAD, ArrayProgram  # noqa: E402

from tensorlint.inference import ops  # noqa: E402
from tensorlint.inference.analysis import analyse  # noqa: E402

PROGRAMS = 500
LENGTH = 12


def strides_of(value: Any) -> tuple[int, ...]:
    if isinstance(value, torch.Tensor):
        return tuple(value.stride())
    return tuple(stride // value.itemsize for stride in value.strides)


def problem_of(row: Any, value: Any, scope: dict[str, Any]) -> str | None:
    """What is wrong with a claim; none of a tensor where a size that has a name is 0 or 1."""

    def sizes(claims: tuple[Any, ...]) -> list[int | None]:
        return [claim if isinstance(claim, int) else None if claim == "?" else eval(claim, scope) for claim in claims]

    def differ(claims: tuple[Any, ...], real: tuple[int, ...]) -> bool:
        return any(claim not in (None, own) for claim, own in zip(sizes(claims), real, strict=True))

    framework = "torch" if isinstance(value, torch.Tensor) else "numpy"
    shape = tuple(value.shape)
    if row.framework not in (None, framework):
        return f"said to be of {row.framework}"
    if row.dtype not in (None, str(value.dtype).removeprefix("torch.")):
        return f"{row.dtype}, is {value.dtype}"
    if any(
        size in (0, 1) for claim, size in zip(row.shape or (), sizes(row.shape or ()), strict=True) if claim != size
    ):
        return None
    if row.shape is not None and (len(row.shape) != len(shape) or differ(row.shape, shape)):
        return f"shape {row.shape}, is {shape}"
    for axis, claim in (row.axes or {}).items():
        if not -len(shape) <= axis < len(shape) or differ((claim,), (shape[axis],)):
            return f"axes {row.axes}, is {shape}"
    if row.strides is not None and 0 not in shape:
        kept = [axis for axis, size in enumerate(shape) if size != 1]
        real = strides_of(value)
        if differ(tuple(row.strides[axis] for axis in kept), tuple(real[axis] for axis in kept)):
            return f"strides {row.strides}, are {real} of {shape}"
    if row.contiguous is not None and not {0, 1} & set(shape):
        contiguous = value.is_contiguous() if framework == "torch" else value.flags.c_contiguous
        if row.contiguous != contiguous:
            return f"contiguous {row.contiguous}"
    return None


def wrong_claims(program: ArrayProgram) -> tuple[list[str], int]:
    """The wrong claims, and how many values have known strides."""
    source, first = program.source()
    failures: list[Exception] = []
    wrong, known = [], 0
    for row in analyse(ast.parse(source), source, failures=failures).bindings:
        at = row.line - first
        if not 0 <= at < len(program.made) or row.name != f"v{at}":
            continue
        known += row.strides is not None
        problem = problem_of(row, program.made[at], program.scope)
        if problem:
            wrong.append(f"seed {program.seed}: {program.lines[at]}: {problem}")
    return wrong + [repr(failure) for failure in failures], known


def test_no_claim_about_a_random_program_is_wrong() -> None:
    wrong: list[str] = []
    known = total = 0
    for seed in range(PROGRAMS):
        torch.manual_seed(seed)
        program = ArrayProgram(seed, seed % 2 == 0)
        for _ in range(LENGTH):
            program.grow()
        found, told = wrong_claims(program)
        wrong += found
        known, total = known + told, total + len(program.made)
    assert not wrong, "\n".join(wrong[:20])
    assert known / total > 0.5


# What random programs showed to be wrong once.
FOUND = """
v0 = torch.zeros(C, C, T, T).to(memory_format=torch.channels_last); v1 = v0 ** v0; v2 = 2 ** v0; v3 = v0 ** 2
v0 = torch.zeros(C, T).t(); v1 = v0 ** v0; v2 = True ** v0
v0 = np.ones((C, C), order='F'); v1 = np.broadcast_to(v0, (C, C, C)); v2 = np.concatenate([v1, v1]); v3 = np.stack([v1, v1], 1)
v0 = np.ones((3, 4), 'int8'); v1 = np.ones((3, 4)); v2 = rearrange([v0, v1], 'n a b -> a b n'); v3 = repeat([v0, v1], 'n a b -> a n b')
v0 = torch.ones(3, 4); v1 = torch.ones(3, 4, dtype=torch.float64); v2 = rearrange([v0, v1], 'n a b -> a b n')
v0 = torch.ones(T, T, C, B).to(memory_format=torch.channels_last); v1 = rearrange([v0, v0], 'n a b c d -> a b c d n')
v0 = torch.ones(T, T, C, B).to(memory_format=torch.channels_last); v1 = reduce([v0, v0], 'n a b c d -> a b c d', 'sum')
v0 = np.ones((C, B), order='F'); v1 = rearrange([v0, v0], 'n a b -> a b n'); v2 = rearrange([v0, v0.copy()], 'n a b -> n (a b)')
v0 = np.ones((3, 2, 4), order='F'); v1 = v0[2:-1:-2]; v2 = np.sum(v1, 0); v3 = v1.mean(0); v4 = v1.any(0); v5 = np.median(v0[:0], 0)
v0 = torch.zeros(5, 1, 6, 0); v1 = F.pixel_unshuffle(v0, 2); v2 = F.pixel_shuffle(torch.zeros(2, 4, 0, 3), 2)
v0 = np.ones((2, 3)); v1 = v0.clip(0, torch.tensor(1.5)); v2 = v0.clip(torch.zeros(3)); v3 = v0.clip(0, np.array(1.5))
v0 = np.linalg.pinv(np.ones((2, 0), 'int8')); v1 = np.linalg.pinv(np.ones((0, 3, 2), 'bool')); v2 = np.linalg.pinv(np.ones((2, 3), 'int8'))
"""


def test_a_place_to_begin_at_may_be_0() -> None:
    """`x[start:]` of an axis of one: a size that has a name is not 0, but this is no size."""
    lines = ["x[:, start:]", "x[:, start::2]", "x[:, start:stop]", "x[:, start : start + 1]", "y[start:, None]"]
    source = HEAD + "def f(start, stop, x, y):\n    x, y = np.zeros((4, 1, 6)), torch.zeros(1)\n"
    source += "".join(f"    v{at} = {line}\n" for at, line in enumerate(lines)) + "    w = x[3:, :, :start]\n"
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    for start in (0, 1, 2):
        scope = {"x": np.zeros((4, 1, 6)), "y": torch.zeros(1), "start": start, "stop": 3}
        for at, line in enumerate(lines):
            assert problem_of(rows[f"v{at}"], eval(line, scope), scope) is None, line
    assert rows["w"].shape[:2] == (1, 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("line", FOUND.strip().splitlines())
def test_what_was_wrong_once(line: str, named: bool) -> None:
    program = ArrayProgram(0, named)
    program.scope.update(numbers := {"B": 3, "T": 2, "C": 5})
    for statement in line.split("; "):
        program.lines.append(statement if named else f"{statement}")
        exec(statement, program.scope)
        program.made.append(program.scope[f"v{len(program.made)}"])
    if not named:
        program.lines[0] = "; ".join([*(f"{name} = {number}" for name, number in numbers.items()), program.lines[0]])
    assert wrong_claims(program)[0] == []


def test_a_wrong_claim_is_noticed() -> None:
    program = ArrayProgram(0, False)
    program.lines, program.made = ["v0 = np.zeros((2, 3))"], [np.zeros((3, 2))]
    assert "shape (2, 3), is (3, 2)" in wrong_claims(program)[0][0]
    program.made = [np.zeros((2, 3), order="F")]
    assert "strides" in wrong_claims(program)[0][0]
    program.made = [np.zeros((2, 3), "float32")]
    assert "float64, is float32" in wrong_claims(program)[0][0]
    assert HEAD.count("\n") + 1 == program.source()[1]


_NOT_CALLED = re.compile(r"random|from|load|mem|lib\.|seterr|shuffle|_$")


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "first", ["torch.tensor([[4.0, 1.0], [1.0, 3.0]])", "torch.tensor([4.0, 1.0])", "torch.ones(2, 2, 2, dtype=int)"]
)
@pytest.mark.parametrize("ranks_known", [False, True])
def test_what_numpy_makes_of_tensors_that_nobody_knows_to_be_tensors(first: str, ranks_known: bool) -> None:
    x = eval(first)
    scope = {"np": np, "x": x, "y": x + 1}
    source = "import numpy as np\nimport torch\ndef f(x, y):\n"
    source += "".join(f"    assert {name}.ndim == {x.ndim}\n" for name in "xy") if ranks_known else ""
    made: dict[str, tuple[str, Any]] = {}
    for name in sorted(ops.table_of("numpy").functions):
        if _NOT_CALLED.search(name):
            continue
        for arguments in (
            "(x)",
            "(x, y)",
            "(x, axis=0)",
            "([x, y])",
            "(x, 1)",
            "(x, 0, 1)",
            "(x > 0, x, y)",
            "(x)[0]",
            "(x)[1]",
        ):
            text = f"np{name.removeprefix('numpy')}{arguments}"
            try:
                value = eval(text, scope)
            except Exception:
                continue
            if isinstance(value, (torch.Tensor, np.ndarray, np.generic)):
                made[f"v{len(made)}"] = text, value
    source += "".join(f"    {name} = {text}\n" for name, (text, _) in made.items())
    wrong = []
    for row in analyse(ast.parse(source), source).bindings:
        text, value = made[row.name]
        framework = "torch" if isinstance(value, torch.Tensor) else "numpy"
        if row.framework not in (None, framework) or row.dtype not in (None, str(value.dtype).removeprefix("torch.")):
            wrong.append(f"{text}: {row.framework} {row.dtype}, is of {framework}, {value.dtype}")
    assert len(made) > 300
    assert wrong == []
