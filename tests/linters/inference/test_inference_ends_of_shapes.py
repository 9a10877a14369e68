"""What a line says of the axes of a tensor of which nobody knows how many it has: by the first or last of its sizes, by the
sizes another one is resampled to, by the axes of a transposition, by the widths of a margin. All run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import numpy as np
import torch
import torch.nn.functional as F
def f(x: {kind}, t: torch.Tensor, flag):
    {body}
for flag in (0, 1): f({given}, torch.zeros(2, 3, 8, 9), flag)
"""
TORCH = "torch.Tensor"
FOUR = "torch.zeros(2, 5, 6, 7)"
IMAGE = "np.zeros((6, 7, 3))"


def seen(body: str, kind: str = TORCH, given: str = FOUR) -> dict[str, Any]:
    source = PROGRAM.format(kind=kind, body=body.replace("; ", "\n    "), given=given)
    rows = analyse(ast.parse(source), source).bindings
    return {row.name: row.shape if row.shape is not None else row.axes for row in rows}


def check(body: str, expected: dict[str, Any], tmp_path: Path, kind: str = TORCH, given: str = FOUR) -> None:
    source = PROGRAM.format(kind=kind, body=body.replace("; ", "\n    "), given=given)
    assert wrong_claims(tmp_path / "program.py", source) == {}
    found = seen(body, kind, given)
    assert {name: found.get(name) for name in expected} == expected


ENDS = {
    "h, w = x.shape[-2:]; y = x * 2": {-2: "h", -1: "w"},
    "h, w = x.size()[-2:]; y = torch.relu(x)": {-2: "h", -1: "w"},
    "b, c = x.shape[:2]; y = x * 2": {0: "b", 1: "c"},
    "b, c = x.size()[:2]; y = x.float()": {0: "b", 1: "c"},
    "b, c, h = x.shape[:3]; y = x.neg()": {0: "b", 1: "c", 2: "h"},
    "s = x.shape[-2:]; h, w = s; y = x * 2": {-2: "h", -1: "w"},
    "b, c = x.shape[:2]; h, w = x.shape[2:]; y = x * 2": ("b", "c", "h", "w"),
    "b, c = x.shape[:2]; h, w = x.shape[-2:]; x = x.permute(0, 2, 3, 1); y = x * 2": ("b", "h", "w", "c"),
    "b = x.shape[:2][0]; y = x * 2": {0: "b"},
    "b, c = x.shape[0:2]; y = x * 2": {0: "b", 1: "c"},
}


@pytest.mark.parametrize("body", ENDS)
def test_the_ends_of_a_shape_are_sizes_of_the_tensor(body: str, tmp_path: Path) -> None:
    check(body, {"y": ENDS[body]}, tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "s = x.shape[-2:]; x = x.transpose(2, 3)[0]; h, w = s; y = x * 2",
        "s = x.shape[-2:]; x.unsqueeze_(0).transpose_(-1, -2); h, w = s; y = x * 2",
        "h, w = x.shape[1:3]; y = x * 2",
        "*b, h = x.shape[-2:]; y = x * 2",
        "h, w = x.shape[-2::-1][:2]; y = x * 2",
        "for h, w in [x.shape[-2:]] * flag: pass; y = x * 2",
        "(h, w) = x.shape[-2:] if flag else (1, 2); y = x * 2",
    ],
)
def test_other_parts_of_a_shape_say_nothing(body: str, tmp_path: Path) -> None:
    check(body, {}, tmp_path)
    assert "h" not in str(seen(body)["y"])


