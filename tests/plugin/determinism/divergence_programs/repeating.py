"""Programs that repeat themselves, though they look as if they might not."""

from __future__ import annotations

import copy
import functools
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from divergence_programs import clean


@clean
def training_with_dropout():
    def run():
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return model

    return run


@clean
def batch_norm_of_a_captured_model_in_training():
    norm = nn.BatchNorm1d(3)

    def run():
        return norm(torch.randn(6, 3))

    return run


@clean
def lstm_and_attention():
    def run():
        lstm = nn.LSTM(4, 6, num_layers=2, dropout=0.2)
        attention = nn.MultiheadAttention(6, 2, batch_first=True)
        hidden, _ = lstm(torch.randn(5, 2, 4))
        out, weights = attention(hidden, hidden, hidden)
        (out.sum() + weights.square().sum()).backward()
        return [p.grad for p in (*lstm.parameters(), *attention.parameters())]

    return run


@clean
def buffer_of_empty_filled_row_by_row():
    def run():
        buffer = torch.empty(4, 3)
        for row in range(4):
            buffer[row] = torch.arange(3.0) * row
        return buffer.sum(0)

    return run


@clean
def only_the_written_part_is_read():
    def run():
        cache = torch.empty(16, 4)
        for step in range(6):
            cache[step] = float(step)
        return cache[:6].mean(0)

    return run


@clean
def garbage_is_masked():
    def run():
        scores = torch.empty(8)
        scores[:5] = torch.arange(5.0)
        masked = torch.where(torch.arange(8) < 5, scores, torch.tensor(float("-inf")))
        return masked.softmax(0)

    return run


@clean
def cache_filled_by_the_first_run():
    @functools.cache
    def rotary(length):
        angles = torch.outer(torch.arange(float(length)), 1.0 / 10 ** (torch.arange(0, 4, 2) / 4))
        return angles.cos(), angles.sin()

    def run():
        cos, sin = rotary(6)
        x = torch.randn(6, 2)
        return x * cos + x.flip(1) * sin

    return run


@clean
def module_that_builds_a_mask_once():
    class Causal(nn.Module):
        mask = None

        def forward(self, x):
            if self.mask is None:
                self.mask = torch.full((x.shape[-1],) * 2, float("-inf")).triu(1)
            return (x @ x.mT + self.mask).softmax(-1)

    causal = Causal()

    def run():
        return causal(torch.randn(2, 5, 5)).sum(0)

    return run


@clean
def generators_seeded_inside():
    def run():
        generator = torch.Generator().manual_seed(3)
        rng = np.random.default_rng(3)
        shuffler = random.Random(3)
        order = list(range(8))
        shuffler.shuffle(order)
        x = torch.from_numpy(rng.normal(size=8)) + torch.rand(8, generator=generator)
        return x[torch.tensor(order)]

    return run


@clean
def global_generators():
    def run():
        return torch.tensor([random.random(), np.random.rand(), float(torch.rand(()))]) * random.choice([1, 2, 3])

    return run


class _Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor([float(index**2)]) + torch.rand(1) + float(np.random.rand()) + random.random()


@clean
def workers_with_global_generators():
    def run():
        loader = torch.utils.data.DataLoader(_Squares(), batch_size=4, num_workers=1, shuffle=True)
        return torch.cat(list(loader))

    return run


@clean
def in_place_views_and_scatter():
    def run():
        x = torch.randn(6, 6)
        x[::2].mul_(3)
        x.t()[1] += 1
        x.scatter_add_(1, torch.randint(0, 6, (6, 6)), torch.ones(6, 6))
        x.index_add_(0, torch.tensor([0, 0, 5]), torch.randn(3, 6))
        return x.diagonal().clone(), x.unique(), x.sort().indices, x.topk(2).values

    return run


@clean
def recomputed_in_backward():
    def run():
        block = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.GELU())
        x = torch.randn(3, 4, requires_grad=True)
        checkpoint(block, x, use_reentrant=False).sum().backward()
        return x.grad

    return run


