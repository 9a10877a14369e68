"""Gradients that are on purpose not the derivative, and backwards that only Tensor.backward() can run."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradient checks need torch")
from gradients_planting import vector  # noqa: E402
from torch import nn  # noqa: E402

from pytest_tensorcheck.gradients import Verdict, check_gradients  # noqa: E402

SCORES = torch.randn(12, 2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def ctc(log_probs):
    targets, lengths = torch.tensor([[1, 2, 3], [2, 2, 4]]), (torch.full((2,), 12), torch.full((2,), 3))
    return torch.nn.functional.ctc_loss(log_probs, targets, *lengths)


@pytest.mark.parametrize("exhaustive", [False, True])
def test_ctc_loss_is_checked_together_with_the_log_softmax_whose_gradient_it_returns(exhaustive):
    report = check_gradients(ctc, SCORES.log_softmax(-1), exhaustive=exhaustive)
    assert report.verdict is Verdict.PASSED, str(report)
    assert any("the two were checked together" in note for note in report.notes)
    batch_first = SCORES.log_softmax(-1).permute(1, 2, 0)  # the leaf's own axis of probabilities is another one
    assert check_gradients(lambda x: ctc(x.permute(2, 0, 1)), batch_first).verdict is Verdict.PASSED
    assert not check_gradients(lambda x: ctc(x.log_softmax(-1)), SCORES).notes


def test_ctc_loss_of_what_are_no_log_probabilities_is_explained_and_not_accused():
    report = check_gradients(ctc, SCORES)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "check the two together, lambda x: ctc_loss(x.log_softmax(-1), ...)" in str(report)


def test_a_wrong_gradient_beside_ctc_loss_does_not_pass():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            made = grad.clone()
            made[3, 1, 2] *= 1.1
            return made

    log_probs = SCORES.log_softmax(-1)
    assert check_gradients(lambda x: ctc(Wrong.apply(x)), log_probs).verdict is Verdict.FAILED
    # Here the leaf goes straight into ctc_loss as well.
    assert check_gradients(lambda x: ctc(x) + Wrong.apply(x).sum(), log_probs).verdict is not Verdict.PASSED


def test_rows_kept_away_from_their_gradient_by_padding_idx_are_left_out():
    tokens = torch.tensor([[0, 1, 2], [3, 0, 1]])
    for layer in (nn.Embedding(6, 3, padding_idx=0), nn.EmbeddingBag(6, 3, padding_idx=0)):
        report = check_gradients(layer, tokens, exhaustive=True)
        assert report.verdict is Verdict.PASSED, str(report)
    report = check_gradients(nn.Embedding(6, 3, padding_idx=0), tokens)
    assert "weight[0] not checked: padding_idx keeps the gradient away from it on purpose" in report.notes
    assert not check_gradients(nn.Embedding(6, 3, padding_idx=5), tokens).notes
    assert not check_gradients(nn.Embedding(6, 3), tokens).notes


def test_a_wrong_row_beside_a_padding_row_is_found():
    class Head(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h, w):
            ctx.save_for_backward(h, w)
            return h @ w.T

        @staticmethod
        def backward(ctx, grad):
            h, w = ctx.saved_tensors
            made = grad.flatten(0, 1).T @ h.flatten(0, 1)
            made[4, 1] *= 1.1
            return grad @ w, made

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(6, 3, padding_idx=0)

        def forward(self, tokens):
            return Head.apply(self.table(tokens), self.table.weight)

    torch.manual_seed(0)
    report = check_gradients(Tied(), torch.tensor([[0, 1, 2], [3, 0, 1]]))
    assert [element.name for element in report.elements] == ["table.weight[4, 1]"]


def test_reentrant_checkpoints_which_autograd_grad_cannot_run():
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Dropout(), nn.Tanh(), nn.Linear(6, 2))

    def run(x, factor=1.0):
        return checkpoint(model, x, use_reentrant=True) * factor, x.sum()

    report = check_gradients(run, vector(12).view(3, 4))
    assert report.verdict is Verdict.PASSED, str(report)
    assert report.checked[0] == "x"
    assert "0.weight" in report.checked[1]
    assert all(parameter.grad is None for parameter in model.parameters())
    wrong = check_gradients(lambda x: run(x)[0] * x.detach().sum(), vector(12).view(3, 4))
    assert wrong.kinds == ["wrong-gradient"]


def test_nan_outputs_beside_finite_ones_are_undecided_not_wrong():
    padding = torch.tensor([[False, False, False], [True, True, True]])  # attention over nothing is NaN
    x = vector(24).view(2, 3, 4)
    report = check_gradients(nn.MultiheadAttention(4, 2, batch_first=True), (x, x, x, padding))
    assert report.verdict is Verdict.INCONCLUSIVE, str(report)
    assert "is itself NaN or infinite at this point" in str(report)
