"""Text as windows of character indices."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

TEXT = Path(__file__).parent.parent / "data" / "text.txt"


class Vocabulary:
    """Characters as indices, in sorted order."""

    def __init__(self, text: str) -> None:
        self.characters = sorted(set(text))
        self.index = {character: index for index, character in enumerate(self.characters)}

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> Tensor:
        return torch.tensor([self.index[character] for character in text])

    def decode(self, indices: Tensor) -> str:
        return "".join(self.characters[index] for index in indices.tolist())


class Windows(Dataset[tuple[Tensor, Tensor]]):
    """All windows of `context` characters, each with the characters that follow: two tensors of shape (context,)."""

    def __init__(self, indices: Tensor, context: int) -> None:
        self.indices = indices
        self.context = context

    def __len__(self) -> int:
        return len(self.indices) - self.context

    def __getitem__(self, start: int) -> tuple[Tensor, Tensor]:
        window = self.indices[start : start + self.context + 1]
        return window[:-1], window[1:]


def loaders(context: int, batch_size: int, text: str | None = None) -> tuple[Vocabulary, DataLoader, DataLoader]:
    """The vocabulary, and batches of nine tenths of the text for training and the rest for evaluation."""
    text = TEXT.read_text(encoding="utf-8") if text is None else text
    vocabulary = Vocabulary(text)
    indices = vocabulary.encode(text)
    split = len(indices) * 9 // 10
    training = DataLoader(Windows(indices[:split], context), batch_size, shuffle=True, drop_last=True)
    evaluation = DataLoader(Windows(indices[split:], context), batch_size)
    return vocabulary, training, evaluation
