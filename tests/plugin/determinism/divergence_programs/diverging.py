"""Programs that do not repeat themselves, one cause each."""

from __future__ import annotations

import itertools
import os
import random
import secrets
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime
from time import perf_counter_ns as now

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from divergence_programs import planted

KERNEL, GENERATOR, CARRIED = "KERNEL", "GENERATOR", "CARRIED_GENERATOR"
PYTHON, ORDER, EMPTY, CHANGED = "PYTHON", "ORDER", "UNINITIALISED", "CHANGED"
THREADS, WORKERS = "THREADS", "WORKERS"
SENTENCE = ["the", "lazy", "fox", "rains", "over", "a", "dog"]


# -- kernels


@planted(KERNEL, heavy=True)
def accumulating_index_put():
    def run():
        total = torch.zeros(1000)
        index = torch.randint(0, 1000, (2_000_000,))
        values = torch.randn(2_000_000)
        total.index_put_((index,), values, accumulate=True)  # DIVERGES
        return total

    return run


@planted(KERNEL, heavy=True)
def backward_of_advanced_indexing():
    def run():
        table = torch.randn(1000, requires_grad=True)
        index = torch.randint(0, 1000, (2_000_000,))
        picked = table[index]  # DIVERGES
        (picked * torch.randn(2_000_000)).sum().backward()
        return table.grad

    return run


@planted(KERNEL, heavy=True)
def accumulating_put():
    def run():
        total = torch.zeros(500)
        index = torch.randint(0, 500, (2_000_000,))
        total.put_(index, torch.randn(2_000_000), accumulate=True)  # DIVERGES
        return total.mean()

    return run


@torch.library.custom_op("tensorcheck_programs::entropy", mutates_args=())
def entropy(x: torch.Tensor) -> torch.Tensor:
    return x + float(int.from_bytes(os.urandom(4), "little")) / 2**32


@planted(KERNEL)
def custom_operator_with_entropy():
    def run():
        x = torch.linspace(0, 1, 50)
        y = x.exp()
        z = torch.ops.tensorcheck_programs.entropy(y)  # DIVERGES
        return z.sum()

    return run


@planted(KERNEL)
def noise_only_in_backward():
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return torch.ops.tensorcheck_programs.entropy(grad)  # DIVERGES

    def run():
        weight = torch.ones(8, requires_grad=True)
        Noisy.apply(weight).sum().backward()
        return weight.grad

    return run


@planted(KERNEL, heavy=True)
def embedding_by_indexing_in_a_model():
    class Lookup(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.randn(64, 8))

        def forward(self, tokens):
            return self.table[tokens]  # DIVERGES

    def run():
        model = Lookup()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        loss = (model(torch.randint(0, 64, (300_000,))) * torch.randn(300_000, 8)).sum()
        loss.backward()
        optimizer.step()
        return model.table.detach().sum()

    return run


# -- generators


@planted(GENERATOR)
def unseeded_default_rng():
    def run():
        rng = np.random.default_rng()  # ORIGIN
        noise = rng.normal(size=16)
        x = torch.from_numpy(noise)  # DIVERGES
        return (x * 2).sum()

    return run


@planted(CARRIED)
def rng_made_outside():
    rng = np.random.default_rng(7)

    def run():
        batch = rng.standard_normal((4, 3))  # ORIGIN
        x = torch.tensor(batch, dtype=torch.float32)  # DIVERGES
        return x.mean()

    return run


@planted(GENERATOR)
def torch_generator_seeded_by_the_system():
    def run():
        generator = torch.Generator()
        generator.seed()  # ORIGIN
        weight = torch.zeros(5, 5)
        return torch.rand(3, generator=generator) + weight.sum()  # DIVERGES

    return run


@planted(CARRIED)
def torch_generator_made_outside():
    generator = torch.Generator().manual_seed(1)

    def run():
        x = torch.ones(6)
        keep = torch.bernoulli(torch.full((6,), 0.5), generator=generator)  # DIVERGES
        return x * keep

    return run


@planted(GENERATOR)
def global_seed_from_the_system():
    def run():
        torch.seed()  # ORIGIN
        model = nn.Linear(3, 3)  # DIVERGES
        return model(torch.ones(3))

    return run


@planted(GENERATOR)
def system_random_scale():
    def run():
        dice = random.SystemRandom()
        x = torch.arange(6.0)
        y = x.sin()
        return (y * dice.random()).sum()  # DIVERGES # ORIGIN

    return run


@planted(GENERATOR)
def urandom_bytes_as_noise():
    def run():
        raw = bytearray(os.urandom(64))  # ORIGIN
        noise = torch.frombuffer(raw, dtype=torch.uint8)
        x = noise.float() / 255  # DIVERGES
        return x.mean()

    return run


