import itertools

import pytest
import torch

from charformer.data import Vocabulary, Windows, loaders
from charformer.model import Charformer, Config
from charformer.training import evaluate, load_checkpoint, make_optimizer, save_checkpoint, train, train_step


@pytest.fixture
def small():
    vocabulary, training, evaluation = loaders(
        context=8, batch_size=4, text="to be or not to be, that is the question. " * 8
    )
    model = Charformer(Config(len(vocabulary), context=8, width=16, heads=2, layers=1))
    return model, training, evaluation


def test_vocabulary_round_trip():
    vocabulary = Vocabulary("hello world")
    assert vocabulary.decode(vocabulary.encode("hello")) == "hello"


def test_targets_are_the_next_characters():
    inputs, targets = Windows(torch.arange(10), context=4)[3]
    assert inputs.tolist() == [3, 4, 5, 6]
    assert targets.tolist() == [4, 5, 6, 7]


def test_loss_goes_down(small):
    model, training, _ = small
    log = train(model, make_optimizer(model), itertools.islice(itertools.cycle(training), 60))
    assert sum(log[-10:]) < 0.8 * sum(log[:10])


def test_step_does_not_wait_for_the_device(small, no_sync, tensor_device):
    model, training, _ = small
    model = model.to(tensor_device)
    optimizer = make_optimizer(model)
    batch = tuple(tensor.to(tensor_device) for tensor in next(iter(training)))
    train_step(model, optimizer, batch)  # the optimizer makes its state in the first step
    with no_sync():
        train_step(model, optimizer, batch)


def test_step_is_repeatable(small, deterministic):
    model, training, _ = small
    batch = next(iter(training))

    def step():
        torch.manual_seed(0)
        fresh = Charformer(model.config)
        return train_step(fresh, make_optimizer(fresh), batch)

    assert deterministic(step).isfinite()


def test_evaluation_is_a_mean(small):
    model, _, evaluation = small
    assert evaluate(model, evaluation) > 0


def test_checkpoint_continues_as_if_nothing_had_happened(small, tmp_path):
    model, training, _ = small
    optimizer = make_optimizer(model)
    batch = next(iter(training))
    model.eval()  # no dropout, so that both continue alike
    train_step(model, optimizer, batch)
    save_checkpoint(tmp_path / "checkpoint.pt", model, optimizer)
    loaded, loaded_optimizer = load_checkpoint(tmp_path / "checkpoint.pt")
    loaded.eval()
    expected = train_step(model, optimizer, batch)
    assert train_step(loaded, loaded_optimizer, batch) == expected
