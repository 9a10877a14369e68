"""Random layers of torch.nn with random options and inputs, batched or not, in memory in this order or that."""

from __future__ import annotations

import random


class _Draw:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rank = self.random.choice([1, 2, 3])

    def one(self, *options: object) -> str:
        return str(self.random.choice(options))

    def window(self, low: int = 1, high: int = 4) -> str:
        """A number for all axes, or one for each."""
        if self.random.random() < 0.6:
            return str(self.random.randint(low, high))
        return f"({' '.join(f'{self.random.randint(low, high)},' for _ in range(self.rank))})"

    def some(self, **options: list[object]) -> list[str]:
        return [f"{name}={self.one(*values)}" for name, values in options.items() if self.random.random() < 0.4]


def make(seed: int) -> tuple[str, str, str]:
    """The text of an input `x`, of a layer `m` for it (torch may refuse it), and of the call."""
    draw = _Draw(seed)
    one, window, some, rank = draw.one, draw.window, draw.some, draw.rank
    channels = draw.random.choice([2, 4])
    space = [draw.random.randint(1, 8) for _ in range(rank)]
    batch = [draw.random.choice([1, 2, 3])] if draw.random.random() < 0.85 else []
    x = f"torch.rand({', '.join(map(str, [*batch, channels, *space]))})"
    if draw.random.random() < 0.4:
        x = f"torch.rand({', '.join(map(str, [*batch, *space, channels]))}).movedim(-1, {len(batch)})"
    if draw.random.random() < 0.1:
        x += ".transpose(-1, 0).contiguous().transpose(-1, 0)"

    def layer(name: str, *arguments: object, **options: list[object]) -> str:
        return f"nn.{name}({', '.join([*map(str, arguments), *some(**options)])})"

    flags: list[object] = ["True", "False"]
    steps: list[object] = [window(1, 3)]
    kind = one(*_KINDS)
    if kind == "convolution":
        pads = [window(0, 3), "'same'", "'valid'"]
        modes = ["'reflect'", "'circular'", "'zeros'"]
        options = {
            "stride": steps,
            "padding": pads,
            "dilation": [window(1, 2)],
            "groups": [1, 2],
            "padding_mode": modes,
        }
        return x, layer(f"Conv{rank}d", channels, one(2, 4, 8), window(), **options), "m(x)"
    if kind == "transposed":
        options = {"stride": steps, "padding": [window(0, 2)], "output_padding": [window(0, 1)], "groups": [1, 2]}
        return x, layer(f"ConvTranspose{rank}d", channels, one(2, 4, 8), window(), **options), "m(x)"
    if kind == "pool":
        options = {"stride": steps, "padding": [window(0, 1)], "ceil_mode": flags}
        return x, layer(one(f"MaxPool{rank}d", f"AvgPool{rank}d"), window(), **options), "m(x)"
    if kind == "indices":
        return x, f"nn.MaxPool{rank}d({window(1, 2)}, return_indices=True)", "m(x)[0]"
    if kind == "power":
        return x, layer(f"LPPool{rank}d", 2, window(), stride=steps, ceil_mode=flags), "m(x)"
    if kind == "adaptive":
        sizes = f"({' '.join(one('None,', '2,', '1,') for _ in range(rank))})"
        return x, f"nn.Adaptive{one('Avg', 'Max')}Pool{rank}d({one(window(), sizes)})", "m(x)"
    if kind == "resampled":
        size = one("scale_factor=2", "scale_factor=1.5", "scale_factor=0.5", "size=5", f"size={window(2, 5)}")
        mode = one("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact")
        return x, f"nn.Upsample({size}, mode={mode!r})", "m(x)"
    if kind == "padding":
        widths = one(draw.random.randint(0, 2), tuple(draw.random.randint(-1, 2) for _ in range(2 * rank)))
        name = one("Zero", "Reflection", "Replication", "Circular", "Constant")
        return x, f"nn.{name}Pad{rank}d({widths}{', 1.5' if name == 'Constant' else ''})", "m(x)"
    if kind == "normalised":
        of_channels = (
            f"BatchNorm{rank}d({channels})",
            f"InstanceNorm{rank}d({channels})",
            f"GroupNorm({one(1, 2)}, {channels})",
        )
        return (
            x,
            "nn." + one(*of_channels, f"LayerNorm({space[-1]})", f"RMSNorm({space[-1]})", "LocalResponseNorm(2)"),
            "m(x)",
        )
    if kind == "recurrent":
        x = one(f"torch.rand({one(3, 5)}, {one(1, 2)}, {channels})", f"torch.rand(3, {channels})")
        name = one("LSTM", "GRU", "RNN")
        options = {"num_layers": [1, 2], "bidirectional": ["True"], "batch_first": ["True"], "bias": ["False"]}
        if name == "LSTM":
            options["proj_size"] = [1]
        return (
            x,
            layer(name, channels, one(2, 3), **options),
            one("m(x)[0]", "m(x)[1]" if name != "LSTM" else "m(x)[1][0]"),
        )
    if kind == "attention":
        x = one(f"torch.rand({one(1, 3, 5)}, {one(1, 2)}, 4)", "torch.rand(3, 4)")
        options = {"batch_first": ["True"], "bias": ["False"], "add_bias_kv": ["True"], "add_zero_attn": ["True"]}
        return x, layer("MultiheadAttention", 4, one(1, 2), **options), "m(x, x, x)[0]"
    if kind == "transformer":
        x = f"torch.rand({one(1, 3)}, {one(2, 5)}, 4)"
        options = {"dim_feedforward": [8], "batch_first": ["True"], "norm_first": ["True"], "bias": ["False"]}
        return x, layer("TransformerEncoderLayer", 4, 2, **options), "m(x)"
    if kind == "patches":
        if one(0, 1) == "0":
            x = f"torch.rand(2, {channels * 4}, {one(4, 9, 1)})"
            return x, layer("Fold", one(3, (3, 3), 4, 2, (2, 5)), 2, stride=[1, 2], padding=[1]), "m(x)"
        x = f"torch.rand({one('2, ', '')}{channels}, {one(3, 4, 6)}, {one(3, 5, 6)})"
        return x, layer("Unfold", one(2, (2, 3)), stride=[1, 2], padding=[1], dilation=[2]), "m(x)"
    if kind == "embedding":
        x = f"torch.zeros({one('3', '2, 3', '2, 1, 3')}, dtype=torch.long)"
        return x, layer("Embedding", 5, one(1, 4), padding_idx=[0], max_norm=["1.0"]), "m(x)"
    if kind == "loss":
        name = one(
            "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss", "KLDivLoss", "SoftMarginLoss", "PoissonNLLLoss"
        )
        return x, layer(name, reduction=["'none'", "'sum'", "'mean'"]), "m(x, x * 0.5)"
    shaped = (
        "Flatten()",
        "Flatten(0)",
        "Flatten(0, 1)",
        "Flatten(2)",
        "Flatten(1, -2)",
        f"Unflatten(1, (2, {channels // 2}))",
    )
    mixed = (
        "PixelShuffle(2)",
        "PixelUnshuffle(2)",
        "ChannelShuffle(2)",
        "Softmax(dim=1)",
        "GLU(1)",
        f"Linear({space[-1]}, 3)",
    )
    return (
        x,
        "nn." + one(*shaped, *mixed, "Softmax2d()", "Dropout2d()", "PReLU()", "Hardtanh()", "LogSoftmax(-1)"),
        "m(x)",
    )


_KINDS = (
    "convolution", "transposed", "pool", "indices", "power", "adaptive", "resampled", "padding", "normalised", "recurrent", "attention",
    "transformer", "patches", "embedding", "loss", "shaped",
)  # fmt: skip