@planted(GENERATOR)
def unseeded_shuffle_of_indices():
    def run():
        order = list(range(32))
        shuffler = random.Random()  # ORIGIN
        shuffler.shuffle(order)
        data = torch.randn(32, 4)
        index = torch.tensor(order)  # DIVERGES
        return data[index][:8].sum()

    return run


@planted(GENERATOR)
def numpy_reseeded_by_the_system():
    def run():
        np.random.seed()  # ORIGIN
        x = np.random.rand(8)
        return torch.as_tensor(x).sum()  # DIVERGES

    return run


@planted(GENERATOR)
def uuid_as_seed():
    def run():
        torch.manual_seed(uuid.uuid4().int % 2**32)  # ORIGIN
        return torch.randperm(50)[:5]  # DIVERGES

    return run


@planted(GENERATOR)
def secret_choice_of_a_row():
    def run():
        table = torch.arange(40.0).view(20, 2)
        row = secrets.randbelow(10**9)  # ORIGIN
        return table[0] + row  # DIVERGES

    return run


@planted(GENERATOR)
def augmentation_with_its_own_rng():
    class Jitter:
        def __init__(self):
            self.rng = np.random.default_rng()  # ORIGIN

        def __call__(self, x):
            return x + torch.from_numpy(self.rng.normal(size=x.shape))  # DIVERGES

    def run():
        jitter = Jitter()
        x = torch.zeros(3, 4, dtype=torch.float64)
        return jitter(x).abs().sum()

    return run


# -- time and state


@planted(PYTHON)
def time_as_a_factor():
    def run():
        x = torch.ones(10)
        y = x.cumsum(0)
        return y * time.time()  # DIVERGES # ORIGIN

    return run


@planted(PYTHON, GENERATOR)
def clock_as_seed():
    def run():
        seed = now() % 2**31  # ORIGIN
        torch.manual_seed(seed)
        x = torch.zeros(4)
        return F.dropout(torch.rand(4), 0.5) + x  # DIVERGES

    return run


@planted(PYTHON)
def learning_rate_from_the_date():
    def run():
        weight = torch.ones(3, requires_grad=True)
        rate = 0.1 + datetime.now().microsecond * 1e-6  # ORIGIN
        optimizer = torch.optim.SGD([weight], lr=rate)
        (weight * 3).sum().backward()
        optimizer.step()  # DIVERGES
        return weight.detach()

    return run


@planted(PYTHON)
def elapsed_time_in_the_loss():
    def run():
        start = time.perf_counter()  # ORIGIN
        x = torch.randn(20)
        penalty = time.perf_counter() - start  # ORIGIN
        loss = x.square().mean()
        return loss + penalty  # DIVERGES

    return run


@planted(PYTHON)
def branch_on_a_global_counter():
    calls = itertools.count()

    def run():
        x = torch.ones(4)
        if next(calls) % 2:  # ORIGIN
            y = x + 3  # DIVERGES
        else:
            y = x * 3  # DIVERGES
        return y.sum()

    return run


@planted(PYTHON)
def counter_in_a_module():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1  # ORIGIN
            return x / self.calls  # DIVERGES

    scaled = Scaled()

    def run():
        return scaled(torch.ones(3)).sum()

    return run


@planted(PYTHON)
def mutable_default_argument():
    def running_mean(value, history=[]):  # noqa: B006
        history.append(value)
        return torch.tensor([float(v) for v in history]).mean()  # DIVERGES

    def run():
        return running_mean(3.0) + running_mean(5.0)

    return run


@planted(PYTHON)
def popped_from_a_captured_list():
    scales = [1.0, 2.0, 3.0, 4.0]

    def run():
        scale = scales.pop()
        x = torch.ones(5)
        return x.mul(scale)  # DIVERGES

    return run


@planted(PYTHON)
def cycling_iterator_made_outside():
    rates = itertools.cycle([0.1, 0.2, 0.3])

    def run():
        rate = next(rates)  # ORIGIN
        x = torch.randn(8)
        noise = x.abs()
        return noise - rate  # DIVERGES

    return run


@planted(PYTHON)
def longer_loop_every_time():
    steps = [3]

    def run():
        steps[0] += 1
        x = torch.ones(2)
        for _ in range(steps[0]):
            x = x * 1.5  # DIVERGES
        return x

    return run


@planted(PYTHON, CHANGED)
def recurrent_state_kept_outside():
    memory = {"hidden": torch.zeros(4)}

    def run():
        hidden = torch.tanh(memory["hidden"] + 1)  # DIVERGES
        memory["hidden"] = hidden
        return hidden.sum()

    return run


