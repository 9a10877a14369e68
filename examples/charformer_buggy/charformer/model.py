"""The transformer: token and position embeddings, blocks of causal self-attention and an MLP, a linear head."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    vocabulary: int
    context: int = 64
    width: int = 64
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1


class CausalSelfAttention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.project = nn.Linear(config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)
        mask = torch.tril(torch.ones(config.context, config.context, dtype=torch.bool))
        self.register_buffer("mask", mask.view(1, 1, config.context, config.context), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(C // self.heads)
        scores = scores.masked_fill(~self.mask[:, :, :T, :T], float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        y = (weights @ v).transpose(1, 2)
        y = y.view(B, T, C)
        return self.project(y)


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(config.width)
        self.attention = CausalSelfAttention(config)
        self.norm_mlp = nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width),
            nn.Dropout(config.dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm_attention(x))
        return x + self.mlp(self.norm_mlp(x))


class Charformer(nn.Module):
    """Next-character logits of shape (batch, time, vocabulary) for indices of shape (batch, time)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, indices: Tensor) -> Tensor:
        _, T = indices.shape
        x = self.tokens(indices) + self.positions(torch.arange(T, device=indices.device))
        for block in self.blocks:
            x = block.forward(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def generate(self, indices: Tensor, length: int) -> Tensor:
        """The indices with `length` sampled characters appended."""
        for _ in range(length):
            logits = self(indices[:, -self.config.context :])[:, -1]
            choice = torch.multinomial(logits.softmax(dim=-1), num_samples=1)
            indices = torch.cat([indices, choice], dim=1)
        return indices


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of logits (batch, time, vocabulary) against targets (batch, time)."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class SurpriseHead(nn.Module):
    """Predicts how surprising each text is: one number for each of (batch, time, width)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.score = nn.Linear(config.width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.score(x.mean(dim=1))


def surprise_loss(head: SurpriseHead, x: Tensor) -> Tensor:
    batch, _, _ = x.shape
    surprise = torch.rand(batch)
    error = head(x) - surprise
    return (error**2).mean()
