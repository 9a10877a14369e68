"""What is said of the result of a layer of torch.nn, whatever its options and its input's layout: torch is the oracle."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is the oracle")

from layer_generator import make  # noqa: E402

from tensorlint.inference.analysis import analyse  # noqa: E402

HEAD = "import torch\nfrom torch import nn\n"


def run(seeds: range) -> tuple[str, dict[str, tuple[str, Any]]]:
    """A program that calls each layer that torch does not refuse, and what it holds then."""
    program, results = HEAD, {}
    for seed in seeds:
        x, layer, call = make(seed)
        text = f"x = {x}\nm = {layer}{'.eval()' if seed % 2 else ''}\ny{seed} = {call}\n"
        scope = {"torch": torch, "nn": torch.nn}
        try:
            exec(text, scope)
        except Exception:  # torch refuses it
            continue
        program += text
        results[f"y{seed}"] = text, scope[f"y{seed}"]
    return program, results


@pytest.mark.parametrize("first", range(0, 6_000, 1_000))
def test_the_results_of_random_layers(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program, results = run(range(first, first + 1_000))
        rows = {row.name: row for row in analyse(ast.parse(program), program).bindings}
    wrong, shapes, strides = [], 0, 0
    for name, (text, value) in results.items():
        row = rows[name]
        shapes += row.shape is not None and "?" not in row.shape
        strides += row.strides is not None
        rank = row.shape is None or len(row.shape) == value.dim()
        sizes = row.shape is None or all(
            said in ("?", real) for said, real in zip(row.shape, value.shape, strict=False)
        )
        layout = row.strides in (None, value.stride()) and row.contiguous in (None, value.is_contiguous())
        if not (rank and sizes and layout and row.dtype in (None, str(value.dtype)[6:])):
            wrong.append((text, row, tuple(value.shape), value.stride()))
    assert wrong == []
    assert len(results) > 600
    assert shapes > 0.97 * len(results)
    assert strides > 0.75 * len(results)


def test_every_layer_of_the_generator_runs() -> None:
    """A spelling that torch always refuses would be tested by nothing."""
    drawn, ran = set(), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(1_500):
            x, layer, call = make(seed)
            kind = layer.partition("(")[0]
            drawn.add(kind)
            if kind not in ran:
                try:
                    exec(f"x = {x}\nm = {layer}\ny = {call}\n", {"torch": torch, "nn": torch.nn})
                except Exception:  # torch refuses this one
                    continue
                ran.add(kind)
    assert drawn == ran
    assert len(ran) > 30