@planted(PYTHON)
def class_attribute_as_a_schedule():
    class Schedule:
        step = 0

    def run():
        Schedule.step += 1  # ORIGIN
        logits = torch.linspace(-1, 1, 7)
        return F.softmax(logits / Schedule.step, dim=0)  # DIVERGES

    return run


@planted(PYTHON)
def gradient_hook_that_counts():
    seen = []

    def damp(grad):
        seen.append(1)
        return grad / len(seen)  # DIVERGES

    def run():
        weight = torch.ones(3, requires_grad=True)
        weight.register_hook(damp)
        (weight * 2).sum().backward()
        return weight.grad

    return run


@planted(PYTHON)
def compiled_function_with_a_counter():
    calls = [0]

    @torch.compile(backend="eager", dynamic=False)
    def body(x, shift):
        return (x.sin() + shift).sum()  # DIVERGES

    def run():
        calls[0] += 1
        return body(torch.ones(4), torch.tensor(float(calls[0] > 1)))  # DIVERGES

    return run


# -- order


@planted(ORDER, processes=True)
def sum_over_a_set_of_names():
    def run():
        weights = {name: torch.randn(5) for name in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")}
        chosen = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"}
        total = torch.zeros(5)
        for name in chosen:  # ORIGIN
            total = total * 0.5 + weights[name]  # DIVERGES
        return total

    return run


@planted(ORDER, processes=True)
def vocabulary_from_a_set():
    def run():
        words = {*SENTENCE, "quick", "brown", "jumps", "while", "it"}
        index = {word: number for number, word in enumerate(words)}
        ids = torch.tensor([index[word] for word in SENTENCE])  # DIVERGES
        return F.embedding(ids, torch.randn(20, 4)).sum()

    return run


@planted(ORDER, processes=True)
def layers_applied_in_the_order_of_a_frozenset():
    def run():
        layers = nn.ModuleDict({name: nn.Linear(4, 4) for name in ("query", "key", "value", "output", "gate", "norm")})
        active = frozenset(layers.keys())
        x = torch.ones(2, 4)
        for name in active:  # ORIGIN
            x = torch.tanh(layers[name](x))  # DIVERGES
        return x

    return run


@planted(ORDER, processes=True)
def activations_in_the_order_of_a_set():
    def run():
        table = {"sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "exp": torch.exp, "sigmoid": torch.sigmoid}
        x = torch.linspace(0, 1, 9)
        for name in {"sin", "cos", "tanh", "exp", "sigmoid"}:
            x = table[name](x)  # DIVERGES
        return x

    return run


@planted(ORDER, PYTHON)
def results_in_the_order_of_completion():
    turn = itertools.count()

    def run():
        late = next(turn) % 2

        def work(number):
            time.sleep(0.15 if number % 2 == late else 0.0)
            return float(number)

        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(work, number) for number in range(2)]
            values = [future.result() for future in as_completed(futures)]  # ORIGIN
        weights = torch.tensor(values)  # DIVERGES
        return (weights * torch.arange(2.0)).sum()

    return run


@planted(ORDER, processes=True)
def files_hashed_into_a_set_of_paths():
    def run():
        shards = {f"shard-{number}.pt" for number in range(12)}
        offsets = [int(name.split("-")[1].split(".")[0]) for name in shards]
        return torch.tensor(offsets)[:3] * 10  # DIVERGES

    return run


# -- uninitialised memory


@planted(EMPTY)
def buffer_filled_in_part():
    def run():
        buffer = torch.empty(10)  # ORIGIN
        buffer[:7] = torch.arange(7.0)
        return buffer.sum()  # DIVERGES

    return run


@planted(EMPTY)
def parameter_never_initialised():
    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.scale = nn.Parameter(torch.empty(4))  # ORIGIN

        def forward(self, x):
            return self.linear(x) * self.scale  # DIVERGES

    def run():
        return Gate()(torch.ones(2, 4)).sum()

    return run


@planted(EMPTY)
def accumulator_from_empty_like():
    def run():
        x = torch.randn(6)
        total = torch.empty_like(x)  # ORIGIN
        for step in range(3):
            total += x * step  # DIVERGES
        return total

    return run


@planted(EMPTY)
def cache_read_one_too_far():
    def run():
        cache = torch.empty(8, 4)  # ORIGIN
        for step in range(5):
            cache[step] = torch.full((4,), float(step))
        window = cache[: 5 + 1]
        return window.mean(0)  # DIVERGES

    return run


@planted(EMPTY)
def new_empty_multiplied_by_zero():
    def run():
        x = torch.ones(5)
        mask = x.new_empty(5)  # ORIGIN
        y = x + mask  # DIVERGES
        return y.exp().sum()

    return run


# -- tensors that changed


@planted(CHANGED)
def optimizer_steps_a_captured_model():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.5)

    def run():
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).square().sum()  # DIVERGES
        loss.backward()
        optimizer.step()  # ORIGIN
        return loss.item()

    return run


