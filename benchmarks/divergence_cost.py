"""What recording costs: a small operation, a training step of a small transformer, hashing; beside torch's DebugMode.

    python benchmarks/divergence_cost.py [--write]

CPU times, the least of several repetitions on one thread; on a shared machine the ratios hold better than the microseconds.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.utils._debug_mode import DebugMode

from pytest_tensorcheck.determinism.hashing import hash_on_device, hash_tensor
from pytest_tensorcheck.determinism.recorder import Recorder

RESULTS = Path(__file__).resolve().parent / "results" / "divergence_cost.md"
LIMITS = {"operation": 15.0, "step": 6.0}  # microseconds more, times as long


def least(call: Callable[[], object], number: int, repeat: int = 15) -> float:
    """Microseconds of CPU time, which other users of the cores do not change."""
    return min(timeit.repeat(call, timer=time.process_time, number=number, repeat=repeat)) / number * 1e6


def from_user_file(text: str, **names: object) -> Callable[[], object]:
    """A function that lives in a file of its own, as the user's do."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(text)
    exec(compile(text, file.name, "exec"), names)
    return names["run"]  # type: ignore[return-value]


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(
            nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            .transpose(1, 2)
            .reshape(batch, length, width)
        )
        return x + self.mlp(self.norm_2(x))


def training_step(width: int, batch: int) -> Callable[[], object]:
    model = nn.Sequential(nn.Embedding(96, width), *(Block(width, 4) for _ in range(4)), nn.Linear(width, 96))
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 96, (batch, 65))

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "# What recording costs",
        "",
        f"{datetime.date.today()}, torch {torch.__version__}, Python {platform.python_version()}, {os.cpu_count()} shared cores, one thread. "
        "`python benchmarks/divergence_cost.py --write`",
        "",
        "| | plain | recorded | | DebugMode | DebugMode with hashes |",
        "|---|---|---|---|---|---|",
    ]
    x, y = torch.randn(8, 8), torch.randn(8, 8)
    add = from_user_file("def run():\n    return x + y\n", x=x, y=y)
    plain = least(add, 2000)
    with Recorder():
        recorded = least(add, 500)
    with DebugMode():
        debug = least(add, 100, 9)
    with DebugMode() as mode, mode.log_tensor_hashes():
        hashed = least(add, 100, 9)
    more = recorded - plain
    lines.append(
        f"| 8×8 add | {plain:.2f} µs | {recorded:.2f} µs | +{more:.1f} µs (at most {LIMITS['operation']:.0f}) | "
        f"+{debug - plain:.1f} µs | +{hashed - plain:.1f} µs |"
    )
    for width, batch in ((64, 16), (128, 32)):
        step = training_step(width, batch)
        step()
        plain = least(step, 1, 12)

        def under(mode: object) -> float:
            def once() -> None:
                with mode():  # type: ignore[operator]
                    step()  # noqa: B023

            return least(once, 1, 8)

        recorded, debug = under(Recorder), under(DebugMode)

        def with_hashes() -> None:
            with DebugMode() as mode, mode.log_tensor_hashes():
                step()  # noqa: B023

        hashed = least(with_hashes, 1, 5)
        ratio = recorded / plain
        lines.append(
            f"| training step, transformer of 4 blocks, width {width}, batch {batch}×64 | {plain / 1e3:.1f} ms | {recorded / 1e3:.1f} ms | "
            f"×{ratio:.2f} (at most {LIMITS['step']:.0f}) | ×{debug / plain:.2f} | ×{hashed / plain:.2f} |"
        )
    lines += [
        "",
        "| hashing | CRC-32 | on the device (run on the CPU here) | torch.hash_tensor (order-blind) |",
        "|---|---|---|---|",
    ]
    for size in (64, 16_384, 1 << 20, 1 << 23):
        z = torch.randn(size)
        times = [
            least(lambda call=call, z=z: call(z), max(1, 200_000 // size), 9)
            for call in (hash_tensor, hash_on_device, torch.hash_tensor)
        ]
        shown = " | ".join(f"{value:.1f} µs ({size * 4 / value / 1e3:.1f} GB/s)" for value in times)
        lines.append(f"| {size * 4:,} bytes | {shown} |")
    print("\n".join(lines))
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
