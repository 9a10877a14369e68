"""The tables against the libraries themselves: a sample of what the scripts in benchmarks/ sweep, with no wrong claim."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch", reason="the tables are compared with torch")
numpy = pytest.importorskip("numpy", reason="the tables are compared with numpy")
pytest.importorskip("expecttest", reason="PyTorch's own operator samples need it")

from ops_fuzz import binaries, getitems  # noqa: E402
from ops_layers import sweep as sweep_layers  # noqa: E402
from ops_numpy import sweep as sweep_numpy  # noqa: E402
from ops_opinfo import database, known, sweep  # noqa: E402
from ops_oracle import Tally  # noqa: E402
from ops_torch import sweep as sweep_torch  # noqa: E402
from ops_views import attentions, einsums, views, views_as_types  # noqa: E402


def _no_wrong_claim(tally: Tally, results: int) -> None:
    assert tally.results >= results, "the oracle compared too little to mean anything"
    assert not tally.wrong, "\n".join(tally.wrong[:20])


@pytest.mark.usefixtures("samples_of_torch")
@pytest.mark.parametrize("part", range(4))
def test_opinfo(part: int) -> None:
    operators = [info for info in database() if known(info)]
    assert len(operators) > 450
    tally = Tally()
    for info in operators[part::4]:
        sweep(info, tally, most=2, modes=(random.Random(info.name).choice(["numbers", "shared", "own"]),))
    _no_wrong_claim(tally, 3_000)
    assert tally.ranks > 0.9 * tally.results
    assert tally.shapes > 0.85 * tally.results
    assert tally.strides > 0.6 * tally.results


@pytest.mark.parametrize("library", [torch, numpy], ids=["torch", "numpy"])
@pytest.mark.parametrize("seed", [11, 12])
def test_getitem(library: object, seed: int) -> None:
    _no_wrong_claim(getitems(seed, 2_000, library), 4_000)


@pytest.mark.parametrize("library", [torch, numpy], ids=["torch", "numpy"])
@pytest.mark.parametrize("seed", [21, 22])
def test_operators(library: object, seed: int) -> None:
    tally = binaries(seed, 2_000, library)
    _no_wrong_claim(tally, 3_000)
    assert tally.dtypes > 0.98 * tally.results


def test_layers() -> None:
    tally = Tally()
    for seed in (31, 32):
        part = sweep_layers(seed)
        tally.results += part.results
        tally.shapes += part.shapes
        tally.wrong += part.wrong
    _no_wrong_claim(tally, 2_500)
    assert tally.shapes > 0.95 * tally.results


def test_chains_of_views() -> None:
    tally = views(61, 1_000)
    _no_wrong_claim(tally, 4_000)
    assert tally.shapes > 0.98 * tally.results
    assert tally.strides > 0.8 * tally.results


@pytest.mark.parametrize("library", [torch, numpy], ids=["torch", "numpy"])
def test_views_as_another_type(library: object) -> None:
    _no_wrong_claim(views_as_types(111, 1_000, library), 1_000)


def test_einsum() -> None:
    _no_wrong_claim(einsums(71, 800), 2_000)


def test_attention() -> None:
    tally = attentions(81, 400)
    on_cpu = torch.get_default_device().type == "cpu"
    _no_wrong_claim(tally, 1_000 if on_cpu else 100)
    assert not on_cpu or tally.strides > 0.5 * tally.results


def test_numpy_functions() -> None:
    tally, accepted = sweep_numpy(41, 40)
    _no_wrong_claim(tally, 5_000)
    assert len(accepted) > 380


def test_torch_functions() -> None:
    tally, accepted = sweep_torch(91, 12)
    _no_wrong_claim(tally, 8_000)
    assert len(accepted) > 600
    assert tally.shapes > 0.9 * tally.results


def test_einops() -> None:
    pytest.importorskip("einops", reason="the patterns are compared with einops")
    from ops_einops import sweep as sweep_einops

    tally = sweep_einops(51, 1_000)
    _no_wrong_claim(tally, 2_000)
    assert tally.shapes == tally.results
