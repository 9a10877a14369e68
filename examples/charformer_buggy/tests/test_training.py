import pytest
import torch

from charformer.training import make_optimizer, train_step


@pytest.fixture
def tiny():
    return torch.nn.Sequential(torch.nn.Embedding(11, 16), torch.nn.Linear(16, 11))


def test_step_does_not_wait_for_the_device(tiny, no_sync, tensor_device):
    model = tiny.to(tensor_device)
    optimizer = make_optimizer(model)
    indices = torch.randint(0, 11, (4, 8), device=tensor_device)
    train_step(model, optimizer, (indices, indices))
    with no_sync():
        train_step(model, optimizer, (indices, indices))
