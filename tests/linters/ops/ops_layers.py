"""Layers of torch.nn built with random arguments, called on random inputs, and compared with the tables."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from ops_oracle import CHECKED_LAYERS, Sizes, Tally, compare, layouts, lift
from torch import nn

from tensorlint.inference import ops
from tensorlint.inference.ops import modules
from tensorlint.inference.values import UNKNOWN, LibraryObject, Tensor, Value

MODES = ("numbers", "shared", "own")
Sample = tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]


def samples(random_: random.Random) -> Iterator[Sample]:
    """(layer, constructor's arguments, keywords, inputs)."""
    pick = random_.choice
    n, c, length = random_.randint(1, 4), pick([1, 2, 4, 6]), random_.randint(6, 9)
    out = pick([1, 2, 4, 6])
    k, s, p, d = pick([1, 2, 3]), pick([1, 2, 3]), pick([0, 1]), pick([1, 1, 2])
    for name in (
        "ReLU",
        "GELU",
        "Sigmoid",
        "Tanh",
        "SiLU",
        "LeakyReLU",
        "ELU",
        "Softplus",
        "Hardswish",
        "Mish",
        "Identity",
        "RReLU",
        "Hardsigmoid",
    ):
        yield name, (), {}, (torch.randn(n, c, length),)
    for p_drop in (0.5,):
        yield "Dropout", (p_drop,), {}, (torch.randn(n, c),)
        yield "Dropout2d", (p_drop,), {}, (torch.randn(n, c, 4, 5),)
        yield "Dropout1d", (p_drop,), {}, (torch.randn(n, c, 4),)
        yield "Dropout3d", (p_drop,), {}, (torch.randn(n, c, 4, 5, 2),)
        yield "AlphaDropout", (p_drop,), {}, (torch.randn(n, c, 4),)
        yield "FeatureAlphaDropout", (p_drop,), {}, (torch.randn(n, c, 4),)
    yield "Softmax", (), {"dim": -1}, (torch.randn(n, c, length),)
    yield "LogSoftmax", (1,), {}, (torch.randn(n, c),)
    yield "GLU", (), {"dim": -1}, (torch.randn(n, 8),)
    yield "PReLU", (), {}, (torch.randn(n, c, 3),)
    yield "Linear", (c, out), {"bias": pick([True, False])}, (torch.randn(*[n, length][: random_.randint(0, 2)], c),)
    yield "LazyLinear", (out,), {}, (torch.randn(n, c),)
    yield "Bilinear", (c, 3, out), {}, (torch.randn(n, c), torch.randn(n, 3))
    yield "Embedding", (10, out), {}, (torch.randint(0, 10, (n, length)),)
    yield "EmbeddingBag", (10, out), {}, (torch.randint(0, 10, (n, length)),)
    yield "LayerNorm", (c,), {}, (torch.randn(n, length, c),)
    yield "LayerNorm", ([length, c],), {}, (torch.randn(n, length, c),)
    yield "RMSNorm", (c,), {}, (torch.randn(n, length, c),)
    yield "GroupNorm", (c if c < 3 else 2, c), {}, (torch.randn(n, c, length),)
    yield "GroupNorm", (1, c), {}, (torch.randn(n, c, 4, 5),)
    yield "BatchNorm1d", (c,), {}, (torch.randn(n + 1, c),)
    yield "BatchNorm1d", (c,), {}, (torch.randn(n + 1, c, length),)
    yield "BatchNorm2d", (c,), {"affine": pick([True, False])}, (torch.randn(n, c, 4, 5),)
    yield "BatchNorm3d", (c,), {}, (torch.randn(n, c, 3, 4, 5),)
    yield "InstanceNorm1d", (c,), {}, (torch.randn(n, c, length),)
    yield "InstanceNorm2d", (c,), {"affine": True}, (torch.randn(n, c, 4, 5),)
    yield "LocalResponseNorm", (2,), {}, (torch.randn(n, c, 4, 5),)
    for rank in (1, 2, 3):
        space = tuple(random_.randint(6, 8) for _ in range(rank))
        batch = pick([(n,), (n,), ()])
        groups = pick([1, 1, c]) if out % c == 0 else 1
        image = torch.randn(*batch, c, *space)
        kernel = pick([k, (k,) * rank])
        yield f"Conv{rank}d", (c, out, kernel), {"stride": s, "padding": p, "dilation": d, "groups": groups}, (image,)
        yield f"Conv{rank}d", (c, out, 3), {"padding": "same"}, (image,)
        yield f"ConvTranspose{rank}d", (c, out, k), {"stride": s, "padding": min(p, k - 1)}, (image,)
        yield f"MaxPool{rank}d", (k,), {"stride": pick([None, s]), "ceil_mode": pick([False, True])}, (image,)
        yield f"AvgPool{rank}d", (k, s), {"ceil_mode": pick([False, True])}, (image,)
        yield f"AdaptiveAvgPool{rank}d", (pick([1, 2, 3]),), {}, (image,)
        yield f"AdaptiveMaxPool{rank}d", (pick([1, 2]),), {}, (image,)
        yield f"ReflectionPad{rank}d", (2,), {}, (image,)
        yield f"ConstantPad{rank}d", (pick([1, tuple(range(2 * rank))]), 0.0), {}, (image,)
        yield f"ReplicationPad{rank}d", (1,), {}, (image,)
        if rank > 1:
            yield f"FractionalMaxPool{rank}d", (2,), {"output_size": pick([2, (3,) * rank])}, (image,)
            yield f"FractionalMaxPool{rank}d", (2,), {"output_ratio": (0.5,) * rank, "return_indices": True}, (image,)
        pooled = torch.randn(*batch, c, *(2,) * rank), torch.zeros(*batch, c, *(2,) * rank, dtype=torch.int64)
        yield f"MaxUnpool{rank}d", (k,), {"stride": pick([None, s])}, pooled
        yield f"MaxUnpool{rank}d", (2,), {}, (*pooled, [5] * rank)
        whole = torch.randn(n + 1, c, *space)
        yield f"LazyBatchNorm{rank}d", (), {"affine": pick([True, False])}, (whole,)
        yield f"LazyInstanceNorm{rank}d", (), {}, (whole,)
        yield f"LazyConvTranspose{rank}d", (out, k), {"stride": s, "padding": min(p, k - 1)}, (whole,)
    yield "TripletMarginWithDistanceLoss", (), {"reduction": pick(["none", "mean"])}, (torch.randn(n, c),) * 3
    yield "AdaptiveLogSoftmaxWithLoss", (c, 9, [3, 6]), {}, (torch.randn(n, c), torch.randint(0, 9, (n,)))
    yield "LPPool2d", (2, 2), {}, (torch.randn(n, c, 6, 6),)
    yield (
        "Upsample",
        (),
        {"scale_factor": pick([2, 1.5, 0.5]), "mode": pick(["nearest", "bilinear"])},
        (torch.randn(n, c, 6, 8),),
    )
    yield "Upsample", ((9, 7),), {}, (torch.randn(n, c, 6, 8),)
    yield "ZeroPad2d", ((1, 2, 3, 4),), {}, (torch.randn(n, c, 4, 5),)
    yield "UpsamplingNearest2d", (), {"scale_factor": 2}, (torch.randn(n, c, 4, 5),)
    yield "UpsamplingBilinear2d", ((7, 9),), {}, (torch.randn(n, c, 4, 5),)
    yield "ChannelShuffle", (2,), {}, (torch.randn(n, 8, 3, 3),)
    yield "CrossMapLRN2d", (2,), {}, (torch.randn(n, c, 4, 5),)
    yield "einops.layers.torch.Rearrange", ("b (h w) c -> b c h w",), {"h": 2}, (torch.randn(n, 6, c),)
    yield "einops.layers.torch.Rearrange", ("b n c -> b (n c)",), {}, (torch.randn(n, 6, c),)
    yield "einops.layers.torch.Reduce", ("b (h w) c -> b c h", pick(["mean", "max"])), {"h": 2}, (torch.randn(n, 6, c),)
    yield "PixelShuffle", (2,), {}, (torch.randn(n, 8, 3, 3),)
    yield "PixelUnshuffle", (2,), {}, (torch.randn(n, c, 4, 6),)
    yield "Flatten", (), {}, (torch.randn(n, c, 4, 5),)
    yield "Flatten", (0, 1), {}, (torch.randn(n, c, 4),)
    yield "Unflatten", (1, (2, 4)), {}, (torch.randn(n, 8, 3),)
    yield "Unfold", (2,), {"stride": s, "padding": p}, (torch.randn(n, c, 6, 7),)
    yield "Fold", ((4, 5), (2, 2)), {}, (torch.randn(n, c * 4, 12),)
    yield "CosineSimilarity", (1,), {}, (torch.randn(n, c), torch.randn(n, c))
    yield "PairwiseDistance", (), {"keepdim": pick([True, False])}, (torch.randn(n, c), torch.randn(n, c))
    for name in ("LSTM", "GRU", "RNN"):
        options = {
            "num_layers": pick([1, 2]),
            "batch_first": pick([True, False]),
            "bidirectional": pick([True, False]),
        }
        x = torch.randn(length, c) if random_.random() < 0.25 else torch.randn(n, length, c)
        yield name, (c, out), options, (x,)
    yield "LSTM", (c, 4), {"proj_size": 2, "batch_first": True}, (torch.randn(n, length, c),)
    for name in ("LSTMCell", "GRUCell", "RNNCell"):
        yield name, (c, out), {}, (torch.randn(n, c),)
    first = pick([True, False])
    q, kv = torch.randn(n, length, 4), torch.randn(n, 5, 4) if first else torch.randn(5, length, 4)
    yield "MultiheadAttention", (4, 2), {"batch_first": first}, (q, kv, kv)
    yield "MultiheadAttention", (4, 2), {"batch_first": first}, (q, q, q, None, False)
    yield "TransformerEncoderLayer", (4, 2, 8), {"batch_first": first, "norm_first": pick([True, False])}, (q,)
    yield "TransformerDecoderLayer", (4, 2, 8), {"batch_first": first}, (q, kv)
    yield "Transformer", (4, 2, 1, 1, 8), {"batch_first": first}, (kv, q)
    pair = (torch.rand(n, c), torch.rand(n, c))
    reduction = {"reduction": pick(["mean", "sum", "none"])}
    for name in (
        "MSELoss",
        "L1Loss",
        "SmoothL1Loss",
        "HuberLoss",
        "BCELoss",
        "BCEWithLogitsLoss",
        "PoissonNLLLoss",
        "KLDivLoss",
        "SoftMarginLoss",
        "MultiLabelSoftMarginLoss",
        "HingeEmbeddingLoss",
    ):
        yield name, (), reduction, pair
    for name in ("MSELoss", "SmoothL1Loss", "PoissonNLLLoss"):
        yield name, (), reduction, (torch.rand(n, 1), torch.rand(n))
    yield "CrossEntropyLoss", (), reduction, (torch.randn(n, 5, 3), torch.randint(0, 5, (n, 3)))
    yield "CrossEntropyLoss", (), reduction, (torch.randn(n, 5), torch.randint(0, 5, (n,)))
    yield "NLLLoss", (), reduction, (torch.randn(n, 5), torch.randint(0, 5, (n,)))
    yield "GaussianNLLLoss", (), reduction, (torch.rand(n, c), torch.rand(n, c), torch.rand(n, c))
    yield "TripletMarginLoss", (), reduction, (torch.rand(n, c), torch.rand(n, c), torch.rand(n, c))
    yield "MarginRankingLoss", (), reduction, (torch.rand(n), torch.rand(n), torch.ones(n))
    yield "CosineEmbeddingLoss", (), reduction, (torch.rand(n, c), torch.rand(n, c), torch.ones(n))


ATTRIBUTES = ("weight", "bias", "running_mean", "in_features", "out_features", "kernel_size", "stride", "num_heads",
              "hidden_size", "in_channels", "num_features", "embedding_dim", "in_proj_weight", "head_dim")  # fmt: skip


def _class(name: str) -> Any:
    if name.startswith("einops."):
        import einops.layers.torch as layers

        return getattr(layers, name.rpartition(".")[2])
    return getattr(nn, name)


def _path(name: str) -> str:
    return name if "." in name else f"torch.nn.{name}"


def sweep(seed: int) -> Tally:
    """One random sample of each layer, with its inputs in several layouts and its sizes as numbers and names."""
    tally = Tally()
    torch.manual_seed(seed)
    for name, args, kwargs, inputs in samples(random.Random(seed)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = _class(name)(*args, **kwargs)
            except (ValueError, RuntimeError, TypeError):
                continue
            first = inputs[0]
            for given in layouts(first):
                actual = (given, *inputs[1:])
                try:
                    # In training and with gradients: the layout that the tables state.
                    real = module(*actual)
                except (ValueError, RuntimeError, IndexError):
                    continue
                for mode in MODES:
                    sizes = Sizes(mode)
                    obj = build(name, args, kwargs, sizes)
                    where = f"nn.{name}{args}{kwargs} on {[_words(one) for one in actual]} [{mode}]"
                    claimed = modules.call_module(ops.Call(name), obj, [lift(one, sizes) for one in actual], {})
                    CHECKED_LAYERS[_path(name)] += 1
                    compare(_detached(claimed), _detached(real), sizes, tally, where)
        sizes = Sizes()
        obj = build(name, args, kwargs, sizes)
        for attribute in ATTRIBUTES:
            if hasattr(module, attribute):
                claimed = modules.module_attribute(obj, attribute)
                if claimed is not UNKNOWN:
                    compare(
                        claimed, _detached(getattr(module, attribute)), sizes, tally, f"nn.{name}{args}.{attribute}"
                    )
    return tally


def build(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: Sizes) -> LibraryObject:
    plain = Sizes()
    lifted: list[Value] = [lift(one, plain) for one in args]
    return modules.construct(
        ops.Call(_path(name)), _path(name), lifted, {key: lift(one, plain) for key, one in kwargs.items()}
    )


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, tuple):
        return tuple(map(_detached, value))
    return value


def _words(value: Any) -> Any:
    return f"{tuple(value.shape)}/{tuple(value.stride())}" if isinstance(value, torch.Tensor) else value


__all__ = ["Tensor", "sweep"]