RESAMPLED = {
    "y = F.interpolate(t, size=x.shape[2:], mode='bilinear'); z = x * 2": (
        ("t.shape[0]", "t.shape[1]", "x.shape[2]", "x.shape[3]"), ("x.shape[0]", "x.shape[1]", "x.shape[2]", "x.shape[3]")),
    "y = F.interpolate(t, x.size()[2:], mode='bicubic'); z = x * 2": (
        ("t.shape[0]", "t.shape[1]", "x.shape[2]", "x.shape[3]"), ("x.shape[0]", "x.shape[1]", "x.shape[2]", "x.shape[3]")),
    "y = F.interpolate(t, size=x.shape[-2:], mode='bilinear'); z = x * 2": (
        ("t.shape[0]", "t.shape[1]", "x.shape[-2]", "x.shape[-1]"), {-2: "x.shape[-2]", -1: "x.shape[-1]"}),
    "s = x.shape[-2:]; y = F.interpolate(t, size=s, mode='bilinear'); z = x * 2": (
        ("t.shape[0]", "t.shape[1]", "x.shape[-2]", "x.shape[-1]"), {-2: "x.shape[-2]", -1: "x.shape[-1]"}),
    "b, c, h, w = t.shape; y = F.interpolate(t, size=x.shape[2:]); z = x * 2": (
        ("b", "c", "x.shape[2]", "x.shape[3]"), ("x.shape[0]", "x.shape[1]", "x.shape[2]", "x.shape[3]")),
}  # fmt: skip


@pytest.mark.parametrize("body", RESAMPLED)
def test_what_is_resampled_to_the_sizes_of_another(body: str, tmp_path: Path) -> None:
    y, z = RESAMPLED[body]
    check(body, {"y": y, "z": z}, tmp_path)


@pytest.mark.parametrize(
    "body",
    ["y = F.interpolate(t, size=x.shape[2:]); z = x * 2", "z = x * 2; if flag:;     y = F.interpolate(t, size=x.shape[2:], mode='bilinear')"],
)  # fmt: skip
def test_it_may_have_more_axes_where_nothing_says_how_many_are_resampled(body: str, tmp_path: Path) -> None:
    check(body, {"z": None}, tmp_path)


AXES = "a, b, c = x.shape[2], x.shape[0], x.shape[1]; "
TURNED = {
    "y = x.transpose(2, 0, 1)": ("x.shape[2]", "x.shape[0]", "x.shape[1]"),
    "y = x.transpose((2, 0, 1))": ("x.shape[2]", "x.shape[0]", "x.shape[1]"),
    "y = x.transpose([2, 0, -2])": ("x.shape[2]", "x.shape[0]", "x.shape[1]"),
    "y = np.transpose(x, (2, 0, 1))": ("x.shape[2]", "x.shape[0]", "x.shape[1]"),
    "y = np.transpose(x, axes=[2, 0, 1])": ("x.shape[2]", "x.shape[0]", "x.shape[1]"),
    "h, w = x.shape[:2]; y = x.transpose(2, 0, 1)": ("x.shape[2]", "h", "w"),
    "y = torch.from_numpy(x.transpose(2, 0, 1))": ("x.shape[2]", "x.shape[0]", "x.shape[1]"),
    "y = torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1))).float()": (
        "x.shape[2]",
        "x.shape[0]",
        "x.shape[1]",
    ),
    "y = np.pad(x, ((0, 1), (2, 3), (0, 0)))": ("x.shape[0] + 1", "x.shape[1] + 5", "x.shape[2]"),
    "h, w = x.shape[:2]; y = np.pad(x, [(0, 9 - h), (0, 9 - w), (0, 0)])": (9, 9, "x.shape[2]"),
}


@pytest.mark.parametrize("kind", ["np.ndarray", "object"])
@pytest.mark.parametrize("body", TURNED)
def test_an_array_has_as_many_axes_as_are_named(body: str, kind: str, tmp_path: Path) -> None:
    check(body, {"y": TURNED[body]}, tmp_path, kind, IMAGE)
    of_array = body.replace("(x", "(np.array(x)").replace(" x.t", " np.array(x).t").replace("(np.array(x).t", "(x.t")
    check(of_array, {}, tmp_path, kind, IMAGE)
    assert len(seen(of_array, kind, IMAGE)["y"]) == 3