@clean
def compiled_with_the_eager_backend():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    compiled = torch.compile(model, backend="eager")

    def run():
        return compiled(torch.randn(2, 4))

    return run


@clean
def functional_transforms():
    def run():
        weight, x = torch.randn(3, 3), torch.randn(5, 3)

        def loss(w, row):
            return torch.tanh(w @ row).sum()

        per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weight, x)
        return per_sample, torch.func.jacrev(lambda w: (w @ x.T).sum(0))(weight)

    return run


@clean
def sparse_complex_and_half():
    def run():
        sparse = torch.randn(4, 4).relu().to_sparse()
        spectrum = torch.fft.rfft(torch.randn(16))
        half = torch.randn(4, 4).bfloat16()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            product = half.float() @ torch.randn(4, 4)
        return (sparse @ torch.ones(4, 1)), spectrum.conj() * spectrum, product.float(), half.sum()

    return run


@clean
def nan_and_infinity():
    def run():
        x = torch.tensor([float("nan"), float("inf"), 1.0, -0.0])
        y = x * 0 + torch.log(torch.tensor(-1.0))
        return y, x.nansum(), x.item() if x.numel() == 1 else torch.isnan(x)

    return run


@clean
def time_only_printed():
    def run():
        start = time.perf_counter()
        x = torch.randn(4).sum()
        text = f"{time.perf_counter() - start:.6f}"
        assert text
        return x

    return run


@clean
def sorted_set():
    def run():
        weights = {name: torch.randn(2) for name in ("a", "b", "c", "d")}
        return torch.stack([weights[name] for name in sorted(set(weights))])

    return run


@clean
def frozen_model_from_outside():
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)).eval()
    x = torch.randn(2, 1, 6, 6)

    def run():
        with torch.inference_mode():
            return model(x).softmax(-1)

    return run


@clean
def copy_of_a_captured_model_trained():
    base = nn.Linear(3, 1)

    def run():
        model = copy.deepcopy(base)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(5, 3)).pow(2).mean().backward()
            optimizer.step()
            schedule.step()
        return model.state_dict()

    return run


@clean
def sampling_loop():
    def run():
        table = torch.randn(12, 12)
        token, text = torch.tensor([0]), []
        for _ in range(10):
            token = torch.multinomial(table[token[-1]].softmax(0), 1)
            text.append(int(token))
            if text[-1] == 7:
                break
        return text

    return run


@clean
def embedding_and_loss():
    def run():
        embedding = nn.Embedding(10, 4, padding_idx=0)
        head = nn.utils.parametrizations.weight_norm(nn.Linear(4, 10))
        tokens = torch.randint(0, 10, (3, 7))
        loss = F.cross_entropy(head(embedding(tokens)).flatten(0, 1), tokens.flatten())
        loss.backward()
        return loss, embedding.weight.grad

    return run


@clean
def gradients_zeroed_in_place():
    weight = torch.ones(4, requires_grad=True)
    weight.grad = torch.zeros(4)

    def run():
        weight.grad.zero_()
        (weight * 3).sum().backward()
        return weight.grad.clone()

    return run


@clean
def out_argument_reused():
    out = torch.zeros(3, 3)

    def run():
        torch.mm(torch.ones(3, 2), torch.full((2, 3), 2.0), out=out)
        return out.sum()

    return run


@clean
def workspace_overwritten_every_time():
    workspace = torch.zeros(100)

    def run():
        workspace.copy_(torch.arange(100.0))
        workspace.mul_(2)
        return workspace.sum()

    return run


@clean
def double_backward():
    def run():
        x = torch.randn(4, requires_grad=True)
        (grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.sum(), x)
        return second

    return run


@clean
def lazy_module_made_inside():
    def run():
        model = nn.Sequential(nn.LazyLinear(5), nn.LayerNorm(5), nn.LazyLinear(2))
        return model(torch.randn(3, 4))

    return run
