"""Where NaN and Inf begin; float16 that loses numbers; and the many programs in which nothing is wrong."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from pytest_tensorcheck.numerics import NonfiniteError, no_nonfinite, observe  # noqa: E402
from pytest_tensorcheck.observations import TensorcheckFailure  # noqa: E402

nn, F = torch.nn, torch.nn.functional


def here(offset=0):
    return f"test_numerics_watch.py:{sys._getframe(1).f_lineno + offset}"


def log_of_zero():
    return torch.log(torch.tensor([1.0, 0.0, 2.0])).sum() * 2


def division():
    return torch.ones(3) / torch.zeros(3)


def zero_by_zero():
    return torch.zeros(3) / torch.zeros(3)


def square_root():
    return torch.sqrt(torch.tensor([-1.0]))


def in_place():
    x = torch.ones(3)
    x.div_(torch.zeros(3))
    return x.add_(1)


def in_place_unary():
    return torch.tensor([0.5, -1.0]).log_()


def overflow():
    return torch.exp(torch.tensor([1000.0]))


def fully_masked_softmax():
    return torch.rand(2, 4).masked_fill(torch.ones(2, 4).bool(), float("-inf")).softmax(-1)


def inside_a_composite():
    return F.normalize(torch.zeros(2, 3), eps=0.0)


def foreach():
    return torch._foreach_div([torch.ones(2)], [torch.zeros(2)])


def a_complex_number():
    return torch.tensor([1 + 1j]) / torch.tensor([0j])


def half_matmul_under_autocast():
    with torch.autocast("cpu", dtype=torch.float16):
        return torch.full((8, 8), 300.0) @ torch.full((8, 8), 300.0)


def half_cast():
    return torch.full((4,), 1e6).half()


BEGINNINGS = {
    log_of_zero: ("inf", "log made Inf in 1 of 3 elements out of finite operands"),
    division: ("inf", "div made Inf in 3 of 3"),
    zero_by_zero: ("nan", "div made NaN in 3 of 3"),
    square_root: ("nan", "sqrt made NaN in 1 of 1"),
    in_place: ("inf", "div_ made Inf in 3 of 3"),
    in_place_unary: ("nan", "log_ made NaN in 1 of 2"),
    overflow: ("inf", "exp made Inf in 1 of 1"),
    fully_masked_softmax: ("nan", "softmax made NaN in 8 of 8 elements out of operands with Inf but without NaN"),
    inside_a_composite: ("nan", "div made NaN in 6 of 6"),
    foreach: ("inf", "_foreach_div made Inf in 2 of 2"),
    a_complex_number: ("inf", "div made Inf"),
    half_matmul_under_autocast: ("overflow", "overflowed float16: 64 of 64 elements are above 65504"),
    half_cast: ("overflow", "the cast overflowed float16"),
}


@pytest.mark.parametrize("program", BEGINNINGS, ids=lambda each: each.__name__)
def test_the_first_bad_operation_is_told_once(program):
    kind, said = BEGINNINGS[program]
    with observe() as seen:
        result = program()
    first = result[0] if isinstance(result, (tuple, list)) else result
    assert not torch.isfinite(first).all()
    assert [each.facts["kind"] for each in seen] == [kind], [each.detail for each in seen]
    assert said in seen[0].message
    assert seen[0].where.function == program.__name__
    with pytest.raises(NonfiniteError) as caught, no_nonfinite():
        program()
    assert said in str(caught.value)


def test_the_text_shows_the_line_the_element_and_the_operands():
    with pytest.raises(TensorcheckFailure) as caught, no_nonfinite():
        x = torch.tensor([[1.0, 4.0], [0.0, 2.0]])
        torch.reciprocal(x)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(f"{here(-2)}: reciprocal made Inf in 1 of 4 elements out of finite operands")
    assert lines[1].strip() == "torch.reciprocal(x)"
    assert lines[2].strip() == "first at [1, 0], from 0"
    assert lines[3].strip() == "operand (2, 2) float32, from 0 to 4"


def test_backward_names_the_forward_line():
    with observe() as seen:
        x = torch.zeros(3, requires_grad=True)
        y = (x**2).sum().sqrt()  # its backward makes Inf, and NaN out of that one step later
        made = here(-1)
        (y + 1).backward()
    assert len(seen) == 1, [each.detail for each in seen]
    assert seen[0].message.startswith("in backward of Sqrt, div made Inf")
    assert str(seen[0].where).endswith(made)
    assert f"backward called at {seen[0].where.shown_file}" in seen[0].detail
    assert seen[0].facts["backward"] is True


def test_backward_of_a_guarded_forward():
    """`torch.where` hides the forward's NaN and not the backward's: the known trap."""
    with observe() as seen:
        x = torch.zeros(3, requires_grad=True)
        torch.where(x > 0, x.sqrt(), torch.zeros(3)).sum().backward()
    assert torch.isnan(x.grad).all()
    assert [each.facts["backward"] for each in seen] == [True]


AT_ZERO = [
    *(lambda x, p=p: torch.linalg.vector_norm(x, p) for p in (0.5, 1, 2, 3, float("inf"))),
    torch.norm,
    torch.std,
    lambda x: x.view(2, 3).std(0),
    torch.var,
    torch.prod,
    lambda x: x.cumprod(0),
    lambda x: F.normalize(x.view(2, 3)),
    lambda x: F.normalize(x, dim=0),
    lambda x: F.pairwise_distance(x, x.detach()),
    lambda x: F.pairwise_distance(x, x.detach(), eps=0.0),
    lambda x: torch.cdist(x.view(2, 3), x.detach().view(2, 3)),
    lambda x: F.cosine_similarity(x, torch.ones(6), dim=0),
    lambda x: torch.atan2(x, x),
    lambda x: torch.hypot(x, x),
    lambda x: torch.zeros(6) ** (x + 1),
    lambda x: torch.zeros(6) ** x,
    lambda x: x**0.5,
    lambda x: x**0,
    lambda x: torch.xlogy(x, x),
    torch.sinc,
    torch.sqrt,
    torch.rsqrt,
    torch.log,
    torch.reciprocal,
    lambda x: torch.logsumexp(torch.where(torch.arange(6) > 2, x, float("-inf")), 0),
    lambda x: torch.acos(x + 1),
    lambda x: torch.where(x > 0, 1 / x, 0.0),
    lambda x: torch.linalg.matrix_norm(x.view(2, 3)),
    lambda x: torch.linalg.matrix_norm(x.view(2, 3), "nuc"),
    lambda x: nn.functional.layer_norm(x, (6,), eps=0.0),
    lambda x: torch.special.entr(x),
    lambda x: torch.erfinv(x + 1),
]


@pytest.mark.parametrize("function", AT_ZERO, ids=range(len(AT_ZERO)))
@pytest.mark.parametrize("way", ["backward", "grad", "raises"])
def test_what_a_formula_of_torchs_masks_before_it_is_a_gradient_is_no_finding(function, way):
    """`norm` divides by its zero and fills zeros in: nothing bad leaves it. Told exactly where a gradient or a result is bad."""

    def run(x):
        y = function(x)
        if way == "backward":
            y.sum().backward()
            return y, x.grad
        return y, *torch.autograd.grad(y.sum(), x)

    bad = not all(bool(torch.isfinite(each).all()) for each in run(torch.zeros(6, requires_grad=True)))
    x = torch.zeros(6, requires_grad=True)
    if way == "raises":
        with pytest.raises(NonfiniteError) if bad else nullcontext(), no_nonfinite():
            run(x)
    else:
        with observe() as seen:
            run(x)
        assert bool(seen) == bad, [each.detail for each in seen]


def test_underflow_is_told_when_half_of_the_numbers_are_lost():
    with observe() as seen:
        torch.full((8,), 1e-9).half()
    assert seen[0].message == "the cast underflowed float16: 8 of 8 numbers became zero"
    assert "GradScaler" in seen[0].detail
    with observe() as seen:
        torch.tensor([1.0, 1.0, 1.0, 1e-9, 0.0]).half()
        torch.zeros(8).half()
        torch.full((8,), 1e-9).bfloat16()
        torch.full((8,), 1e-3).half() * 2
    assert not seen, seen[0].detail
    with observe() as seen:
        torch.full((8,), 1e-4).half() * torch.full((8,), 1e-4).half()
    assert [each.facts["kind"] for each in seen] == ["underflow"]


def test_gradients_that_vanish_under_autocast():
    with observe() as seen:
        w = torch.full((4, 4), 1e-3, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.float16):
            y = torch.full((4, 4), 1e-3) @ w
        (y.float() * 1e-9).sum().backward()
    assert any(each.facts["kind"] == "underflow" for each in seen)


def fine_masks():
    scores, mask = torch.rand(2, 4, 4), torch.ones(4, 4).triu(1).bool()
    scores.masked_fill(mask, float("-inf")).softmax(-1).sum()
    torch.full((3, 3), float("-inf")).triu(1) + torch.zeros(3, 3)
    q = torch.rand(1, 2, 4, 8)
    F.scaled_dot_product_attention(q, q, q, is_causal=True)
    F.scaled_dot_product_attention(q, q, q, attn_mask=~mask)
    nn.Transformer.generate_square_subsequent_mask(4)
    torch.where(mask, float("-inf"), torch.zeros(4, 4)).logsumexp(1)
    torch.rand(3).new_full((2,), float("nan")).nan_to_num()
    torch.zeros(3).fill_(float("inf"))
    x = torch.zeros(3)
    x[0] = float("nan")
    x.nan_to_num_()


def fine_training():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(), nn.LayerNorm(8), nn.Linear(8, 1))
    for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad):
        optimizer = kind(model.parameters(), lr=0.01)
        for _ in range(2):
            loss = F.mse_loss(model(torch.rand(5, 4)), torch.rand(5, 1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


def fine_memory():
    torch.empty(1000) * 1
    torch.empty(1000).fill_(1.0) + torch.empty_like(torch.rand(5)).zero_().sum()
    out = torch.empty(3)
    torch.add(torch.ones(3), torch.ones(3), out=out)
    torch.empty(5).normal_().uniform_().copy_(torch.rand(5)).add_(1)


def fine_layers():
    nn.GRU(3, 4)(torch.rand(5, 2, 3))
    nn.MultiheadAttention(4, 2)(torch.rand(3, 1, 4), torch.rand(3, 1, 4), torch.rand(3, 1, 4))
    nn.TransformerEncoderLayer(4, 2, 8)(torch.rand(3, 2, 4), src_mask=torch.full((3, 3), float("-inf")).triu(1))
    nn.MaxPool2d(3, padding=1)(torch.rand(1, 1, 5, 5))
    nn.CTCLoss()(
        torch.rand(5, 2, 3).log_softmax(2), torch.ones(2, 2).long(), torch.tensor([5, 5]), torch.tensor([2, 2])
    )
    F.cross_entropy(torch.rand(4, 3), torch.tensor([0, 1, -100, 2]))
    torch.cummax(torch.rand(4), 0)
    torch.linalg.svd(torch.rand(3, 3))
    torch.distributions.Categorical(logits=torch.rand(3)).entropy()
    torch.distributions.Normal(0.0, 1.0).log_prob(torch.rand(3))


def fine_data_that_was_bad_before():
    bad = torch.tensor([float("nan"), float("inf")])
    bad * 2 + 1
    bad[1:] - 3
    torch.isfinite(bad).sum()
    bad.sub_(1)


def fine_other_tensors():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.eye(3).to_sparse() * 2
        nested = torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(4, 3)])
        nested * 2
    torch.rand(3, device="meta") / 0
    torch.ones(3, dtype=torch.long) // 2
    torch.ones(0).sum()
    torch.func.vmap(lambda a: a * 2)(torch.rand(3, 2))
    torch.func.grad(lambda a: (a**2).sum())(torch.rand(3))


@pytest.mark.parametrize(
    "program",
    [fine_masks, fine_training, fine_memory, fine_layers, fine_data_that_was_bad_before, fine_other_tensors],
    ids=lambda each: each.__name__,
)
def test_correct_programs_are_silent(program):
    torch.manual_seed(0)
    with observe() as seen:
        program()
    assert not seen, "false alarm: " + seen[0].detail


def test_a_line_is_told_once_and_another_line_again():
    with observe() as seen:
        for _ in range(3):
            torch.ones(2) / torch.zeros(2)
        torch.ones(2) / torch.zeros(2)
    assert len(seen) == 2


def test_results_and_random_numbers_are_untouched_and_nothing_is_left():
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    def work():
        torch.manual_seed(0)
        x = torch.rand(4, 3, requires_grad=True)
        y = F.dropout(x.exp(), 0.5).log1p().sum()
        y.backward()
        return y.item(), x.grad.tolist(), torch.rand(2).tolist()

    plain = work()
    with observe():
        assert work() == plain
    assert _get_current_dispatch_mode() is None
    with pytest.raises(ZeroDivisionError), no_nonfinite():
        1 / 0
    assert _get_current_dispatch_mode() is None
