"""The training step, the loop around it, evaluation, and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn

from charformer.model import Charformer, Config, loss_of

Batch = tuple[Tensor, Tensor]


def make_optimizer(model: nn.Module, rate: float = 3e-3) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> Tensor:
    """One step on a batch of (inputs, targets), both (batch, time). Returns the loss as a tensor on the device, so
    that nothing waits for it here."""
    inputs, targets = batch
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of(model(inputs), targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[Batch],
    *,
    device: str = "cpu",
    every: int = 50,
) -> list[float]:
    """Train on all batches. Returns the losses, read from the device once every `every` steps."""
    model.train()
    losses: list[Tensor] = []
    log: list[float] = []
    for step, (inputs, targets) in enumerate(batches, 1):
        batch = inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)
        losses.append(train_step(model, optimizer, batch))
        if step % every == 0:
            log += torch.stack(losses).tolist()
            losses.clear()
    if losses:
        log += torch.stack(losses).tolist()
    return log


@torch.no_grad()
def evaluate(model: nn.Module, batches: Iterable[Batch], *, device: str = "cpu") -> float:
    """The mean loss over the batches."""
    model.eval()
    losses = [loss_of(model(inputs.to(device)), targets.to(device)) for inputs, targets in batches]
    return torch.stack(losses).mean().item()


def save_checkpoint(path: Path, model: Charformer, optimizer: torch.optim.Optimizer) -> None:
    torch.save({"config": vars(model.config), "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def load_checkpoint(path: Path) -> tuple[Charformer, torch.optim.AdamW]:
    """The model and its optimizer as they were saved."""
    saved = torch.load(path, weights_only=True)
    model = Charformer(Config(**saved["config"]))
    model.load_state_dict(saved["model"])
    optimizer = make_optimizer(model)
    optimizer.load_state_dict(saved["optimizer"])
    return model, optimizer
