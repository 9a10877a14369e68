import numpy as np
import pytest
import torch

from charformer.functions import squared_relu
from charformer.model import Charformer, Config, SurpriseHead, loss_of, surprise_loss

CONFIG = Config(vocabulary=11, context=8, width=16, heads=4, layers=2, dropout=0.0)


def test_logits_have_a_row_for_each_character(assert_shape):
    indices = torch.randint(0, 11, (3, 8))
    logits = Charformer(CONFIG)(indices)
    assert_shape(indices, "batch time", logits, "batch time 11")


def test_half_precision_is_the_default_from_here_on():
    torch.set_default_dtype(torch.float16)
    assert torch.zeros(1).dtype == torch.float16


def test_loss_is_a_number():
    assert loss_of(torch.randn(2, 8, 11), torch.randint(0, 11, (2, 8))).isfinite()


def test_surprise_is_learnable(assert_shape):
    loss = surprise_loss(SurpriseHead(CONFIG), torch.randn(4, 8, 16))
    assert_shape(loss, "")


def test_sampling_is_fair():
    draws = np.random.default_rng().integers(0, 2, 20)
    assert 4 <= draws.sum() <= 16


def test_gradient_of_squared_relu(gradcheck):
    assert gradcheck(squared_relu, torch.randn(5, 7))


@pytest.mark.tensorcheck(broadcast="error")
def test_surprise_compares_each_text_with_itself():
    surprise_loss(SurpriseHead(CONFIG), torch.randn(4, 8, 16))
