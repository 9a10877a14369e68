"""Modules are run by torch, line by line, and no claim about a tensor that a name holds is wrong at that line."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "inference_real_models.py"
_HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"


@functools.cache
def _tracing() -> Any:
    spec = importlib.util.spec_from_file_location("inference_real_models", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


Followed = Callable[[str, Callable[[Any], None]], tuple[list[str], dict[str, Any]]]


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    """Run `use(module)` on a module of the given source; the wrong claims, and the last claim about each name."""
    tracing = _tracing()

    def follow(source: str, use: Callable[[Any], None]) -> tuple[list[str], dict[str, Any]]:
        path = tmp_path / "model.py"
        path.write_text(_HEAD + textwrap.dedent(source), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("followed_model", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        score = tracing.Score()
        tracer = tracing.Tracer(tracing.Claims(False), score, (str(tmp_path),))
        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            with torch.no_grad():
                use(module)
        finally:
            sys.settrace(before)
        assert score.ran, "nothing ran"
        claims = {name: row for (_, name), row in tracer.claims.of(str(path)).claims.items()}
        return [f"{line} {name}: {problem}" for (_, line, name), problem in score.wrong.items()], claims

    return follow


def test_the_tracer_notices_a_wrong_claim(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorlint.inference import analysis

    source = """
    def f(x):
        B, T, C = x.shape
        y = torch.relu(x)
        return y
    """
    assert followed(source, lambda module: module.f(torch.randn(2, 3, 4)))[0] == []
    plain = analysis.analyse

    def lying(*args: Any, **kwargs: Any) -> Any:
        found = plain(*args, **kwargs)
        found.bindings[:] = [dataclasses.replace(row, shape=("B", "T", "T")) for row in found.bindings]
        return found

    monkeypatch.setattr(analysis, "analyse", lying)
    wrong, _ = followed(source, lambda module: module.f(torch.randn(2, 3, 4)))
    assert wrong
    assert "y" in wrong[0]


def test_a_sequential_of_nobody_knows_how_many_modules_is_not_empty(followed: Followed) -> None:
    wrong, claims = followed(
        """
        class Stack(nn.Module):
            def __init__(self, widths):
                super().__init__()
                stages = []
                last = 4
                for width in widths:
                    stages.append(nn.Conv2d(last, width, 1))
                    last = width
                self.blocks = nn.Sequential(*stages)

            def forward(self, x):
                B, C, H, W = x.shape
                y = self.blocks(x)
                return y
        """,
        lambda module: module.Stack([6, 8])(torch.randn(2, 4, 5, 5)),
    )
    assert wrong == []
    assert "y" not in claims or claims["y"].shape is None or claims["y"].shape[1] != "C"


def test_what_a_subclass_puts_in_its_place_is_not_taken_for_the_base_s(followed: Followed) -> None:
    wrong, claims = followed(
        """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.mix = nn.Identity()
                self.heads = 2

            def lift(self, x):
                return x

            def forward(self, x):
                B, T, C = x.shape
                y = self.mix(x)
                z = self.lift(x)
                w = x.view(B, T, self.heads, -1)
                return w

        class Own(Base):
            def __init__(self):
                super().__init__()
                self.mix = nn.Linear(8, 12)
                self.heads = 4

            def lift(self, x):
                return x[None]
        """,
        lambda module: (module.Base()(torch.randn(2, 3, 8)), module.Own()(torch.randn(2, 3, 8))),  # type: ignore[arg-type]
    )
    assert wrong == []
    assert claims["w"].shape is not None
    assert claims["w"].shape[2] == "self.heads"


def test_halves_of_an_odd_size_are_not_joined_to_the_whole(followed: Followed) -> None:
    wrong, claims = followed(
        """
        def f(d, rows):
            x = torch.ones(2, rows, d)
            y = torch.stack([x[:, :, 0::2].sin(), x[:, :, 0::2].cos()], dim=3).flatten(2)
            return y
        """,
        lambda module: (module.f(5, 3), module.f(6, 3)),  # type: ignore[arg-type]
    )
    assert wrong == []
    assert claims["y"].strides is not None


def test_a_name_that_means_something_else_in_another_method_is_not_shown_there(followed: Followed) -> None:
    wrong, claims = followed(
        """
        class Merging(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.reduction = nn.Linear(dim, 2 * dim)

            def forward(self, x):
                batch, dim, channels = x.shape
                y = self.reduction(x)
                return y
        """,
        lambda module: module.Merging(6)(torch.randn(2, 5, 6)),
    )
    assert wrong == []
    assert claims["y"].shape == ("batch", "dim", "?")


def test_what_the_initialiser_keeps_is_shown_in_every_method(followed: Followed) -> None:
    wrong, claims = followed(
        """
        class Widen(nn.Module):
            def __init__(self, dim, width: int):
                super().__init__()
                self.dim, self.width = dim, width
                self.up = nn.Linear(dim, width)

            def forward(self, x):
                batch, rows, dim = x.shape
                y = self.up(x)
                z = torch.cat([x, y], dim=2)
                return z
        """,
        lambda module: module.Widen(6, 9)(torch.randn(2, 5, 6)),
    )
    assert wrong == []
    assert claims["y"].shape == ("batch", "rows", "self.width")
    assert claims["z"].shape is not None
    assert "?" not in claims["z"].shape


def test_what_is_shown_in_a_short_loop_is_true_of_every_round(followed: Followed) -> None:
    wrong, claims = followed(
        """
        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.steps = nn.ModuleList([nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten()])

            def forward(self, x):
                B, C, H, W = x.shape
                for step in self.steps:
                    x = step(x)
                last = F.relu(x)
                return last
        """,
        lambda module: module.Head()(torch.randn(2, 3, 4, 4)),
    )
    assert wrong == []
    assert claims["last"].shape == ("B", "C")


def test_a_function_called_twice_is_followed_for_each_argument(followed: Followed) -> None:
    wrong, claims = followed(
        """
        def heads(x):
            x = x.view(x.size()[:-1] + (2, -1))
            return x.permute(0, 2, 1, 3)

        def f(x, y):
            B, T, C = x.shape
            S, N, D = y.shape
            q = heads(torch.relu(x))
            k = heads(torch.relu(y))
            v = heads(torch.relu(y))
            return q, k, v
        """,
        lambda module: module.f(torch.randn(2, 5, 6), torch.randn(2, 7, 6)),
    )
    assert wrong == []
    assert claims["k"].shape[2] == "N"


# Functions whose last statement demands a rank of what came before; called so that a claim too many is seen.
DEMANDS = """
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.proj = nn.Linear(dim, dim)
        self.norm = nn.BatchNorm2d(dim)
        self.conv = nn.Conv2d(dim, 2 * dim, 3, padding=1)

    def mixed(self, x):
        B, N, C = x.shape
        return self.proj(x)

    def straight(self, x):
        known_relu = F.relu(x)
        known_norm = self.norm(known_relu)
        known_conv = self.conv(known_norm)
        return known_conv

    def through_a_call(self, x):
        known_double = torch.mul(x, 2)
        y = self.mixed(known_double)
        known_sum = torch.add(known_double, y)
        return known_sum

    def returns_early(self, x, early):
        open_before = torch.relu(x)
        if early:
            return open_before
        known_after = torch.relu(x)
        B, C, H, W = known_after.shape
        return known_after

    def in_a_branch(self, x, deep):
        open_first = torch.relu(x)
        if deep:
            known_inside = torch.relu(x)
            B, C, H, W = x.shape
        open_last = torch.relu(x)
        return open_last

    def caught(self, x):
        try:
            open_tried = torch.relu(x)
            B, C, H, W = x.shape
        except ValueError:
            return None
        return x

    def caught_outside(self, x):
        open_given = torch.relu(x)
        try:
            y = self.mixed(x)
        except ValueError:
            y = None
        return y

    def sometimes_evaluated(self, x, deep):
        open_mixed = torch.relu(x)
        y = deep and self.mixed(x)
        z = self.mixed(x) if deep else None
        w = [self.mixed(x) for _ in range(deep)]
        return y, z, w

    def rebound(self, x):
        known_old = torch.relu(x)
        x = torch.relu(known_old.sum(0))
        B, C = x.shape
        return x

    def leaves_a_loop(self, xs, early):
        for x in xs:
            open_round = torch.relu(x)
            if early:
                break
            known_round = torch.relu(x)
            B, C = known_round.shape
        return xs

    def carried(self, xs):
        last = None
        for x in xs:
            if last is not None:
                B, C = last.shape
            open_carried = torch.relu(x)
            last = open_carried
        return last

    def a_generator(self, x):
        open_yielded = torch.relu(x)
        yield open_yielded
        B, C, H, W = x.shape

    def by_axes(self, x):
        known_axes = torch.relu(x)
        known_pool = F.max_pool2d(known_axes, 2)
        known_mean = known_pool.mean(3)
        return known_mean

    def rolled(self, x):
        open_rolled = torch.relu(x)
        y = torch.roll(open_rolled, 5, 0)
        return y

    def joined(self, x, tokens):
        B, N, C = tokens.shape
        known_joined = torch.cat([x, tokens], dim=1)
        return known_joined
"""


def test_what_a_later_line_demands_of_a_rank_is_known_before_it(followed: Followed) -> None:
    def use(module: Any) -> None:
        block = module.Block(4)
        image, rows = torch.randn(2, 4, 6, 6), torch.randn(2, 3, 4)
        block.straight(image)
        block.through_a_call(rows)
        for deep in (False, True):
            block.returns_early(rows if deep else image, deep)
            block.in_a_branch(image if deep else rows, deep)
            block.sometimes_evaluated(rows if deep else image, deep)
            block.leaves_a_loop([image] if deep else [image[0, 0]], deep)
        block.caught(rows)
        block.caught_outside(image)
        block.rebound(rows)
        block.carried([image[0, 0], image])
        next(block.a_generator(rows))
        block.by_axes(image)
        block.rolled(torch.randn(3))
        block.joined(rows, torch.randn(2, 1, 4))

    wrong, claims = followed(DEMANDS, use)
    assert wrong == []
    unknown = [name for name in set(_words(DEMANDS, "known_")) if name not in claims or claims[name].shape is None]
    assert unknown == []
    rash = [name for name in set(_words(DEMANDS, "open_")) if name in claims and claims[name].shape is not None]
    assert rash == []


def _words(text: str, start: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word.startswith(start)]