@planted(CHANGED)
def argument_changed_in_place():
    x = torch.linspace(0, 1, 6)

    def run():
        y = x.exp()  # DIVERGES
        x.add_(1)  # ORIGIN
        return y.sum()

    return run


@planted(CHANGED)
def moving_average_in_a_buffer():
    class Tracker(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x):
            with torch.no_grad():
                self.mean.lerp_(x.mean(0), 0.1)  # ORIGIN
            return x - self.mean  # DIVERGES

    tracker = Tracker()

    def run():
        return tracker(torch.ones(4, 3)).sum()

    return run


@planted(CHANGED)
def view_that_aliases_the_input():
    data = torch.arange(12.0)

    def run():
        rows = data.view(3, 4)
        total = rows.sum()  # DIVERGES
        first = rows[0]
        first.mul_(2)  # ORIGIN
        return total

    return run


@planted(CHANGED)
def gradients_that_add_up():
    weight = torch.ones(4, requires_grad=True)

    def run():
        loss = (weight * 3).sum()
        loss.backward()
        return weight.grad.norm()  # DIVERGES

    return run


@planted(CHANGED)
def batch_norm_trained_then_used():
    norm = nn.BatchNorm1d(3)

    def run():
        norm.train()
        norm(torch.randn(16, 3) + 5)  # ORIGIN
        norm.eval()
        return norm(torch.ones(2, 3))  # DIVERGES

    return run


@planted(CHANGED, "OUTSIDE", PYTHON)
def numpy_writes_into_the_tensor():
    array = np.ones(5, dtype=np.float32)
    x = torch.from_numpy(array)

    def run():
        y = x * 2  # DIVERGES
        array[0] += 1
        return y.sum()

    return run


@planted(CHANGED)
def adam_with_captured_state():
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight], lr=0.1)

    def run():
        optimizer.zero_grad()
        (weight**2).sum().backward()  # DIVERGES
        optimizer.step()  # ORIGIN
        return weight.detach().clone()

    return run


# -- threads


# Whether the last bit of one sum depends on how threads share it is a matter of luck and of the processor's vectors: each
# program of the next three sums 16 times in its line.


@planted(THREADS, threads=(1, 2))
def sum_of_a_million():
    def run():
        x = torch.randn(16, 1_000_003)
        return [row.sum() for row in x]  # DIVERGES

    return run


@planted(THREADS, threads=(1, 2))
def norm_of_a_large_vector():
    def run():
        x = torch.rand(16, 777_777) + 0.1
        return [row.square().sum().sqrt() for row in x]  # DIVERGES

    return run


@planted(THREADS, threads=(1, 2))
def softmax_of_one_long_row():
    def run():
        x = torch.randn(16, 600_011)
        return [torch.log(row.exp().sum()) for row in x]  # DIVERGES

    return run


# -- data loader workers


class _Numbered(torch.utils.data.Dataset):
    def __len__(self):
        return 6


@planted(WORKERS, GENERATOR)
def workers_with_an_unseeded_rng():
    class Noisy(_Numbered):
        def __getitem__(self, index):
            rng = np.random.default_rng()  # ORIGIN
            return torch.from_numpy(rng.normal(size=3))

    def run():
        loader = torch.utils.data.DataLoader(Noisy(), batch_size=3, num_workers=1)
        total = torch.zeros(3, dtype=torch.float64)
        for batch in loader:
            total = total + batch.sum(0)  # DIVERGES
        return total

    return run


@planted(WORKERS, GENERATOR, PYTHON)
def workers_that_read_the_clock():
    class Stamped(_Numbered):
        def __getitem__(self, index):
            return torch.tensor([float(time.time_ns() % 10**9), float(index)])  # ORIGIN

    def run():
        loader = torch.utils.data.DataLoader(Stamped(), batch_size=2, num_workers=1)
        means = [batch.mean() for batch in loader]  # DIVERGES
        return torch.stack(means)

    return run


@planted(GENERATOR)
def dataset_without_workers():
    class Noisy(_Numbered):
        def __getitem__(self, index):
            noise = random.SystemRandom().random()  # ORIGIN
            return torch.full((2,), noise)  # DIVERGES

    def run():
        loader = torch.utils.data.DataLoader(Noisy(), batch_size=3)
        return torch.stack([batch.sum() for batch in loader])

    return run
