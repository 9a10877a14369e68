import pytest
import torch

from charformer.functions import squared_relu
from charformer.model import CausalSelfAttention, Charformer, Config, loss_of

CONFIG = Config(vocabulary=11, context=8, width=16, heads=4, layers=2, dropout=0.0)


@pytest.fixture
def model():
    return Charformer(CONFIG).eval()


def test_logits_have_a_row_for_each_character(model, assert_shape):
    indices = torch.randint(0, 11, (3, 8))
    logits = model(indices)
    assert_shape(indices, "batch time", logits, "batch time 11")


def test_attention_keeps_the_shape(assert_shape):
    x = torch.randn(2, 5, 16)
    y = CausalSelfAttention(CONFIG)(x)
    assert_shape(x, "batch time width", y, "batch time width")


def test_attention_does_not_look_ahead(model):
    indices = torch.randint(0, 11, (1, 8))
    changed = indices.clone()
    changed[0, -1] = (changed[0, -1] + 1) % 11
    torch.testing.assert_close(model(indices)[:, :-1], model(changed)[:, :-1])


def test_loss_of_certain_predictions_is_small():
    targets = torch.randint(0, 11, (2, 8))
    logits = 50.0 * torch.nn.functional.one_hot(targets, 11).float()
    assert loss_of(logits, targets) < 1e-6


def test_generate_appends(model, assert_shape):
    assert_shape(model.generate(torch.zeros(2, 1, dtype=torch.long), 5), "2 6")


def test_gradient_of_squared_relu(gradcheck):
    assert gradcheck(squared_relu, torch.randn(5, 7))


def test_gradients_of_attention(gradcheck):
    assert gradcheck(CausalSelfAttention(CONFIG).eval(), torch.randn(2, 4, 16))
