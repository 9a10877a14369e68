"""What is said of numbers of axes (`ranks`): each operation is run by torch on tensors of 0 to 6 axes, in many spellings.

Of an operation it may be said how many axes its operand has only if torch refuses all other numbers, and how many its
result has only if that is so for each number that torch takes.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")

from tensorlint.inference import ranks  # noqa: E402
from tensorlint.inference.analysis import analyse  # noqa: E402

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
SIZE = 4  # of every axis, so that channels, features and indices fit
RANKS = range(7)
NOT_RUN = {"cuda", "size"}  # a GPU may not be there; size() gives numbers

METHODS = sorted(
    ranks.SAME
    | ranks._AXIS_METHODS
    | ranks._REDUCTIONS
    | ranks._OF_NUMBERS
    | ranks._ALONG
    | ranks.SEVERAL.keys()
    | ranks.FUNCTIONS.keys()
    | {
        "t",
        "bmm",
        "baddbmm",
        "unsqueeze",
        "one_hot",
        "embedding",
        "diag_embed",
        "repeat",
        "nonzero",
        "argwhere",
        "unique",
    }
    | {"outer", "broadcast_to", "mv", "dot", "squeeze", "expand"}
)
ARGUMENTS = [
    "", "0", "1", "-1", "2", "-2", "3", "0, 1", "1, 2", "1, -1", "-1, -2", "(0, 1)", "(1, 2)", "(-1, -2)", "0, 2", "2, 0, 1",
    "(2, 0, 1)", "0, 1, 2, 3", "1, 0", "dim=0", "dim=-1", "dim=1", "0, True", "dim=1, keepdim=True", "(0, 1), True",
    "dim=(1, 2), keepdim=False", "start_dim=1", "0.5", "0.5, 1", "torch.zeros(4)", "torch.zeros(4, 4)", "torch.zeros(4, 4, 4)",
    "torch.zeros(4), torch.zeros(4)", "torch.tensor([0, 1])", "0, torch.tensor([0, 1])", "1, torch.tensor([0, 1])",
    "torch.float32", "x", "x, x", "0, x.long() * 0", "(1, 1)", "(1, 1, 1, 1)", "0, 0, 2", "1, 0, 2", "[2, 2]", "[2, 2], 1",
    "1, (2, 2)", "0, (2, -1)", "0, [2, 2]", "torch.zeros(4, 4, 1)", "torch.zeros(4, 4, 1, 1)", "torch.zeros(4, 4, 1, 1, 1)",
    "(4,)", "(2, 4), 1", "size=(4, 4), kernel_size=2", "scale_factor=2", "size=8, mode='linear'", "size=8, mode='bilinear'",
    "size=(8, 8)", "scale_factor=2.0, mode='trilinear'", "2, 4", "min=0", "descending=True", "axis=0", "indices=(1, 1)",
    "None", "torch.Size([4, 4])", "(0,)", "(1,), True", "2, 2", "4, 4, 4", "1, 1, 4, 4", "(4, 4, 4, 4, 4)", "x, 1", "2, dim=0",
    "torch.zeros(4), torch.ones(4), torch.ones(4), torch.zeros(4)",
]  # fmt: skip
SPECIAL = {
    "grid_sample": "F.grid_sample(x, torch.zeros(*[4] * (x.dim() - 1), x.dim() - 2), align_corners=False)",
    "one_hot": "F.one_hot(x.long() * 0, 3)",
    "embedding": "F.embedding(x.long() * 0, torch.zeros(9, 4))",
    "fold": "F.fold(x, (2, 2), (2, 2))",
    "bitwise_not": "x.bool().bitwise_not()",
    "baddbmm": "torch.baddbmm(x, x, x)",
    "copy_": "x.copy_(1 * x)",
    "masked_fill_": "x.masked_fill_(x > 0, 0)",
}
LAYERS = sorted(
    ranks.LAYERS.keys()
    | {"LayerNorm", "RMSNorm", "Flatten", "Unflatten", "Upsample", "ChannelShuffle", "LPPool1d", "LPPool2d", "LPPool3d"}
    | {name for name in dir(torch.nn) if ranks.SAME_LAYERS.match(name)}
)
LAYER_ARGUMENTS = [
    "", "1", "2", "4", "4, 4", "4, 4, 1", "2, 4", "4, 4, (1, 1)", "1, 2", "2, 2", "(4, 4)", "(1, 1)", "scale_factor=2",
    "size=8, mode='linear'", "size=(8, 8)", "scale_factor=2, mode='bilinear'", "1, (2, 2)", "1, 0.5", "2, -1", "4, 1",
    "0, 1", "1, 2", "0.5, 0.5",
]  # fmt: skip
INDICES = [
    "0", "0, 1", "..., 0", "None", ":, None", "..., None", ":", ":, :, 0", "1:", "0, :, None", "x > 0", "[0, 1]", ":, [0, 1]",
    "torch.tensor([0, 1])", ":, torch.tensor([0, 1])", "torch.zeros(4, dtype=torch.bool)", "0, ..., 1", "torch.tensor(1)", "-1, -1, -1",
]  # fmt: skip


class Case(NamedTuple):
    """An expression of `x`, and for each number of axes of x that torch takes, how many the result has."""

    statement: str
    results: dict[int, int]


def outcomes(statement: str) -> dict[int, int]:
    code = compile(statement, "<case>", "exec")
    found = {}
    for rank in RANKS:
        scope = {"x": torch.ones([SIZE] * rank), "torch": torch, "F": torch.nn.functional, "nn": torch.nn}
        try:
            exec(code, scope)
        except Exception:
            continue
        if isinstance(scope["y"], torch.Tensor):
            found[rank] = scope["y"].dim()
    return found


def statements_of(name: str) -> Iterator[str]:
    if name in SPECIAL:
        yield f"y = {SPECIAL[name]}"
    several = name in ranks.SEVERAL
    for arguments in ARGUMENTS:
        behind = f", {arguments}" if arguments else ""
        for owner, call in (
            (torch.Tensor, f"x.{name}({arguments})"),
            (torch.nn.functional, f"F.{name}(x{behind})"),
            (torch, f"torch.{name}(x{behind})"),
        ):
            if hasattr(owner, name):
                yield f"y = {call}"
                if several:
                    yield f"y, _ = {call}"
                    yield f"y = {call}[0]"


def all_statements() -> dict[str, list[str]]:
    found = {name: list(statements_of(name)) for name in METHODS if name not in NOT_RUN}
    for name in LAYERS:
        given = "y, _" if name in ("LSTM", "GRU", "RNN") else "y"
        found[f"nn.{name}"] = [f"{given} = nn.{name}({arguments}).eval()(x)" for arguments in LAYER_ARGUMENTS]
        found[f"nn.{name}"] += [
            f"layer = nn.{name}({arguments}).eval(); {given} = layer(x)" for arguments in LAYER_ARGUMENTS
        ]
    found["an index"] = [f"y = x[{index}]" for index in INDICES]
    found["operators"] = [
        "y = x + 1", "y = x @ x", "y = x @ torch.zeros(4, 4)", "y = torch.zeros(4, 4) @ x", "y = x * torch.zeros(4)", "y = x @ x.transpose(1, 2)",
        "y = torch.zeros(4) @ x", "y = x @ torch.zeros(4)", "y = torch.zeros(2, 4, 4) @ x", "y = x.T", "y = x.mT", "y = -x", "y = x > 0",
        "y = torch.einsum('ij,jk->ik', x, x)", "y = torch.einsum('bij->bj', x)", "y = torch.einsum('...i->...', x)", "y = torch.einsum('ii', x)",
        "y = torch.stack([x, x])", "y = torch.cat([x, x])", "y = torch.cat((x, x), 1)", "y = torch.stack((x, x), dim=-1)", "y = x.view(-1)",
        "y = x.reshape(*x.shape, 1)", "y = x.view(*x.shape[:-1], 2, 2)", "y = x.new_zeros(x.shape)", "y = torch.matmul(x, x)",
        "y = torch.where(x > 0, x, 0)", "y = torch.maximum(x, x)", "y = torch.bmm(x, x)", "y = F.scaled_dot_product_attention(x, x, x)",
    ]  # fmt: skip
    return found


@pytest.fixture(scope="module")
def cases() -> dict[str, list[Case]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: [Case(each, results) for each in dict.fromkeys(texts) if (results := outcomes(each))]
            for name, texts in all_statements().items()
        }


def test_every_name_of_the_tables_is_run(cases: dict[str, list[Case]]) -> None:
    assert [name for name, found in cases.items() if not found] == []


@pytest.mark.parametrize("table", [ranks.LAYERS, ranks.FUNCTIONS], ids=["layers", "functions"])
def test_the_tables_have_the_ranks_that_torch_takes(table: dict[str, int], cases: dict[str, list[Case]]) -> None:
    prefix = "nn." if table is ranks.LAYERS else ""
    functions = tuple(f"{owner}{name}(" for name in table for owner in ("nn.", "F.", "torch."))
    taken = {
        name: {
            rank
            for case in cases[prefix + name]
            if case.statement.partition("= ")[2].startswith(functions)
            for rank in case.results
        }
        for name in table
    }
    assert taken == {name: {rank for rank in RANKS if mask >> rank & 1} for name, mask in table.items()}


class Program(NamedTuple):
    """One function of the file: what is run, whether x is annotated, and the number of axes of x that its end tells."""

    case: Case
    annotated: bool
    told: int | None

    def text(self, number: int) -> str:
        annotation = ": torch.Tensor" if self.annotated else ""
        lines = [f"def f{number}(x{annotation}):", "    z = x.detach()", f"    {self.case.statement}"]
        if self.told is not None and self.told > 0:
            lines.append(f"    ({', '.join('abcdefg'[: self.told])},) = z.shape")
        return "\n".join([*lines, "    return y", ""])


def programs(cases: dict[str, list[Case]]) -> list[Program]:
    found = []
    for case in (case for every in cases.values() for case in every):
        found += [Program(case, False, None), Program(case, True, None)]
        told = [rank for rank in case.results if rank]
        found += [Program(case, True, rank) for rank in sorted({min(told), max(told)} if told else ())]
    return found


def known_ranks(chosen: list[Program]) -> Iterator[tuple[Program, dict[str, int]]]:
    """For each program the number of axes of y and of z (which has those of x), where they are known."""
    text, starts = HEAD, []
    for number, program in enumerate(chosen):
        starts.append(text.count("\n") + 1)
        text += program.text(number)
    at: dict[int, dict[str, int]] = {}
    rows: Any = analyse(ast.parse(text), text).bindings
    position = 0
    for row in sorted(rows, key=lambda row: row.line):
        while position + 1 < len(starts) and starts[position + 1] <= row.line:
            position += 1
        if row.shape is not None and row.name in "yz":
            at.setdefault(position, {})[row.name] = len(row.shape)
    for number, program in enumerate(chosen):
        yield program, at.get(number, {})


def wrong(program: Program, known: dict[str, int]) -> str | None:
    results = program.case.results if program.told is None else {program.told: program.case.results[program.told]}
    if known.get("z") is not None and set(results) != {known["z"]}:
        return f"x has {known['z']} axes, torch takes {sorted(results)}"
    if known.get("y") is not None and set(results.values()) != {known["y"]}:
        return f"the result has {known['y']} axes, torch gives {sorted(set(results.values()))}"
    return None


@pytest.fixture(scope="module")
def judged(cases: dict[str, list[Case]]) -> list[tuple[Program, dict[str, int]]]:
    every = programs(cases)
    return [each for at in range(0, len(every), 500) for each in known_ranks(every[at : at + 500])]


def test_nothing_wrong_is_said(judged: list[tuple[Program, dict[str, int]]]) -> None:
    problems = [
        (program.text(0), problem) for program, known in judged if (problem := wrong(program, known)) is not None
    ]
    assert problems == []


def test_nearly_all_is_known_once_the_rank_is_told(judged: list[tuple[Program, dict[str, int]]]) -> None:
    told = [(program, known) for program, known in judged if program.told]
    assert sum("z" in known for _, known in told) > 0.99 * len(told)
    assert sum("y" in known for _, known in told) > 0.91 * len(told)
    unknown: dict[str, int] = {}
    for program, known in told:
        if "y" not in known:
            unknown[program.case.statement] = unknown.get(program.case.statement, 0) + 1
    expected = {
        "y = x.t()", "y = x.flatten(1, 2)", "y = x.flatten(start_dim=1)", "y = x @ x", "y = x @ x.transpose(1, 2)", "y = x[0, :, None]",
        "y = x.mean((0, 1))", "y = x.amax(-1)", "y = x.sum(dim=1, keepdim=True)", "y, _ = x.max(0)", "y = x.unbind(1)[0]", "y = x.chunk(2)[0]",
        "y = torch.bmm(x, x)", "y = F.conv2d(x, torch.zeros(4, 4, 1, 1))", "y = nn.Conv2d(4, 4, 1).eval()(x)", "y = x.unflatten(1, (2, 2))",
    }  # fmt: skip
    seen = {program.case.statement for program, _ in told}
    assert expected <= seen
    assert expected & unknown.keys() == set()


def test_what_an_operation_demands_is_known_before_it(judged: list[tuple[Program, dict[str, int]]]) -> None:
    """Where torch takes one number of axes only, and the tables say so."""
    alone = {
        program.case.statement: known.get("z")
        for program, known in judged
        if program.told is None and program.annotated and len(program.case.results) == 1
    }
    demanding = {
        "y = torch.bmm(x, x)": 3, "y = x.bmm(x)": 3, "y = nn.BatchNorm2d(4).eval()(x)": 4, "y = torch.mm(x, x)": 2,
        "y = nn.BatchNorm3d(4).eval()(x)": 5, "y = x.permute(2, 0, 1)": 3, "y = F.interpolate(x, size=8, mode='bilinear')": 4,
        "y = torch.einsum('bij->bj', x)": 3, "y = F.interpolate(x, scale_factor=2.0, mode='trilinear')": 5,
    }  # fmt: skip
    assert {statement: alone.get(statement) for statement in demanding} == demanding