@pytest.mark.parametrize(
    "body",
    [
        "y = np.pad(x, 1)",
        "y = np.pad(x, ((1, 2),))",
        "y = np.pad(x, (1, 2))",
        "y = np.flip(x, 0)",
        "y = np.transpose(x)",
    ],
)
def test_other_calls_name_no_number_of_axes(body: str, tmp_path: Path) -> None:
    check(body, {"y": None}, tmp_path, "np.ndarray", IMAGE)


NEW = {
    "torch.linspace(0, 1, 5).unsqueeze_(-1)": (5, 1),
    "torch.arange(5).unsqueeze_(0)": (1, 5),
    "torch.zeros(3, 4).t_()": (4, 3),
    "torch.zeros(3, 1, 4).squeeze_(1)": (3, 4),
    "torch.zeros(3, 4).transpose_(0, 1)": (4, 3),
    "torch.ones(3, 4).sum(0).unsqueeze_(1)": None,
    "t.sum((2, 3)).transpose_(0, 1)": None,
}


@pytest.mark.parametrize("made", NEW)
def test_what_has_just_been_made_gets_its_other_shape(made: str, tmp_path: Path) -> None:
    check(f"y = {made}", {"y": NEW[made]}, tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "a = torch.zeros(3, 4); y = a.contiguous().t_(); z = a + 0",
        "a = torch.zeros(3, 4); y = a.mul_(2).t_(); z = a + 0",
        "a = torch.zeros(3, 4); y = F.relu(a, inplace=True).t_(); z = a + 0",
        "a = torch.zeros(3, 4); y = torch.relu_(a).t_(); z = a + 0",
        "a = torch.zeros(3, 4); y = a.to('cpu').unsqueeze_(0); z = a + 0",
        "a = torch.zeros(3, 4); y = torch.as_tensor(a).unsqueeze_(0); z = a + 0",
        "a = torch.zeros(3, 4); y = torch.add(a, 1, out=a).t_(); z = a + 0",
        "a = torch.zeros(3, 4); y = a.requires_grad_(False).t_(); z = a + 0",
        "a = torch.zeros(3, 4); y = a.detach().t_(); z = a + 0",
        "a = [torch.zeros(3, 4)]; y = a.pop().t_(); z = y + 0",
        "a = {1: torch.zeros(3, 4)}; y = a.get(1).t_(); z = a[1] + 0",
    ],
)
def test_what_may_be_an_older_one_is_changed_with_it(body: str, tmp_path: Path) -> None:
    check(body, {}, tmp_path)


UNIQUE = {
    "y, z = torch.unique(x, return_inverse=True)": (("?",), None),
    "y, z = torch.unique(x, return_counts=True)": (("?",), ("y.shape[0]",)),
    "h, w = x.shape[:2]; y, z = torch.unique(x, return_inverse=True)": (("?",), {0: "h", 1: "w"}),
    "b, c, h, w = x.shape; y, z = torch.unique(x, return_inverse=True)": (("?",), ("b", "c", "h", "w")),
}


@pytest.mark.parametrize("body", UNIQUE)
def test_what_is_unique_has_one_axis_whatever_it_is_of(body: str, tmp_path: Path) -> None:
    y, z = UNIQUE[body]
    check(body, {"y": y}, tmp_path)
    found = seen(body)["z"]
    assert found == z or (z == ("y.shape[0]",) and len(found) == 1)


def test_the_last_axis_of_one_hot_has_as_many_as_there_are_classes(tmp_path: Path) -> None:
    check("y = F.one_hot(x, 7)", {"y": {-1: 7}}, tmp_path, given="torch.zeros(2, 3).long()")
    check("y = F.one_hot(x, num_classes=7)", {"y": {-1: 7}}, tmp_path, given="torch.zeros(2).long()")
    check("y = F.one_hot(x)", {"y": None}, tmp_path, given="torch.zeros(2, 3).long()")
